"""The home that all slots are cloned from, made once for a run, and a cache of what `openclaw agents add` changes."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from contextlib import closing, suppress
from functools import partial
from shutil import copytree
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread

from pinchbench.decoding import decode_json
from pinchbench.errors import OpenClawError
from pinchbench.files.folders import replaced_file
from pinchbench.files.user_data import cache_dir
from pinchbench.openclaw.command import agent_id as make_agent_id
from pinchbench.openclaw.homes.credentials import (
    NO_OVERLAY,
    SKILLS,
    Json,
    UserState,
    with_model_timeout,
    without_overlay,
)
from pinchbench.openclaw.homes.home_config import (
    CONFIG,
    FILES_AND_SHELL,
    agent_entry,
    private_config,
    with_settings,
    write_private,
)
from pinchbench.openclaw.homes.private import PrivateHome
from pinchbench.openclaw.short_command import run_short
from pinchbench.redaction import known_secrets, mask, secrets_in

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.openclaw.command import OpenClaw

FORMAT = 2  # version of the entries and of the data that their names are computed from
FOLDER = "agents-added"
ROOT = "<root>"  # stands for the home's own folder
MAX_ENTRY_BYTES = 1024 * 1024
# Files that a release writes into a new state folder and recreates if they are missing: databases, backups of its
# config, the key of its config journal, and logs. A home with any other file, such as a plugin's, is not cached.
MADE_AGAIN = re.compile(
    r"state/openclaw\.log|tmp/node-compile-cache|state/openclaw\.json(\.bak(\.\d+)?)?|state/config-journal-fingerprint\.key"
    r"|state/logs/[^/]+\.jsonl?|state/(.*/)?[^/]+\.sqlite(-\w+)?"
)
# the parts of an address on this machine that change with each run: the port and, through the wire, the slot's token
RUN_PART = re.compile(r"(?<=://127\.0\.0\.1:)\d+(/s/[^/\"]+)?")


class Added(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sections that OpenClaw added to a config, and the folders that it created."""

    sections: dict[str, object]
    folders: list[str]


def added_sections(given: Json, written: Json) -> Json:
    """Return the sections written by OpenClaw that a home keeps: the agents, and those missing from `given` (pure)."""
    return {name: one for name, one in written.items() if name == "agents" or name not in given}


class AddedCache:
    """A folder with one file for each release, model and config. All methods block.

    Entries contain no keys. An entry that is damaged or can't be read is treated as missing.
    """

    def __init__(self, home: PrivateHome, model: str) -> None:
        """Use the cache for a home to which the agent of a model is added."""
        self._home = home
        self._model = model
        self._root = json.dumps(str(home.root))[1:-1]  # as JSON writes it

    def read(self, config: Json) -> Added | None:
        """Return the changes that OpenClaw made to this config before; None if they are not cached."""
        if (path := self._path(config)) is None:
            return None
        try:
            with path.open("rb") as file:
                added = decode_json(file.read(MAX_ENTRY_BYTES), Added)
        except (OSError, ValueError, RecursionError):
            return None
        if "agents" not in added.sections:
            return None
        text = json.dumps(added.sections).replace(ROOT, self._root)
        return Added(sections=json.loads(text), folders=added.folders)

    def write(self, config: Json, written: Json) -> None:
        """Store the changes that OpenClaw made to `config`, unless it wrote keys or files that it does not recreate."""
        path = self._path(config)
        root = self._home.root
        below = {str(one.relative_to(root)): one for one in sorted(root.rglob("*"))}
        folders = [name for name, one in below.items() if one.is_dir() and not one.is_symlink()]
        if path is None or not all(MADE_AGAIN.fullmatch(name) for name in below.keys() - set(folders)):
            return
        text = json.dumps(added_sections(config, written)).replace(self._root, ROOT)
        if mask(text, self._secrets(config)) != text:
            return
        added = Added(sections=json.loads(text), folders=folders)
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replaced_file(path, mode=0o600) as file:
                file.write(msgspec.json.encode(added))

    def _path(self, config: Json) -> Path | None:
        if not self._home.openclaw.is_managed:  # other programs may be replaced in place
            return None
        text = json.dumps(config, sort_keys=True).replace(self._root, ROOT)
        parts = {
            "format": FORMAT,
            "release": self._home.openclaw.version,
            "model": self._model,
            "config": RUN_PART.sub("", mask(text, self._secrets(config))),
            "variables": sorted(self._home.env),
        }
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return cache_dir() / FOLDER / f"{digest}.json"

    def _secrets(self, config: Json) -> tuple[str, ...]:
        return (*known_secrets(self._home.env), *secrets_in(config))


PLACEHOLDER_KEY = "pinchbench-placeholder"
JSON_COLUMNS = """SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c
WHERE t.type = 'table' AND c.name IN ('store_json', 'value_json')"""


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
    skills: Path | None = None,
    settings: Json | None = None,
) -> PrivateHome:
    """Create the home that all slots are cloned from, with `openclaw agents add`.

    `tools` are those of OpenClaw's that its agents have. `trial_s` is the limit of a model call in seconds; None keeps
    OpenClaw's default. `skills`, a folder, and `settings` are the run's own. Costs 6 to 20 CPU-seconds of OpenClaw, or
    almost nothing if the result is cached (`AddedCache`, managed installs only). Raises OpenClawError with OpenClaw's
    message if the command fails.
    """
    home = PrivateHome(root=root, agent_id=make_agent_id(model), openclaw=openclaw, base_env=env, provider=provider)
    config = private_config(model, user, provider, root / "workspace", release=openclaw.version, tools=tools)
    if settings:
        config = with_settings(config, settings)
    if trial_s is not None:
        config = with_model_timeout(config, model, trial_s)
    cache = None if user.logins else AddedCache(home, model)  # logins need the databases
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
    if skills is not None:  # links are replaced by what they lead to
        await to_thread.run_sync(partial(copytree, skills, home.state_dir / SKILLS, dirs_exist_ok=True))
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
        raise failed(openclaw, done, env, "agents", "add", agent_id)


def failed(
    openclaw: OpenClaw, done: subprocess.CompletedProcess[bytes], env: Mapping[str, str], *arguments: str
) -> OpenClawError:
    """Return the error for a command of OpenClaw's that has failed."""
    command = openclaw.by_hand(*arguments)
    return OpenClawError(f"`{command}` failed (exit code {done.returncode}): {said(done, env)[-500:]}")


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
            for table, column in database.execute(JSON_COLUMNS).fetchall():
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
