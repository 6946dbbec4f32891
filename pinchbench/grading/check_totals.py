"""The numbers that a check means by what it returns, which need not be shares of 1."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from itertools import islice
from typing import cast

OTHER_NUMBERS = (("numbers", "Real"), ("decimal", "Decimal"))  # which only a check that imports these has
NOT_ALPHANUMERIC = re.compile(r"[\W_]")
MOST = re.compile(r"max(?:imum)?|满分|滿分", re.IGNORECASE)  # in a key: how many points there are
SCORE = "score"  # the key of a total
OF_ALL = frozenset({"", "score", "points", "total", "possible", "value"})  # of which a maximum names no criterion
# Other keys, without case and punctuation: what was earned, of how much, in percent, and whether that is enough.
_COUNTED = r"(?:tests?|checks?|points?)?"
EARNED = re.compile(rf"(?:final|overall|total)?(?:score|points?)|total|{_COUNTED}(?:passed|correct|earned){_COUNTED}")
WHOLE = re.compile(r"total(?:points|tests|checks)?|outof|(?:points|tests|checks)?(?:possible|total)")
PERCENT = re.compile(r"(?:score)?(?:percent(?:age)?|pct)")
VERDICTS = frozenset({"passed", "pass", "success", "ok"})
INNER = frozenset({"scores", "criteria", "criteriascores", "criterionscores", "breakdown", "checks", "results"})
SHARE = re.compile(r"\s*(?P<value>\d*\.?\d+)\s*(?:%|/\s*(?P<whole>\d*\.?\d+))?\s*")  # a score as a text
WHOLE_PERCENT = 100
ROUNDING = 1e-6  # by which a sum of shares may exceed 1
SMALLEST_SCALE = 2  # points of criteria on a scale other than 0-1 are 0, or at least this


class UnknownScaleError(ValueError):
    """A check returned points and not of how many, so that they can't become a share."""

    def __init__(self, key: object, points: float) -> None:
        """Name the key, and say what the check should return."""
        self.key = key
        super().__init__(
            f"`{key}` is {points:g}, and of how much is not stated: let the check return a number above 0 as "
            f"`max_{key}` too, or a share of 1"
        )


def shares(returned: Mapping[object, object]) -> tuple[Mapping[object, object], str]:
    """Return the values with each `x` that has a `max_x` divided by it, without the latter, and the key of a total.

    A maximum above 1 may have its key in another form, such as `maxX`, `x_max`, or `total` next to `passed`; one that
    names no criterion may belong to what was earned, or to the only other number. What was earned is the total if it
    has a maximum, or only verdicts next to it, and so is a percentage. Where no value is a number, `scores` and the
    like stand for all, and a dict for its own total. Raises UnknownScaleError.
    """
    values = {key: _share_of(key, one) for key, one in returned.items()}
    if all(number(one) is None or _is_verdict(key, one) for key, one in values.items()):
        for key, one in returned.items():
            if isinstance(key, str) and _plain(key) in INNER and (inner := _criteria(one)):
                return shares(inner)
        values |= {key: total for key, one in returned.items() if (total := _total_of(one)) is not None}
    names = {_plain(key): key for key in values if isinstance(key, str)}
    amounts = {key: amount for key in names.values() if (amount := _amount(values[key])) is not None}
    counted = (key for key in amounts if EARNED.fullmatch(_plain(key)) and not isinstance(values[key], bool))
    earned = sorted(counted, key=lambda key: SCORE not in _plain(key))
    own = ""
    for key in sorted(names.values(), key=lambda key: MOST.search(key) is None):
        is_most = MOST.search(key) is not None
        part = "" if own and not is_most else _part_of(key, names, amounts, earned)
        if not part:
            continue
        whole = amounts.get(key) if is_most or not 0 < amounts[part] < 1 else 1.0  # it is a share already
        del values[key]
        if part not in amounts:
            values[part] = None
        elif whole is not None and 0 < whole < math.inf:
            values[part] = amounts[part] / whole
        else:
            raise UnknownScaleError(part, amounts[part])
        own = part if part in earned or _plain(part) == SCORE else own
    if own:
        return values, own
    own = _total_alone(values, amounts, earned)
    _refuse_unknown_scale({key: values[key] for key in amounts if key in values and own in ("", key)}, earned)
    return values, own


