"""The user's settings and logins are read, and their folder stays byte for byte as it was."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pinchbench.errors import OpenClawError
from pinchbench.openclaw.homes.credentials import (
    LONGEST_S,
    MARGIN_S,
    Json,
    UserState,
    kept_dotenv,
    read_user_state,
    user_state_dir,
    with_model_timeout,
    without_overlay,
)

AGENT_TABLE = "CREATE TABLE auth_profile_store (store_key TEXT PRIMARY KEY, store_json TEXT, updated_at INTEGER)"
ORDER_TABLE = "CREATE TABLE auth_profile_state (state_key TEXT PRIMARY KEY, state_json TEXT, updated_at INTEGER)"
STATE_TABLE = "CREATE TABLE config_machine_state (state_key TEXT PRIMARY KEY, value_json TEXT)"


@pytest.fixture
def state(user: Path) -> Path:
    folder = user / ".openclaw"
    (folder / "agents" / "main" / "agent").mkdir(parents=True)
    (folder / "state").mkdir()
    return folder


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def stored(path: Path, table: str, *row: object) -> Iterator[None]:
    """A row in a database that its writer keeps open during the block."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute(table)
        database.execute(f"INSERT INTO {table.split()[2]} VALUES ({', '.join('?' * len(row))})", row)
        yield


def profiles(**keys: str) -> str:
    return json.dumps({"version": 1, "profiles": {name: {"key": key} for name, key in keys.items()}})


def read(user: Path, **env: str) -> UserState:
    return read_user_state({"HOME": str(user), **env})


