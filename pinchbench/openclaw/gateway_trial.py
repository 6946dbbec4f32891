"""A trial whose agent lives in a gateway of its own in the sandbox until its timeline has been played, step by step."""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

import anyio
from anyio import TASK_STATUS_IGNORED, create_task_group, move_on_after

from pinchbench.errors import GatewayError, PinchBenchError, ServiceError, first_error
from pinchbench.model.timeline import Advance, ChatMessage, Interrupt, ServiceEvent
from pinchbench.openclaw.gateway_link import open_link
from pinchbench.openclaw.trial_clock import as_iso
from pinchbench.process.follow import next_look_s
from pinchbench.process.spec import EndReason, StopSignal
from pinchbench.process.supervise import supervise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from anyio.abc import TaskStatus

    from pinchbench.model.task import Turn
    from pinchbench.openclaw.agent_processes import TaskExecution
    from pinchbench.openclaw.agent_progress import Progress
    from pinchbench.openclaw.gateway_link import GatewayLink, Report
    from pinchbench.process.spec import ProcessEnd, ProcessSpec

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

    def add(self, at: float, sender: str, to: str, text: str, media: Sequence[str] = (), **damaged: bool) -> None:
        """Append a message that was sent at the simulated time `at`; nothing more, once there is too much.

        One that the agent may have sent, and that can't be read, is `damaged`.
        """
        line = {"at": as_iso(at), "from": sender, "to": to, "text": text, "media": list(media), **damaged}
        data = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        self._bytes += len(data)
        self.is_full = self._bytes > MAX_CHAT_BYTES
        if not self.is_full:
            with self.path.open("ab") as file:
                file.write(data)


@dataclass(kw_only=True, slots=True)
class TimelinePlayer:
    """Plays the task's turns, which begin with the prompt, once the gateway is ready.

    `is_lost` is whether the gateway has closed its link before the end. `idle_s` is for how long automations were
    waited for that did not fire, in seconds.
    """

    run: TaskExecution
    link: GatewayLink
    chat: ChatLog
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
        for index, turn in enumerate(self.run.task.turns):
            if isinstance(turn.event, Interrupt):
                continue  # has been armed with the step that it interrupts
            if self.run.before_turn is not None:
                await self.run.before_turn(index)
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
        for later, turn in enumerate(self.run.task.turns[index + 1 :], start=index + 1):
            if not isinstance(turn.event, Interrupt):
                break
            await self.link.arm(turn.event.sender, turn.prompt, after=turn.event.after_calls)
            if not is_armed:
                is_armed = True
                task_status.started()
            await self.link.interrupted.wait()
            if self.run.before_turn is not None:
                await self.run.before_turn(later)
            self._log_incoming(turn.event.sender, turn.prompt)
            await self.link.proceed()
        if not is_armed:
            task_status.started()

    async def _begin(self, turn: Turn) -> None:
        match turn.event:
            case ChatMessage(sender=sender, is_owner=is_owner):
                text = turn.prompt_in(self.run.seen_workspace)
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
        return time.time() if self.run.clock is None else self.run.clock.now()

    async def _advance(self, advance: Advance) -> None:
        """Let time pass, with a halt at each automation that is due: a gateway that sleeps over several runs one."""
        clock = self.run.clock
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
        names = [service.name for service in self.run.task.services]
        way = self.run.services[names.index(event.service)]
        body = json.dumps(dict(event.body)).encode()
        head = f"POST {event.path} HTTP/1.1\r\nHost: 127.0.0.1:{way.port}\r\nContent-Type: application/json\r\n"
        try:
            with anyio.fail_after(SERVICE_LIMIT_S):
                async with await anyio.connect_unix(way.socket) as stream:
                    await stream.send(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
                    status = (await stream.receive(64)).split(b" ")[1:2]
        except (ConnectionError, anyio.BrokenResourceError, anyio.EndOfStream):
            return
        except OSError as error:
            raise ServiceError(f"The service {event.service} did not take {event.path}: {error}.") from error
        if not status or not status[0].startswith(b"2"):
            raise ServiceError(f"The service {event.service} answered {event.path} with {status}.")


EXIT_LIMIT_S = 20.0
LAST_WORDS_S = 2.0  # to read what the gateway has reported before its end
MAX_SESSIONS = 500
MAX_SHOWN = 400  # characters of a message that a live view shows
SESSION_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,127}", re.ASCII)  # as OpenClaw makes them, and safe as a file's name


