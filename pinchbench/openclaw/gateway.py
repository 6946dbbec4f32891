"""A private gateway: started once for a run, kept alive, its agents pointed at each trial's workspace."""

from __future__ import annotations

import http.client
import json
import math
import os
import re
import secrets
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
from anyio import Event, Lock, create_task_group, fail_after, move_on_after, to_thread

from pinchbench.errors import GatewayError
from pinchbench.mold import Mold
from pinchbench.openclaw.command import agent_id as make_agent_id
from pinchbench.openclaw.gateway_config import SILENCE, Pointing, gateway_config, with_agents
from pinchbench.openclaw.gateway_log import GatewayLog
from pinchbench.openclaw.home import LOG, agent_entry, copy_home, later_place, write_private
from pinchbench.process.follow import Follower
from pinchbench.process.leftovers import end_within
from pinchbench.process.lines import LineSplitter
from pinchbench.process.supervise import Leave, Leftover, Limits, ProcessEnd, ProcessSpec, supervise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pinchbench.openclaw.credentials import Json
    from pinchbench.openclaw.home import PrivateHome

LOOPBACK = "127.0.0.1"
RESTARTS = 1
READY_LIMIT_S = 180.0  # about 20 s on a quiet machine (measured on 2026.9.6), far longer where every core is taken
READY_LOOK_S = 0.2
PROBE_LIMIT_S = 5.0
# A change of the config is applied after 0.3 s of quiet and some work (measured: 0.5 s to 3 s with every core taken).
RELOAD_LIMIT_S = 60.0
LOG_LOOK_S = 0.05
LOG_LINE_BYTES = 16 * 1024
GRACE_S = 5.0  # it has nothing left to do when it is ended: all trials are over
OUTPUT_LIMIT_BYTES = 4 * 1024**3  # of its log, over a run of days
RELOADED = re.compile(r"\[reload\] config hot reload applied \(.*\bagents\.")
LEFT_GRACE_S = 1.0  # for what a trial left running, as the guardian gives it

# OpenClaw keeps what these do within the trial's workspace and its processes. All others (memory, sessions, plans,
# browsers and what releases to come may bring) can leave something in the agent's own state.
TRACELESS_TOOLS = frozenset(
    {
        *("apply_patch", "edit", "exec", "find", "grep", "ls", "process", "read", "web_fetch", "web_search", "write"),
        *("tool_describe", "tool_search"),  # they only tell of tools
    }
)
MEMORY_NAMES = frozenset({"memory", "memory.md", "user.md", "dreams.md"})  # OpenClaw indexes them for the agent


