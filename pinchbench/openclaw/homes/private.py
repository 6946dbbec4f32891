"""An agent's home: private OpenClaw state, created anew for each trial from a template."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, ClassVar

from anyio import to_thread

from pinchbench.files.folders import copy_folder, has_content, overwrite_file, remove, remove_folder, restore_copy
from pinchbench.openclaw.homes.credentials import Json, merge
from pinchbench.openclaw.homes.home_config import (
    CONFIG,
    SETTINGS,
    STATE,
    agent_entry,
    moved_config,
    with_abilities,
    with_tools,
    write_private,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.model.timeline import Ability
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.homes.sandbox import TurnSandbox


@dataclass(frozen=True, kw_only=True, slots=True)
class Home(ABC):
    """The OpenClaw state of a slot's agent: either private to the slot, or the user's own OpenClaw.

    Attributes:
        local: whether turns run embedded (`--local`) rather than through the user's gateway.
        base_env: the environment that programs and the model need (see `needed_for`).
        sandbox: what the turns' processes run in; None among the user's processes.
    """

    local: ClassVar[bool]
    agent_id: str
    openclaw: OpenClaw
    base_env: Mapping[str, str]
    sandbox: TurnSandbox | None = None

    @property
    @abstractmethod
    def state_dir(self) -> Path:
        """OpenClaw's state folder, which contains the sessions."""

    @property
    @abstractmethod
    def env(self) -> Mapping[str, str]:
        """The environment variables for OpenClaw."""

    @abstractmethod
    async def prepare(self, workspace: Path) -> None:
        """Make the existing folder `workspace` the agent's workspace. Called before each trial."""

    def addressed(self, tokens: tuple[str, str]) -> Home:
        """Return the home for one trial: the second token takes the place of the first one in addresses of the wire."""
        del tokens  # what does not go through the wire has none
        return self

    def place(self, workspace: Path, attempt: int) -> Path:
        """Return the workspace to use for attempt number `attempt` of the trial assigned to `workspace`."""
        del attempt  # all can use the same one
        return workspace

    async def renew(self, workspace: Path) -> Path | None:
        """Begin a session that can see no earlier one; return where OpenClaw's state until now is kept.

        None if the state can't be exchanged.
        """
        del workspace
        return None

    async def restore(self, workspace: Path) -> tuple[str, ...]:
        """Undo what a turn has changed of OpenClaw's settings, plugins, hooks and skills; return the names of these."""
        del workspace
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateHome(Home):
    """A private state folder, without a gateway.

    `template` is None for the template itself. `networked` is the same home with an open network, for tasks that state
    it; None if it is open anyway. `abilities` are those of the task, `browser` is the program for them, and `tools`
    what its agent has for it besides the template's.

    `prepare` recreates the state from the template, so that no session, memory or setting of one trial reaches the
    next. `tokens` are those of the slot and the trial, as in `addressed`. `settings` are merged into the config.
    """

    local = True  # it has no gateway
    root: Path
    provider: tuple[str, Json] | None = None
    template: Path | None = None
    networked: PrivateHome | None = None
    abilities: tuple[Ability, ...] = ()
    browser: Path | None = None
    tools: tuple[str, ...] = ()
    tokens: tuple[str, str] | None = None
    settings: Json = field(default_factory=dict)

    @property
    def state_dir(self) -> Path:
        """`<root>/state`."""
        return self.root / STATE

    @property
    def env(self) -> Mapping[str, str]:
        """`base_env`, with OpenClaw's state, config and lock files redirected to this home."""
        own = {
            "NO_COLOR": "1",
            "OPENCLAW_NO_RESPAWN": "1",  # saves one Node process per turn
            "OPENCLAW_TRAJECTORY": "0",  # a second, unused record of each turn that includes the whole prompt
        }
        base = {
            **self.base_env,
            "PATH": self.openclaw.path(self.base_env.get("PATH", os.defpath)),
            "OPENCLAW_STATE_DIR": str(self.state_dir),
            "OPENCLAW_CONFIG_PATH": str(self.state_dir / CONFIG),
            "TMPDIR": str(self.root / "tmp"),
        }
        known = base if self.sandbox is None else self.sandbox.env
        return {name: self._with_token(value) for name, value in {**known, **own}.items()}

    def with_browser(self, program: Path) -> PrivateHome:
        """Return this home with a browser for the agent, whose folder a sandbox shows. Blocks."""
        seen, sandbox = program.resolve(), self.sandbox
        if sandbox is not None:
            sandbox = sandbox.showing(seen.parent)
        return replace(self, browser=seen, sandbox=sandbox)

    def addressed(self, tokens: tuple[str, str]) -> PrivateHome:
        """Return this home with other tokens."""
        return replace(self, tokens=tokens)

    def _with_token(self, text: str) -> str:
        return text if self.tokens is None else text.replace(*self.tokens)

    async def prepare(self, workspace: Path) -> None:
        """Recreate the state from the template and make `workspace` the agent's workspace."""
        await to_thread.run_sync(self._forget)
        await to_thread.run_sync(self._copy, workspace)

    async def renew(self, workspace: Path) -> Path | None:
        """Do the same in the middle of a trial, and move the state so far out of the agent's reach until the next."""
        return await to_thread.run_sync(self._set_aside, workspace)

    async def restore(self, workspace: Path) -> tuple[str, ...]:
        """Copy what differs of `SETTINGS` from the template again."""
        return await to_thread.run_sync(self._restore, workspace)

    @property
    def _template(self) -> Path:
        assert self.template is not None, "the template is never prepared"  # noqa: S101
        return self.template

    @property
    def _earlier(self) -> Path:
        """The states of the trial's earlier sessions: next to the home, which is all that a sandbox shows."""
        return self.root.with_name(f"{self.root.name}.earlier")

    def _forget(self) -> None:
        if left := remove_folder(self._earlier):
            raise OSError(left)

    def _set_aside(self, workspace: Path) -> Path:
        self._earlier.mkdir(mode=0o700, exist_ok=True)
        kept = self._earlier / str(len(list(self._earlier.iterdir())))
        with suppress(FileNotFoundError):  # an agent without a sandbox can remove it
            self.state_dir.rename(kept)
        self._copy(workspace)
        return kept

    def _copy(self, workspace: Path) -> None:
        copy_folder(self._template, self.root)
        if self.sandbox is not None:
            self.sandbox.prepare()
        # keeps the permissions of the template's file
        overwrite_file(self.state_dir / CONFIG, BytesIO(self._config(workspace)))

    def _config(self, workspace: Path) -> bytes:
        seen, seen_root = workspace, None
        if self.sandbox is not None:
            seen, seen_root = self.sandbox.seen_workspace(workspace), self.sandbox.seen_root
        config = moved_config(self._template, self.root, seen_as=seen_root)
        agent_entry(config, self.agent_id)["workspace"] = str(seen)
        if self.provider is not None:
            name, entry = self.provider
            config = merge(config, {"models": {"providers": {name: entry}}})
        if self.tools:
            config = with_abilities(with_tools(config, self.tools), self.abilities, self.openclaw.version, self.browser)
        config = merge(config, self.settings)
        return self._with_token(json.dumps(config)).encode()

    def _restore(self, workspace: Path) -> tuple[str, ...]:
        if self.state_dir.is_symlink() or not self.state_dir.is_dir():
            remove(self.state_dir)
            self.state_dir.mkdir(parents=True)
        self.state_dir.chmod(0o700)
        changed = [name for name in SETTINGS if restore_copy(self._template / STATE / name, self.state_dir / name)]
        config = self._config(workspace)
        if not has_content(self.state_dir / CONFIG, config):
            changed.append(CONFIG)
            remove(self.state_dir / CONFIG)
            write_private(self.state_dir / CONFIG, config.decode())
        return tuple(changed)


def clone(template: PrivateHome, root: Path, provider: tuple[str, Json] | None = None) -> PrivateHome:
    """Return a slot's home, which each `prepare` creates from the template. Writes nothing yet."""
    return replace(template, root=root, provider=provider, template=template.root)