@dataclass(kw_only=True, slots=True)
class _Watcher:
    """Passes what a gateway reports on to the trial's progress and its chat log.

    What comes by the link may be the agent's, which can take over its gateway's process: `exceeded` is what it had too
    much of, and ends the trial.
    """

    run: TaskExecution
    chat: ChatLog
    own: StopSignal
    exceeded: str = ""
    known: set[str] = field(default_factory=set)

    def take(self, report: Report | None) -> None:
        """Take a report; None for one that can't be read."""
        if report is None:
            self.chat.add(time.time(), ASSISTANT, "", "", damaged=True)
            return
        match report.kind:
            case "run_begins":
                self._follow(report.session, report.id)
            case "message" if not self.own.stop.is_set():  # not what OpenClaw says when it is ended
                self.chat.add(report.now / 1000, ASSISTANT, report.to, report.text, report.media)
                if self.chat.is_full:
                    self._exceed("more chat than can be kept")
                self._show(f"says to {report.to[:MAX_SHOWN]}: {report.text[:MAX_SHOWN]}")
            case "job_started":
                self._show(f"the automation {report.name[:MAX_SHOWN]} is due")

    def _follow(self, session: str, session_id: str) -> None:
        """Follow a session from its first run on."""
        if session_id in self.known or SESSION_ID.fullmatch(session_id) is None:
            return
        if len(self.known) >= MAX_SESSIONS:
            self._exceed(f"more than {MAX_SESSIONS} sessions")
            return
        self.known.add(session_id)
        self.run.progress.begin_session(session_id, self.run.store(session_id), key=session)

    def _show(self, what: str) -> None:
        if self.run.progress.sessions:
            self.run.progress.show(what)

    def _exceed(self, what: str) -> None:
        self.exceeded = self.exceeded or what
        self.own.stop.set()


async def run_in_gateway(run: TaskExecution, spec: ProcessSpec, socket: Path) -> None:
    """Run the gateway while the task's timeline is played, and note how it ended in the run's progress.

    `spec` starts it in its sandbox, with a link that leads to `socket`. The gateway's start does not count for the time
    limit, nor does the time in which an automation did not fire.
    On return and on cancellation all its processes are dead.
    Raises GatewayError if it is not ready in time, ServiceError if a service does not take an event, and OSError.
    """
    progress, stop_signal = run.progress, run.stop_signal
    own = StopSignal(hurry=stop_signal.hurry)
    chat = ChatLog(path=run.files.chat)
    began = anyio.current_time()
    failures: list[BaseException] = []
    watcher = _Watcher(run=run, chat=chat, own=own)
    with _by_itself():
        async with open_link(socket, watcher.take) as link:
            player = TimelinePlayer(run=run, link=link, chat=chat)

            def held_s() -> float:
                return player.starting_s() + player.idle_s + progress.waited_s()

            async with create_task_group() as group:
                group.start_soon(stop_signal.pass_on, own)
                group.start_soon(_follow, progress)
                group.start_soon(_play, player, own, failures)
                for output in run.outputs:
                    group.start_soon(output.follow)
                end = await supervise(spec, timeout_s=run.timeout_s, held_s=held_s, stop_signal=own)
                group.cancel_scope.cancel()
            is_lost = player.is_lost
            if link.ready.is_set():
                with move_on_after(LAST_WORDS_S):
                    await link.closed.wait()
            if end.reason is EndReason.STOPPED and not stop_signal.stop.is_set():
                if failures and not is_lost:
                    raise failures[0]
                end = _as_ended(end, watcher, is_finished=player.finished)
            progress.note(end, began, held_s=held_s())
    if not progress.sessions:
        progress.begin_session("none", run.store("none"))
    while [size for session in list(progress.sessions) if (size := await progress.read_on(session))]:
        pass
    for output in run.outputs:
        await output.finish()


@contextmanager
def _by_itself() -> Iterator[None]:
    """Raise an expected error out of its group, for those who know it by its class."""
    failure: BaseException | None = None
    try:
        yield
    except* (PinchBenchError, OSError) as errors:
        failure = first_error(errors)
    if failure is not None:
        raise failure


def _as_ended(end: ProcessEnd, watcher: _Watcher, *, is_finished: bool) -> ProcessEnd:
    """Return how a gateway has ended that we have stopped.

    One that closed its link and went on has failed, which its agent can bring about.
    """
    if watcher.exceeded:
        return replace(end, reason=EndReason.RESOURCE_LIMIT, error=watcher.exceeded)
    return replace(end, reason=EndReason.EXITED, exit_code=0 if is_finished else 1)


async def _play(player: TimelinePlayer, own: StopSignal, failures: list[BaseException]) -> None:
    """Play the timeline, then end the gateway. What goes wrong is kept: a gateway that has ended says more about it."""
    try:
        await player.play()
    except* (PinchBenchError, OSError) as errors:
        failures.append(first_error(errors))
        player.is_lost = player.link.has_ended
        if player.is_lost:  # then its process is about to exit, which says how
            await anyio.sleep(EXIT_LIMIT_S)
    own.stop.set()


async def _follow(progress: Progress) -> None:
    """Follow the transcripts of all sessions."""
    while True:
        for session in list(progress.sessions):
            await progress.read_on(session)
        await anyio.sleep(next_look_s())
