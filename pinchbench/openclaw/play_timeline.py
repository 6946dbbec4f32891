"""Plays the steps of a task's timeline in a trial's gateway, one after another."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

import anyio
from anyio import TASK_STATUS_IGNORED, create_task_group, move_on_after

from pinchbench.errors import GatewayError, ServiceError
from pinchbench.model.timeline import Advance, ChatMessage, Interrupt, ServiceEvent
from pinchbench.openclaw.trial_clock import TrialClock, as_iso

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import TaskStatus

    from pinchbench.model.task import Turn
    from pinchbench.openclaw.gateway_link import GatewayLink

START_LIMIT_S = 240.0  # a gateway needs 12 s on an idle machine (measured), and minutes on a heavily loaded one
LEAD_S = 2.0  # the clock is set so long before an automation is due
FIRE_LIMIT_S = 120.0  # real seconds: OpenClaw looks at its schedule at least once a minute
MAX_IDLE_S = 3 * FIRE_LIMIT_S  # in a trial: an agent can schedule what never fires
MAX_FIRINGS = 400  # in one step: beyond it, time passes without looking at each
MAX_CHAT_BYTES = 16 * 1024 * 1024
SERVICE_LIMIT_S = 30.0
ASSISTANT = "assistant"


@dataclass(kw_only=True, slots=True)
class ChatLog:
    """All messages of a trial's chat, in a file that its agent can't reach. Writes are small, and block."""

    path: Path
    is_full: bool = False
    _bytes: int = 0

    def add(self, at: float, sender: str, to: str, text: str, media: Sequence[str] = ()) -> None:
        """Append a message that was sent at the simulated time `at`; nothing more, once there is too much."""
        self._write({"at": as_iso(at), "from": sender, "to": to, "text": text, "media": list(media)})

    def add_damaged(self, at: float) -> None:
        """Append that the agent may have sent something that can't be read."""
        self._write({"at": as_iso(at), "from": ASSISTANT, "to": "", "text": "", "media": [], "damaged": True})

    def _write(self, line: Mapping[str, object]) -> None:
        data = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        self._bytes += len(data)
        self.is_full = self._bytes > MAX_CHAT_BYTES
        if not self.is_full:
            with self.path.open("ab") as file:
                file.write(data)


@dataclass(kw_only=True, slots=True)
class TimelinePlayer:
    """Plays `turns`, which begin with the prompt, once the gateway is ready.

    `before_turn` is awaited before each, with its index. `sockets` lead to the task's services, by name. `is_lost` is
    whether the gateway has closed its link before the end. `idle_s` is for how long automations were waited for that
    did not fire, in seconds.
    """

    link: GatewayLink
    clock: TrialClock | None
    chat: ChatLog
    turns: Sequence[Turn]
    workspace: Path
    before_turn: Callable[[int], Awaitable[None]] | None = None
    sockets: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    began_at: float = field(default_factory=anyio.current_time)
    ready_at: float | None = None
    finished: bool = False
    is_lost: bool = False
    idle_s: float = 0.0

    def starting_s(self) -> float:
        """Return for how long the gateway has been starting, which is no time of the agent's."""
        return (anyio.current_time() if self.ready_at is None else self.ready_at) - self.began_at

    async def play(self) -> None:
        """Play all steps, each until the agent has nothing left to do.

        Raises GatewayError if the gateway is not ready within `START_LIMIT_S` or ends, ServiceError if a service does
        not take its event, and OSError.
        """
        with move_on_after(START_LIMIT_S) as limit:
            await self.link.ready.wait()
        if limit.cancelled_caught:
            raise GatewayError(f"OpenClaw's gateway was not ready within {START_LIMIT_S:g} s.")
        self.ready_at = anyio.current_time()
        for index, turn in enumerate(self.turns):
            if isinstance(turn.event, Interrupt):
                continue  # has been armed with the step that it interrupts
            if self.before_turn is not None:
                await self.before_turn(index)
            await self._step(index, turn)
        self.finished = True

    async def _step(self, index: int, turn: Turn) -> None:
        await self.link.begin_step()
        async with create_task_group() as group:
            await group.start(self._interrupts, index)  # armed before the step begins
            await self._begin(turn)
            await self.link.settled()
            group.cancel_scope.cancel()

    async def _interrupts(self, index: int, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Let the interrupts that follow a step come in while it lasts. Starts when the first one is armed."""
        is_armed = False
        for later, turn in enumerate(self.turns[index + 1 :], start=index + 1):
            if not isinstance(turn.event, Interrupt):
                break
            await self.link.arm(turn.event.sender, turn.prompt, after=turn.event.after_calls)
            if not is_armed:
                is_armed = True
                task_status.started()
            await self.link.interrupted.wait()
            if self.before_turn is not None:
                await self.before_turn(later)
            self._log_incoming(turn.event.sender, turn.prompt)
            await self.link.proceed()
        if not is_armed:
            task_status.started()

    async def _begin(self, turn: Turn) -> None:
        match turn.event:
            case ChatMessage(sender=sender, is_owner=is_owner):
                text = turn.prompt_in(self.workspace)
                self._log_incoming(sender, text)
                await self.link.message(sender, text, is_owner=is_owner)
            case Advance() as advance:
                await self._advance(advance)
            case ServiceEvent() as event:
                await self._tell_service(event)
            case Interrupt() | None:
                pass  # an interrupt comes by itself, and other turns are no steps of a gateway
            case other:
                assert_never(other)

    def _log_incoming(self, sender: str, text: str) -> None:
        self.chat.add(self._now(), sender, ASSISTANT, text)

    def _now(self) -> float:
        return time.time() if self.clock is None else self.clock.now()

    async def _advance(self, advance: Advance) -> None:
        """Let time pass, with a halt at each automation that is due: a gateway that sleeps over several runs one."""
        clock = self.clock
        if clock is None:
            raise GatewayError("The task lets time pass but has no clock.")
        target = clock.now() + advance.by_s if advance.to_s is None else advance.to_s
        passed = 0.0  # the time of an automation that has not fired, as OpenClaw holds it back
        for _ in range(MAX_FIRINGS):
            due = await self.link.next_due(passed)
            if due is None or due > target:
                break
            before = self.link.fired
            clock.move_to(due - LEAD_S)
            await self.link.time_moved(due - LEAD_S)
            if await self.link.has_fired(before, FIRE_LIMIT_S):
                await self.link.settled()
            elif self.idle_s >= MAX_IDLE_S:
                break
            else:
                self.idle_s += FIRE_LIMIT_S
                passed = due
        clock.move_to(target)

    async def _tell_service(self, event: ServiceEvent) -> None:
        """Send a service its event. One that has ended does not get it: its end is recorded, and counts as it is."""
        port, path = self.sockets[event.service]
        body = json.dumps(dict(event.body)).encode()
        head = f"POST {event.path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        try:
            with anyio.fail_after(SERVICE_LIMIT_S):
                async with await anyio.connect_unix(path) as stream:
                    await stream.send(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
                    status = (await stream.receive(64)).split(b" ")[1:2]
        except (ConnectionError, anyio.BrokenResourceError, anyio.EndOfStream):
            return
        except OSError as error:
            raise ServiceError(f"The service {event.service} did not take {event.path}: {error}.") from error
        if not status or not status[0].startswith(b"2"):
            raise ServiceError(f"The service {event.service} answered {event.path} with {status}.")
