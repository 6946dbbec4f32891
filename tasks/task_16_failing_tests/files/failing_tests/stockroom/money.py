"""Amounts of money."""

from decimal import Decimal, InvalidOperation

CENT = Decimal("0.01")


def parse_amount(text: str) -> Decimal:
    """Read an amount such as `1234.5` or `1 234,50`; blanks (also no-break ones) part thousands.

    Anything else raises `ValueError`, `NaN` and `Infinity` as well.
    """
    plain = "".join(text.split()).replace("\u00a0", "").replace(",", ".")
    try:
        amount = Decimal(plain)
    except InvalidOperation:
        raise ValueError(f"not an amount: {text!r}") from None
    if not amount.is_finite():
        raise ValueError(f"not an amount: {text!r}")
    return amount


def round_cents(amount: Decimal) -> Decimal:
    """Round to cents, half away from zero. The result always has two decimals."""
    return Decimal(str(round(float(amount), 2))).quantize(CENT)


def show(amount: Decimal) -> str:
    """Return an amount for people: `1,234.50 EUR`."""
    return f"{round_cents(amount):,} EUR"
