"""An agent's home: private OpenClaw state, created once and cloned for each slot and trial."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Protocol

from anyio import to_thread

from pinchbench.errors import OpenClawError
from pinchbench.files.folders import DirectoryTemplate, has_content, overwrite_file, remove, remove_folder, restore_copy
from pinchbench.files.user_data import cache_dir
from pinchbench.openclaw.abilities import FILES_AND_SHELL, tool_settings, with_abilities, with_settings, with_tools
from pinchbench.openclaw.command import agent_id as make_agent_id
from pinchbench.openclaw.find import run_short
from pinchbench.openclaw.homes.added_agents import AddedCache, added_sections
from pinchbench.openclaw.homes.credentials import (
    NO_ADDITIONS,
    NO_OVERLAY,
    HomeAdditions,
    Json,
    UserState,
    merge,
    with_model_timeout,
    without_overlay,
)
from pinchbench.openclaw.install import release_key
from pinchbench.redaction import known_secrets, mask

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.model.timeline import Ability
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.homes.sandbox import TurnSandbox

# Since this release, OpenClaw recalls other conversations in a new one, and reviews long turns afterwards to write
# skills for later sessions. Both call the model outside the trials and carry content from one trial to another.
LEARNS_SINCE = (2026, 9)
# OPENROUTER_API_KEY is also a key of this web search. OpenClaw would get its plugin from npm in every trial, which
# takes minutes without a network, and the sandbox would report it as the agent's attempt (measured on 2026.9.6).
UNWANTED_PLUGINS: Json = {"plugins": {"entries": {"perplexity": {"enabled": False}}}}
STATE = "state"  # relative to the home's root
CONFIG = "openclaw.json"  # relative to the state
# What else OpenClaw executes or obeys, and does not change by itself during a turn.
SETTINGS = (".env", "extensions", "hooks", "npm", "skills")
# Relative to the home's root, of which a sandbox lets OpenClaw write to the state alone.
LOG = f"{STATE}/openclaw.log"
PLACEHOLDER_KEY = "pinchbench-placeholder"


class Home(Protocol):
    """The OpenClaw state of a slot's agent: either private to the slot, or the user's own OpenClaw."""

    @property
    def agent_id(self) -> str:
        """The id of the agent that this slot runs."""

    @property
    def state_dir(self) -> Path:
        """OpenClaw's state folder, which contains the sessions."""

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variables for OpenClaw."""

    @property
    def local(self) -> bool:
        """Whether turns run embedded (`--local`) rather than through the user's gateway."""

    @property
    def sandbox(self) -> TurnSandbox | None:
        """What the turns' processes run in; None among the user's processes."""

    def addressed(self, tokens: tuple[str, str]) -> Home:
        """Return the home for one trial: the second token takes the place of the first one in addresses of the wire."""

    def place(self, workspace: Path, attempt: int) -> Path:
        """Return the workspace to use for attempt number `attempt` of the trial assigned to `workspace`."""

    async def prepare(self, workspace: Path) -> None:
        """Make the existing folder `workspace` the agent's workspace. Called before each trial."""

    async def renew(self, workspace: Path) -> Path | None:
        """Begin a session that can see no earlier one; return where OpenClaw's state until now is kept.

        None if the state can't be exchanged.
        """

    async def restore(self, workspace: Path) -> tuple[str, ...]:
        """Undo what a turn has changed of OpenClaw's settings, plugins, hooks and skills; return the names of these."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateHome:
    """A private state folder, without a gateway.

    `template` is None for the template itself. `base_env` is the environment that programs and the model need
    (see `needed_for`). `networked` is the same home with an open network, for tasks that state it; None if it is open
    anyway. `abilities` are those of the task, `browser` is the program for them, and `tools` what its agent has for it
    besides the template's.

    `prepare` recreates the state from the template, so that no session, memory or setting of one trial reaches the
    next. `tokens` are those of the slot and the trial, as in `addressed`. `settings` are merged into the config.
    """

    root: Path
    agent_id: str
    openclaw: OpenClaw
    base_env: Mapping[str, str]
    provider: tuple[str, Json] | None = None
    template: DirectoryTemplate | None = None
    sandbox: TurnSandbox | None = None
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
    def local(self) -> bool:
        """True: a private home has no gateway."""
        return True

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

    def place(self, workspace: Path, attempt: int) -> Path:
        """Return `workspace`: all attempts use the same one."""
        del attempt
        return workspace

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
    def _template(self) -> DirectoryTemplate:
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
        self._template.copy_to(self.root)
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
        changed = [
            name for name in SETTINGS if restore_copy(self._template.source / STATE / name, self.state_dir / name)
        ]
        config = self._config(workspace)
        if not has_content(self.state_dir / CONFIG, config):
            changed.append(CONFIG)
            remove(self.state_dir / CONFIG)
            write_private(self.state_dir / CONFIG, config.decode())
        return tuple(changed)


def moved_config(template: DirectoryTemplate, root: Path, *, seen_as: str | None = None) -> Json:
    """Return the config of a template for its copy `root`, which OpenClaw sees as `seen_as` unless that is None.

    Blocks. Raises OSError.
    """
    text = (template.source / STATE / CONFIG).read_text(encoding="utf-8")
    old, new = (json.dumps(str(place))[1:-1] for place in (template.source, root if seen_as is None else seen_as))
    config: Json = json.loads(text.replace(old, new))
    return config


def agent_entry(config: Json, agent_id: str) -> Json:
    """Return the agent's object in an OpenClaw config: from `agents.entries` or, in older releases, `agents.list`.

    Raises OpenClawError if neither contains it.
    """
    agents = config.get("agents")
    if isinstance(agents, dict):
        entries = agents.get("entries")
        if isinstance(entries, dict) and isinstance(entry := entries.get(agent_id), dict):
            return entry
        for entry in agents.get("list") or []:
            if isinstance(entry, dict) and entry.get("id") == agent_id:
                return entry
    raise OpenClawError(f"OpenClaw added no agent {agent_id} to its config; is this release of OpenClaw supported?")


def write_private(path: Path, text: str) -> None:
    """Write a file that only the user can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def private_config(
    model: str,
    user: UserState,
    provider: tuple[str, Json] | None,
    workspace: Path,
    *,
    release: str,
    tools: Sequence[str],
) -> Json:
    """Return a private home's config: the given model without fallbacks, these tools, and the user's provider settings.

    Features that have effects outside the trial are disabled.
    """
    config: Json = {
        "agents": {
            "defaults": {
                "model": {"primary": model, "fallbacks": []},
                "skipBootstrap": True,  # no onboarding files in the workspace or the prompt
                "heartbeat": {"every": "0m"},  # only its trial may start a turn of an agent
                "workspace": str(workspace),
            }
        },
        # a trial sees only the sessions that it started itself, as in older releases without this setting
        "tools": {
            **tool_settings(tools, release),
            "sessions": {"visibility": "tree"},
            "exec": {"notifyOnExit": False},  # otherwise the exit of a background command starts another turn
        },
        "session": {"maintenance": {"mode": "warn"}},  # saves about 5 CPU-seconds per trial (measured on 2026.9.6)
        "logging": {"file": str(workspace.parent / LOG)},  # the default place can be read by the next trial
        "update": {"checkOnStart": False},
    }
    user_config = user.config
    if release_key(release)[: len(LEARNS_SINCE)] >= LEARNS_SINCE:
        config["memory"] = {"search": {"rememberAcrossConversations": False}}
        config["skills"] = {"workshop": {"autonomous": {"mode": "off"}}}
        user_config = merge(UNWANTED_PLUGINS, user_config)
    config = merge(user_config, config)
    if provider is not None:
        name, entry = provider
        config = merge(config, {"models": {"mode": "merge", "providers": {name: entry}}})
    return config


