"""What users have said of a run: grades by hand and notes, as its result states them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.report.sentences import entry_sentences
from pinchbench.results.control_state import ControlState, control_entry
from pinchbench.results.statistics import estimate

if TYPE_CHECKING:
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.records import GradeOverridden
    from pinchbench.serve.live_run import LiveRun


def run_remarks(run: LiveRun) -> tuple[str, ...]:
    """Return the grades by hand, with the score that they come to, and the notes: as the result states them."""
    control = run.state.control
    if not control.overridden and not control.notes:
        return ()
    by_hand = {one.key: one.score for one in control.overridden.values() if _counts(run, one.key, one.attempt)}
    scores: dict[str, list[float]] = {}
    for key in run.keys if by_hand and run.facts.has_mean else ():
        score = by_hand.get(key, run.score(key))
        if score is not None:
            scores.setdefault(key.task_id, []).append(score)
    entry = control_entry(
        ControlState(notes=control.notes),
        overridden=[_overridden(run, key) for key in run.keys if key in by_hand],
        with_overrides=estimate(list(scores.values())) if scores else None,
    )
    return () if entry is None else tuple(entry_sentences(entry, run.score_so_far))


def trial_remarks(run: LiveRun, key: TrialKey) -> tuple[str, ...]:
    """Return the grade by hand of a trial's attempt that counts, and the notes on the trial."""
    control = run.state.control
    has_grade = any(one.key == key and _counts(run, key, one.attempt) for one in control.overridden.values())
    entry = control_entry(
        ControlState(notes=[one for one in control.notes if one.key == key]),
        overridden=[_overridden(run, key)] if has_grade else [],
    )
    return () if entry is None else tuple(entry_sentences(entry, None))


def _counts(run: LiveRun, key: TrialKey, attempt: int) -> bool:
    trial = run.attempts.get(key)
    return trial is not None and trial.counting.attempt == attempt


def _overridden(run: LiveRun, key: TrialKey) -> tuple[GradeOverridden, float | None]:
    return run.state.control.overridden[key, run.attempts[key].counting.attempt], run.score(key)
