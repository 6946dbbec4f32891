"""What a run adds to its agents, on real OpenClaw: it reaches the model and the commands, at every isolation."""

from pathlib import Path

import pytest

from fakes import NEW_RELEASE
from pinchbench import Reason, RunConfig, run_benchmark
from pinchbench.config.rerun_configs import ReplayConfig
from pinchbench.openclaw.install import install
from pinchbench.results.finished_run import Result
from pinchbench.results.manifest import read_facts
from pinchbench.runner.again.rerun import replay
from real_openclaw import TaskFile, UserHome, calls_of, run_config

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

SKILL = "---\nname: pinch-salt\ndescription: Season a soup with exactly nine grains.\n---\n\nCount the grains aloud.\n"
RULES = "Never answer before you have read the whole soup."
TASK = TaskFile(
    task_id="task_look",
    turns=[("Look.", [("exec", {"command": 'echo "grains=$GRAINS"; cat AGENTS.md'})], "Looked.")],
    timeout_s=300,
)


def _config(folder: Path) -> RunConfig:
    skill = folder / "skills" / "salt" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL, encoding="utf-8")
    rules = folder / "files" / "AGENTS.md"
    rules.parent.mkdir()
    rules.write_text(RULES, encoding="utf-8")
    install(NEW_RELEASE)
    return run_config(
        folder,
        NEW_RELEASE,
        [TASK],
        preflight=False,
        skills=folder / "skills",
        workspace_files={".": str(rules.parent)},
        openclaw_config={"tools": {"deny": ["process"]}},
        env={"GRAINS": "nine"},
    )


def _check_seen(result: Result) -> None:
    """Check what the model was sent, by the recorded requests of the only trial."""
    [outcome] = result.outcomes
    assert outcome.reason is Reason.COMPLETED
    conversations = [one.request for one in calls_of(result, outcome)]
    system = conversations[0].system
    assert "Season a soup with exactly nine grains." in system
    assert RULES in system
    told = "\n".join(one.text for one in conversations[-1].messages)
    assert "grains=nine" in told
    assert RULES in told
    tools = {tool.name for tool in conversations[0].tools}
    assert tools == set(read_facts(result.folder / "run.json").tools or ())
    assert tools == {"apply_patch", "edit", "exec", "ls", "read", "view_image", "write"}, (
        "not `process`, which the settings deny"
    )


async def test_skills_files_settings_and_variables_reach_the_model_and_its_replay(
    home: UserHome, tmp_path: Path
) -> None:
    before = home.snapshot()
    result = await run_benchmark(_config(tmp_path))
    _check_seen(result)
    again = await replay(ReplayConfig(run=str(result.folder)))
    assert [one.reason for one in again.outcomes] == [Reason.COMPLETED], again.outcomes
    assert home.snapshot() == before
