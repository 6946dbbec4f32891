"""Coordinates the blocks of a sequential experiment from the journals of its runs, written or being written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pinchbench.experiment.sequential import Design, Sequential
from pinchbench.model.ending import Ending
from pinchbench.results.compare.verdict import SequentialComparison, sentence
from pinchbench.results.overview import trial_score
from pinchbench.results.records import GradeGiven, Record, RunResumed, TrialFinished, TrialsSkipped, TrialStopped
from pinchbench.results.run_state import NEW_TRIAL, RunState, TrialState, is_final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.runner.scheduling.queue import Admission


class BlockCoordinator:
    """Tells the runs of an experiment which trials they make, from what they have recorded.

    A trial is settled, so that its block can be complete, as soon as its journal holds its grade or shows that there
    will be none: it failed and no retry was promised, its evidence can't be trusted, the user has skipped it, its task
    is gone, or its run has ended. A block without a score of each variant is excluded. So no block waits for ever.
    """

    def __init__(self, design: Design, states: Mapping[str, RunState]) -> None:
        """`states` are those of the runs that have begun, by variant; they are followed, and so changed."""
        self.baseline = design.variants[0]
        self._design = design
        self._states = dict(states)
        self._makes: dict[str, Collection[TrialKey]] = {}
        self._left: dict[str, bool] = {}  # the runs that have ended, and whether a budget has ended them
        # called with the comparisons whenever a trial is settled or a run has ended
        self.changed: Callable[[Sequence[SequentialComparison]], None] = lambda _: None
        self.sequential = self._folded()  # the state of the experiment

    @property
    def comparisons(self) -> tuple[SequentialComparison, ...]:
        """Each variant against the baseline, as it now stands."""
        return self.sequential.comparisons

    def of(self, variant: str) -> VariantCoordinator:
        """Return what the run of a variant asks and tells."""
        return VariantCoordinator(coordinator=self, variant=variant)

    def begins(self, variant: str, keys: Collection[TrialKey]) -> None:
        """Take note that the run of a variant begins, and can make these trials: no others are awaited."""
        self._makes[variant] = keys
        self._settle_not_made(self.sequential, variant)
        self.changed(self.comparisons)

    def follow(self, variant: str, record: Record) -> None:
        """Take a record from the journal of a variant's run."""
        state = self._states.setdefault(variant, RunState())
        state.apply(record)
        match record:
            case RunResumed(tasks=tasks) if tasks:
                self.sequential = self._folded()  # trials of changed tasks no longer count
            case TrialFinished(outcome=of) | GradeGiven(grade=of) | (TrialStopped() as of) if is_settled(state, of.key):
                self.sequential.settle(variant, of.key, score(state, of.key))
            case TrialsSkipped(keys=keys):
                for key in filter(partial(is_settled, state), keys):
                    self.sequential.settle(variant, key, score(state, key))
            case _:
                return
        self.changed(self.comparisons)

    def leave(self, variant: str, *, by_budget: bool = False) -> None:
        """Take note that the run of a variant has ended."""
        self._left[variant] = by_budget
        self.sequential.leave(variant, by_budget=by_budget)
        self.changed(self.comparisons)

    def _folded(self) -> Sequential:
        """Return the state that follows from the journals; what a resumed run retries or grades again is awaited."""
        sequential = Sequential(self._design)
        for variant, state in self._states.items():
            for key in state.trials:
                if is_settled(state, key, for_good=not state.is_decided):
                    sequential.settle(variant, key, score(state, key))
        for variant in self._makes:
            self._settle_not_made(sequential, variant)
        for variant, by_budget in self._left.items():
            sequential.leave(variant, by_budget=by_budget)
        return sequential

    def _settle_not_made(self, sequential: Sequential, variant: str) -> None:
        for key in self._design.keys:
            if key not in self._makes[variant]:
                sequential.settle(variant, key, None)


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantCoordinator:
    """The part of a `BlockCoordinator` that the run of one variant sees; see `runner.sharing.RunCoordinator`."""

    coordinator: BlockCoordinator
    variant: str

    def admits(self, key: TrialKey) -> Admission:
        """Return whether the run makes a trial."""
        return self.coordinator.sequential.admits(self.variant, key)

    @property
    def is_closed(self) -> bool:
        """Whether the run makes no further trial."""
        return not self.coordinator.sequential.is_compared(self.variant)

    @property
    def reason(self) -> str:
        """Why the run needs no further trial; empty while it does, or lacks its counterpart."""
        baseline, compared = self.coordinator.baseline, self.coordinator.comparisons
        if self.variant == baseline:
            is_final = all(one.verdict.is_final for one in compared)
            return "Every comparison with this run is decided." if is_final else ""
        [own] = [one for one in compared if one.variant == self.variant]
        return sentence(own, baseline=baseline) if own.verdict.is_final else ""

    def begins(self, keys: Collection[TrialKey]) -> None:
        """Take note that the run begins, and can make these trials."""
        self.coordinator.begins(self.variant, keys)

    def follow(self, record: Record) -> None:
        """Take a record of the run that is in its journal."""
        self.coordinator.follow(self.variant, record)


def is_settled(state: RunState, key: TrialKey, *, for_good: bool = False) -> bool:
    """Return whether a trial has its score, or will have none.

    With `for_good`, not even from a resumed run, which retries what has failed for infrastructure reasons, and grades
    again what a judge has failed to grade.
    """
    trial = state.trials.get(key, NEW_TRIAL)
    outcome = _weighed(trial)
    is_by_hand = key in state.control.skipped or trial.requeued_from is not None
    if outcome is None or outcome.reason.ending is Ending.INTERRUPTED:
        return is_by_hand
    if trial.retries and not is_by_hand:
        return False
    if not outcome.reason.is_valid:
        return outcome.reason.is_final or is_by_hand or not for_good
    grade = state.attempt_grades.get((key, outcome.attempt))
    return grade is not None and (is_final(grade) or not for_good)


def score(state: RunState, key: TrialKey) -> float | None:
    """Return the score of a trial, in 0-1; None if it has none."""
    outcome = _weighed(state.trials.get(key, NEW_TRIAL))
    return None if outcome is None else trial_score(outcome, state.attempt_grades.get((key, outcome.attempt)))


def _weighed(trial: TrialState) -> Outcome | None:
    """Return the attempt that counts here: a retry by hand, made with a score in view, would spoil the error rate."""
    return trial.counting_before if trial.outcomes else None
