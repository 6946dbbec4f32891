"""Private homes: made once, cloned, pointed at a workspace; nothing reaches from one trial to the next."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import anyio
import pytest

from fakes import calls, fake_openclaw
from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.credentials import Json, UserState
from pinchbench.openclaw.homes.private import (
    LOG,
    PLACEHOLDER_KEY,
    PrivateHome,
    agent_entry,
    clone,
    make_template,
    private_config,
    write_private,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.anyio

ORDER: Json = {"anthropic": ["anthropic:me"]}
TOOLS: Json = {
    "allow": ["exec", "read"],
    "toolSearch": False,
    "sessions": {"visibility": "tree"},
    "exec": {"notifyOnExit": False},
}
PROVIDER: Json = {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": "k", "models": []}


async def template_of(
    folder: Path,
    program: Path,
    user: UserState | None = None,
    provider: tuple[str, Json] | None = None,
    tools: Sequence[str] = (),
) -> PrivateHome:
    return await make_template(
        folder / "homes" / "template",
        openclaw=OpenClaw(program=program, version="2026.9.6"),
        model="mock/m1",
        user=user or UserState(),
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
        provider=provider,
        tools=tools,
    )


def config_of(home: PrivateHome) -> Json:
    config: Json = json.loads((home.state_dir / "openclaw.json").read_text("utf-8"))
    return config


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
@pytest.mark.parametrize("name", ["plain", "with space é", 'with"quote\\'])
async def test_a_clone_is_the_template_with_its_own_paths_and_workspace(tmp_path: Path, store: str, name: str) -> None:
    folder = tmp_path / name
    template = await template_of(folder, fake_openclaw(tmp_path, store=store), tools=("exec", "read"))
    (template.state_dir / "plugins").mkdir()
    (template.state_dir / "plugins" / "link").symlink_to("nowhere")
    home = replace(clone(template, folder / "homes" / "slot-1"), tools=("message",))
    assert not home.root.exists()
    workspace = folder / "work"
    await home.prepare(workspace)
    config = config_of(home)
    entry = agent_entry(config, "bench-mock-m1")
    assert entry["workspace"] == str(workspace)
    assert entry["agentDir"] == str(home.state_dir / "agents" / "bench-mock-m1" / "agent")
    assert config["tools"] == {**TOOLS, "allow": ["exec", "read", "message"]}
    assert str(template.root) not in json.dumps(config, ensure_ascii=False)
    assert (home.state_dir / "plugins" / "link").is_symlink()
    assert agent_entry(config_of(template), "bench-mock-m1")["workspace"] == str(template.root / "workspace")


async def test_preparing_again_forgets_what_the_trial_before_left(tmp_path: Path) -> None:
    home = clone(await template_of(tmp_path, fake_openclaw(tmp_path)), tmp_path / "homes" / "slot-1")
    await home.prepare(tmp_path / "a")
    (home.state_dir / "memory.md").write_text("remember me", encoding="utf-8")
    (home.root / "tmp" / "left").write_text("x", encoding="utf-8")
    write_private(home.state_dir / "openclaw.json", "{}")
    await home.prepare(tmp_path / "b")
    assert not (home.state_dir / "memory.md").exists()
    assert not (home.root / "tmp" / "left").exists()
    assert agent_entry(config_of(home), "bench-mock-m1")["workspace"] == str(tmp_path / "b")


async def test_a_new_session_finds_nothing_of_earlier_ones_which_are_kept_until_the_next_trial(tmp_path: Path) -> None:
    home = clone(await template_of(tmp_path, fake_openclaw(tmp_path)), tmp_path / "homes" / "slot-1")
    workspace = tmp_path / "work"
    await home.prepare(workspace)
    kept: list[Path] = []
    for word in ("first", "second"):
        (home.state_dir / "session.jsonl").write_text(word, encoding="utf-8")
        kept.append(cast("Path", await home.renew(workspace)))
        assert not (home.state_dir / "session.jsonl").exists()
        assert await home.restore(workspace) == ()
    assert [(folder / "session.jsonl").read_text("utf-8") for folder in kept] == ["first", "second"]
    assert not any(folder.is_relative_to(home.root) for folder in kept)
    await home.prepare(workspace)
    assert not any(folder.exists() for folder in kept)


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("echo '{}' > openclaw.json", ("openclaw.json",)),
        ("rm openclaw.json; mkdir openclaw.json", ("openclaw.json",)),
        ("rm openclaw.json; mkfifo openclaw.json", ("openclaw.json",)),
        ("mkdir -p hooks/evil extensions; ln -s / extensions/all", ("extensions", "hooks")),
        ("rm -r skills/given; ln -s /etc skills/other", ("skills",)),
        ("echo NODE_OPTIONS=1 > .env; echo x >> skills/given/SKILL.md", (".env", "skills")),
        ("cd ..; rm -r state", ("skills", "openclaw.json")),
        ("cd ..; rm -r state; ln -s / state", ("skills", "openclaw.json")),
        ("chmod 0 .", ()),
        ("echo said > session.jsonl", ()),
    ],
)
async def test_what_a_turn_changed_of_the_settings_is_undone_and_named(
    tmp_path: Path, command: str, changed: tuple[str, ...]
) -> None:
    template = await template_of(tmp_path, fake_openclaw(tmp_path))
    given = template.state_dir / "skills" / "given" / "SKILL.md"
    given.parent.mkdir(parents=True)
    given.write_text("Be brief.", encoding="utf-8")
    home, workspace = clone(template, tmp_path / "homes" / "slot-1"), tmp_path / "work"
    await home.prepare(workspace)
    before = config_of(home)
    await anyio.run_process(["sh", "-c", command], cwd=home.state_dir)
    assert await home.restore(workspace) == changed
    assert config_of(home) == before
    assert (home.state_dir / "skills" / "given" / "SKILL.md").read_text("utf-8") == "Be brief."
    assert sorted(path.name for path in (home.state_dir / "skills").iterdir()) == ["given"]
    assert not any((home.state_dir / name).exists() for name in (".env", "hooks", "extensions"))
    assert await home.restore(workspace) == ()


async def test_the_token_of_a_trial_takes_the_place_of_the_slots_in_the_config_and_the_environment(
    tmp_path: Path,
) -> None:
    template = await template_of(tmp_path, fake_openclaw(tmp_path), provider=("mock", PROVIDER))
    entry: Json = {**PROVIDER, "baseUrl": "http://127.0.0.1:1/s/slots-own/mock", "apiKey": "slots-own"}
    home = clone(template, tmp_path / "homes" / "slot-1", ("mock", entry))
    home = replace(home, base_env={**home.base_env, "HTTPS_PROXY": "http://slot:slots-own@127.0.0.1:2"})
    addressed = home.addressed(("slots-own", "trials"))
    await addressed.prepare(tmp_path / "work")
    seen = f"{json.dumps(config_of(addressed))} {addressed.env}"
    assert "slots-own" not in seen
    assert seen.count("trials") == 3
    assert await addressed.restore(tmp_path / "work") == ()


async def test_the_users_dotenv_is_in_every_home_and_for_the_user_alone(tmp_path: Path) -> None:
    template = await template_of(tmp_path, fake_openclaw(tmp_path), UserState(dotenv="ANTHROPIC_API_KEY=k\n"))
    home = clone(template, tmp_path / "homes" / "slot-1")
    await home.prepare(tmp_path / "work")
    for one in (template, home):
        assert (one.state_dir / ".env").read_text("utf-8") == "ANTHROPIC_API_KEY=k\n"
        assert (one.state_dir / ".env").stat().st_mode & 0o777 == 0o600


async def test_the_environment_points_everything_into_the_home(tmp_path: Path) -> None:
    template = await template_of(tmp_path, fake_openclaw(tmp_path))
    env = template.env
    assert env["OPENCLAW_STATE_DIR"] == str(template.root / "state")
    assert env["OPENCLAW_CONFIG_PATH"] == str(template.root / "state" / "openclaw.json")
    assert env["TMPDIR"] == str(template.root / "tmp")
    assert env["HOME"] == os.environ["HOME"]
    assert template.local


def test_a_private_config_has_no_fallbacks_and_keeps_the_users_providers(tmp_path: Path) -> None:
    user = UserState(config={"models": {"providers": {"p": {"apiKey": "k"}}}, "tools": {"allow": ["message"]}})
    config = private_config("p/m", user, None, tmp_path / "work", release="2026.9.6", tools=("exec", "read"))
    assert config["agents"] == {
        "defaults": {
            "model": {"primary": "p/m", "fallbacks": []},
            "skipBootstrap": True,
            "heartbeat": {"every": "0m"},
            "workspace": str(tmp_path / "work"),
        }
    }
    assert config["models"] == {"providers": {"p": {"apiKey": "k"}}}
    assert config["tools"] == TOOLS
    assert config["logging"] == {"file": str(tmp_path / "state" / "openclaw.log")}, "where sandboxes let it write"


@pytest.mark.parametrize(("release", "known"), [("2026.6.5", False), ("2026.9.0", True), ("2027.1.1", True)])
def test_no_release_recalls_or_learns_from_other_trials_or_gets_plugins(
    tmp_path: Path, release: str, known: bool
) -> None:
    config = private_config("p/m", UserState(), None, tmp_path, release=release, tools=())
    expected: dict[str, object] = {
        "memory": {"search": {"rememberAcrossConversations": False}},
        "skills": {"workshop": {"autonomous": {"mode": "off"}}},
        "plugins": {"entries": {"perplexity": {"enabled": False}}},
    }
    found = {name: config[name] for name in expected if name in config}
    assert found == (expected if known else {}), "2026.6.5 refuses a config with names that it does not know"


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_provider_that_openclaw_does_not_bring_itself_gets_no_entry_of_ours(
    tmp_path: Path, *, refuses: bool
) -> None:
    program = fake_openclaw(tmp_path, overlay_fails=refuses)
    home = await make_template(
        tmp_path / "homes" / "template",
        openclaw=OpenClaw(program=program, version="2026.9.6"),
        model="mock/m1",
        user=UserState(),
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
        trial_s=600,
    )
    config = config_of(home)
    limit: Json = {"timeoutSeconds": 660}
    assert config["models"] == {"mode": "merge", "providers": {} if refuses else {"mock": limit}}
    agents = config["agents"]
    assert isinstance(agents, dict)
    assert agents["defaults"]["timeoutSeconds"] == 660
    assert sum(call[:2] == ["agents", "add"] for call in calls(program)) == 1 + refuses


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
async def test_the_users_logins_take_the_place_of_a_placeholder(tmp_path: Path, store: str) -> None:
    profiles: Json = {"anthropic:me": {"type": "api_key", "provider": "anthropic", "key": 'it\'s "secret"'}}
    program = fake_openclaw(tmp_path, store=store)
    home = await template_of(tmp_path, program, UserState(logins={"profiles": profiles, "order": ORDER}))
    folder = home.state_dir / "agents" / "main" / "agent"
    if store == "jsonl":
        text = (folder / "auth-profiles.json").read_text("utf-8")
        assert (folder / "auth-profiles.json").stat().st_mode & 0o777 == 0o600
    else:
        with closing(sqlite3.connect(folder / "openclaw-agent.sqlite")) as database:
            [(text,)] = database.execute("SELECT store_json FROM auth_profile_store")
    assert json.loads(text) == {"version": 1, "profiles": profiles, "order": ORDER}
    everything = b"".join(path.read_bytes() for path in home.root.rglob("*") if path.is_file())
    assert PLACEHOLDER_KEY.encode() not in everything
    assert not any("secret" in argument for call in calls(program) for argument in call)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"add_fails": "Unknown model: mock/m1"}, r"agents add bench-mock-m1` failed \(exit code 1\): Unknown model"),
        ({"add_forgets": "yes"}, "added no agent bench-mock-m1"),
        ({"paste_fails": "no such command"}, r"could not be carried.*no such command.*--isolation shared"),
    ],
)
async def test_what_openclaw_refuses_is_reported_in_its_own_words(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    user = UserState(logins={"profiles": {"p": {}}})
    with pytest.raises(OpenClawError, match=said):
        await template_of(tmp_path, fake_openclaw(tmp_path, **settings), user)


def managed_template(folder: Path, program: Path, **options: object) -> Awaitable[PrivateHome]:
    settings: dict[str, object] = {
        "model": "mock/m1",
        "version": "2026.9.6",
        "user": UserState(),
        "port": 1,
        "key": "sk-0123456789abcdefABCDEF",
        **options,
    }
    return make_template(
        folder,
        openclaw=OpenClaw(program=program, version=str(settings["version"]), is_managed=True),
        model=str(settings["model"]),
        user=cast("UserState", settings["user"]),
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "MOCK_API_KEY": str(settings["key"])},
        provider=("mock", {"baseUrl": f"http://127.0.0.1:{settings['port']}/v1", "apiKey": settings["key"]}),
    )


def added(program: Path) -> int:
    return sum(call[:2] == ["agents", "add"] for call in calls(program))


def tree(home: PrivateHome) -> list[str]:
    return sorted(str(path.relative_to(home.root)) for path in home.root.rglob("*"))


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
async def test_an_installed_release_adds_the_same_agent_once_and_a_second_home_is_equal(
    tmp_path: Path, store: str
) -> None:
    program = fake_openclaw(tmp_path, store=store)
    first = await managed_template(tmp_path / "one" / "template", program)
    second = await managed_template(tmp_path / "an other" / "template", program, port=2, key="sk-fedcba9876543210FEDC")
    assert added(program) == 1
    old, new = str(first.root), str(second.root)
    text = json.dumps(config_of(first)).replace(old, new).replace(":1/", ":2/")
    assert json.loads(text.replace("sk-0123456789abcdefABCDEF", "sk-fedcba9876543210FEDC")) == config_of(second)
    assert tree(first) == tree(second)
    kept = list((tmp_path / "cache" / "agents-added").iterdir())
    assert len(kept) == 1
    assert kept[0].stat().st_mode & 0o777 == 0o600
    assert "sk-" not in kept[0].read_text("utf-8")
    assert str(tmp_path) not in kept[0].read_text("utf-8")


@pytest.mark.usefixtures("user")
async def test_a_log_that_openclaw_began_keeps_no_home_from_the_cache(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path)
    for name in ("one", "two"):
        log = tmp_path / name / LOG
        log.parent.mkdir(parents=True)
        log.write_text("", encoding="utf-8")
        await managed_template(tmp_path / name, program)
    assert added(program) == 1


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize(
    "other",
    [
        {"model": "mock/m2"},
        {"version": "2026.6.5"},
        {"user": UserState(config={"plugins": {"entries": {"mock": {"enabled": True}}}})},
        {"user": UserState(logins={"profiles": {"p": {"key": "k"}}})},
    ],
)
async def test_another_release_model_or_config_and_stored_logins_ask_openclaw_again(
    tmp_path: Path, other: dict[str, object]
) -> None:
    program = fake_openclaw(tmp_path)
    for number in (1, 2):
        await managed_template(tmp_path / str(number), program, **(other if number == 2 else {}))
    assert added(program) == 2


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize("damage", ["", "{}", "changed"])
async def test_a_damaged_entry_asks_openclaw_again_and_is_replaced(tmp_path: Path, damage: str) -> None:
    program = fake_openclaw(tmp_path)
    await managed_template(tmp_path / "1", program)
    [kept] = (tmp_path / "cache" / "agents-added").iterdir()
    sound = kept.read_text("utf-8")
    kept.write_text(sound.replace("bench-mock-m1", "bench-other") if damage == "changed" else damage, "utf-8")
    await managed_template(tmp_path / "2", program)
    assert added(program) == 2
    assert kept.read_text("utf-8") == sound


@pytest.mark.usefixtures("user")
async def test_a_home_in_which_openclaw_put_other_files_is_not_cached(tmp_path: Path) -> None:
    program = fake_openclaw(tmp_path)
    for name in ("one", "two"):
        plugin = tmp_path / name / "state" / "plugins" / "mock.js"
        plugin.parent.mkdir(parents=True)
        plugin.write_text("", encoding="utf-8")
        await managed_template(tmp_path / name, program)
    assert added(program) == 2
