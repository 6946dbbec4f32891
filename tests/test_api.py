"""The public Python API: every name is there, and one task can be run by itself."""

from pathlib import Path

import pytest

import pinchbench
from fakes import MODEL, SEED_KEYS, fake_openclaw, make_suite
from pinchbench.process.leftovers import is_alive
from pinchbench.runner.run_folders import HOMES, OWNER


def test_every_public_name_is_there() -> None:
    assert [name for name in pinchbench.__all__ if getattr(pinchbench, name, None) is None] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = pinchbench.nothing_of_the_kind


async def test_one_task_runs_outside_a_run_and_its_result_has_the_seeds_ten_keys(tmp_path: Path) -> None:
    [task] = pinchbench.load_suite(make_suite(tmp_path, {"task_a": "scenario: print hello"})).suite.tasks
    workspace, evidence = tmp_path / "workspace", tmp_path / "evidence"
    workspace.mkdir()
    evidence.mkdir()
    program = fake_openclaw(tmp_path)
    config = pinchbench.RunConfig(model=MODEL, openclaw=str(program), run_root=tmp_path / "pb")

    async with pinchbench.open_agent(config) as agent:
        [owner] = (tmp_path / "pb").glob(f"*/{HOMES}/{OWNER}")
        assert is_alive(owner.read_text(encoding="utf-8"))
        result = await agent.execute_task(task, workspace=workspace, evidence=evidence)

    told = result.to_dict()
    assert tuple(told) == SEED_KEYS
    assert (told["agent_id"], told["task_id"], told["status"]) == ("bench-mock-m1", "task_a", "success")
    assert (told["exit_code"], told["timed_out"], told["workspace"]) == (0, False, str(workspace))
    assert told["stdout"] == "hello\nAll done.\n"
    assert [event["type"] for event in result.transcript()][:2] == ["session", "model_change"]
    assert (workspace / "out.txt").read_text(encoding="utf-8") == "hello"
    assert list((tmp_path / "pb").iterdir()) == []


async def test_the_built_in_models_play_in_runs_only(tmp_path: Path) -> None:
    config = pinchbench.RunConfig(model="demo/oracle", run_root=tmp_path)

    with pytest.raises(pinchbench.PinchBenchError, match="plays in runs only"):
        async with pinchbench.open_agent(config):
            pass
