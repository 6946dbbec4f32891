"""Private homes: cloned, pointed at a workspace; nothing reaches from one trial to the next."""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import anyio
import pytest

from fakes import fake_openclaw
from home_templates import config_of, template_of
from pinchbench.openclaw.homes.credentials import Json, UserState
from pinchbench.openclaw.homes.home_config import agent_entry, write_private
from pinchbench.openclaw.homes.private import clone

TOOLS: Json = {
    "allow": ["exec", "read", "message"],
    "toolSearch": False,
    "sessions": {"visibility": "tree"},
    "exec": {"notifyOnExit": False},
}
PROVIDER: Json = {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": "k", "models": []}


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
    assert config["tools"] == TOOLS
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
