"""A run at a glance: rows, what is hidden, and which failures come first."""

import pytest

from past_runs import aggregate_of, facts_of, grade_of, outcome_of
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.overview import Kind, Overview, failures, overview


def _trial(
    task_id: str, repetition: int = 1, *, reason: Reason = Reason.COMPLETED, score: float | None = 1.0, note: str = ""
) -> tuple[Outcome, Grade]:
    key = TrialKey(task_id=task_id, repetition=repetition)
    usage = Usage(requests=1, total_tokens=10, cost_usd=0.5)
    ungraded = Ungraded.CHECK_DIED if score is None else None
    outcome = outcome_of(key, reason, execution_time_s=2.0, usage=usage, note=note)
    return outcome, grade_of(key, score, ungraded)


def _glance(trials: list[tuple[Outcome, Grade]]) -> Overview:
    """All tasks are of one category."""
    outcomes, grades = zip(*trials, strict=True)
    plan = [outcome.key for outcome in outcomes]
    facts = facts_of(plan, categories={key.task_id: "x" for key in plan})
    return overview(aggregate_of(outcomes, facts, grades))


def _failures(trials: list[tuple[Outcome, Grade]]) -> list[tuple[str, Kind]]:
    found = failures([one for one, _ in trials], {grade.key: grade for _, grade in trials}, threshold=0.8)
    return [(str(one.outcome.key), one.kind) for one in found]


def test_a_row_adds_up_its_trials_and_a_category_weighs_its_tasks_alike() -> None:
    trials = [_trial("a", 1), _trial("a", 2), _trial("a", 3, score=0.4), _trial("b", score=0.0)]
    glance = _glance(trials)

    (category,) = glance.categories
    first, second = category.tasks
    assert first.score == pytest.approx(0.8)
    assert (first.passed, first.scored, first.time_s) == (2, 3, 6.0)
    assert first.usage == Usage(requests=3, total_tokens=30, cost_usd=1.5)
    assert second.score == 0.0
    assert category.row.score == pytest.approx(0.4)
    assert (glance.whole.trials, glance.whole.passed, glance.whole.scored) == (4, 2, 4)


def test_what_has_no_score_is_left_out_and_never_a_zero() -> None:
    trials = [_trial("a", 1), _trial("a", 2, score=None), _trial("a", 3, reason=Reason.PROVIDER_ERROR, score=0.0)]

    row = _glance(trials).whole
    assert (row.score, row.scored, row.ungraded, row.left_out) == (1.0, 1, 1, 2)
    assert _failures(trials) == [("a@2", Kind.UNGRADED), ("a@3", Kind.SILENT)]


def test_failures_come_by_kind_and_the_lowest_scores_first() -> None:
    trials = [
        _trial("a", note="late to leave"),
        _trial("b", score=0.5),
        _trial("c", score=0.2),
        _trial("d", reason=Reason.TIMED_OUT, score=0.9),
        _trial("e"),
    ]

    kinds = [("d", Kind.ENDED_BADLY), ("c", Kind.NOT_PASSED), ("b", Kind.NOT_PASSED), ("a", Kind.NOTED)]
    assert _failures(trials) == kinds
