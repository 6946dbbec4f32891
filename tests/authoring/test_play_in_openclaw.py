"""Tasks whose solutions only OpenClaw can play are checked by trials of the built-in model."""

from functools import partial
from pathlib import Path

import pytest

from fakes import fake_openclaw
from made_tasks import task_text
from pinchbench.authoring import play_in_openclaw
from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.check_results import CheckedTask, Part
from pinchbench.cli.selected_tasks import with_solutions
from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Sandbox
from pinchbench.suite.loading import load_suite
from suite_packs import put

pytestmark = pytest.mark.usefixtures("checks_in_process")

CHECK = """
    def grade(transcript, workspace_path):
        return {"said": float(any(one.get("message", {}).get("role") == "assistant" for one in transcript))}
"""
SOLUTION = """
    turns:
      - answer: "Done."
    near_misses:
      - {name: late, check: [0.4, 0.6], turns: [{answer: "Late."}]}
      - {name: long, check: [0.4, 0.6], turns: [{answer: "Long."}, {answer: "Too long."}]}
"""


@pytest.fixture(autouse=True)
def _unboxed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fake OpenClaw work where it is."""
    unboxed = partial(RunConfig, sandbox=Sandbox.NONE, wire=False, infra_retries=0)
    monkeypatch.setattr(play_in_openclaw, "RunConfig", unboxed)


async def check(folder: Path, prompt: str, openclaw: str) -> tuple[CheckedTask, ...]:
    put(folder / "tasks" / "task_a.md", task_text("id: task_a\nabilities: [memory]", prompt=prompt, check=CHECK))
    put(folder / "tasks" / "solutions" / "task_a.yaml", SOLUTION)
    suite = load_suite(folder / "tasks").suite
    found = await check_tasks(
        with_solutions(suite, suite.tasks), show=lambda _: None, openclaw=openclaw, run_root=folder / "pb"
    )
    assert not list((folder / "pb").iterdir())
    return found


async def test_each_script_has_a_trial_of_its_own_and_is_held_to_its_score(tmp_path: Path) -> None:
    found = await check(tmp_path, "Do it.", str(fake_openclaw(tmp_path)))

    assert [(one.part, one.name, one.check, one.untried) for one in found] == [
        (Part.ORACLE, "oracle", 1.0, ""),
        (Part.NEAR_MISS, "late", 1.0, ""),
        (Part.NEAR_MISS, "long", None, ""),
        (Part.NOTHING, "nothing", 1.0, ""),
    ]
    assert [one.problems for one in found[:1]] == [()]
    assert ["its check gives 1.000, not 0.4 to 0.6" in str(one.problems) for one in found] == [
        False,
        True,
        False,
        False,
    ]
    assert "it has 2 turns, the task 1" in str(found[2].problems)


async def test_a_trial_that_fails_and_an_openclaw_that_is_missing_or_broken_are_named(tmp_path: Path) -> None:
    failed = await check(tmp_path, "scenario: exit 3", str(fake_openclaw(tmp_path)))
    missing = await check(tmp_path, "Do it.", str(tmp_path / "nowhere"))
    broken = await check(tmp_path, "Do it.", str(fake_openclaw(tmp_path, add_fails="no room")))

    assert all("in OpenClaw it ended as nonzero_exit" in str(one.problems) for one in failed if one.name != "long")
    assert all("only OpenClaw can play it" in one.untried for one in (*missing, *broken) if one.name != "long")
