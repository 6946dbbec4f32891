"""Decide which tasks of a baseline are stable enough to be compared with (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from pinchbench.defaults import DEFAULT_MAX_SPREAD, DEFAULT_MIN_TRIALS
from pinchbench.results.statistics import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Stability(msgspec.Struct, frozen=True, kw_only=True):
    """What a baseline demands of a task: a number of scored trials, and how far their scores may lie apart, in 0-1."""

    min_trials: Annotated[int, Meta(ge=1)] = DEFAULT_MIN_TRIALS
    max_spread: Annotated[float, Meta(ge=0, le=1)] = DEFAULT_MAX_SPREAD

    def quarantine(self, scores: Sequence[float]) -> Quarantine | None:
        """Return why a task with these scores is not compared with; None if it is stable."""
        low, high = (min(scores), max(scores)) if scores else (None, None)
        if len(scores) < self.min_trials:
            reason = f"too few repetitions: {len(scores)} with a score instead of {self.min_trials}"
        elif high is not None and low is not None and high - low > self.max_spread + ROUNDING:
            reason = f"varies: {low:.2f} to {high:.2f} in {len(scores)} trials"
        else:
            return None
        return Quarantine(reason=reason, trials=len(scores), lowest=low, highest=high)


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence that a task is not stable: how many trials have a score, and the lowest and highest of them."""

    reason: str
    trials: int
    lowest: float | None
    highest: float | None
