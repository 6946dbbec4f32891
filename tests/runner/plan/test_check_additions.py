"""What a run adds to its agents: it reaches them, is recorded with digests, and a change of it is noticed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fake_judge import fake_judge, good
from fakes import fake_openclaw, make_task, run_config
from past_runs import die_after
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.config.rerun_configs import RegradeConfig, ResumeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Isolation
from pinchbench.errors import ChangedError, ConfigError
from pinchbench.model.ending import Reason
from pinchbench.model.task import Task, WorkspaceFile
from pinchbench.results.finished_run import read_run
from pinchbench.results.paths import RunFiles
from pinchbench.results.records import TrialFinished
from pinchbench.runner.again.grade_again import regrade
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.plan.check_additions import addition_digests, check_additions, with_workspace_files
from pinchbench.runner.plan.prepare import prepare
from pinchbench.runner.run_benchmark import run_benchmark

pytestmark = pytest.mark.usefixtures("checks_in_process")

A_KEY = "sk-" + "a1B2" * 8


def task_with(*places: str) -> Task:
    return make_task(digest="d", workspace_files=tuple(WorkspaceFile(dest=place, content="x") for place in places))


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def added_to(config: RunConfig, folder: Path) -> RunConfig:
    written(folder / "skills" / "salt" / "SKILL.md", "salt")
    written(folder / "files" / "AGENTS.md", "rules")
    return replace(
        config,
        skills=folder / "skills",
        workspace_files={".": str(folder / "files")},
        openclaw_config={"tools": {"profile": "coding"}},
        env={"GRAINS": "nine"},
    )


def a_run(folder: Path, prompts: dict[str, str] | None = None) -> RunConfig:
    return added_to(run_config(folder, fake_openclaw(folder), prompts or {"task_a": "Write out.txt."}), folder)


def test_the_files_of_a_folder_are_files_of_each_task_and_the_task_stays_the_same(tmp_path: Path) -> None:
    rules = written(tmp_path / "files" / "AGENTS.md", "rules")
    deep = written(tmp_path / "files" / "docs" / "more.md", "more")
    [task] = with_workspace_files([task_with("data.csv")], {".": str(tmp_path / "files"), "notes/SOUL.md": str(rules)})
    assert [(one.dest, one.source) for one in task.workspace_files] == [
        ("data.csv", None),
        ("AGENTS.md", rules),
        ("docs/more.md", deep),
        ("notes/SOUL.md", rules),
    ]
    assert task.digest == "d"
    assert with_workspace_files([task_with()], {}) == (task_with(),)


@pytest.mark.parametrize("place", ["AGENTS.md", "AGENTS.md/inner.txt", "notes"])
def test_a_file_in_the_place_of_a_task_s_own_is_refused_with_both_names(tmp_path: Path, place: str) -> None:
    rules = written(tmp_path / "AGENTS.md", "rules")
    files = {"AGENTS.md": str(rules), "notes/SOUL.md": str(rules)}
    with pytest.raises(ConfigError, match=r"which task_a brings"):
        with_workspace_files([task_with(place)], files)


@pytest.mark.parametrize("place", ["../up.md", "/etc/passwd", "~/x"])
def test_a_place_outside_the_workspace_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(ConfigError, match="the place"):
        with_workspace_files([task_with()], {place: str(written(tmp_path / "a.md", "a"))})


def test_what_can_not_be_read_is_refused_before_anything_starts(tmp_path: Path) -> None:
    config = RunConfig(model="mock/m1")
    with pytest.raises(ConfigError, match="is not a folder"):
        check_additions(replace(config, skills=tmp_path / "missing"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"has no SKILL\.md"):
        check_additions(replace(config, skills=tmp_path / "empty"))
    with pytest.raises(ConfigError, match="--workspace-files"):
        check_additions(replace(config, workspace_files={".": str(tmp_path / "missing")}))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "out.md").symlink_to("/etc/passwd")
    with pytest.raises(ConfigError, match="leads out of"):
        check_additions(replace(config, workspace_files={".": str(tmp_path / "files")}))


def test_a_key_is_refused_wherever_it_would_stand_in_the_results() -> None:
    config = RunConfig(model="mock/m1")
    with pytest.raises(ConfigError, match=r"--pass-env SERVICE_TOKEN"):
        check_additions(replace(config, env={"SERVICE_TOKEN": A_KEY}))
    with pytest.raises(ConfigError, match="write \\$\\{NAME\\} in its place"):
        check_additions(replace(config, openclaw_config={"mcp": {"servers": {"a": {"apiKey": A_KEY}}}}))
    check_additions(replace(config, openclaw_config={"mcp": {"servers": {"a": {"apiKey": "${SERVICE_TOKEN}"}}}}))


def test_your_own_openclaw_is_never_changed_and_a_gateway_takes_no_plugins() -> None:
    with pytest.raises(ConfigError, match="--env and --isolation shared"):
        RunConfig(model="mock/m1", isolation=Isolation.SHARED, env={"A": "1"})


async def test_an_agent_has_all_of_it_and_the_run_records_it(tmp_path: Path) -> None:
    config = a_run(tmp_path, {"task_a": "scenario: record seen.json"})
    result = await run_benchmark(config)
    [outcome] = result.outcomes
    assert outcome.reason is Reason.COMPLETED
    workspace = Path(outcome.workspace)
    seen = json.loads((workspace / "seen.json").read_text("utf-8"))
    assert seen["env"]["GRAINS"] == "nine"
    assert seen["home"][seen["env"]["OPENCLAW_STATE_DIR"] + "/skills/salt/SKILL.md"] == "salt"
    assert (workspace / "AGENTS.md").read_text("utf-8") == "rules"
    run = read_run(RunFiles(output_dir=config.output_dir, name=result.folder.name))
    assert run.facts.additions == addition_digests(config)
    assert run.facts.config["env"] == {"GRAINS": "nine"}
    assert run.facts.config["openclaw_config"] == {"tools": {"profile": "coding"}}
    assert run.facts.tasks["task_a"].digest == prepare(replace(config, workspace_files={})).trials[0].task.digest


async def test_files_that_have_changed_are_named_and_refused_until_accepted(tmp_path: Path) -> None:
    config = a_run(tmp_path, {"task_a": "Write out.txt.", "task_b": "Write out.txt."})
    first = await run_benchmark(config)
    die_after(first.folder / "journal.jsonl", lambda record: isinstance(record, TrialFinished))
    written(tmp_path / "skills" / "salt" / "SKILL.md", "pepper")
    written(tmp_path / "files" / "AGENTS.md", "other rules")
    again = ResumeConfig(run=str(first.folder))
    with pytest.raises(ChangedError, match="--skills: the files have changed\n  --workspace-files: the files"):
        await resume(again)
    with pytest.raises(ChangedError, match="--env"):
        await resume(replace(again, settings={"env": {}}))
    result = await resume(replace(again, accept_changes=True))
    assert result.complete
    assert (await resume(again)).complete  # what was accepted once is how the run is


async def test_a_judge_is_not_shown_added_files_that_the_agent_left_unchanged_also_when_it_grades_again(
    tmp_path: Path,
) -> None:
    async with fake_judge(good()) as judge:
        config = replace(a_run(tmp_path), judge=JudgeConfig(model="j", base_url=judge.base_url, cache=False))
        result = await run_benchmark(config)
        await regrade(RegradeConfig(run=str(result.folder), run_root=config.run_root))
        first, second = (str(one.json["messages"]) for one in judge.requests)
    assert "out.txt: 5 bytes, made or changed by the agent" in first
    assert "AGENTS.md" not in first  # it is neither the task's nor the agent's work
    assert first == second
