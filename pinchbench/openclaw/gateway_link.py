"""The runner's end of the connection that a trial's gateway makes: messages of its chat, and what it is doing."""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec
from anyio import (
    BrokenResourceError,
    ClosedResourceError,
    Event,
    create_task_group,
    create_unix_listener,
    move_on_after,
)

from pinchbench.decoding import decode_json
from pinchbench.errors import GatewayError
from pinchbench.openclaw.agent_progress import SUBAGENT
from pinchbench.process.follow import LineSplitter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from anyio.abc import ByteStream, SocketStream

MAX_LINE_BYTES = 1024 * 1024  # a longer message is cut short by the splitter, and counts as damaged
LATEST_MS = 4_102_444_800_000  # in the year 2100
QUIET_S = 2.0  # after the last event
# Until a sub-agent begins, or the turn that follows its end: up to 1 s on an idle machine, and more than 30 s where
# eight processes want each processor (measured).
QUIET_AFTER_SUBAGENT_S = 120.0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the plugin's. Which fields it has depends on its kind; `now` is its time in ms since the epoch."""

    kind: str
    now: float = 0.0
    id: str = ""
    session: str = ""
    to: str = ""
    text: str = ""
    media: tuple[str, ...] = ()
    job: str = ""
    name: str = ""
    at: float | None = None


# What a report begins or ends: a run of the agent, a call of the model, an automation, or the answer to a message.
BUSY = {
    "run_begins": ("run", 1),
    "run_ends": ("run", -1),
    "call_begins": ("call", 1),
    "call_ends": ("call", -1),
    "job_started": ("job", 1),
    "job_finished": ("job", -1),
    "handled": ("message", -1),
}


