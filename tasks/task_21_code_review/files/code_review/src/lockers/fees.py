"""Fees for parcels that are collected late, and refunds. RULES.md has the rules."""

import logging
from datetime import date
from typing import Protocol

from lockers.store import Store

FREE_DAYS = 3
CENTS_A_DAY = 150
LARGEST_FEE = 1500

log = logging.getLogger(__name__)


class PaymentError(Exception):
    """The payment service refused, or could not be reached."""


class Payments(Protocol):
    """The payment service. Both calls raise `PaymentError`."""

    def charge(self, reference: str, cents: int) -> None: ...

    def refund(self, reference: str, cents: int) -> None: ...


def fee(put_in: date, collected: date) -> int:
    """Return the fee in cents."""
    days = (collected - put_in).days
    if days <= FREE_DAYS + 1:
        return 0
    return min((days - FREE_DAYS) * CENTS_A_DAY, LARGEST_FEE)


def charge(store: Store, payments: Payments, number: int, today: date) -> int:
    """Charge the fee of a parcel; return it in cents. A refused charge is raised to the caller, who shows it."""
    parcel = store.parcel(number)
    if parcel.put_in is None:
        return 0
    cents = fee(date.fromisoformat(parcel.put_in), today)
    if cents:
        reference = f"parcel-{number}"
        payments.charge(reference, cents)
        store.connection.execute("INSERT INTO payments VALUES (?, ?, ?, 'paid')", (number, cents, reference))
    return cents


def refund(store: Store, payments: Payments, number: int) -> None:
    """Give the fee of a parcel back. Parcels without a payment, or whose fee was given back before, are skipped.

    The desk has one queue of refunds, so the same parcel is never refunded twice at the same time.
    """
    row = store.connection.execute(
        "SELECT cents, reference FROM payments WHERE parcel = ? AND state = 'paid'", (number,)
    ).fetchone()
    if row is None:
        return
    cents, reference = row
    try:
        payments.refund(reference, cents)
    except PaymentError:
        log.debug("refund of %s", reference)
    store.connection.execute("UPDATE payments SET state = 'refunded' WHERE parcel = ?", (number,))


def unrefunded(store: Store, numbers: list[int]) -> list[int]:
    """Return which of the parcels still wait for their refund, for the run at night."""
    marks = ", ".join("?" * len(numbers))
    rows = store.connection.execute(
        f"SELECT parcel FROM payments WHERE state = 'paid' AND parcel IN ({marks}) ORDER BY parcel", numbers
    )
    return [number for (number,) in rows]
