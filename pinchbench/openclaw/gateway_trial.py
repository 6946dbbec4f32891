"""A trial whose agent lives in a gateway of its own in its sandbox, until the timeline is over; its settings."""

from __future__ import annotations

import re
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import create_task_group, move_on_after

from pinchbench.errors import PinchBenchError, first_error
from pinchbench.openclaw.gateway_link import open_link
from pinchbench.openclaw.play_timeline import ASSISTANT, ChatLog, TimelinePlayer
from pinchbench.process.follow import next_look_s
from pinchbench.process.spec import EndReason, StopSignal
from pinchbench.process.supervise import supervise
from pinchbench.sandbox.sandbox_spec import Mount

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from pinchbench.model.task import Task
    from pinchbench.openclaw.agent_progress import Progress
    from pinchbench.openclaw.homes.credentials import Json
    from pinchbench.openclaw.sessions import AnyStore
    from pinchbench.openclaw.trial_clock import TrialClock
    from pinchbench.process.follow import Output
    from pinchbench.process.spec import ProcessEnd, ProcessSpec
    from pinchbench.results.evidence_files import Evidence
    from pinchbench.sandbox.sandbox_spec import Forward


EXIT_LIMIT_S = 20.0
LAST_WORDS_S = 2.0  # to read what the gateway has reported before its end
MAX_SESSIONS = 500
MAX_SHOWN = 400  # characters of a message that a live view shows
SESSION_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,127}", re.ASCII)  # as OpenClaw makes them, and safe as a file's name


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayPlace:
    """What a gateway's trial needs besides its task.

    `spec` starts the gateway in its sandbox, with a link that leads to `socket`. `seen_as` is the workspace, as the
    agent names it; `store` makes the store of a session from its id; `services` are the ways to the task's services, in
    their order. `clock` is None for the real one. `before_turn` is awaited before each step, with its index.
    """

    spec: ProcessSpec
    socket: Path
    seen_as: Path
    files: Evidence
    store: Callable[[str], AnyStore]
    clock: TrialClock | None
    services: tuple[Forward, ...]
    before_turn: Callable[[int], Awaitable[None]] | None


@dataclass(kw_only=True, slots=True)
class _Watcher:
    """Passes what the link sees on to the trial's progress and its chat log.

    What comes by the link may be the agent's, which can take over its gateway's process: `exceeded` is what it had too
    much of, and ends the trial.
    """

    progress: Progress
    chat: ChatLog
    store: Callable[[str], AnyStore]
    own: StopSignal
    exceeded: str = ""
    known: set[str] = field(default_factory=set)

    def began(self, session: str, session_id: str) -> None:
        """Follow a session from its first run on."""
        if session_id in self.known or SESSION_ID.fullmatch(session_id) is None:
            return
        if len(self.known) >= MAX_SESSIONS:
            self._exceed(f"more than {MAX_SESSIONS} sessions")
            return
        self.known.add(session_id)
        self.progress.begin_session(session_id, self.store(session_id), key=session)

    def sent(self, at: float, to: str, text: str, media: tuple[str, ...]) -> None:
        """Log a message that the agent has sent; what OpenClaw says when it is ended is none."""
        if self.own.stop.is_set():
            return
        self.chat.add(at, ASSISTANT, to, text, media)
        if self.chat.is_full:
            self._exceed("more chat than can be kept")
        if self.progress.sessions:
            self.progress.show(f"says to {to[:MAX_SHOWN]}: {text[:MAX_SHOWN]}")

    def fired(self, at: float, job: str) -> None:
        """Show that an automation has fired."""
        del at
        if self.progress.sessions:
            self.progress.show(f"the automation {job[:MAX_SHOWN]} is due")

    def damaged(self) -> None:
        """Log that something can't be read."""
        self.chat.add_damaged(time.time())

    def _exceed(self, what: str) -> None:
        self.exceeded = self.exceeded or what
        self.own.stop.set()


