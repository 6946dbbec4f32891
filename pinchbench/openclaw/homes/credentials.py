"""The user's OpenClaw settings and keys, where keys are, and what a run adds to or changes in a home's settings."""

from __future__ import annotations

import json
import math
import re
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.errors import OpenClawError
from pinchbench.json_values import Object, is_deep, object_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


Json = dict[str, object]

# Sections of openclaw.json that configure access to models. Channels, agents, hooks and the like are not copied:
# a benchmark must neither use nor disturb them.
CARRIED_SECTIONS = ("models", "auth", "env", "secrets", "plugins")
MAX_INCLUDE_DEPTH = 10
# Cooldowns and last uses: the history of the user's own turns must not influence a trial.
HISTORY = "usageStats"
# One assignment, which may span several lines, in the grammar of npm's dotenv, which OpenClaw uses for these files.
ASSIGNMENT = re.compile(
    r"""^\s*(?:export\s+)?([A-Za-z0-9_.-]+)(?:\s*=\s*?|:\s+?)"""
    r"""(?:\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\n]+)?\s*(?P<comment>#.*)?$""",
    re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class UserState:
    """The parts of the user's OpenClaw state that a private home uses.

    Attributes:
        config: the provider settings, by section of openclaw.json.
        logins: OpenClaw's store of auth profiles: `profiles`, `order` and so on; empty if there are no profiles.
        dotenv: the text of the user's `.env` files, of which a home gets `kept_dotenv`.
    """

    config: Json = field(default_factory=dict)
    logins: Json = field(default_factory=dict)
    dotenv: str = ""


def user_state_dir(env: Mapping[str, str]) -> Path:
    """Return the state folder of the user's own OpenClaw."""
    if chosen := env.get("OPENCLAW_STATE_DIR"):
        return Path(chosen).expanduser()
    return _home(env) / ".openclaw"


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("OPENCLAW_HOME") or env.get("HOME") or Path.home()).expanduser()


def read_user_state(env: Mapping[str, str]) -> UserState:
    """Read the parts of the user's state that a private home needs. Blocks; writes nothing, not even lock files.

    Raises OpenClawError if the user's openclaw.json, logins or .env can't be read: without them the run might use
    another account than the user expects.
    """
    state = user_state_dir(env)
    chosen = env.get("OPENCLAW_CONFIG_PATH")
    config_path = Path(chosen).expanduser() if chosen else state / "openclaw.json"
    too_deep = f"Your OpenClaw config {config_path} is nested too deeply; fix it and run this again."
    try:
        config = read_config(config_path) if config_path.is_file() else {}
    except RecursionError as error:
        raise OpenClawError(too_deep) from error
    if is_deep(config):
        raise OpenClawError(too_deep)
    carried = {name: config[name] for name in CARRIED_SECTIONS if name in config}
    try:
        logins = _read_logins(state)
    except OSError as error:
        raise OpenClawError(
            f"The logins of your OpenClaw in {state} can't be read ({error}); fix it and run this again."
        ) from error
    return UserState(config=carried, logins=logins, dotenv=_read_dotenv(env))


def read_config(path: Path, depth: int = 0) -> Json:
    """Return an OpenClaw config, JSON or JSON5, with the files that it includes; `depth` of them are around it. Blocks.

    Raises OpenClawError.
    """
    if depth > MAX_INCLUDE_DEPTH:
        raise OpenClawError(f"{path}: $include goes deeper than {MAX_INCLUDE_DEPTH} files; is it circular?")
    try:
        text = path.read_text(encoding="utf-8")
        try:
            value = json.loads(text)
        except ValueError:
            import json5  # noqa: PLC0415 - slow to import, and most settings are plain JSON

            value = json5.loads(text)
    except (OSError, ValueError) as error:
        raise OpenClawError(
            f"Your OpenClaw config {path} can't be read ({error}); fix it and run this again."
        ) from error
    if not isinstance(value, dict):
        raise OpenClawError(f"Your OpenClaw config {path} is not an object; fix it and run this again.")
    return _resolve(value, path.parent, depth)


