"""Which trials have no score because of what their agent did, or may have done (pure).

An agent runs with the rights of its user: without a sandbox it can kill its guardian or itself, and damage
its session store. A trial that fails this way has no score, so an agent could exclude from the mean the tasks that it
can't solve.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from pinchbench.model.ending import Ending, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.run_state import TrialState

FEWEST_ATTEMPTS = 2  # one failure may be chance
NEARBY_S = 600.0  # at a concurrency of 1 no trials overlap: the trials before and after then show the machine's state
LOCAL = frozenset(
    {
        Reason.KILLED_BY_SIGNAL,
        Reason.AGENT_NOT_STARTED,
        Reason.NO_TRANSCRIPT,
        Reason.NO_MODEL_CALL,
        Reason.MODEL_FALLBACK,
        Reason.EVIDENCE_LOST,
        Reason.GUARDIAN_LOST,
        Reason.GATEWAY_LOST,
        Reason.RUNNER_BUG,
    }
)
"""Failures of one trial's processes and files; other trials may have lost an attempt with it."""
SHARED = frozenset(reason for reason in Reason if reason.ending is Ending.INFRASTRUCTURE) - LOCAL - {Reason.DIVERGED}
"""Failures that a provider or the machine causes for many trials, and an agent only for itself: a damaged session
store looks like an error of the provider. A replay that diverges is caused by neither."""


def possibly_caused_by_agent(attempts: Mapping[TrialKey, TrialState]) -> frozenset[TrialKey]:
    """Return the trials without a score because of what the agent did, or may have done.

    A trial is one of them if the attempt that counts is `untrusted`. So is a trial that was attempted at least twice,
    if each attempt that ended by itself failed for a reason in `LOCAL` or `SHARED` while another trial's attempt
    worked, or within ten minutes of it. The reasons may differ: an agent need not do the same thing twice. A `SHARED`
    failure counts only if no other trial failed for that reason at that time.
    """
    untrusted = frozenset(
        key for key, trial in attempts.items() if trial.outcomes and trial.counting.reason.ending is Ending.UNTRUSTED
    )
    suspects = {
        key: trial.ended
        for key, trial in attempts.items()
        if len(trial.ended) >= FEWEST_ATTEMPTS
        and all(one.reason in LOCAL or one.reason in SHARED for one in trial.ended)
    }
    if not suspects:
        return untrusted
    everything = [one for trial in attempts.values() for one in trial.ended]
    valid = _overlapping(one for one in everything if one.reason.is_valid)
    shared = {reason: _overlapping(one for one in everything if one.reason is reason) for reason in SHARED}

    def is_alone(ended: tuple[Outcome, ...]) -> bool:
        """Whether other trials worked when these attempts failed. A suspect has no valid attempt of its own."""
        for one in ended:
            start, end = one.started_at - NEARBY_S, one.ended_at + NEARBY_S
            if not valid(start, end):
                return False
            if one.reason in SHARED:
                own = _overlapping(each for each in ended if each.reason is one.reason)
                if shared[one.reason](start, end) > own(start, end):
                    return False
        return True

    return untrusted | {key for key, ended in suspects.items() if is_alone(ended)}


def _overlapping(outcomes: Iterable[Outcome]) -> Callable[[float, float], int]:
    """Return a function that says how many of these attempts overlap a time span, given by its start and end."""
    times = [(one.started_at, max(one.started_at, one.ended_at)) for one in outcomes]
    starts, ends = sorted(start for start, _ in times), sorted(end for _, end in times)
    return lambda start, end: bisect_right(starts, end) - bisect_left(ends, start)
