"""What every part of one run shares: its plan, its id and files, how it is interrupted, and its observer."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

import anyio

from pinchbench.events import Event, Notice, OutputLine, SetUpStep, TrialActivity, TrialWaits
from pinchbench.openclaw.command import model_slug
from pinchbench.results.paths import RunFiles
from pinchbench.runner.plan.trial_plan import new_run_id
from pinchbench.runner.run_folders import open_run_folders
from pinchbench.runner.run_redaction import Redactor
from pinchbench.runner.signals import Interrupt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.config.run_config import RunConfig
    from pinchbench.runner.plan.prepare import Prepared, Resumption
    from pinchbench.runner.run_folders import RunFolders
    from pinchbench.runner.sharing import RunCoordinator, Share


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

    def open_folders(self) -> AbstractAsyncContextManager[RunFolders]:
        """Return a context that owns the run's folders; see `open_run_folders`."""
        return open_run_folders(
            self.files,
            self.prepared.config.run_root,
            run_id=self.run_id,
            journal=self.resumption.journal if self.resumption is not None else None,
        )


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