def _resolve(value: Json, folder: Path, depth: int) -> Json:
    """Merge `$include` files recursively; keys next to an `$include` override the included ones."""
    own = {key: _resolve_any(one, folder, depth) for key, one in value.items()}
    includes = own.pop("$include", [])
    merged: Json = {}
    for name in [includes] if isinstance(includes, str) else includes if isinstance(includes, list) else []:
        merged = merge(merged, read_config(folder / str(name), depth + 1))
    return merge(merged, own)


def _resolve_any(value: object, folder: Path, depth: int) -> object:
    if isinstance(value, dict):
        return _resolve(value, folder, depth)
    if isinstance(value, list):
        return [_resolve_any(one, folder, depth) for one in value]
    return value


def merge(base: Json, over: Json) -> Json:
    """Return two JSON objects merged recursively; where only one value can be kept, `over` wins."""
    out = dict(base)
    for key, value in over.items():
        old = out.get(key)
        out[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return out


def _read_logins(state: Path) -> Json:
    """Return the auth profiles of the user's main agent from all places where releases keep them; later places win.

    Releases keep the order of the profiles in a separate place, but also accept it in the store, where this puts it.
    """
    main = state / "agents" / "main" / "agent"
    agent, shared = main / "openclaw-agent.sqlite", state / "state" / "openclaw.sqlite"
    machine = "SELECT value_json FROM config_machine_state WHERE state_key = "
    store: Json = {}
    profiles: Json = {}
    for text in [
        *_file(main / "auth-profiles.json"),
        *_file(main / "auth-state.json"),
        *_row(agent, "SELECT store_json FROM auth_profile_store WHERE store_key = 'primary'"),
        *_row(agent, "SELECT state_json FROM auth_profile_state WHERE state_key = 'primary'"),
        *_row(shared, f"{machine}'authProfiles.store'"),
        *_row(shared, f"{machine}'authProfiles.state'"),
    ]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict) or is_deep(value):
            continue
        # profiles are replaced as a whole: a mixture of an old key and a new login would be invalid
        found = value.pop("profiles", None)
        profiles |= found if isinstance(found, dict) else {}
        store = merge(store, value)
    store.pop(HISTORY, None)
    return {**store, "profiles": profiles} if profiles else {}


def _read_dotenv(env: Mapping[str, str]) -> str:
    """Return the user's global `.env` and OpenClaw's fallback file as one text in which the former wins."""
    default = _home(env) / ".openclaw"
    chosen, config = env.get("OPENCLAW_STATE_DIR"), env.get("OPENCLAW_CONFIG_PATH")
    # OpenClaw looks next to a config in another place, unless the state folder was chosen too (both tested releases)
    folder = user_state_dir(env) if chosen or not config else Path(config).expanduser().parent
    paths = [folder / ".env"]
    if not chosen or folder.absolute() == default.absolute():
        # first, because the last of two assignments to a name in one file wins
        paths.insert(0, _home(env) / ".config" / "openclaw" / "gateway.env")
    return "\n".join(text for text in map(_dotenv_text, paths) if text.strip())


def _dotenv_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace") if path.is_file() else ""
    except OSError as error:
        raise OpenClawError(f"Your {path} can't be read ({error.strerror}); fix it and run this again.") from error


def _file(path: Path) -> Iterator[str]:
    if path.is_file():
        yield path.read_text(encoding="utf-8", errors="replace")


def _row(database: Path, query: str) -> Iterator[str]:
    if not database.is_file():
        return
    # Opening a database in WAL mode creates files next to it, even for reading: open a copy instead.
    with tempfile.TemporaryDirectory(prefix="pinchbench-") as folder:
        for suffix in ("", "-wal"):
            if (part := Path(f"{database}{suffix}")).is_file():
                shutil.copyfile(part, Path(folder) / f"copy.sqlite{suffix}")
        try:
            with closing(sqlite3.connect(Path(folder) / "copy.sqlite")) as copy:
                row = copy.execute(query).fetchone()
        except sqlite3.Error:
            return  # a release that keeps its profiles elsewhere does not have this table
    if row is not None and isinstance(row[0], str):
        yield row[0]


def points_home(name: str) -> bool:
    """Return whether a variable may refer OpenClaw to the user's own state and gateway, or is one of our options."""
    return name.startswith(("OPENCLAW_", "PINCHBENCH_"))


