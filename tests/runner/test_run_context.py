"""Who hears of a run: an observer that is too slow misses what agents say before it misses what is counted."""

from anyio import create_task_group, wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectReceiveStream

from fakes import Heard
from pinchbench.events import Event, Notice, OutputLine, TrialActivity
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.runner.run_context import CHATTER_HELD, EVENTS_HELD, RunObserver, with_listeners
from pinchbench.runner.run_redaction import Redactor

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
