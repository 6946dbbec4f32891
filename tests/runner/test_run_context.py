"""Who hears of a run, and that no key is in what is shown or written."""

import pytest
from anyio import create_task_group, wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectReceiveStream

from fakes import Heard
from pinchbench.events import Event, Notice, OutputLine, PaceChanged, SetUpStep, TrialActivity, TrialEnded, TrialWaits
from pinchbench.model.ending import Reason, Stop
from pinchbench.model.grade import Grade
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.records import GradeGiven, PaceSet, Record, RunFinished, TrialFinished
from pinchbench.runner.run_context import CHATTER_HELD, EVENTS_HELD, Redactor, RunObserver, with_listeners

KEY = TrialKey(task_id="task_a", repetition=1)


async def test_agents_that_say_too_much_leave_room_for_what_is_counted() -> None:
    seen = Heard()
    run_observer = RunObserver(seen, Redactor())
    async with create_task_group() as group:
        group.start_soon(run_observer.attend)
        for number in range(EVENTS_HELD):
            run_observer.emit(OutputLine(key=KEY, stream="stdout", text=str(number)))
            run_observer.emit(TrialActivity(slot=1, key=KEY, text="", usage=Usage()))
        for number in range(EVENTS_HELD):
            run_observer.emit(Notice(text=str(number)))
        await checkpoint()
        run_observer.close()

    told = seen.notices
    assert told == [str(number) for number in range(EVENTS_HELD - CHATTER_HELD)]
    assert len(seen.events) == EVENTS_HELD


async def test_listeners_hear_each_event_before_the_observer_and_also_when_it_has_failed() -> None:
    heard: list[str] = []

    async def observer(events: MemoryObjectReceiveStream[Event]) -> None:
        await events.receive()
        heard.append("seen")
        raise RuntimeError("the terminal has gone")

    def listener(event: Event) -> None:
        assert isinstance(event, Notice)
        heard.append(event.text)

    run_observer = RunObserver(with_listeners(observer, [listener]), Redactor(["a-key"]))
    async with create_task_group() as group:
        group.start_soon(run_observer.attend)
        for text in ("one", "two with a-key"):
            run_observer.tell(text)
            await wait_all_tasks_blocked()
        run_observer.close()

    assert heard[:2] == ["one", "seen"]
    assert heard[2].startswith("two with ")
    assert "a-key" not in heard[2]


SECRET = "sk-9f8e7d6c5b4a39281706f5e4d3c2b1a0"
SAID = f"401: {SECRET} is wrong"
OUTCOME = Outcome(key=KEY, reason=Reason.PROVIDER_ERROR, digest="", note=SAID, leftovers=(SAID,), not_kept=(SAID,))


@pytest.mark.parametrize(
    "event",
    [
        Notice(text=SAID),
        SetUpStep(text=SAID),
        OutputLine(key=KEY, stream="stdout", text=SAID),
        TrialActivity(slot=1, key=KEY, text=SAID, usage=Usage()),
        TrialWaits(slot=1, key=KEY, text=SAID, next_s=1.0),
        PaceChanged(limit=0, why=SAID),
        TrialEnded(outcome=OUTCOME),
    ],
)
def test_no_event_shows_a_key(event: Event) -> None:
    redactor = Redactor()
    assert redactor.event(event) == event
    redactor.learn([SECRET])
    shown = str(redactor.event(event))
    assert SECRET not in shown
    assert "401: [key] is wrong" in shown


@pytest.mark.parametrize(
    "record",
    [
        TrialFinished(outcome=OUTCOME),
        GradeGiven(grade=Grade(key=KEY, grading_type=GradingType.AUTOMATED, notes=(SAID,))),
        PaceSet(at=0.0, limit=0, why=SAID),
        RunFinished(at=0.0, stopped=SAID, stop=Stop.INCONCLUSIVE),
    ],
)
def test_no_record_holds_a_key(record: Record) -> None:
    written = str(Redactor([SECRET]).record(record))
    assert SECRET not in written
    assert "401: [key] is wrong" in written