class Gateway:
    """A gateway that lives while `run` does.

    Its state is a clone of a template. When its process dies it is started once more, with state made anew.
    """

    def __init__(
        self,
        template: PrivateHome,
        home: PrivateHome,
        *,
        marker: str,
        model: str,
        slots: int,
        watch_skills: bool,
        tell: Callable[[str], None],
    ) -> None:
        """`home` is the clone of `template` that it lives in, `marker` what all its processes have in their environment.

        `slots` is how many turns it runs at once.
        `watch_skills` is as `gateway_config` has it. `tell` gets a sentence when it has to be started again.
        """
        self._model = model
        self._slots = slots
        self._template = template
        self._watch_skills = watch_skills
        self._home = home
        self._marker = marker
        self._tell = tell
        self._own = Leave()
        self._agents: dict[str, Pointing] = {}  # as the running gateway knows them
        self._wanted: dict[str, Pointing | None] = {}  # and what is to become of them; None: removed
        self._config: Json = {}  # as it was written when it started, with the template's agent
        self._numbers = 0
        self._lock = Lock()
        self._port = 0
        self._serves = Event()
        self._reloaded = Event()
        self._records = GatewayLog(home.root / LOG)
        self._gone = ""  # why nobody should wait for it any more

    @property
    def _log(self) -> Path:
        """What the gateway that was started last says."""
        return self._home.root.with_name(f"{self._home.root.name}.log")

    @property
    def log(self) -> GatewayLog:
        """What the gateway that was started last writes about its turns."""
        return self._records

    @property
    def state_dir(self) -> Path:
        """Where all its agents keep their sessions."""
        return self._home.state_dir

    @property
    def env(self) -> Mapping[str, str]:
        """The environment for commands that go through it."""
        return self._home.env

    def new_agent(self, model: str) -> str:
        """An id that no agent of this gateway has had."""
        self._numbers += 1
        return make_agent_id(model, self._numbers)

    async def ready(self) -> None:
        """Wait until it takes turns. Raises GatewayError when it is gone for good, or does not come up in time."""
        with move_on_after(READY_LIMIT_S):
            while not self._gone and not self._serves.is_set():
                await self._serves.wait()
        if self._gone or not self._serves.is_set():
            said = await self._last_words()
            raise GatewayError(self._gone or f"OpenClaw's gateway did not come up within {READY_LIMIT_S:.0f} s: {said}")

    async def point(self, agent: str, pointing: Pointing, *, instead_of: str | None = None) -> None:
        """Let `agent` work in a workspace, and drop another agent. Returns when the gateway does so.

        Changes that come at once are made at once. Raises GatewayError when it is gone for good, does not come up, or
        does not take the change.
        """
        while True:
            await self.ready()
            self._wanted[agent] = pointing
            if instead_of is not None:
                self._wanted[instead_of] = None
            async with self._lock:
                if self._gone or not self._serves.is_set():
                    continue  # it ended while the changes of others were made
                if self._agents.get(agent) != pointing:
                    await self._apply()
                return

    async def end_left(self, workspace: Path) -> tuple[Leftover, ...]:
        """End what commands of the agent in this workspace have left running; returns what that was."""
        found = await to_thread.run_sync(end_within, self._marker, workspace, LEFT_GRACE_S, abandon_on_cancel=True)
        return tuple(Leftover(pid=pid, command=command) for pid, command in found)

    async def _apply(self) -> None:
        """Make all wanted changes in one."""
        wanted, serves = dict(self._wanted), self._serves
        agents = {name: one for name, one in {**self._agents, **wanted}.items() if one is not None}
        self._reloaded = Event()
        await to_thread.run_sync(self._write_agents, agents)
        try:
            with fail_after(RELOAD_LIMIT_S):
                await self._reloaded.wait()
        except TimeoutError:
            raise GatewayError("OpenClaw's gateway did not take over a change of its config.") from None
        if self._gone or serves is not self._serves:
            raise GatewayError(self._gone or "OpenClaw's gateway ended meanwhile.")
        self._agents = agents
        self._wanted = {name: one for name, one in self._wanted.items() if wanted.get(name, self) is not one}

    def _write_agents(self, agents: Mapping[str, Pointing]) -> None:
        """Write the config with these agents, from what we know of it: any agent can reach the file and change it."""
        config = with_agents(self._config, self._home.agent_id, agents, self._home.state_dir)
        path = self._home.state_dir / "openclaw.json"
        fresh = path.with_name("openclaw.json.new")
        write_private(fresh, json.dumps(config))
        fresh.replace(path)

    def _renew(self) -> None:
        """Make the state anew, with a port and a token of its own."""
        path, config = copy_home(Mold(self._template.root), self._home.root)
        agent_entry(config, self._home.agent_id)
        self._port = free_port()
        self._config = gateway_config(
            config,
            port=self._port,
            token=secrets.token_urlsafe(32),
            model=self._model,
            slots=self._slots,
            watch_skills=self._watch_skills,
        )
        write_private(path, json.dumps(self._config))
        self._records = GatewayLog(self._home.root / LOG)

    async def run(self, leave: Leave) -> None:
        """Keep the gateway alive until `close`; on return, a cancellation included, nothing of it lives.

        When `leave.stop` is set nobody waits for it any more, but what runs in it goes on; `leave.hurry` cuts its end short.
        """
        self._own.hurry = leave.hurry
        try:
            async with create_task_group() as group:
                group.start_soon(self._give_up, leave.stop)
                first = self._home.root
                for start in range(1 + RESTARTS):
                    end = await self._run_once()
                    if self._own.stop.is_set() or leave.stop.is_set():
                        break
                    how = f"(exit code {end.exit_code}): {await self._last_words()}"
                    if start == RESTARTS:
                        self._gone = f"OpenClaw's gateway ended by itself again {how}"
                        break
                    self._tell(f"OpenClaw's gateway is started again, for it ended by itself {how}")
                    # elsewhere: what the trials of the first have written is still being read
                    self._home = replace(self._home, root=first.with_name(f"{first.name}-{start + 2}"))
                group.cancel_scope.cancel()
        except* OSError as errors:
            self._gone = f"OpenClaw's gateway can't be given a home: {errors.exceptions[0]}"
        finally:
            self._gone = self._gone or "OpenClaw's gateway is closed."
            self._wake()

    def close(self) -> None:
        """Ask it to end; `run` returns when it has."""
        self._own.stop.set()

    async def _give_up(self, stop: Event) -> None:
        await stop.wait()
        self._gone = self._gone or "The run was asked to stop."
        self._wake()

    def _wake(self) -> None:
        self._serves.set()
        self._reloaded.set()

    async def _run_once(self) -> ProcessEnd:
        async with self._lock:  # a change that is being written must not land in the new state
            await to_thread.run_sync(self._renew)
            self._agents, self._wanted = {}, {}
        spec = ProcessSpec(
            argv=[str(self._home.openclaw.program), "gateway", "run"],
            cwd=self._home.root,
            env={**self._home.env, **SILENCE},
            stdout=self._log,
            stderr=self._log,
            marker=self._marker,
            limits=Limits(grace_s=GRACE_S, output_limit_bytes=OUTPUT_LIMIT_BYTES),
        )
        async with create_task_group() as group:
            group.start_soon(self._await_ready, self._serves)
            group.start_soon(self._read_log)
            end = await supervise(spec, timeout_s=math.inf, leave=self._own)
            group.cancel_scope.cancel()
        if self._serves.is_set():  # else there are those who wait for it: until it is started again
            self._serves = Event()
        self._reloaded.set()
        return end

    async def _await_ready(self, serves: Event) -> None:
        while True:
            if await to_thread.run_sync(is_ready, self._port, abandon_on_cancel=True):
                serves.set()
                return
            await anyio.sleep(READY_LOOK_S)

    async def _read_log(self) -> None:
        splitter = LineSplitter(max_line_bytes=LOG_LINE_BYTES)
        async with Follower(self._log) as follower:
            while True:
                data = await follower.read()
                for line in splitter.feed(data):
                    if RELOADED.search(line.data.decode("utf-8", "replace")):
                        self._reloaded.set()
                if not data:
                    await anyio.sleep(LOG_LOOK_S)

    async def _last_words(self) -> str:
        def read() -> str:
            with self._log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_LINE_BYTES))
                data = file.read()
            return data.decode("utf-8", "replace").strip().rpartition("\n")[2]

        try:
            return await to_thread.run_sync(read)
        except OSError as error:
            return str(error)