async def make_template(
    root: Path,
    *,
    openclaw: OpenClaw,
    model: str,
    user: UserState,
    env: Mapping[str, str],
    provider: tuple[str, Json] | None = None,
    tools: Sequence[str] = FILES_AND_SHELL,
    trial_s: float | None = None,
    additions: HomeAdditions = NO_ADDITIONS,
) -> PrivateHome:
    """Create the home that all slots are cloned from, with `openclaw agents add`.

    `tools` are those of OpenClaw's that its agents have. `trial_s` is the limit of a model call in seconds; None keeps
    OpenClaw's default. `additions` are the run's own. Costs 6 to 20 CPU-seconds of OpenClaw, or almost nothing if
    the result is cached (`AddedCache`, managed installs only). Raises OpenClawError with OpenClaw's message if the
    command fails.
    """
    home = PrivateHome(root=root, agent_id=make_agent_id(model), openclaw=openclaw, base_env=env, provider=provider)
    config = private_config(model, user, provider, root / "workspace", release=openclaw.version, tools=tools)
    if additions.settings:
        config = with_settings(config, additions.settings)
    if trial_s is not None:
        config = with_model_timeout(config, model, trial_s)
    cache = None if user.logins else AddedCache(openclaw, home.env, root, model=model)  # logins need the databases
    add = partial(_add_or_copy, home, model, cache=cache)
    try:
        await add(config)
    except OpenClawError as error:
        if trial_s is None or NO_OVERLAY not in str(error):
            raise
        config = without_overlay(config)
        await add(config)
    if user.logins:
        await _store_logins(home, user.logins)
    await to_thread.run_sync(_end_template, home, config, user)
    await to_thread.run_sync(additions.copy_skills, home.state_dir)
    return home


async def _add_or_copy(home: PrivateHome, model: str, config: Json, *, cache: AddedCache | None) -> None:
    """Create a state folder with this config and add the agent, from the cache if possible, else with OpenClaw."""
    await to_thread.run_sync(_begin_template, home, config)
    path = home.state_dir / CONFIG
    if cache is not None and (added := await to_thread.run_sync(cache.read, config)) is not None:
        for name in added.folders:
            (home.root / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path, json.dumps({**config, **added.sections}))
        return
    await add_agent(home.openclaw, home.env, home.agent_id, model, home.root / "workspace")
    if cache is not None:
        written = json.loads(await to_thread.run_sync(path.read_text, "utf-8"))
        agent_entry(written, home.agent_id)
        await to_thread.run_sync(cache.write, config, written)