async def run_in_gateway(
    task: Task,
    place: GatewayPlace,
    progress: Progress,
    *,
    timeout_s: float,
    stop_signal: StopSignal,
    outputs: list[Output],
) -> None:
    """Run the gateway while the task's timeline is played, and note how it ended in `progress`.

    The gateway's start does not count for `timeout_s`, nor does the time in which an automation did not
    fire. On return and on cancellation all its processes are dead.
    Raises GatewayError if it is not ready in time, ServiceError if a service does not take an event, and OSError.
    """
    own = StopSignal(hurry=stop_signal.hurry)
    chat = ChatLog(path=place.files.chat)
    began = anyio.current_time()
    failures: list[BaseException] = []
    watcher = _Watcher(progress=progress, chat=chat, store=place.store, own=own)
    with _by_itself():
        async with open_link(place.socket, watcher) as link:
            names = (service.name for service in task.services)
            ways = ((way.port, way.socket) for way in place.services)
            player = TimelinePlayer(
                link=link,
                clock=place.clock,
                chat=chat,
                turns=task.turns,
                workspace=place.seen_as,
                before_turn=place.before_turn,
                sockets=dict(zip(names, ways, strict=False)),
            )

            def held_s() -> float:
                return player.starting_s() + player.idle_s + progress.waited_s()

            async with create_task_group() as group:
                group.start_soon(stop_signal.pass_on, own)
                group.start_soon(_follow, progress)
                group.start_soon(_play, player, own, failures)
                for output in outputs:
                    group.start_soon(output.follow)
                end = await supervise(place.spec, timeout_s=timeout_s, held_s=held_s, stop_signal=own)
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
        progress.begin_session("none", place.store("none"))
    while [size for session in list(progress.sessions) if (size := await progress.read_on(session))]:
        pass
    for output in outputs:
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


MESSENGER = Path(__file__).with_name("messenger")  # our chat channel, a plugin of OpenClaw
SEEN_AS = "/opt/messenger"  # in the sandbox
CHANNEL = "messenger"
# In the sandbox's own network namespace, so that they can be the same for all trials.
GATEWAY_PORT = 18789  # OpenClaw's default
LINK_PORT = 18790
SHUT_DOWN_S = 5.0  # OpenClaw needs 0.3 s (measured, idle)
GATEWAY_ENV = {
    # Services that a gateway starts and no trial needs.
    "OPENCLAW_SKIP_GMAIL_WATCHER": "1",
    "OPENCLAW_DISABLE_BONJOUR": "1",
    # Its timers go on in real time when days pass, as on a computer that has slept: else whatever it is doing times
    # out, and a worker that is ended then can leave OpenClaw's state locked for good.
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
}


def gateway_settings(task: Task, agent_id: str) -> Json:
    """Return what the config of a trial's home has in addition, for a gateway with our chat channel."""
    return {
        "gateway": {
            "mode": "local",
            "port": GATEWAY_PORT,
            "bind": "loopback",
            "auth": {"mode": "token", "token": secrets.token_hex(16)},
            "controlUi": {"enabled": False},
        },
        "plugins": {
            "load": {"paths": [SEEN_AS]},
            "entries": {
                CHANNEL: {
                    "enabled": True,
                    "config": {"port": LINK_PORT},
                    "hooks": {"allowConversationAccess": True},
                },
                # It would call the model every night.
                "memory-core": {"config": {"dreaming": {"enabled": False}}},
            },
        },
        "channels": {CHANNEL: {"enabled": True}},
        "bindings": [{"agentId": agent_id, "match": {"channel": CHANNEL}}],
        "commands": {"ownerAllowFrom": [f"{CHANNEL}:{owner_of(task)}"]},
        "agents": {"defaults": {"userTimezone": task.timezone or "UTC"}},
    }


def owner_of(task: Task) -> str:
    """Return the name of the person that a task's agent works for: who sends its prompt."""
    return next(
        (turn.event.sender for turn in task.turns if turn.event is not None and hasattr(turn.event, "sender")), ""
    )


def plugin_mount() -> Mount:
    """Return where the sandbox sees the plugin of our chat channel."""
    return Mount(source=str(MESSENGER), target=SEEN_AS)
