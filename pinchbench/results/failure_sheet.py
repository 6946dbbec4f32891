"""How often something went wrong in trials: the events that checks count, added up with intervals (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from pinchbench.defaults import FailureEvent
from pinchbench.results.statistics import Z, student_t

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Counted = Mapping[FailureEvent, tuple[int, int]]  # of one trial


@dataclass(frozen=True, kw_only=True, slots=True)
class EventTotal:
    """How often one kind of event happened, `n` of `of` times in `trials` that had an occasion for it.

    `low` and `high` bound the true share, in 0-1, with 95%.
    """

    n: int
    of: int
    trials: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """`n` of `of`, in 0-1."""
        return self.n / self.of


def failure_sheet(trials: Iterable[Counted]) -> dict[FailureEvent, EventTotal]:
    """Add up the events of trials; an event for which none of them had an occasion is left out."""
    every = list(trials)
    counts = {event: [one[event] for one in every if event in one and one[event][1]] for event in FailureEvent}
    return {event: _total(some) for event, some in counts.items() if some}


def _total(counts: Sequence[tuple[int, int]]) -> EventTotal:
    """Add up one event, with Wilson's interval for as many independent occasions as would have the same error.

    Occasions in one trial are alike: an agent that lies once lies again. So the error is that of a ratio over trials,
    and where all trials agree, which shows no error, only trials are counted as independent.
    """
    n, of, trials = sum(one for one, _ in counts), sum(out_of for _, out_of in counts), len(counts)
    share = n / of
    independent, z = float(trials), Z
    if trials > 1 and 0 < n < of:
        squares = sum((one - share * out_of) ** 2 for one, out_of in counts)
        variance = squares * trials / (trials - 1) / of**2
        if variance:
            independent, z = min(float(of), share * (1 - share) / variance), student_t(trials - 1)
    scale = 1 + z**2 / independent
    middle = (share + z**2 / (2 * independent)) / scale
    half = z * sqrt(share * (1 - share) / independent + z**2 / (4 * independent**2)) / scale
    return EventTotal(
        n=n,
        of=of,
        trials=trials,
        low=min(share, max(0.0, middle - half)),
        high=max(share, min(1.0, middle + half)),
    )
