"""What a gate demands of a run, and what it can come to (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

WORSE = "worse"


class GateVerdict(StrEnum):
    """What a gate comes to."""

    PASSED = "passed"
    FAILED = "failed"
    CANNOT_TELL = "cannot_tell"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """When a run fails: with a score below `least_score` (0-1), or if it is worse than the baseline.

    `margin`, in 0-1, is the loss that does not matter. At least one of `least_score` and `has_baseline` is given.
    """

    least_score: float | None
    has_baseline: bool
    margin: float


def parse_rules(
    *, fail_under: float | None, fail_if: Sequence[str], baseline: str | None, margin: float
) -> Rules | None:
    """Read the options of a gate; None without any. With a baseline, `worse` need not be given.

    Raises ConfigError, naming the option.
    """
    scores = [] if fail_under is None else [_share("--fail-under", fail_under)]
    for said in fail_if:
        if said.strip() == WORSE:
            if baseline is None:
                raise ConfigError("--fail-if worse needs --baseline: a run, or a file that `baseline save` wrote.")
        elif match := re.fullmatch(r"\s*score\s*<\s*([0-9]*\.?[0-9]+)\s*", said):
            scores.append(_share(f"--fail-if {said}", float(match[1])))
        else:
            raise ConfigError(f"--fail-if takes `worse` or `score<0.8`, not {said!r}.")
    _share("--margin", margin)
    if baseline is None and not scores:
        return None
    return Rules(least_score=max(scores, default=None), has_baseline=baseline is not None, margin=margin)


def _share(option: str, value: float) -> float:
    if not 0.0 <= value <= 1.0:  # also rejects NaN
        raise ConfigError(f"{option}: {value:g} is out of range; it goes from 0 to 1.")
    return value
