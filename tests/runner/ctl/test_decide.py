"""Which record a command comes to, and what a refused one says."""

import math
from dataclasses import replace

import pytest

from pinchbench.errors import CommandRefusedError
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.results.records import (
    BudgetSet,
    ConcurrencySet,
    GradeOverridden,
    NoteAdded,
    RunContinued,
    RunPaused,
    RunStarted,
    TrialFinished,
    TrialRequeued,
    TrialsSkipped,
    TrialStopped,
)
from pinchbench.results.run_state import RunState
from pinchbench.runner.ctl.commands import (
    Budget,
    Change,
    Concurrency,
    Continue,
    Note,
    Override,
    Pause,
    Requeue,
    Skip,
    StopTrial,
)
from pinchbench.runner.ctl.decide import MAX_TEXT, RunView, decide, said


def key(task_id: str, repetition: int = 1) -> TrialKey:
    return TrialKey(task_id=task_id, repetition=repetition)


A, A2, B, B2, C = key("a"), key("a", 2), key("b"), key("b", 2), key("c")
WORKING = RunView(
    run="r1",
    state=RunState.of(
        [
            RunStarted(run_id="r1", model="m", at=0.0, trials=5),
            TrialFinished(outcome=Outcome(key=A, reason=Reason.COMPLETED, digest="d", attempt=1)),
            TrialFinished(outcome=Outcome(key=A, reason=Reason.TIMED_OUT, digest="d", attempt=2)),
            TrialFinished(outcome=Outcome(key=C, reason=Reason.NO_TRANSCRIPT, digest="d")),
        ]
    ),
    plan=(A, A2, B, B2, C),
    waiting={A2, B2},
    running={B: 0.0},
    is_working=True,
    has_workers=True,
    slots=4,
)
ENDED = RunView(run="r1", state=WORKING.state, plan=WORKING.plan, waiting={A2})


@pytest.mark.parametrize(
    ("change", "record"),
    [
        (Pause(), RunPaused(at=1.0)),
        (Continue(), RunContinued(at=1.0)),
        (Concurrency(4), ConcurrencySet(at=1.0, concurrency=4)),
        (Budget(2.5), BudgetSet(at=1.0, max_cost=2.5)),
        (Budget(max_tokens=9), BudgetSet(at=1.0, max_tokens=9)),
        (StopTrial("b"), TrialStopped(at=1.0, key=B)),
        (StopTrial("b@1"), TrialStopped(at=1.0, key=B)),
        (Skip("a@2"), TrialsSkipped(at=1.0, keys=(A2,))),
        (Skip("a"), TrialsSkipped(at=1.0, keys=(A2,))),  # of the task, what waits
        (Requeue("a", "the provider was down"), TrialRequeued(at=1.0, key=A, why="the provider was down")),
        (Requeue("c"), TrialRequeued(at=1.0, key=C, why="")),
        (Note("a note"), NoteAdded(at=1.0, text="a note")),
        (Note("", "a@2", ("slow", "odd")), NoteAdded(at=1.0, text="", key=A2, tags=("slow", "odd"))),
        (Override("a", 1.0, "why not"), GradeOverridden(at=1.0, key=A, attempt=2, score=1.0, why="why not")),
    ],
)
def test_a_command_comes_to_one_record(change: Change, record: object) -> None:
    decided = decide(change, WORKING, at=1.0)
    assert decided == record
    assert said(decided, WORKING).endswith(".")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (Concurrency(5), "from 1 to 4"),
        (Concurrency(0), "from 1 to 4"),
        (Budget(0.0), "above 0"),
        (Budget(math.nan), "above 0"),
        (Budget(math.inf), "above 0"),
        (Budget(max_tokens=0), "above 0"),
        (Budget(), "name one of them"),
        (StopTrial("a"), "a does not run. Running: b."),
        (StopTrial("a@2"), "ctl r1 skip a@2"),
        (StopTrial("x"), "no trial 'x'. It has: a, a@2, b, b@2, c."),
        (StopTrial("b@7"), "no trial 'b@7'. It has: b, b@2."),
        (StopTrial("@2"), "no trial '@2'"),
        (StopTrial("b@" + "9" * 5000), "no trial 'b@999"),
        (Skip("b@1"), "ctl r1 skip b --stop"),
        (Skip("c"), "It has ended"),
        (Requeue("b"), "skip b --stop"),
        (Requeue("a@2"), "waits for its turn already"),
        (Requeue("a", "x" * (MAX_TEXT + 1)), f"at most {MAX_TEXT}"),
        (Note("  \n"), "needs a text"),
        (Note("x", "nobody"), "no trial 'nobody'"),
        (Note("x", tags=("",)), "20 tags of 1 to 60"),
        (Note("x", tags=("a\nb",)), "20 tags of 1 to 60"),
        (Note("x", tags=("a",) * 21), "20 tags of 1 to 60"),
        (Override("a", 1.1, "x"), "from 0 to 1"),
        (Override("a", math.nan, "x"), "from 0 to 1"),
        (Override("a", 0.5, " "), "needs a reason"),
        (Override("b", 0.5, "x"), "nothing to grade"),
        (Override("c", 0.5, "x"), "requeue c"),
        (Note("x" * (MAX_TEXT + 1)), f"at most {MAX_TEXT}"),
    ],
)
def test_what_can_not_be_done_is_refused_with_what_can(change: Change, sentence: str) -> None:
    with pytest.raises(CommandRefusedError) as refused:
        decide(change, WORKING, at=1.0)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("change", [Skip("a"), Requeue("b", "why"), Budget(3.0)])
def test_what_is_recorded_for_a_run_that_has_ended_holds_when_it_is_resumed(change: Change) -> None:
    assert "`pinchbench-async resume r1` goes on so" in said(decide(change, ENDED, at=1.0), ENDED)
    assert "resume" not in said(decide(Note("x"), ENDED, at=1.0), ENDED)


@pytest.mark.parametrize("change", [Pause(), Continue(), Budget(3.0), Concurrency(2)])
def test_a_complete_run_is_neither_paused_nor_given_a_limit(change: Change) -> None:
    complete = replace(ENDED, plan=(), waiting=())

    with pytest.raises(CommandRefusedError, match=r"The run is complete.*ctl r1 requeue TRIAL"):
        decide(change, complete, at=1.0)
    assert decide(Note("x"), complete, at=1.0) == NoteAdded(at=1.0, text="x")


def test_a_run_that_is_ending_takes_notes_only() -> None:
    ending = replace(WORKING, ending="--max-cost $1.00 is reached.")
    with pytest.raises(CommandRefusedError, match=r"--max-cost .* is reached.*resume r1"):
        decide(Requeue("a"), ending, at=1.0)
    assert decide(Note("x"), ending, at=1.0) == NoteAdded(at=1.0, text="x")
