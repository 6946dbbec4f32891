"""The state of a run: which attempts and grades count, what is left, and when runners worked."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.model.ending import Reason, Stop
from pinchbench.model.grade import Grade, JudgeGrade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.manifest import TaskFacts
from pinchbench.results.records import (
    GradeGiven,
    Record,
    RegradeStarted,
    RunFinished,
    RunResumed,
    RunStarted,
    TrialFinished,
    TrialStarted,
)
from pinchbench.results.run_state import RunState, TrialState, is_final

STARTED = RunStarted(run_id="r", model="mock/m1", at=1.5, trials=4)
PLAN = [TrialKey(task_id=task_id, repetition=number) for task_id in ("task_a", "task_b") for number in (1, 2)]
FIRST = PLAN[0]
KEY = st.sampled_from(PLAN)
DIGEST = st.sampled_from(["old", "new"])
ATTEMPT = st.integers(1, 3)
USAGE = st.builds(Usage, requests=st.integers(0, 5), total_tokens=st.integers(0, 99), cost_usd=st.floats(0, 9))


def resumed(changed: Sequence[str] = (), digest: str = "new", gone: Sequence[str] = (), *, at: float = 0) -> RunResumed:
    facts = TaskFacts(digest=digest, category="c", grading_type=GradingType.AUTOMATED, timeout_s=1.0)
    return RunResumed(at=at, trials=1, config={}, versions={}, tasks=dict.fromkeys(changed, facts), gone=tuple(gone))


TASK_IDS = st.lists(st.sampled_from(["task_a", "task_b"]), unique=True)
OUTCOME = st.builds(
    Outcome, key=KEY, reason=st.sampled_from(Reason), digest=DIGEST, attempt=ATTEMPT, usage=USAGE, note=st.text()
)
GRADE = st.builds(
    Grade,
    key=KEY,
    grading_type=st.just(GradingType.LLM_JUDGE),
    attempt=ATTEMPT,
    score=st.none() | st.floats(0, 1),
    ungraded=st.none() | st.sampled_from(Ungraded),
    judge=st.none() | st.builds(JudgeGrade, usage=USAGE, cost_usd=st.none() | st.floats(0, 9)),
    digest=DIGEST,
)
RECORD: st.SearchStrategy[Record] = st.one_of(
    st.builds(TrialFinished, outcome=OUTCOME, retried=st.booleans()),
    st.builds(GradeGiven, grade=GRADE),
    st.builds(TrialStarted, key=KEY, slot=st.just(1), attempt=ATTEMPT, at=st.floats(0, 9)),
    st.builds(resumed, TASK_IDS, DIGEST, TASK_IDS.filter(lambda ids: len(ids) < 2)),
    st.builds(RunFinished, at=st.floats(0, 9)),
)


@given(st.lists(RECORD, max_size=20))
def test_what_is_left_follows_from_the_attempts_and_grades_that_count(records: list[Record]) -> None:
    state = RunState.of([STARTED, *records])
    left = state.left(PLAN)

    gone = {task_id for one in records if isinstance(one, RunResumed) for task_id in one.gone}
    assert state.gone == gone
    assert {key for key in left.keys if key.task_id in gone} == set()
    for key in (key for key in PLAN if key.task_id not in gone):
        trial = state.trials.get(key, TrialState())
        has_final = any(one.reason.is_final for one in trial.outcomes)
        assert (key in left.keys) is (not has_final or key in state.retried)
        assert [one for one in left.ungraded if one.key == key] == [
            one
            for one in trial.outcomes
            if one.reason.is_valid and not is_final(state.attempt_grades.get((key, one.attempt)))
        ]
        numbers = [one.attempt + 1 for one in state.attempts if one.key == key and one.reason.is_attempt]
        assert state.next_attempt(key) == max(numbers, default=1)
    waiting = {*left.keys} | {one.key for one in left.ungraded}
    assert state.unfinished(PLAN) <= len(waiting)
    assert {one.key for one in state.outcomes} >= set(state.grades) & {
        key for key, one in state.trials.items() if one.outcomes
    }


@given(st.lists(RECORD, max_size=20))
def test_done_trials_are_tallied_once_by_the_grade_that_counts(records: list[Record]) -> None:
    state = RunState.of([STARTED, *records])
    done = [key for key in PLAN if state.is_done(key)]

    tally = state.tally(done, threshold=0.5)

    counting = [one for one in (state.trials[key].counting for key in done) if one.reason.is_valid]
    given = [state.attempt_grades.get((one.key, one.attempt)) for one in counting]
    final = [one for one in given if one is not None and is_final(one)]
    scores = [one.score for one in final if one.score is not None]
    assert sorted(score for own in tally.scores.values() for score in own) == sorted(scores)
    assert (tally.passed, tally.ungraded) == (sum(one >= 0.5 for one in scores), len(final) - len(scores))
    assert tally.passed + tally.failed == len(scores)


COMPLETED = Outcome(key=FIRST, reason=Reason.COMPLETED, digest="old")


@pytest.mark.parametrize(
    ("reasons", "number"),
    [
        ([Reason.INTERRUPTED], 1),
        ([Reason.PROVIDER_ERROR, Reason.INTERRUPTED], 2),
        ([Reason.PREREQUISITE_MISSING], 1),
        ([Reason.PROVIDER_ERROR, Reason.PREREQUISITE_MISSING], 2),
        ([Reason.COMPLETED, Reason.TIMED_OUT], 3),
    ],
)
def test_only_an_interrupted_attempt_is_made_again_under_its_number(reasons: list[Reason], number: int) -> None:
    attempt = 1
    records: list[Record] = [STARTED]
    for reason in reasons:
        records.append(TrialFinished(outcome=Outcome(key=FIRST, reason=reason, digest="old", attempt=attempt)))
        attempt += reason.is_attempt
    # one with an earlier state of the task has used its number up
    records.append(resumed(["task_a"]))
    assert RunState.of(records).next_attempt(FIRST) == number


def test_a_run_whose_experiment_is_decided_needs_only_what_it_has_made() -> None:
    decided = RunFinished(at=9.0, stop=Stop.DECIDED)
    for reason, needed in ((Reason.NO_TRANSCRIPT, (FIRST,)), (Reason.INTERRUPTED, ())):
        state = RunState.of([STARTED, *ended(reason), decided])
        assert state.needed(PLAN) == needed
        assert state.left(state.needed(PLAN)).keys == ()
        assert state.unfinished(PLAN) == 0


def ended(*reasons: Reason, digest: str = "old", number: int = 1) -> list[Record]:
    """The records of attempts that ended so; an interrupted one is made again under its number."""
    records: list[Record] = []
    for reason in reasons:
        records.append(TrialStarted(key=FIRST, slot=1, attempt=number, at=0.0))
        records.append(TrialFinished(outcome=Outcome(key=FIRST, reason=reason, digest=digest, attempt=number)))
        number += reason is not Reason.INTERRUPTED
    return records


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
    found = RunState.of(records).trials[FIRST]
    assert len(found.outcomes) == len(reasons)
    assert found.counting is found.outcomes[counting]


def test_what_was_run_with_an_earlier_state_of_the_task_counts_no_more() -> None:
    records = [*ended(Reason.COMPLETED), resumed(["task_a"])]
    assert RunState.of(records).outcomes == ()
    records += ended(Reason.TIMED_OUT, digest="new", number=2)
    assert RunState.of(records).trials[FIRST].counting.reason is Reason.TIMED_OUT


def test_a_retry_that_was_promised_and_not_made_is_still_to_come() -> None:
    def ends(reason: Reason, number: int, *, retried: bool = False) -> Record:
        outcome = Outcome(key=FIRST, reason=reason, digest="old", attempt=number)
        return TrialFinished(outcome=outcome, retried=retried)

    records = [ends(Reason.TIMED_OUT, 1, retried=True)]
    assert RunState.of(records).retried == {FIRST: 1}
    assert FIRST in RunState.of(records).left(PLAN).keys  # though a timeout is final
    records.append(ends(Reason.INTERRUPTED, 2))
    assert RunState.of(records).retried == {FIRST: 1}
    records.append(ends(Reason.PROVIDER_ERROR, 2, retried=True))
    assert RunState.of(records).retried == {FIRST: 2}
    assert RunState.of([*records, ends(Reason.PROVIDER_ERROR, 3)]).retried == {}
    assert RunState.of([*records, ends(Reason.COMPLETED, 3)]).retried == {}
    assert RunState.of([*records, resumed(["task_a"])]).retried == {}
    assert RunState.of([*records, resumed(["task_b"])]).retried == {FIRST: 2}


BEGUN = RunStarted(run_id="r", model="m", at=120.0, trials=1)
ENDED = TrialFinished(outcome=Outcome(key=FIRST, reason=Reason.COMPLETED, digest="d", started_at=121, ended_at=130))


def _graded(at: float) -> GradeGiven:
    return GradeGiven(grade=Grade(key=FIRST, grading_type=GradingType.AUTOMATED, score=1.0, graded_at=at))


def test_a_run_has_a_session_for_its_start_and_for_each_time_that_it_was_resumed() -> None:
    records: list[Record] = [
        BEGUN,
        ENDED,
        RunFinished(at=140.0, interrupted="SIGINT"),
        resumed(at=900.0),
        _graded(905.0),
    ]

    assert RunState.of(records, created_at=100.0).sessions == [(100.0, 140.0), (900.0, 905.0)]


def test_a_decided_run_that_goes_on_needs_its_whole_plan() -> None:
    state = RunState.of([STARTED, RunFinished(at=9.0, stop=Stop.DECIDED), resumed(at=10.0)])
    assert state.left(state.needed(PLAN)).keys == tuple(PLAN)
    assert state.unfinished(PLAN) == len(PLAN)


def test_a_runner_that_died_worked_until_the_last_thing_that_is_known_of_it() -> None:
    assert RunState.of([BEGUN, ENDED, resumed(at=900.0)], created_at=100.0).sessions == [(100.0, 130.0), (900.0, 900.0)]
    assert RunState.of([], created_at=100.0).sessions == []


def test_grading_again_later_is_no_session() -> None:
    later: list[Record] = [RunFinished(at=140.0), _graded(150.0), RegradeStarted(at=5000.0, trials=1), _graded(5010.0)]

    assert RunState.of([BEGUN, ENDED, *later], created_at=100.0).sessions == [(100.0, 140.0)]


def test_what_a_run_reuses_is_not_paid_by_it_but_grading_it_anew_is() -> None:
    own = Outcome(key=PLAN[1], reason=Reason.COMPLETED, digest="d")
    reused = replace(own, key=FIRST, reused_from="another")
    before = Grade(key=FIRST, grading_type=GradingType.LLM_JUDGE, score=0.5, graded_at=1.0)
    anew = replace(before, graded_at=2.0)
    records: list[Record] = [
        STARTED,
        TrialFinished(outcome=reused),
        GradeGiven(grade=before),
        TrialFinished(outcome=own),
    ]
    state = RunState.of([*records, GradeGiven(grade=anew)])
    assert (state.paid_attempts, state.paid_grades) == ((own,), (anew,))
