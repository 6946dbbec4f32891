"""Lists for people."""

from collections.abc import Iterable, Sequence
from datetime import date

from stockroom.catalogue import Catalogue
from stockroom.demand import sold_by_part
from stockroom.model import Movement
from stockroom.money import show
from stockroom.pricing import Invoice


def page(rows: Sequence[str], number: int, size: int = 20) -> list[str]:
    """Return page `number` of a list; the first page is 1. A page that doesn't exist is empty."""
    if number < 1 or size < 1:
        return []
    return list(rows[(number - 1) * size : number * size])


def best_sellers(movements: Iterable[Movement], first: date, last: date, count: int) -> list[tuple[str, int]]:
    """Return up to `count` parts that sold best in a period, with their pieces. Parts with 0 pieces or less are left out."""
    sold = sold_by_part(movements, first, last)
    ranked = sorted(((pieces, sku) for sku, pieces in sold.items() if pieces > 0), reverse=True)
    return [(sku, pieces) for pieces, sku in ranked[:count]]


def best_seller_lines(
    catalogue: Catalogue, movements: Iterable[Movement], first: date, last: date, count: int = 10
) -> list[str]:
    """Return the best sellers as text: `1. Hose clamp (HC-20): 14`. A part that left the catalogue has the name `?`."""
    lines = []
    for place, (sku, pieces) in enumerate(best_sellers(movements, first, last, count), start=1):
        name = catalogue.get(sku).name if sku in catalogue else "?"
        lines.append(f"{place}. {name} ({sku}): {pieces}")
    return lines


def invoice_lines(invoice: Invoice) -> list[str]:
    """Return an invoice as text: net, the tax by rate, gross."""
    taxes = [f"tax {rate} %: {show(tax)}" for rate, tax in invoice.tax.items()]
    return [f"net: {show(invoice.net)}", *taxes, f"gross: {show(invoice.gross)}"]