def _refuse_unknown_scale(values: Mapping[str, object], earned: list[str]) -> None:
    """Raise UnknownScaleError if what was earned is above 1, or all numbers but 0 are."""
    points = {key: point for key, one in values.items() if not _is_verdict(key, one) and (point := _amount(one))}
    beyond = [key for key in earned if points.get(key, 0) > 1 + ROUNDING]
    if not beyond and points and all(point >= SMALLEST_SCALE for point in points.values()):
        beyond = [*points]
    if beyond:
        raise UnknownScaleError(beyond[0], points[beyond[0]])


def _part_of(key: str, names: Mapping[str, str], amounts: Mapping[str, float], earned: list[str]) -> str:
    """Return the key of which `key` is the maximum; empty if it is the maximum of nothing."""
    whole = amounts.get(key, 0.0)
    if MOST.search(key):
        of = _plain(MOST.sub("", key, count=1))
        others = [one for one in earned or islice(amounts, 3) if one != key] if of in OF_ALL else []
        part = names.get(of) or (others[0] if len(others) == 1 or (others and earned) else key)
        is_stated = key == f"max_{part}" or whole > 1 or (whole == 1 and part in earned)
        return part if part != key and is_stated else ""
    part = next((one for one in earned if one != key), "") if WHOLE.fullmatch(_plain(key)) else ""
    least = 1 if SCORE in _plain(part) else 2
    return part if part and whole >= max(least, amounts[part]) else ""


def _total_alone(values: dict[object, object], amounts: Mapping[str, float], earned: list[str]) -> str:
    """Return the key of a percentage, which becomes a share, or of what was earned if verdicts alone are next to it."""
    for key in [key for key in amounts if key in values]:
        if PERCENT.fullmatch(_plain(key)) and 1 < amounts[key] <= WHOLE_PERCENT:
            values[key] = amounts[key] / WHOLE_PERCENT
            return key
    others = [key for key in islice(amounts, len(VERDICTS) + 1) if not _is_verdict(key, values.get(key))]
    return others[0] if len(others) == 1 and others == earned and len(amounts) > 1 else ""


def _total_of(value: object) -> float | None:
    """Return the total of a dict, or a list of dicts, that states one or whose values are all shares."""
    if not (inner := _criteria(value)):
        return None
    try:
        values, own = shares(inner)
    except UnknownScaleError as error:
        if isinstance(error.key, str) and _plain(error.key) == SCORE:
            raise
        return None
    points = {key: point for key, one in values.items() if (point := number(one)) is not None}
    own = own or next((key for key in points if isinstance(key, str) and _plain(key) == SCORE), "")
    if own:
        return points.get(own)
    if len(points) < len(values) and not any(_is_verdict(key, one) for key, one in values.items()):
        return None
    return math.fsum(points.values()) / len(points) if all(0 <= one <= 1 for one in points.values()) else None


def _criteria(value: object) -> Mapping[object, object]:
    """Return a dict, or a list of dicts by their places; empty for anything else."""
    if isinstance(value, list | tuple) and all(isinstance(one, Mapping) for one in value):
        return dict(enumerate(value))
    return value if isinstance(value, Mapping) else {}


def _is_verdict(key: object, value: object) -> bool:
    return isinstance(value, bool) and isinstance(key, str) and _plain(key) in VERDICTS


def _share_of(key: object, value: object) -> object:
    """Return the number that a score such as "0.8", "80%" or "4/5" is; everything else as it is."""
    if not (isinstance(value, str) and isinstance(key, str) and _plain(key) == SCORE):
        return value
    if (found := SHARE.fullmatch(value)) is None:
        return value
    whole = float(found["whole"] or 1) * (WHOLE_PERCENT if "%" in value else 1)
    return float(found["value"]) / whole if whole else None


def _plain(key: str) -> str:
    return NOT_ALPHANUMERIC.sub("", key).casefold()


def _amount(value: object) -> float | None:
    """Return a number, also one that is written as a text."""
    try:
        return float(value) if isinstance(value, str) else number(value)
    except ValueError:
        return None


def number(value: object) -> float | None:
    """Return the float nearest to a number of any kind; None for what is no number."""
    imported = (getattr(sys.modules.get(module), name, float) for module, name in OTHER_NUMBERS)
    kinds: tuple[type, ...] = (int, float, *imported)
    if type(value).__module__ == "numpy" and not isinstance(value, kinds) and getattr(value, "shape", None) == ():
        value = value.item()  # type: ignore[attr-defined]  # numpy's bool is not a Real
    if not isinstance(value, kinds):
        return None
    real = cast("float", value)
    try:
        return float(real)
    except OverflowError:
        return math.inf if real > 0 else -math.inf
    except ValueError:  # a signalling NaN of Decimal
        return math.nan
