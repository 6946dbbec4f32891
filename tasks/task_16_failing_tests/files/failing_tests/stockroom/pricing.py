"""Prices of orders: discounts by quantity, and tax."""

from dataclasses import dataclass
from decimal import Decimal

from stockroom.model import Part
from stockroom.money import round_cents

# From how many pieces on, how many per cent.
TIERS = ((10, Decimal("2.5")), (50, Decimal("5")), (200, Decimal("12.5")))


@dataclass(frozen=True)
class Line:
    """One line of an order."""

    part: Part
    quantity: int


@dataclass(frozen=True)
class Invoice:
    """What an order costs. `tax` maps each tax rate to the tax."""

    net: Decimal
    tax: dict[int, Decimal]
    gross: Decimal


def discount_rate(quantity: int) -> Decimal:
    """Return the discount in per cent for so many pieces."""
    rate = Decimal(0)
    for start, percent in TIERS:
        if quantity > start:
            rate = percent
    return rate


def line_net(line: Line) -> Decimal:
    """Return the net price of a line: all pieces less the discount."""
    full = line.part.price * line.quantity
    discount = round_cents(full * discount_rate(line.quantity) / 100)
    return round_cents(full) - discount


def invoice(lines: list[Line]) -> Invoice:
    """Return what the lines cost together. Rates are in rising order."""
    nets: dict[int, Decimal] = {}
    taxes: dict[int, Decimal] = {}
    for line in lines:
        rate = line.part.tax_rate
        net = line_net(line)
        nets[rate] = nets.get(rate, Decimal(0)) + net
        taxes[rate] = taxes.get(rate, Decimal(0)) + round_cents(net * rate / 100)
    tax = {rate: taxes[rate] for rate in sorted(nets)}
    net = sum(nets.values(), Decimal("0.00"))
    return Invoice(net, tax, net + sum(tax.values(), Decimal("0.00")))