@dataclass(kw_only=True, slots=True)
class GatewayHome:
    """A slot's agent in a private gateway.

    The agent is used again for the next trial, unless the last one may have left something in the agent's own state:
    then a new one takes its place. So no session, memory or plan of one trial reaches another.
    """

    gateway: Gateway
    model: str
    agent_id: str
    _before: str | None = None

    @property
    def state_dir(self) -> Path:
        """The gateway's; every agent has its own folder in it."""
        return self.gateway.state_dir

    @property
    def env(self) -> Mapping[str, str]:
        """The gateway's."""
        return self.gateway.env

    @property
    def log(self) -> GatewayLog | None:
        """The gateway's."""
        return self.gateway.log

    @property
    def local(self) -> bool:
        """Turns go through the gateway."""
        return False

    def place(self, workspace: Path, attempt: int) -> Path:
        """Another one for each attempt: OpenClaw refuses a workspace that it has seen with files and that is empty now."""
        return later_place(workspace, attempt)

    async def prepare(self, workspace: Path) -> None:
        """Let the agent work in `workspace`. Raises GatewayError when the gateway is gone or does not follow."""
        pointing = Pointing(workspace=workspace, model=self.model)
        await self.gateway.point(self.agent_id, pointing, instead_of=self._before)
        self._before = None

    async def release(self, workspace: Path, *, tools: frozenset[str], finished: bool) -> tuple[Leftover, ...]:
        """End what the trial left running, and replace the agent where the trial may have left something in its state."""
        if not finished or tools - TRACELESS_TOOLS or await to_thread.run_sync(has_memory, workspace):
            self._before = self._before or self.agent_id
            self.agent_id = self.gateway.new_agent(self.model)
        return await self.gateway.end_left(workspace)


def gateway_home(gateway: Gateway, model: str) -> GatewayHome:
    """A slot of this gateway."""
    return GatewayHome(gateway=gateway, model=model, agent_id=gateway.new_agent(model))


def has_memory(workspace: Path) -> bool:
    """Whether a workspace holds files that OpenClaw takes into its agent's memory index. Blocks."""
    try:
        with os.scandir(workspace) as listing:
            return any(entry.name.lower() in MEMORY_NAMES for entry in listing)
    except OSError:
        return True


def free_port() -> int:
    """A port of loopback that nobody uses at this moment."""
    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        port: int = one.getsockname()[1]
        return port


def is_ready(port: int) -> bool:
    """Whether a gateway on this port takes turns. Blocks, at most `PROBE_LIMIT_S` a step."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PROBE_LIMIT_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
