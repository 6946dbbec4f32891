"""What a user has asked of a run, folded from its journal."""

from hypothesis import given
from hypothesis import strategies as st

from past_runs import facts_of, outcome_of
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.results.aggregate import aggregate
from pinchbench.results.records import (
    BudgetSet,
    ConcurrencySet,
    Control,
    GradeOverridden,
    NoteAdded,
    Record,
    RunContinued,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    TrialFinished,
    TrialRequeued,
    TrialsSkipped,
    TrialStopped,
    decode,
    encode,
)
from pinchbench.results.result_json import Aggregate
from pinchbench.results.run_state import RunState

PLAN = tuple(TrialKey(task_id=task_id, repetition=number) for task_id in ("a", "b") for number in (1, 2))
A = PLAN[0]
AGAIN = TrialRequeued(at=1.0, key=A, why="x")
AT = st.floats(0, 9)
KEY = st.sampled_from(PLAN)
STARTED = RunStarted(run_id="r", model="mock/m1", at=0.0, trials=len(PLAN))
CONTROL: st.SearchStrategy[Control] = st.one_of(
    st.builds(RunPaused, at=AT),
    st.builds(RunContinued, at=AT),
    st.builds(ConcurrencySet, at=AT, concurrency=st.integers(1, 64)),
    st.builds(BudgetSet, at=AT, max_cost=st.floats(0.01, 99)),
    st.builds(BudgetSet, at=AT, max_tokens=st.integers(1, 99)),
    st.builds(TrialStopped, at=AT, key=KEY),
    st.builds(TrialsSkipped, at=AT, keys=st.lists(KEY, unique=True).map(tuple)),
    st.builds(TrialRequeued, at=AT, key=KEY, why=st.text()),
    st.builds(NoteAdded, at=AT, text=st.text(), key=st.none() | KEY, tags=st.lists(st.text()).map(tuple)),
    st.builds(GradeOverridden, at=AT, key=KEY, attempt=st.integers(1, 3), score=st.floats(0, 1), why=st.text()),
)
RECORD: st.SearchStrategy[Record] = CONTROL | st.one_of(
    st.builds(
        TrialFinished,
        outcome=st.builds(
            Outcome, key=KEY, reason=st.sampled_from(Reason), digest=st.just("d"), attempt=st.integers(1, 3)
        ),
        retried=st.booleans(),
    ),
    st.builds(RunResumed, at=AT, trials=st.just(1), config=st.just({}), versions=st.just({})),
    st.builds(RunFinished, at=AT),
)


def ended(key: TrialKey, attempt: int, reason: Reason = Reason.COMPLETED) -> TrialFinished:
    return TrialFinished(outcome=outcome_of(key, reason, attempt=attempt))


def result_of(state: RunState) -> Aggregate:
    return aggregate(facts_of(PLAN), state)


@given(st.lists(RECORD, max_size=12))
def test_a_journal_with_all_kinds_of_commands_comes_to_the_same_result_twice(records: list[Record]) -> None:
    once = RunState.of([STARTED, *records])
    again = RunState.of(decode(encode(record)) for record in [STARTED, *records])

    assert again == once
    assert result_of(again) == result_of(once)


@given(st.lists(RECORD, max_size=25))
def test_each_planned_trial_has_a_score_or_is_excluded_for_one_reason(records: list[Record]) -> None:
    state = RunState.of([STARTED, *records])
    data = result_of(state)

    assert data.left_out.total == len(PLAN)  # nothing is graded here
    assert data.left_out.skipped == len(state.skipped)
    assert state.skipped <= set(state.control.skipped)
    assert state.skipped.isdisjoint(outcome.key for outcome in state.outcomes)
    left = state.left(PLAN)
    assert set(left.keys).isdisjoint(state.control.skipped)
    assert state.unfinished(PLAN) >= len(left.keys)


@given(st.lists(CONTROL, max_size=25), RECORD)
def test_the_last_command_of_a_kind_holds(commands: list[Control], last: Record) -> None:
    state = RunState.of([STARTED, *commands, last])

    if isinstance(last, RunPaused | RunContinued):
        assert state.control.is_paused is isinstance(last, RunPaused)
    if isinstance(last, RunResumed):
        assert state.control.settings == {}
    if isinstance(last, TrialRequeued):
        assert not state.is_done(last.key)
        assert last.key not in state.control.skipped


def test_a_trial_that_was_requeued_counts_by_its_new_attempt_and_without_it_by_the_one_before() -> None:
    state = RunState.of([STARTED, ended(A, 1), AGAIN, ended(A, 2)])
    trial = state.trials[A]

    assert state.is_done(A)
    assert trial.counting.attempt == 2
    assert trial.counting_before is not None
    assert trial.counting_before.attempt == 1


def test_a_requeued_attempt_that_fails_for_infrastructure_reasons_takes_no_score_away() -> None:
    state = RunState.of([STARTED, ended(A, 1), AGAIN, ended(A, 2, Reason.PROVIDER_ERROR)])

    assert state.is_done(A)
    assert state.trials[A].counting.attempt == 1


def test_a_trial_whose_only_attempt_was_stopped_is_skipped_whether_or_not_its_outcome_was_written() -> None:
    stop = TrialStopped(at=1.0, key=A)
    told = RunState.of([STARTED, stop, ended(A, 1, Reason.INTERRUPTED)])
    killed = RunState.of([STARTED, stop])

    assert told.skipped == killed.skipped == {A}
    assert told.outcomes == killed.outcomes == ()
    assert result_of(told).left_out == result_of(killed).left_out
    assert told.next_attempt(A) == killed.next_attempt(A) == 1