def kept_dotenv(text: str, is_kept: Callable[[str], bool]) -> str:
    """Return the assignments of a `.env` file whose names satisfy `is_kept`, and never those that `points_home`.

    Everything else is removed, since comments may contain keys too.
    """
    while True:
        found = (one for one in ASSIGNMENT.finditer(text) if is_kept(one[1]) and not points_home(one[1]))
        kept = "\n".join(one[0].removesuffix(one["comment"] or "").strip() for one in found)
        if kept == text:
            return kept
        text = kept  # joined lines may parse differently; the text gets shorter each time


def places_of_key(provider: str, names: tuple[str, ...], *, env: Mapping[str, str], user: UserState) -> tuple[str, ...]:
    """Where there is a key for a provider, in words without the key (pure)."""
    stored = stored_names(user)
    places = [f"{name} in the environment" for name in names if env.get(name, "").strip()]
    places += [f"{name} in your OpenClaw's settings" for name in names if name in stored]
    if object_at(user.config, "models", "providers", provider).get("apiKey"):
        places.append("your OpenClaw's models.providers")
    if logins := sum(one == provider for one in login_providers(user)):
        places.append("a login of your OpenClaw" if logins == 1 else f"{logins} logins of your OpenClaw")
    return tuple(places)


def stored_names(user: UserState) -> set[str]:
    """The variables that the user's OpenClaw sets for itself, in its `.env` or its settings, directly or in `vars`."""
    section = object_at(user.config, "env")
    direct = {name for name, value in section.items() if isinstance(value, str)}
    return {match[1] for match in ASSIGNMENT.finditer(user.dotenv)} | direct | {*object_at(section, "vars")}


def login_providers(user: UserState) -> tuple[str, ...]:
    """The provider of each stored login."""
    found = object_at(user.logins, "profiles").values()
    return tuple(sorted(str(one["provider"]) for one in found if isinstance(one, dict) and "provider" in one))


# Below the state folder, OpenClaw looks for skills that all agents have. They go before those that it brings, and, as
# part of the state, are the same for each slot and in a sandbox.
SKILLS = "skills"


# By default, OpenClaw ends a call that is silent for 120 s (300 s for self-hosted models) and retries it with another
# prompt. Its limits on whole turns are set higher than ours as well (`OWN_LIMIT_MARGIN_S`).
MARGIN_S = 60
LONGEST_S = 172_800.0  # OpenClaw's own limit of a turn, for trials without a known time limit
# OpenClaw's error for an entry without an address if its provider is not built in (measured on 2026.6.5 and 2026.9.6)
NO_OVERLAY = "provider overlays without"


def with_model_timeout(config: Json, model: str, trial_s: float) -> Json:
    """Return the config with a limit that lets each model call take as long as a trial.

    For a provider that is built into OpenClaw, the entry only overrides this setting. In the requests to the model,
    only a header with the limit changes (measured for Anthropic, OpenAI and Google on 2026.6.5 and 2026.9.6, for
    OpenRouter on 2026.6.5). For other providers, OpenClaw also requires the address (`NO_OVERLAY`).
    """
    limit_s = math.ceil(min(trial_s, LONGEST_S)) + MARGIN_S
    config = merge(config, {"agents": {"defaults": {"timeoutSeconds": limit_s}}})
    provider, separator, _ = model.partition("/")
    if not separator:
        return config
    name = _as_known(provider, object_at(config, "models", "providers"))
    config = merge({"models": {"mode": "merge"}}, config)
    return merge(config, {"models": {"providers": {name: {"timeoutSeconds": limit_s}}}})


def without_overlay(config: Json) -> Json:
    """Return the config without provider entries that contain only the limit, for an OpenClaw that rejects them."""
    known = object_at(config, "models", "providers")
    kept = {name: one for name, one in known.items() if not isinstance(one, dict) or one.keys() != {"timeoutSeconds"}}
    return {**config, "models": {**object_at(config, "models"), "providers": kept}} if known else config


def _as_known(provider: str, known: Object) -> str:
    """Return the name of a provider's existing entry, else `provider`.

    OpenClaw treats `OpenAI` as `openai` and `z.ai` as `zai`, and uses only one entry.
    """
    if provider in known:
        return provider
    return next((name for name in known if _plain(name) == _plain(provider)), provider)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
