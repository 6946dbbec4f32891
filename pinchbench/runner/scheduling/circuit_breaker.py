"""Whether going on makes sense: a run whose trials fail alike is paused, tried with one trial, and given up (pure)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pinchbench.model.ending import Ending, Reason
from pinchbench.runner.scheduling.diagnosis import SANITY_TASKS, Cause, cause_of, diagnose

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey

FIRST = 3  # that fail alike at the very start: nothing has worked yet, so little is needed to doubt that it will
ROW = 5  # that fail alike in a row once something has worked: a few hard tasks next to each other are no outage
ROW_TRIALS = 3  # that such a row is made of: one trial that is retried several times may be broken by itself
AT_ONCE = frozenset({Reason.PROVIDER_ERROR, Reason.COMMAND_NOT_FOUND})  # these are alike for every trial there is
PAUSES = (
    1,
    4,
    16,
    64,
)  # in delays. With 10 s that is 14 minutes in all: longer than most outages that pass by themselves
PAUSES_AT_START = 2  # where nothing has worked yet, a wrong address is as likely as an outage
SHORT_PAUSE = 0.5  # in delays, where somebody has to do something: one more look, as a provider may err as well


class CircuitBreaker:
    """A circuit breaker over the ends of attempts. Times are monotonic seconds."""

    def __init__(self, *, enabled: bool, delay_s: float, jitter: Callable[[], float], works: bool = False) -> None:
        """Pauses are multiples of `delay_s` seconds, times what `jitter` gives (0.5 to 1.5).

        `works`: an attempt of this run has said something about the model before, in an earlier session.
        """
        self._enabled = enabled
        self._delay_s = delay_s
        self._jitter = jitter
        self.works = works  # whether an attempt of the run has said something about the model
        # closed: go on; paused: no attempt starts before `resume_at`, and then one alone, the probe; probing: it runs;
        # given up: the run would measure nothing
        self.state: Literal["closed", "paused", "probing", "given up"] = "closed"
        self.resume_at = -math.inf  # `math.inf` once the run was given up
        self.why = ""  # the diagnosis of the last failure that opened it or kept it open; empty while closed
        self._pauses = 0  # since it was closed
        self._ended = 0  # attempts that ended by themselves
        self._row: list[TrialKey] = []  # the last ones that ended as infrastructure for the same cause
        self._row_cause: Cause | None = None

    def try_now(self, now: float) -> None:
        """Let the probe start at once, if it is waiting to."""
        if self.state == "paused":
            self.resume_at = now

    def probing(self) -> None:
        """Note that the probe has started. Only called while paused."""
        self.state = "probing"

    def ended(self, outcome: Outcome, now: float, *, is_probe: bool) -> str:
        """Take the end of an attempt; return how that changed `state`, in words for the user. Empty if it did not."""
        if not self._enabled or self.state == "given up":
            return ""
        # an agent that tampers says nothing about the provider or the machine, nor does a lost node about the others
        is_evidence = (
            outcome.reason.ending not in (Ending.INTERRUPTED, Ending.UNTRUSTED)
            and outcome.reason is not Reason.NODE_LOST
            and outcome.asleep_s == 0
        )
        if self.state == "probing" and is_probe and not is_evidence:
            self.state, self.resume_at = "paused", now  # it has shown nothing: another one has to
        if not is_evidence:
            return ""
        if outcome.reason.is_valid:
            return self._counted(outcome)
        if self.state == "closed":
            return self._open(outcome, now) if self._is_too_much(outcome) else ""
        return self._open(outcome, now) if self.state == "probing" and is_probe else ""

    def _counted(self, outcome: Outcome) -> str:
        was_open = self.state != "closed"
        self.works = True
        self.state, self.resume_at, self.why = "closed", -math.inf, ""
        self._pauses = 0
        self._row = []
        return f"{outcome.key} ran to an end of its own: the run goes on." if was_open else ""

    def _is_too_much(self, outcome: Outcome) -> bool:
        cause = cause_of(outcome)
        self._ended += 1
        self._row = [*(self._row if cause == self._row_cause else ()), outcome.key]
        self._row_cause = cause
        if not self.works:
            is_for_all = outcome.key.task_id in SANITY_TASKS or (outcome.reason in AT_ONCE and not cause.is_transient)
            if is_for_all or len(self._row) == self._ended == FIRST:
                return True
        return len(self._row) >= ROW and len(set(self._row)) >= ROW_TRIALS

    def _open(self, outcome: Outcome, now: float) -> str:
        cause = cause_of(outcome)
        self.why = diagnose(outcome)
        pause_s = self._next_pause_s(cause)
        if pause_s is None:
            self.state, self.resume_at = "given up", math.inf
            tries = "one more try" if self._pauses == 1 else f"{self._pauses} more tries"
            return f"{self.why} The run was stopped after {tries} failed; `--no-fail-fast` continues anyway."
        how = "is paused" if self._pauses == 0 else "stays paused"
        self._pauses += 1
        self.state, self.resume_at = "paused", now + pause_s
        return f"{self.why} The run {how}; one trial will be tried in {math.ceil(pause_s)} s."

    def _next_pause_s(self, cause: Cause) -> float | None:
        if not cause.is_transient:
            return self._delay_s * SHORT_PAUSE if self._pauses == 0 else None
        if self._pauses == (len(PAUSES) if self.works else PAUSES_AT_START):
            return None
        return self._delay_s * PAUSES[self._pauses] * self._jitter()
