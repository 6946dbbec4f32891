"""Which attempt at a trial counts."""

from __future__ import annotations

import pytest

from pinchbench.model import GradingType, Outcome, Reason, TrialKey
from pinchbench.results.attempts import promised_retries, trial_attempts
from pinchbench.results.facts import TaskFacts
from pinchbench.results.records import Record, RunResumed, TrialFinished, TrialStarted

KEY = TrialKey(task_id="task_a", repetition=1)


def ended(*reasons: Reason, digest: str = "old", number: int = 1) -> list[Record]:
    """The records of attempts that ended so; an interrupted one is made again under its number."""
    records: list[Record] = []
    for reason in reasons:
        records.append(TrialStarted(key=KEY, slot=1, attempt=number, at=0.0))
        records.append(TrialFinished(outcome=Outcome(key=KEY, reason=reason, digest=digest, attempt=number)))
        number += reason is not Reason.INTERRUPTED
    return records


def resumed(**digests: str) -> RunResumed:
    tasks = {
        task_id: TaskFacts(digest=digest, category="c", grading_type=GradingType.AUTOMATED, timeout_s=1.0)
        for task_id, digest in digests.items()
    }
    return RunResumed(at=0.0, trials=1, config={}, versions={}, tasks=tasks)


@pytest.mark.parametrize(
    ("reasons", "counting"),
    [
        ([Reason.COMPLETED], 0),
        ([Reason.PROVIDER_ERROR, Reason.COMPLETED], 1),
        ([Reason.PROVIDER_ERROR, Reason.NO_MODEL_CALL], 1),
        ([Reason.INTERRUPTED, Reason.COMPLETED], 1),
        ([Reason.PROVIDER_ERROR, Reason.INTERRUPTED], 0),
        ([Reason.INTERRUPTED, Reason.INTERRUPTED], 1),
        ([Reason.TIMED_OUT, Reason.COMPLETED], 1),
        ([Reason.TIMED_OUT, Reason.PROVIDER_ERROR], 0),
        ([Reason.TIMED_OUT, Reason.PROVIDER_ERROR, Reason.INTERRUPTED], 0),
    ],
)
def test_the_last_attempt_that_says_something_about_the_model_counts(reasons: list[Reason], counting: int) -> None:
    records = ended(*reasons)
    found = trial_attempts(records)[KEY]
    assert len(found.outcomes) == len(reasons)
    assert found.counting is found.outcomes[counting]


def test_the_first_attempt_is_the_first_one_that_ended_by_itself() -> None:
    found = trial_attempts(ended(Reason.INTERRUPTED, Reason.PROVIDER_ERROR, Reason.COMPLETED))[KEY]
    assert found.first.reason is Reason.PROVIDER_ERROR
    assert trial_attempts(ended(Reason.INTERRUPTED))[KEY].first.reason is Reason.INTERRUPTED


def test_what_was_run_with_an_earlier_state_of_the_task_counts_no_more() -> None:
    records = [*ended(Reason.COMPLETED), resumed(task_a="new")]
    assert trial_attempts(records) == {}
    records += ended(Reason.TIMED_OUT, digest="new", number=2)
    assert trial_attempts(records)[KEY].counting.reason is Reason.TIMED_OUT


def test_a_change_of_another_task_changes_nothing() -> None:
    records = [*ended(Reason.COMPLETED), resumed(task_b="new")]
    assert trial_attempts(records)[KEY].counting.reason is Reason.COMPLETED


def test_a_retry_that_was_promised_and_not_made_is_still_to_come() -> None:
    def ends(reason: Reason, number: int, *, retried: bool = False) -> Record:
        outcome = Outcome(key=KEY, reason=reason, digest="old", attempt=number)
        return TrialFinished(outcome=outcome, retried=retried)

    records = [ends(Reason.TIMED_OUT, 1, retried=True)]
    assert promised_retries(records) == {KEY: 1}
    records.append(ends(Reason.INTERRUPTED, 2))
    assert promised_retries(records) == {KEY: 1}
    records.append(ends(Reason.PROVIDER_ERROR, 2, retried=True))
    assert promised_retries(records) == {KEY: 2}
    assert promised_retries([*records, ends(Reason.PROVIDER_ERROR, 3)]) == {}
    assert promised_retries([*records, ends(Reason.COMPLETED, 3)]) == {}
    assert promised_retries([*records, resumed(task_a="new")]) == {}
    assert promised_retries([*records, resumed(task_b="new")]) == {KEY: 2}