def picture(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Everything of a folder: names, bytes, times."""
    return {
        str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns, path.stat().st_mode)
        for path in sorted(folder.rglob("*"))
    }


def test_only_what_says_how_to_reach_a_model_is_carried(user: Path, state: Path) -> None:
    config = {name: {"x": 1} for name in ("models", "auth", "env", "secrets", "plugins", "channels", "hooks", "agents")}
    put(state / "openclaw.json", json.dumps(config))
    assert read(user).config == {name: {"x": 1} for name in ("models", "auth", "env", "secrets", "plugins")}


def test_included_files_are_merged_and_what_stands_next_to_wins(user: Path, state: Path) -> None:
    put(state / "openclaw.json", json.dumps({"$include": ["a.json", "sub/b.json"], "models": {"own": 1, "b": "own"}}))
    put(state / "a.json", json.dumps({"models": {"a": 1, "b": "a"}, "env": {"$include": "./deep.json"}}))
    put(state / "sub" / "b.json", json.dumps({"models": {"$include": "c.json", "b": "b"}}))
    put(state / "sub" / "c.json", json.dumps({"c": 1}))
    put(state / "deep.json", json.dumps({"KEY": "v"}))
    assert read(user).config == {"models": {"own": 1, "a": 1, "b": "own", "c": 1}, "env": {"KEY": "v"}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "can't be read"),
        ("[]", "is not an object"),
        ('{"$include": "missing.json"}', "missing.json can't be read"),
        ('{"$include": "openclaw.json"}', "is it circular"),
    ],
)
def test_a_config_that_cannot_be_read_is_an_error_that_names_it(user: Path, state: Path, text: str, said: str) -> None:
    put(state / "openclaw.json", text)
    with pytest.raises(OpenClawError, match=said) as caught:
        read(user)
    assert str(state) in str(caught.value)


def test_the_state_may_lie_elsewhere(user: Path, tmp_path: Path) -> None:
    assert user_state_dir({"HOME": "/h"}) == Path("/h/.openclaw")
    assert user_state_dir({"HOME": "/h", "OPENCLAW_HOME": "/o"}) == Path("/o/.openclaw")
    assert user_state_dir({"HOME": "/h", "OPENCLAW_HOME": "/o", "OPENCLAW_STATE_DIR": "/s"}) == Path("/s")
    put(tmp_path / "c.json", '{"models": {"c": 1}}')
    put(tmp_path / "s" / "openclaw.json", '{"models": {"s": 1}}')
    put(tmp_path / "s" / "agents" / "main" / "agent" / "auth-profiles.json", profiles(p="k"))
    there = read(user, OPENCLAW_STATE_DIR=str(tmp_path / "s"))
    assert there == UserState(config={"models": {"s": 1}}, logins={"version": 1, "profiles": {"p": {"key": "k"}}})
    chosen = read(user, OPENCLAW_STATE_DIR=str(tmp_path / "s"), OPENCLAW_CONFIG_PATH=str(tmp_path / "c.json"))
    assert chosen.config == {"models": {"c": 1}}


def test_logins_of_every_release_are_found_and_the_folder_stays_as_it_was(user: Path, state: Path) -> None:
    agent = state / "agents" / "main" / "agent"
    put(agent / "auth-profiles.json", profiles(file="1", both="1"))
    with (
        stored(agent / "openclaw-agent.sqlite", AGENT_TABLE, "primary", profiles(agent="2", both="2"), 0),
        stored(state / "state" / "openclaw.sqlite", STATE_TABLE, "authProfiles.store", profiles(state="3", both="3")),
    ):
        # the writers are open and their rows stand in the WAL alone
        assert (agent / "openclaw-agent.sqlite-wal").stat().st_size > 0
        before = picture(state)
        found = read(user).logins["profiles"]
        assert picture(state) == before
    assert found == {name: {"key": key} for name, key in {"file": "1", "agent": "2", "state": "3", "both": "3"}.items()}


def test_a_closed_database_gets_no_files_next_to_it(user: Path, state: Path) -> None:
    with stored(state / "state" / "openclaw.sqlite", STATE_TABLE, "authProfiles.store", profiles(p="k")):
        pass
    before = picture(state)
    assert read(user).logins["profiles"] == {"p": {"key": "k"}}
    assert picture(state) == before
    assert [path.name for path in (state / "state").iterdir()] == ["openclaw.sqlite"]


def test_a_later_login_replaces_an_earlier_one_whole(user: Path, state: Path) -> None:
    agent = state / "agents" / "main" / "agent"
    put(agent / "auth-profiles.json", json.dumps({"profiles": {"p": {"type": "api_key", "key": "old"}}}))
    later = {"p": {"type": "oauth", "access": "new"}}
    with stored(agent / "openclaw-agent.sqlite", AGENT_TABLE, "primary", json.dumps({"profiles": later}), 0):
        pass
    assert read(user).logins == {"profiles": later}


def test_the_order_the_user_chose_is_carried_from_wherever_a_release_keeps_it(user: Path, state: Path) -> None:
    agent = state / "agents" / "main" / "agent"

    def order(**ids: str) -> str:
        return json.dumps({"order": {provider: [chosen] for provider, chosen in ids.items()}})

    put(agent / "auth-profiles.json", json.dumps({**json.loads(profiles(p="k")), **json.loads(order(a="1", e="1"))}))
    put(agent / "auth-state.json", json.dumps({"order": {"b": ["2"], "e": ["2", "3"]}, "lastGood": {"a": "1"}}))
    with (
        stored(agent / "openclaw-agent.sqlite", ORDER_TABLE, "primary", order(c="3", e="3"), 0),
        stored(state / "state" / "openclaw.sqlite", STATE_TABLE, "authProfiles.state", order(d="4", e="4")),
    ):
        pass
    assert read(user).logins == {
        "version": 1,
        "profiles": {"p": {"key": "k"}},
        "order": {"a": ["1"], "b": ["2"], "c": ["3"], "d": ["4"], "e": ["4"]},
        "lastGood": {"a": "1"},
    }


def test_cooldowns_of_the_users_own_turns_stay_behind(user: Path, state: Path) -> None:
    store = {"profiles": {"p": {"key": "k"}}, "usageStats": {"p": {"cooldownUntil": 9e12}}}
    put(state / "agents" / "main" / "agent" / "auth-profiles.json", json.dumps(store))
    assert read(user).logins == {"profiles": {"p": {"key": "k"}}}


def test_keys_of_the_global_dotenv_are_carried_and_win_over_the_fallback(user: Path, state: Path) -> None:
    put(user / ".config" / "openclaw" / "gateway.env", "A=fallback\nB=fallback")
    assert read(user).dotenv == "A=fallback\nB=fallback"
    put(state / ".env", "\ufeff# mine\r\nA='own' # note\r\n")
    # of two values for a name in one file the last counts
    assert read(user).dotenv == "A=fallback\nB=fallback\n# mine\nA='own' # note\n"


def test_the_dotenv_of_a_state_that_lies_elsewhere_is_taken_alone(user: Path, state: Path, tmp_path: Path) -> None:
    put(user / ".config" / "openclaw" / "gateway.env", "A=fallback")
    put(state / ".env", "A=default")
    put(tmp_path / "s" / ".env", "A=chosen")
    put(tmp_path / "c" / ".env", "A=config")
    put(tmp_path / "c" / "openclaw.json", "{}")
    beside = {"OPENCLAW_CONFIG_PATH": str(tmp_path / "c" / "openclaw.json")}
    assert read(user, OPENCLAW_STATE_DIR=str(tmp_path / "s")).dotenv == "A=chosen"
    assert read(user, OPENCLAW_STATE_DIR=str(tmp_path / "s"), **beside).dotenv == "A=chosen"
    assert read(user, OPENCLAW_STATE_DIR=str(state)).dotenv == "A=fallback\nA=default"
    assert read(user, **beside).dotenv == "A=fallback\nA=config"


@pytest.mark.parametrize("form", ["{}=/u", "export {}=/u", "  {} = '/u\n/v'", '{}="/u\nX=1" # note', "{}: /u", "{}="])
def test_a_dotenv_cannot_point_a_private_home_back_to_the_users_state(form: str) -> None:
    name = "OPENCLAW_STATE_DIR"
    pem = f'PEM="a\n{name}=text\nb"'
    text = f"KEY=k\n{form.format(name)}\nNEXT=n\n# {name}\n{pem}\nLAST=l"
    assert kept_dotenv(text, lambda _: True) == f"KEY=k\nNEXT=n\n{pem}\nLAST=l"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".env", r"/\.openclaw/\.env can't be read \(Permission denied\)"),
        ("agents/main/agent/auth-profiles.json", r"logins of your OpenClaw in .* can't be read"),
    ],
)
def test_a_dotenv_and_logins_that_cannot_be_read_are_an_error_that_names_them(
    user: Path, state: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    path = put(state / name, "{}")
    read_text = Path.read_text

    def refuse(self: Path, encoding: str | None = None, errors: str | None = None) -> str:
        if self == path:  # root may read everything, so a mode would refuse nothing
            raise PermissionError(13, "Permission denied", str(path))
        return read_text(self, encoding=encoding, errors=errors)

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(OpenClawError, match=said):
        read(user)


@pytest.mark.parametrize("depth", [150, 985, 50_000])
@pytest.mark.parametrize("form", ['{{"models": {}}}', "{{models: {}}}"])
def test_a_config_that_is_nested_too_deeply_is_reported(state: Path, user: Path, depth: int, form: str) -> None:
    put(state / "openclaw.json", form.format("[" * depth + "]" * depth))
    with pytest.raises(OpenClawError, match=r"openclaw\.json is nested too deeply"):
        read(user)


LIMIT = {"timeoutSeconds": 660}


def test_a_call_of_the_model_may_take_as_long_as_the_longest_trial() -> None:
    config = with_model_timeout({}, "anthropic/claude-sonnet-4-6", 599.2)
    assert config["models"] == {"mode": "merge", "providers": {"anthropic": LIMIT}}
    assert config["agents"] == {"defaults": LIMIT}
    forever = with_model_timeout({}, "a/m", float("inf"))["agents"]
    assert forever == {"defaults": {"timeoutSeconds": LONGEST_S + MARGIN_S}}


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("openai/m", "OpenAI"),
        ("zai/m", "z.ai"),
        ("xai/m", "x-ai"),
        ("mock/m", "mock"),
        ("openrouter/a/m", "openrouter"),
    ],
)
def test_the_users_own_entry_stays_the_only_one_and_its_limit_is_ours(model: str, known: str) -> None:
    entry: Json = {"baseUrl": "http://127.0.0.1:1/v1", "timeoutSeconds": 8}
    config = with_model_timeout({"models": {"mode": "replace", "providers": {known: entry, "b": {}}}}, model, 600)
    assert config["models"] == {"mode": "replace", "providers": {known: {**entry, **LIMIT}, "b": {}}}


def test_only_what_says_nothing_but_the_limit_is_taken_out() -> None:
    providers = {"foo": LIMIT, "mock": {"baseUrl": "x", **LIMIT}, "bar": {}}
    assert without_overlay({"models": {"providers": providers}, "x": 1}) == {
        "models": {"providers": {"mock": {"baseUrl": "x", **LIMIT}, "bar": {}}},
        "x": 1,
    }
