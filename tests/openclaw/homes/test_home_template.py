"""The template of private homes: made by OpenClaw once, or from the cache, with the user's logins."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fakes import calls, fake_openclaw
from home_templates import config_of, template_of
from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.credentials import Json, UserState
from pinchbench.openclaw.homes.home_config import LOG
from pinchbench.openclaw.homes.home_template import PLACEHOLDER_KEY, make_template
from pinchbench.openclaw.homes.private import PrivateHome

ORDER: Json = {"anthropic": ["anthropic:me"]}


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_provider_that_openclaw_does_not_bring_itself_gets_no_entry_of_ours(
    tmp_path: Path, *, refuses: bool
) -> None:
    program = fake_openclaw(tmp_path, overlay_fails=refuses)
    home = await template_of(tmp_path, program, trial_s=600)
    config = config_of(home)
    limit: Json = {"timeoutSeconds": 660}
    assert config["models"] == {"mode": "merge", "providers": {} if refuses else {"mock": limit}}
    agents = config["agents"]
    assert isinstance(agents, dict)
    assert agents["defaults"]["timeoutSeconds"] == 660
    assert added(program) == 1 + refuses


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


async def managed_template(
    folder: Path,
    program: Path,
    *,
    model: str = "mock/m1",
    version: str = "2026.9.6",
    user: UserState | None = None,
    address: str = "127.0.0.1:1/s/one",
    key: str = "sk-0123456789abcdefABCDEF",
) -> PrivateHome:
    return await make_template(
        folder,
        openclaw=OpenClaw(program=program, version=version, is_managed=True),
        model=model,
        user=user or UserState(),
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "MOCK_API_KEY": key},
        provider=("mock", {"baseUrl": f"http://{address}/v1", "apiKey": key}),
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
    address, key = "127.0.0.1:2/s/an-other", "sk-fedcba9876543210FEDC"  # through the wire, with another slot's token
    second = await managed_template(tmp_path / "an other" / "template", program, address=address, key=key)
    assert added(program) == 1
    old, new = str(first.root), str(second.root)
    text = json.dumps(config_of(first)).replace(old, new).replace(":1/s/one", ":2/s/an-other")
    assert json.loads(text.replace("sk-0123456789abcdefABCDEF", key)) == config_of(second)
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
    tmp_path: Path, other: dict[str, Any]
) -> None:
    program = fake_openclaw(tmp_path)
    for number in (1, 2):
        await managed_template(tmp_path / str(number), program, **(other if number == 2 else {}))
    assert added(program) == 2


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize("damage", ["", "{}"])
async def test_a_damaged_entry_asks_openclaw_again_and_is_replaced(tmp_path: Path, damage: str) -> None:
    program = fake_openclaw(tmp_path)
    await managed_template(tmp_path / "1", program)
    [kept] = (tmp_path / "cache" / "agents-added").iterdir()
    sound = kept.read_text("utf-8")
    kept.write_text(damage, "utf-8")
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


async def test_skills_are_copied_with_what_their_links_lead_to(tmp_path: Path) -> None:
    skill = tmp_path / "given" / "salt"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("salt", encoding="utf-8")
    (skill / "again.md").symlink_to("SKILL.md")

    home = await template_of(tmp_path, fake_openclaw(tmp_path), skills=tmp_path / "given")

    copied = home.state_dir / "skills" / "salt"
    assert (copied / "SKILL.md").read_text("utf-8") == "salt"
    assert not (copied / "again.md").is_symlink()
