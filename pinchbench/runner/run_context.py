"""What every part of one run shares: its plan, its files, how it is interrupted, its observer, and its keys."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from msgspec.structs import replace as replace_in

from pinchbench.events import Event, Notice, OutputLine, SetUpStep, TrialActivity, TrialWaits
from pinchbench.model.grade import Grade
from pinchbench.model.outcome import Outcome
from pinchbench.openclaw.command import model_slug
from pinchbench.redaction import mask, mask_file, mask_grade, mask_outcome
from pinchbench.results.paths import RunFiles
from pinchbench.runner.plan.trial_plan import new_run_id
from pinchbench.runner.signals import Interrupt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from pathlib import Path

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.config.run_config import RunConfig
    from pinchbench.results.records import Record
    from pinchbench.runner.plan.prepare import Prepared, Resumption
    from pinchbench.runner.sharing import RunCoordinator, Share


class Redactor:
    """Knows the keys of a run. Inside the program texts are as they came; what leaves it passes through here.

    The ways out are the journal's writer, the observer, and the files of an attempt.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` are keys in all forms in which they may be written."""
        self.secrets = tuple(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Add keys."""
        self.secrets = tuple(dict.fromkeys((*self.secrets, *secrets)))

    def text(self, text: str) -> str:
        """A text without keys (pure)."""
        return mask(text, self.secrets)

    def record(self, record: Record) -> Record:
        """A record without keys in its texts (pure). The options of a run, a mapping, are the user's own words."""
        return replace_in(record, **self._masked(record, record.__struct_fields__))

    def event(self, event: Event) -> Event:
        """An event without keys in its texts (pure)."""
        return replace(event, **self._masked(event, (field.name for field in fields(event))))

    def _masked(self, value: Record | Event, names: Iterable[str]) -> dict[str, Any]:
        """Return the fields that hold a text, texts, an outcome or a grade, without keys in them."""
        masked: dict[str, Any] = {}
        for name in names:
            match getattr(value, name):
                case str() as text if type(text) is str:  # a name of an enumeration is none of a key
                    masked[name] = self.text(text)
                case (str(), *_) as texts:
                    masked[name] = tuple(map(self.text, texts))
                case Outcome() as outcome:
                    masked[name] = mask_outcome(outcome, self.secrets)
                case Grade() as grade:
                    masked[name] = mask_grade(grade, self.secrets)
        return masked

    def files(self, paths: Iterable[Path]) -> None:
        """Overwrite keys in files that no process writes any more. Blocks. Inaccessible files are left as they are."""
        for path in paths:
            with suppress(OSError):  # of a disk that fails, the outcome has what matters
                mask_file(path, self.secrets)


Observer: TypeAlias = "Callable[[MemoryObjectReceiveStream[Event]], Awaitable[None]]"

EVENTS_HELD = 10_000  # for an observer that is slower than the run; what comes beyond is not shown
CHATTER_HELD = 9_000  # of what agents say: the room beyond is for what is counted
PASSED_ON = 100  # events that an observer with listeners can take together
OBSERVER_LIMIT_S = 2.0  # to show what is left when the run is over


def with_listeners(observer: Observer, listeners: Sequence[Callable[[Event], None]]) -> Observer:
    """Return an observer that passes each event to `listeners`, which must not block, before `observer` sees it.

    They get events even when `observer` has failed.
    """

    async def watch(events: MemoryObjectReceiveStream[Event]) -> None:
        sender, seen = anyio.create_memory_object_stream[Event](PASSED_ON)

        async def show() -> None:
            with seen, suppress(Exception):
                await observer(seen)

        async with anyio.create_task_group() as group:
            group.start_soon(show)
            with sender:
                async for event in events:
                    for listener in listeners:
                        listener(event)
                    with suppress(anyio.BrokenResourceError):
                        await sender.send(event)

    return watch


class RunObserver:
    """An observer and the events on their way to it. Create inside an event loop; run `attend` alongside the run."""

    def __init__(self, observer: Observer | None, redactor: Redactor) -> None:
        """`observer` may be slow, and may fail without harm; no key that `redactor` knows is shown to it."""
        self._observer = observer
        self._redactor = redactor
        self._events, self._watched = anyio.create_memory_object_stream[Event](EVENTS_HELD)
        self._watching = anyio.CancelScope()

    def emit(self, event: Event) -> None:
        """Show an event, unless the observer is gone or too far behind; the journal has what matters. Never waits."""
        is_chatter = isinstance(event, OutputLine | TrialActivity | TrialWaits)
        if is_chatter and self._events.statistics().current_buffer_used >= CHATTER_HELD:
            return
        with suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._events.send_nowait(self._redactor.event(event))

    def tell(self, sentence: str) -> None:
        """Show a sentence for the user."""
        self.emit(Notice(text=sentence))

    def set_up(self, step: str) -> None:
        """Show what the set-up does next."""
        self.emit(SetUpStep(text=step))

    async def attend(self) -> None:
        """Let the observer watch until `close`, and for a last moment after it."""
        with self._watched, self._watching:
            if self._observer is not None:
                # a terminal that went away must not end the run
                with suppress(Exception):
                    await self._observer(self._watched)

    def close(self) -> None:
        """Nothing comes any more; the observer has a last moment for what is left."""
        self._events.close()
        self._watching.deadline = anyio.current_time() + OBSERVER_LIMIT_S


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """One run, or the rest of one."""

    # the plan and the options. Once set up, their isolation, sandbox and network are what agents have
    prepared: Prepared
    resumption: Resumption | None  # what is known of a run that is resumed; None for a new one
    run_id: str  # the run's id, which a resumed run keeps
    files: RunFiles  # the paths of its results
    interrupt: Interrupt  # what the user or the system asks it to do
    observer: RunObserver  # receives its events
    redactor: Redactor  # knows its keys and masks them in all that it writes
    share: Share | None = None  # its part of slots that it shares with other runs; None if it has slots of its own

    @property
    def coordinator(self) -> RunCoordinator | None:
        """What decides which of its trials are made; None if all are."""
        return self.share.coordinator if self.share is not None else None

    def settled(self, config: RunConfig) -> RunContext:
        """Return the same run with the options that its set-up has settled."""
        return replace(self, prepared=replace(self.prepared, config=config))


def make_context(
    prepared: Prepared, resumption: Resumption | None, observer: Observer | None, share: Share | None = None
) -> RunContext:
    """Return the context of a new run, or of the rest of the run that `resumption` describes.

    Must be called inside an event loop.
    """
    if resumption is not None:
        run_id, files = resumption.facts.run_id, resumption.files
    else:
        config = prepared.config
        run_id = new_run_id(datetime.now(UTC), secrets.token_hex(2)) if share is None else share.run_id
        files = RunFiles(output_dir=config.output_dir, name=f"{model_slug(config.model)}_{run_id}")
    if share is not None:
        prepared = replace(prepared, attempts=share.arrange(prepared.attempts))
    redactor = Redactor()
    return RunContext(
        prepared=prepared,
        resumption=resumption,
        run_id=run_id,
        files=files,
        interrupt=Interrupt() if share is None else share.interrupt,
        observer=RunObserver(observer, redactor),
        redactor=redactor,
        share=share,
    )
