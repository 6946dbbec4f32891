"""A trial whose agent lives in a gateway of its own in the sandbox until the timeline ends."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio
from anyio import create_task_group, move_on_after

from pinchbench.errors import PinchBenchError, first_error
from pinchbench.openclaw.gateway_link import open_link
from pinchbench.openclaw.play_timeline import ASSISTANT, ChatLog, TimelinePlayer
from pinchbench.process.follow import next_look_s
from pinchbench.process.spec import EndReason, StopSignal
from pinchbench.process.supervise import supervise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pinchbench.openclaw.agent_processes import TaskExecution
    from pinchbench.openclaw.agent_progress import Progress
    from pinchbench.openclaw.gateway_link import Report
    from pinchbench.openclaw.sessions import AnyStore
    from pinchbench.process.spec import ProcessEnd, ProcessSpec


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

    progress: Progress
    chat: ChatLog
    store: Callable[[str], AnyStore]
    own: StopSignal
    exceeded: str = ""
    known: set[str] = field(default_factory=set)

    def take(self, report: Report | None) -> None:
        """Take a report; None for one that can't be read."""
        if report is None:
            self.chat.add_damaged(time.time())
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
        self.progress.begin_session(session_id, self.store(session_id), key=session)

    def _show(self, what: str) -> None:
        if self.progress.sessions:
            self.progress.show(what)

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
    watcher = _Watcher(progress=progress, chat=chat, store=run.store, own=own)
    with _by_itself():
        async with open_link(socket, watcher.take) as link:
            names = (service.name for service in run.task.services)
            ways = ((way.port, way.socket) for way in run.services)
            player = TimelinePlayer(
                link=link,
                clock=run.clock,
                chat=chat,
                turns=run.task.turns,
                workspace=run.seen_workspace,
                before_turn=run.before_turn,
                sockets=dict(zip(names, ways, strict=False)),
            )

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
