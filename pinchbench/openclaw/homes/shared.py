"""Agents in the user's own OpenClaw, whose turns go through the user's gateway."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import Lock, to_thread

from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import OpenClaw, release_key
from pinchbench.openclaw.command import agent_id as make_agent_id
from pinchbench.openclaw.homes.credentials import Json, user_state_dir
from pinchbench.openclaw.homes.home_template import add_agent, failed, said
from pinchbench.openclaw.homes.private import Home
from pinchbench.openclaw.short_command import run_short

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


# Since this release, OpenClaw remembers the target of a linked workspace and refuses a changed one (measured).
REMEMBERS_SINCE = (2026, 9)
# Older releases record in this folder, in a file named after the workspace's path, that a workspace had files, and
# refuse it if it is empty soon after (measured on 2026.6.5, whose error says to remove that file if this is intended).
ATTESTATIONS = "workspace-attestations"


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedHome(Home):
    """The user's own OpenClaw, as in PinchBench's own runner; turns go through the user's gateway.

    The agent's configured workspace is `link`, a symbolic link that is changed before each trial; OpenClaw's record of
    the previous workspace is removed at the same time.

    Releases since `REMEMBERS_SINCE` refuse a changed link. With them, each trial's workspace is written to the config,
    which the gateway reloads without reporting when. `changes` is held while the config is written; all slots of a run
    share it.
    """

    local = False
    user_state: Path
    link: Path
    changes: Lock | None = None

    @property
    def state_dir(self) -> Path:
        """The user's own."""
        return self.user_state

    @property
    def env(self) -> Mapping[str, str]:
        """The user's unchanged environment, except that OpenClaw's own Node is first on PATH."""
        return {**self.base_env, "PATH": self.openclaw.path(self.base_env.get("PATH", os.defpath))}

    def place(self, workspace: Path, attempt: int) -> Path:
        """Return a separate workspace for each attempt if OpenClaw remembers workspaces, else `workspace`."""
        if self.changes is None or attempt == 1:
            return workspace
        return workspace.with_name(f"{workspace.name}.attempt{attempt}")

    async def prepare(self, workspace: Path) -> None:
        """Make `workspace` the agent's workspace: by atomically replacing the link, or in the config.

        Raises OpenClawError if the config can't be changed.
        """
        if self.changes is not None:
            async with self.changes:
                await self._name_in_config(workspace)
            return
        fresh = self.link.with_name(f"{self.link.name}.new")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(workspace)
        fresh.replace(self.link)
        # where OpenClaw records that this home's workspace had files
        name = hashlib.sha256(str(self.link.absolute()).encode()).hexdigest()
        (self.state_dir / ATTESTATIONS / f"{name}.attested").unlink(missing_ok=True)

    async def _name_in_config(self, workspace: Path) -> None:
        path = f"agents.entries.{self.agent_id}.workspace"
        done = await run_short(self.openclaw, ["config", "set", path, str(workspace)], env=self.env)
        if done.returncode != 0:
            raise failed(self.openclaw, done, self.env, "config", "set", path)


async def ensure_shared(
    openclaw: OpenClaw, *, model: str, slot: int, link: Path, env: Mapping[str, str], changes: Lock
) -> SharedHome:
    """Ensure that the user's OpenClaw has this slot's agent, with `link` as its workspace, and return its home.

    The workspace of an existing agent is changed to `link` with `openclaw config set`. With releases that need each
    trial's workspace in the config, this happens before each trial instead, under `changes`, which all slots of a run
    share.

    Must not be called concurrently: OpenClaw's own commands race on openclaw.json. Raises OpenClawError with OpenClaw's
    message if a command fails, or if the existing agent uses another model.
    """
    remembers = release_key(openclaw.version) >= REMEMBERS_SINCE
    home = SharedHome(
        agent_id=make_agent_id(model, slot),
        user_state=user_state_dir(env),
        link=link,
        openclaw=openclaw,
        base_env=env,
        changes=changes if remembers else None,
    )
    agents = await _list_agents(openclaw, home.env)
    existing = next((one for one in agents if one.get("id") == home.agent_id), None)
    if existing is None:
        # `agents add` creates the folder itself; the link replaces it afterwards
        await add_agent(openclaw, home.env, home.agent_id, model, link)
        await to_thread.run_sync(_make_room, link)
        return home
    listed = existing.get("model")
    if isinstance(listed, str) and listed and listed != model:  # the results would name a model that never ran
        raise OpenClawError(
            f"The agent {home.agent_id} exists in your OpenClaw with the model {listed}, not {model}."
            f" Remove it with `{home.openclaw.by_hand('agents', 'delete', home.agent_id)}` and run this again."
        )
    if not remembers and existing.get("workspace") != str(link):
        await _set_workspace(openclaw, home, agents)
    return home


def _make_room(link: Path) -> None:
    if link.is_dir() and not link.is_symlink():
        shutil.rmtree(link)  # just created by `agents add`, in this run's own folder


async def _list_agents(openclaw: OpenClaw, env: Mapping[str, str]) -> list[Json]:
    done = await run_short(openclaw, ["agents", "list", "--json"], env=env)
    try:
        agents = json.loads(done.stdout)
    except (ValueError, RecursionError):
        agents = None
    if done.returncode != 0 or not isinstance(agents, list):
        raise failed(openclaw, done, env, "agents", "list")
    return [one for one in agents if isinstance(one, dict)]


async def _set_workspace(openclaw: OpenClaw, home: SharedHome, agents: list[Json]) -> None:
    listed = next(number for number, one in enumerate(agents) if one.get("id") == home.agent_id)
    words = ""
    # newer releases keep agents by id, older ones in a list in the order `agents list` shows
    for path in (f"agents.entries.{home.agent_id}.workspace", f"agents.list[{listed}].workspace"):
        if (await run_short(openclaw, ["config", "get", path], env=home.env)).returncode != 0:
            continue  # not this release's format: setting it would break the user's config
        done = await run_short(openclaw, ["config", "set", path, str(home.link)], env=home.env)
        if done.returncode == 0:
            break
        words = said(done, home.env)
    agents = await _list_agents(openclaw, home.env)
    if next((one.get("workspace") for one in agents if one.get("id") == home.agent_id), None) != str(home.link):
        raise OpenClawError(
            f"The agent {home.agent_id} exists in your OpenClaw with another workspace, and that can't be changed: "
            f"{words[-300:]} Remove it with `{openclaw.by_hand('agents', 'delete', home.agent_id)}` and run this again."
        )
