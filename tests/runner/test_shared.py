"""Runs in the user's own OpenClaw: their agents and config stay as they are."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import Lock

from fakes import calls, fake_openclaw, run_config
from pinchbench.defaults import Isolation
from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.shared import ensure_shared
from pinchbench.runner.run_benchmark import run_benchmark
from sampling import sampled

pytestmark = pytest.mark.usefixtures("checks_in_process")


def write_config(user: Path, store: str, agents: dict[str, dict[str, str]]) -> Path:
    shaped: object = agents if store == "sqlite" else [{"id": name, **entry} for name, entry in agents.items()]
    config = {
        "agents": {"defaults": {"model": {"primary": "x/y"}}, "entries" if store == "sqlite" else "list": shaped},
        "channels": {"telegram": {"enabled": True}},
    }
    path = user / ".openclaw" / "openclaw.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def entries(config: dict[str, dict[str, object]]) -> dict[str, dict[str, str]]:
    listed = config["agents"].get("list")
    if isinstance(listed, list):
        return {one["id"]: one for one in listed}
    found = config["agents"]["entries"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("store", sampled(["jsonl", "sqlite"], {"sqlite"}))
async def test_a_missing_agent_is_added_once_for_each_slot(tmp_path: Path, user: Path, store: str) -> None:
    program = fake_openclaw(tmp_path, store=store)
    # whole ids are compared: one that only begins like ours is somebody else's
    path = write_config(user, store, {"bench-mock-m1-5": {"workspace": "/w", "model": "m"}})
    before = json.loads(path.read_text("utf-8"))
    prompts = {f"task_{name}": f"scenario: write_file name.txt {name}" for name in "abcd"}
    config = replace(run_config(tmp_path, program, prompts), isolation=Isolation.SHARED, concurrency=2)
    for _ in range(2):
        result = await run_benchmark(config)
        assert result.complete
        for name in "abcd":
            folder = tmp_path / "runs" / result.run_id / f"task_{name}"
            assert (folder / "name.txt").read_text("utf-8") == name
            assert not folder.is_symlink()
        assert {one.agent_id for one in result.outcomes} == {"bench-mock-m1", "bench-mock-m1-2"}
    added = [one[2] for one in calls(program) if one[:2] == ["agents", "add"]]
    assert added == ["bench-mock-m1", "bench-mock-m1-2"]
    after = json.loads(path.read_text("utf-8"))
    assert after["channels"] == before["channels"]
    assert after["agents"]["defaults"] == before["agents"]["defaults"]
    assert entries(after)["bench-mock-m1-5"] == entries(before)["bench-mock-m1-5"]
    assert set(entries(after)) == {"bench-mock-m1", "bench-mock-m1-2", "bench-mock-m1-5"}


@pytest.mark.parametrize("store", sampled(["jsonl", "sqlite"], {"sqlite"}))
async def test_an_agent_with_another_workspace_writes_into_the_trials_own(
    tmp_path: Path, user: Path, store: str
) -> None:
    program = fake_openclaw(tmp_path, store=store)
    old = tmp_path / "old"
    old.mkdir()
    agents = {
        "main": {"workspace": "/m", "model": "m"},
        "bench-mock-m1": {"workspace": str(old), "model": "mock/m1", "extra": "kept"},
    }
    path = write_config(user, store, agents)
    config = replace(run_config(tmp_path, program, {"task_a": "Hi", "task_b": "Hi"}), isolation=Isolation.SHARED)
    result = await run_benchmark(config)
    assert result.complete
    assert list(old.iterdir()) == []
    for name in ("task_a", "task_b"):
        assert (tmp_path / "runs" / result.run_id / name / "out.txt").is_file()
    assert not any(one[:2] == ["agents", "add"] for one in calls(program))
    after = entries(json.loads(path.read_text("utf-8")))
    assert after["main"].items() >= agents["main"].items()
    assert after["bench-mock-m1"]["extra"] == "kept"
    assert not any("--local" in one for one in calls(program))
    assert (user / ".openclaw" / "agents" / "bench-mock-m1").is_dir()


async def test_a_workspace_that_cannot_be_changed_is_reported_with_what_to_do(tmp_path: Path, user: Path) -> None:
    program = fake_openclaw(tmp_path, set_fails=True)
    write_config(user, "jsonl", {"bench-mock-m1": {"workspace": "/old", "model": "mock/m1"}})
    config = replace(run_config(tmp_path, program, {"task_a": "Hi"}), isolation=Isolation.SHARED)
    expected = pytest.RaisesExc(OpenClawError, match="openclaw agents delete bench-mock-m1")
    with pytest.RaisesGroup(expected, flatten_subgroups=True):
        await run_benchmark(config)


@pytest.mark.parametrize("workspace", ["/old", None])
async def test_an_agent_with_another_model_is_refused_and_stays_as_it_was(
    tmp_path: Path, user: Path, workspace: str | None
) -> None:
    program = fake_openclaw(tmp_path)
    home = workspace or str(tmp_path / "link")
    path = write_config(user, "jsonl", {"bench-mock-m1": {"workspace": home, "model": "other/m2"}})
    before = path.read_bytes()
    openclaw = OpenClaw(program=program, version="2026.6.5")
    said = "with the model other/m2, not mock/m1.* `/.*/openclaw agents delete bench-mock-m1`"
    with pytest.raises(OpenClawError, match=said):
        await ensure_shared(openclaw, model="mock/m1", slot=1, link=tmp_path / "link", env=os.environ, changes=Lock())
    assert path.read_bytes() == before
    assert calls(program) == [["agents", "list", "--json"]]


async def test_a_new_workspace_behind_the_link_is_not_held_against_the_last_one(tmp_path: Path, user: Path) -> None:
    """Real OpenClaw 2026.6.5 refuses an empty workspace when it remembers of the same path that it had files."""
    link = tmp_path / "link"
    openclaw = OpenClaw(program=fake_openclaw(tmp_path), version="2026.6.5")
    write_config(user, "jsonl", {"bench-mock-m1": {"workspace": str(link)}})
    home = await ensure_shared(openclaw, model="mock/m1", slot=1, link=link, env=os.environ, changes=Lock())
    remembered = home.state_dir / "workspace-attestations"
    remembered.mkdir(parents=True)
    own, others = (remembered / f"{hashlib.sha256(path).hexdigest()}.attested" for path in (bytes(link), b"/other"))
    for path in (own, others):
        path.write_text("openclaw-workspace-attestation:v1\n", encoding="utf-8")

    await home.prepare(tmp_path / "work")

    assert link.readlink() == tmp_path / "work"
    assert (own.exists(), others.exists()) == (False, True)
