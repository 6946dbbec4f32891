"""The user's own OpenClaw in any state: what it says of itself, its config, its logins and its `.env`."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fake_openclaw import PROFILES_SCHEMA
from fuzz.examples import examples_of
from fuzz.mutation import data, encoded, json_texts, texts
from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import agent_id, model_slug, release_key
from pinchbench.openclaw.find import read_version, release_warning
from pinchbench.openclaw.homes.credentials import ASSIGNMENT, CARRIED_SECTIONS, kept_dotenv, read_user_state

CONFIGS: list[object] = [
    {
        "models": {
            "providers": {"mock": {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": "sk", "models": [{"id": "m1"}]}}
        },
        "auth": {"profiles": {"a": {"provider": "mock", "mode": "api_key"}}, "order": {"mock": ["a"]}},
        "env": {"vars": {"A": "1"}},
        "agents": {"defaults": {"workspace": "/w"}},
        "channels": {"telegram": {"token": "t"}},
    },
    {"$include": ["./more.json", "./more.json"], "plugins": {"entries": {"x": {"enabled": True}}}},
    {"models": {"$include": "./more.json"}},
    {"$include": "./openclaw.json"},
]
LOOSE_CONFIGS = ["// mine\n{models: {mode: 'merge',}, env: {A: 0x1f, B: +.5, C: Infinity},}\n", "{\\u0061: '\\\n'}"]


def home_of(folder: Path) -> dict[str, str]:
    (folder / ".openclaw" / "agents" / "main" / "agent").mkdir(parents=True, exist_ok=True)
    return {"HOME": str(folder)}


def check_state(folder: Path) -> None:
    try:
        state = read_user_state(home_of(folder))
    except OpenClawError as error:
        assert str(folder) in str(error)  # noqa: PT017 - one of two good ends
        return
    assert state.config.keys() <= set(CARRIED_SECTIONS)
    # it is written into the private homes
    assert json.dumps(state.config, indent=1)
    assert json.dumps({"version": 1, **state.logins})
    state.dotenv.encode()


@given(
    config=st.one_of(encoded(json_texts(CONFIGS)), encoded(texts(LOOSE_CONFIGS))),
    more=encoded(json_texts(CONFIGS)),
)
@examples_of("config")
def test_a_config_is_read_or_named_in_a_sentence(tmp_path: Path, config: bytes, more: bytes) -> None:
    home_of(tmp_path)
    (tmp_path / ".openclaw" / "openclaw.json").write_bytes(config)
    (tmp_path / ".openclaw" / "more.json").write_bytes(more)
    check_state(tmp_path)


LOGINS: list[object] = [
    {
        "version": 1,
        "profiles": {"mock:default": {"type": "api_key", "provider": "mock", "key": "sk"}},
        "order": {"mock": ["mock:default"]},
        "lastGood": {"mock": "mock:default"},
        "usageStats": {"mock:default": {"lastUsed": 1}},
    }
]


@given(
    files=st.lists(encoded(json_texts(LOGINS)), min_size=2, max_size=2),
    cell=st.one_of(
        json_texts(LOGINS).filter(lambda text: text.isascii()), st.integers(0, 9), st.binary(max_size=9), st.floats()
    ),
    damage=data([b""]),
)
@examples_of("logins")
def test_logins_are_profiles_of_whatever_can_be_read(
    tmp_path: Path, files: list[bytes], cell: object, damage: bytes
) -> None:
    home_of(tmp_path)
    main = tmp_path / ".openclaw" / "agents" / "main" / "agent"
    (main / "auth-profiles.json").write_bytes(files[0])
    (main / "auth-state.json").write_bytes(files[1])
    database = main / "openclaw-agent.sqlite"
    database.unlink(missing_ok=True)
    if damage:
        database.write_bytes(damage)
    else:
        with closing(sqlite3.connect(database, isolation_level=None)) as writer:
            writer.execute("PRAGMA synchronous=OFF")
            writer.execute(PROFILES_SCHEMA)
            writer.execute("INSERT OR IGNORE INTO auth_profile_store VALUES ('primary', ?, 0)", (cell,))
    check_state(tmp_path)


DOTENVS = [
    "A=1\nexport OPENCLAW_STATE_DIR=/x\nOPENCLAW_CONFIG_PATH: '/y'\nB='two\nlines' # so\nC=`x`\n",
    'OPENCLAW_HOME="a\\"b"\nPINCHBENCH_CACHE = x\nD="\nOPENCLAW_STATE_DIR=inner\n"\n',
]


@given(texts(DOTENVS))
@examples_of("dotenv")
def test_no_env_file_points_openclaw_at_the_users_own_state(text: str) -> None:
    private = kept_dotenv(text, lambda _: True)
    names = [found[1] for found in ASSIGNMENT.finditer(private)]
    assert not [name for name in names if name.startswith(("OPENCLAW_", "PINCHBENCH_"))]


VERSIONS = [
    "OpenClaw 2026.9.6 (abc1234)\n",
    "2026.6.5\n",
    "openclaw/2026.10.1-beta.3, linux-x64 node-v24\n",
    "error: Node 22 is too old\n",
]


@given(encoded(texts(VERSIONS)), st.text(max_size=90), st.integers(1, 999))
@examples_of("version")
def test_a_version_is_short_and_plain_and_can_be_ordered(output: bytes, model: str, slot: int) -> None:
    version = read_version(output)
    assert re.fullmatch(r"([0-9A-Za-z.+_-]{8,64})?", version)
    release_warning(version).encode()
    assert bool(release_key(version)) == bool(version)
    assert re.fullmatch(r"bench-[a-z0-9_-]*", agent_id(model, slot))
    assert len(agent_id(model, slot)) <= 64
    assert re.fullmatch(r"[A-Za-z0-9_-]*", model_slug(model))
