"""One execution of a task, and the processes of its agent in the home's sandbox: one for each turn, or a gateway."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.model.task import HOME_FOLDERS, Task, Turn
from pinchbench.openclaw.command import MAX_ARGUMENT_BYTES, MESSAGE_FILES_SINCE, preloaded, release_key
from pinchbench.openclaw.homes.home_config import write_private
from pinchbench.openclaw.homes.sandbox import TurnExtras
from pinchbench.openclaw.sessions import AnyStore
from pinchbench.process.spec import Limits, ProcessSpec, StopSignal
from pinchbench.sandbox.sandbox_spec import HOME, Forward, Mount

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pinchbench.openclaw.agent_progress import Progress
    from pinchbench.openclaw.homes.credentials import Json
    from pinchbench.openclaw.homes.private import Home
    from pinchbench.openclaw.trial_clock import TrialClock
    from pinchbench.process.follow import Output
    from pinchbench.results.evidence_files import Evidence


MESSENGER = Path(__file__).with_name("messenger")  # our chat channel, a plugin of OpenClaw
SEEN_AS = "/opt/messenger"  # in the sandbox
CHANNEL = "messenger"
# In the sandbox's own network namespace, so that they can be the same for all trials.
GATEWAY_PORT = 18789  # OpenClaw's default
LINK_PORT = 18790
# OpenClaw's own limit of a turn is later than ours by this, which time that does not count for ours may use up.
OWN_LIMIT_MARGIN_S = 3600
SHUT_DOWN_S = 5.0  # OpenClaw needs 0.3 s (measured, idle)
GATEWAY_ENV = {
    # Services that a gateway starts and no trial needs.
    "OPENCLAW_SKIP_GMAIL_WATCHER": "1",
    "OPENCLAW_DISABLE_BONJOUR": "1",
    # Its timers go on in real time when days pass, as on a computer that has slept: else whatever it is doing times
    # out, and a worker that is ended then can leave OpenClaw's state locked for good.
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskExecution:
    """What the steps of one `OpenClawAgent.execute_task` share, as described there.

    `thinking` is None for OpenClaw's own level.
    """

    home: Home
    task: Task
    workspace: Path
    files: Evidence
    progress: Progress
    marker: str
    timeout_s: float
    stop_signal: StopSignal
    before_turn: Callable[[int], Awaitable[None]] | None = None
    services: tuple[Forward, ...] = ()
    clock: TrialClock | None = None
    thinking: str | None = None
    limits: Limits = Limits()
    outputs: list[Output] = field(default_factory=list)

    @property
    def seen_workspace(self) -> Path:
        """The path by which the agent names its workspace."""
        sandbox = self.home.sandbox
        return self.workspace if sandbox is None else sandbox.seen_workspace(self.workspace)

    def store(self, session_id: str, state: Path | None = None) -> AnyStore:
        """Return the store of a session, which is in OpenClaw's state folder unless `state` says where it is kept."""
        home = self.home.state_dir.parent
        # next to the home, where a sandboxed agent can't reach it
        links = None if self.home.sandbox is None else home.with_name(f"{home.name}.sessions")
        return AnyStore(state or self.home.state_dir, self.home.agent_id, session_id, links=links)

    async def of_turn(self, turn: Turn, session_id: str, left_s: float) -> ProcessSpec:
        """Return the process of a turn, which has `left_s` seconds. Raises OSError if its message can't be written."""
        message = turn.prompt_in(self.seen_workspace)
        argv = self._argv(session_id, left_s, message)
        env = {**self.home.env, **self.task.env}
        if len(message.encode()) > MAX_ARGUMENT_BYTES:
            folder = self.files.folder if self.home.sandbox is None else self.home.state_dir
            file = folder / f"message-{session_id}.txt"
            await to_thread.run_sync(write_private, file, message)  # in place of what the agent may have put there
            if release_key(self.home.openclaw.version) >= MESSAGE_FILES_SINCE:
                argv[-1] = f"--message-file={file}"
            else:
                argv[-1] = "--message="
                env = preloaded(env, file)
        return self._entered(argv, env)

    def _argv(self, session_id: str, left_s: float, message: str) -> list[str]:
        """Return the command line of a turn, whose last argument is the message.

        Values are joined with `=`, so that a prompt that begins with a dash is not parsed as an option. OpenClaw's own
        time limit is set higher than ours, so that ours applies.
        """
        options = ["--local"] if self.home.local else []
        options += [f"--agent={self.home.agent_id}", f"--session-id={session_id}"]
        options += [f"--thinking={self.thinking}"] if self.thinking else []
        limit = f"--timeout={int(left_s + OWN_LIMIT_MARGIN_S)}"
        return [str(self.home.openclaw.program), "agent", *options, limit, f"--message={message}"]

    def of_gateway(self, socket: Path) -> ProcessSpec:
        """Return the process of a gateway of the trial's own, whose plugin connects to `socket`."""
        link = Forward(port=LINK_PORT, socket=str(socket))
        env = {**self.home.env, **self.task.env, **GATEWAY_ENV}
        spec = self._entered([str(self.home.openclaw.program), "gateway", "run"], env, link)
        return replace(spec, limits=replace(spec.limits, grace_s=SHUT_DOWN_S))

    def _entered(self, argv: list[str], env: Mapping[str, str], link: Forward | None = None) -> ProcessSpec:
        """Return a process of OpenClaw's in the home's sandbox."""
        clock, sandbox, zone = self.clock, self.home.sandbox, self.task.timezone
        # the state and the temporary files of a private home, which lie side by side
        own = (self.home.state_dir.parent,) if self.home.local else ()
        spec = ProcessSpec(
            argv=argv,
            cwd=self.workspace,
            env={**env, **({} if clock is None else clock.env), **({"TZ": zone} if zone else {})},
            stdout=self.files.stdout,
            stderr=self.files.stderr,
            marker=self.marker,
            limits=self.limits,
            measured=(self.workspace, *own),
            keeps_output=True,
        )
        if sandbox is None:
            return spec
        clock_mounts = () if clock is None else clock.mounts
        plugins = () if link is None else (Mount(source=str(MESSENGER), target=SEEN_AS),)
        extras = TurnExtras(
            places=(*task_places(self.task, self.workspace), *clock_mounts, *plugins),
            services=self.services,
            link=link,
            files={} if clock is None else clock.files,
        )
        return sandbox.enter(spec, state=self.home.state_dir, extras=extras)