def _begin_template(home: PrivateHome, config: Json) -> None:
    root = home.root
    compiled = cache_dir() / "node-compile-cache"
    for folder in (home.state_dir, root / "tmp", root / "workspace", compiled):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # OpenClaw caches compiled JavaScript under TMPDIR. Sharing that cache between slots and runs saves seconds per
    # trial. (NODE_COMPILE_CACHE would work too, but makes OpenClaw's launcher start a second Node.)
    if not (root / "tmp" / compiled.name).is_symlink():
        (root / "tmp" / compiled.name).symlink_to(compiled)
    write_private(home.state_dir / CONFIG, json.dumps(config, indent=1))


def _end_template(home: PrivateHome, config: Json, user: UserState) -> None:
    if user.dotenv:
        # After the setup, which needs no keys: with some of them set, 2026.9.6 first gets a plugin from npm (measured).
        write_private(home.state_dir / ".env", user.dotenv)
    if not user.logins:
        # OpenClaw needs nothing from the databases here. Without them, a turn does not start a dozen processes that
        # inspect them, which are a sixth of its CPU time (measured on 2026.9.6).
        for path in home.state_dir.rglob("*.sqlite*"):
            path.unlink()
    # OpenClaw rewrote the config: keep what it added (the agent, migration marks), and restore our own sections.
    config_path = home.state_dir / CONFIG
    written = json.loads(config_path.read_text(encoding="utf-8"))
    agent_entry(written, home.agent_id)
    write_private(config_path, json.dumps({**config, **added_sections(config, written)}, indent=1))


async def add_agent(openclaw: OpenClaw, env: Mapping[str, str], agent_id: str, model: str, workspace: Path) -> None:
    """Run `openclaw agents add`. Raises OpenClawError with OpenClaw's output if it fails."""
    args = ["agents", "add", agent_id, "--model", model, "--workspace", str(workspace), "--non-interactive"]
    done = await run_short(openclaw, args, env=env)
    if done.returncode != 0:
        words = said(done, env)
        raise OpenClawError(
            f"`{openclaw.by_hand('agents', 'add', agent_id)}` failed (exit code {done.returncode}): {words[-500:]}"
        )


def said(done: subprocess.CompletedProcess[bytes], env: Mapping[str, str]) -> str:
    """Return OpenClaw's output with secrets masked, before callers truncate and show it."""
    return mask((done.stderr + done.stdout).decode("utf-8", "replace").strip(), known_secrets(env))


async def _store_logins(home: PrivateHome, logins: Json) -> None:
    """Store the user's auth profiles where this OpenClaw release keeps them.

    OpenClaw stores a placeholder key, and the value that contains it is then replaced with the user's profiles. So the
    code need not know the tables of each release.
    """
    args = ["models", "auth", "--agent", "main", "paste-api-key", "--provider", "pinchbench"]
    done = await run_short(home.openclaw, args, env=home.env, stdin=PLACEHOLDER_KEY.encode() + b"\n")
    stored = await to_thread.run_sync(_replace_placeholder, home.state_dir, logins)
    if not stored:
        words = said(done, home.env)
        raise OpenClawError(
            f"Your stored OpenClaw logins could not be carried into a private home ({words[-300:]});"
            " give the provider's key as an environment variable, or use --isolation shared."
        )


def _replace_placeholder(state: Path, logins: Json) -> bool:
    text = json.dumps({"version": 1, **logins})
    for path in sorted(state.rglob("*.sqlite")):
        with closing(sqlite3.connect(path)) as database:
            for table, column in _json_columns(database):
                found = database.execute(
                    f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" LIKE ? AND "{column}" LIKE ?',  # noqa: S608
                    (text, f"%{PLACEHOLDER_KEY}%", '%"profiles"%'),
                )
                if found.rowcount:
                    database.commit()
                    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    return True
    legacy = state / "agents" / "main" / "agent" / "auth-profiles.json"
    if legacy.is_file() and PLACEHOLDER_KEY in legacy.read_text(encoding="utf-8"):
        write_private(legacy, text)
        return True
    return False


def _json_columns(database: sqlite3.Connection) -> list[tuple[str, str]]:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [
        (table, row[1])
        for table in tables
        for row in database.execute(f'PRAGMA table_info("{table}")')
        if row[1] in ("store_json", "value_json")
    ]


def clone(template: PrivateHome, root: Path, provider: tuple[str, Json] | None = None) -> PrivateHome:
    """Return a slot's home, which each `prepare` creates from the template. Writes nothing yet."""
    return PrivateHome(
        root=root,
        agent_id=template.agent_id,
        openclaw=template.openclaw,
        base_env=template.base_env,
        provider=provider,
        template=DirectoryTemplate(template.root),
    )