class GatewayLink:
    """The connection to the gateway of one trial, made by `open_link`."""

    def __init__(self, watch: Callable[[Report | None], None]) -> None:
        """Begin without a connection. `watch` gets each report; None for what can't be read, which may be a message."""
        self.ready = Event()
        self.closed = Event()
        self.interrupted = Event()
        self.fired = 0
        self._watch = watch
        self._failure = ""
        self._stream: ByteStream | None = None
        self._busy: Counter[tuple[str, str]] = Counter()
        self._changed = Event()  # replaced by a new one when it is set
        self._quiet_s = QUIET_S
        self._answers: dict[str, Report] = {}
        self._messages = 0

    @property
    def has_ended(self) -> bool:
        """Whether the gateway was connected and is not any more."""
        return self.ready.is_set() and self._stream is None

    async def begin_step(self) -> None:
        """Count the calls of the model from 0, and forget an interrupt that did not come. Raises GatewayError."""
        await self._ask("step")

    async def message(self, sender: str, text: str, *, is_owner: bool) -> None:
        """Let a message come in. Raises GatewayError."""
        number = self._number()
        self._busy["message", number] = 1
        await self._send({"kind": "message", "id": number, "from": sender, "text": text, "isOwner": is_owner})

    async def arm(self, sender: str, text: str, *, after: int) -> None:
        """Let the owner's message come in after so many calls of the model in this step. Raises GatewayError."""
        asked = {"kind": "interrupt", "id": self._number(), "from": sender, "text": text, "isOwner": True}
        self.interrupted = Event()
        await self._send({**asked, "after": after})

    async def proceed(self) -> None:
        """Let the message of an interrupt come in, now that `interrupted` is set. Raises GatewayError."""
        await self._send({"kind": "proceed"})

    async def next_due(self, after: float = 0.0) -> float | None:
        """Return when the next automation is due later than `after`, in seconds since the epoch; None if none is.

        Raises GatewayError.
        """
        at = (await self._ask("due", after=after * 1000)).at
        return None if at is None else at / 1000

    async def time_moved(self, at: float) -> None:
        """Say that the simulated clock is at `at`, in seconds since the epoch. Raises GatewayError."""
        await self._send({"kind": "moved", "at": at * 1000})

    async def settled(self) -> None:
        """Wait until the agent has nothing left to do, and has been quiet for a while. The caller limits the time.

        Raises GatewayError if the gateway ends or fails meanwhile.
        """
        while True:
            quiet_s = math.inf if any(count > 0 for count in self._busy.values()) else self._quiet_s
            with move_on_after(quiet_s):
                await self._change()
                continue
            return

    async def has_fired(self, before: int, limit_s: float) -> bool:
        """Wait until more automations than `before` have fired; return whether one has within `limit_s`.

        Raises GatewayError if the gateway ends or fails meanwhile.
        """
        with move_on_after(limit_s):
            while self.fired == before:
                await self._change()
        return self.fired != before

    async def _change(self) -> None:
        """Wait for the next report. Raises GatewayError if the gateway has ended or could not do what it was asked."""
        if not self._failure:
            await self._changed.wait()
        if self._failure:
            raise GatewayError(f"OpenClaw's gateway has failed: {self._failure}")
        if self._stream is None:
            raise GatewayError("OpenClaw's gateway has ended.")

    def _note_change(self) -> None:
        self._changed.set()
        self._changed = Event()

    def _number(self) -> str:
        self._messages += 1
        return f"in-{self._messages}"

    async def _ask(self, kind: str, **asked: object) -> Report:
        self._answers.pop(kind, None)
        await self._send({"kind": kind, **asked})
        while kind not in self._answers:
            await self._change()
        return self._answers[kind]

    async def _send(self, asked: dict[str, object]) -> None:
        if self._stream is None:
            raise GatewayError("OpenClaw's gateway is not connected.")
        try:
            await self._stream.send(json.dumps(asked).encode() + b"\n")
        except (BrokenResourceError, ClosedResourceError) as error:
            raise GatewayError("OpenClaw's gateway has ended.") from error

    async def serve(self, stream: SocketStream) -> None:
        """Read what the gateway reports until it closes the connection; a second connection is refused."""
        async with stream:
            if self._stream is not None:
                return
            self._stream = stream
            splitter = LineSplitter(max_line_bytes=MAX_LINE_BYTES)
            with suppress(BrokenResourceError, ClosedResourceError):
                async for data in stream:
                    for line in splitter.feed(data):
                        self._read(line)
            self._stream = None
            self.closed.set()
            self._note_change()

    def _read(self, line: bytes) -> None:
        try:
            report = decode_json(line, Report)
        except msgspec.DecodeError:
            self._watch(None)
            return
        if 0 <= report.now <= LATEST_MS:
            self._take(report)

    def _take(self, report: Report) -> None:
        if (step := BUSY.get(report.kind)) is not None:
            what, change = step
            key = what, report.job or (report.id if what == "message" else report.session)
            self._busy[key] = max(0, self._busy[key] + change)
        if report.kind == "run_ends":  # also of a call that was aborted
            self._busy["call", report.session] = 0
        self._watch(report)
        match report.kind:
            case "ready":
                self.ready.set()
            case "run_begins" if SUBAGENT not in report.session:  # it is the turn that follows
                self._quiet_s = QUIET_S
            case "job_started":
                self.fired += 1
            case "interrupted":
                self._busy["message", report.id] = 1
                self.interrupted.set()
            case "subagent_begins" | "subagent_ends":
                self._quiet_s = QUIET_AFTER_SUBAGENT_S
            case "failed":
                self._failure = report.text
            case "step" | "due":
                self._answers[report.kind] = report
        self._note_change()


@asynccontextmanager
async def open_link(path: Path, watch: Callable[[Report | None], None]) -> AsyncGenerator[GatewayLink]:
    """Listen on a Unix socket for a gateway's connection, for as long as the block lasts. Raises OSError."""
    link = GatewayLink(watch)
    async with await create_unix_listener(path) as listener, create_task_group() as group:
        group.start_soon(listener.serve, link.serve)
        yield link
        group.cancel_scope.cancel()