def task_places(task: Task, workspace: Path, home: str = HOME) -> tuple[Mount, ...]:
    """Return what a task's agent sees at paths that the task states: its workspace, files of the suite, in its home."""
    own = Mount(source=str(workspace), target=task.workspace_path, writable=True)
    shown = (Mount(source=str(one.source), target=one.path) for one in task.shown)
    kept = (
        Mount(source=str(workspace / HOME_FOLDERS / name), target=f"{home}/{name}", writable=True)
        for name in task.home_folders
    )
    return (*([own] if task.workspace_path else []), *shown, *kept)


def gateway_settings(task: Task, agent_id: str) -> Json:
    """Return what the config of a trial's home has in addition, for a gateway with our chat channel."""
    auth = {"mode": "token", "token": secrets.token_hex(16)}
    ours = {"enabled": True, "config": {"port": LINK_PORT}, "hooks": {"allowConversationAccess": True}}
    memory = {"config": {"dreaming": {"enabled": False}}}  # else it would call the model every night
    panel = {"enabled": False}
    return {
        "gateway": {"mode": "local", "port": GATEWAY_PORT, "bind": "loopback", "auth": auth, "controlUi": panel},
        "plugins": {"load": {"paths": [SEEN_AS]}, "entries": {CHANNEL: ours, "memory-core": memory}},
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
