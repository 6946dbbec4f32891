"""What a task needs and the machine lacks: the task is not run, which is counted and named, and never a score."""

import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from fakes import fake_openclaw, make_suite, make_task, run_config
from pinchbench.config.rerun_configs import ResumeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Network, Sandbox
from pinchbench.doctor.machine_findings import find_prerequisites
from pinchbench.model.ending import Reason
from pinchbench.model.task import GradingType
from pinchbench.model.timeline import Ability
from pinchbench.openclaw.install import node_folder
from pinchbench.openclaw.trial_clock import PACKAGE
from pinchbench.publish.leaderboard.payload import obstacles
from pinchbench.publish.leaderboard.public_names import PrivateNames
from pinchbench.report.export.junit import kind_of
from pinchbench.report.export.trial_rows import State, state_of
from pinchbench.report.terminal.summary import print_summary
from pinchbench.results.compare.samples import side_of
from pinchbench.results.finished_run import Result, read_run
from pinchbench.results.paths import find_run
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.plan.prepare import SERVERS_REFUSED, prepare, split_unmet
from pinchbench.runner.plan.prerequisites import examine_tasks, find_browser
from pinchbench.runner.run_benchmark import run_benchmark

TASKS = {"task_a": "Write out.txt.", "task_b": "Write out.txt."}


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def lacking(env: dict[str, str], *needed: str, kind: GradingType = GradingType.AUTOMATED) -> list[str]:
    task = make_task(grading_type=kind, prerequisites=needed)
    return [one.text for one in examine_tasks([task], openclaw="2026.9.6", env=env)[task.task_id].missing]


def test_a_version_and_a_module_of_python_are_those_of_this_program() -> None:
    here = f"python-version:3.{sys.version_info.minor}"
    assert lacking({}, "python-version:3.8", here, "python-version:3.99") == ["python-version:3.99"]
    assert lacking({}, "module:pinchbench", "module:no_such") == ["module:no_such"]


def test_npm_packages_are_found_where_npm_and_others_put_them(tmp_path: Path) -> None:
    env = {"PATH": f"{tmp_path}/bin:{tmp_path}/shims", "NODE_PATH": f"{tmp_path}/extra"}
    program(tmp_path / "lib/node_modules/@scope/one/package.json", "{}")
    program(tmp_path / "extra/two/package.json", "{}")
    program(tmp_path / "store/node_modules/three/cli.js")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "three").symlink_to(tmp_path / "store/node_modules/three/cli.js")
    program(tmp_path / "shims" / "four", '#!/bin/sh\nexec node "$basedir/../global/node_modules/@scope/four/cli.js"\n')
    program(tmp_path / "bin" / "five")  # a program of that name alone says nothing about the package
    needed = ("npm:@scope/one", "npm:two", "npm:three@2", "npm:@scope/four", "npm:five", "npm:six")
    assert lacking(env, *needed) == ["npm:five", "npm:six"]


def test_what_a_clock_and_a_browser_take_is_looked_for_unless_only_solutions_are_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinchbench.runner.plan.prerequisites.find_libfaketime", lambda: None)
    env = {"PATH": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    tasks = [make_task(task_id="task_days", starts_at=0.0), make_task(task_id="task_web", abilities=(Ability.BROWSER,))]
    said = {task_id: one.sentence for task_id, one in examine_tasks(tasks, env=env).items()}
    assert said == {
        "task_days": f"the library {PACKAGE} is missing",
        "task_web": "the browser Chromium (apt install chromium) or Google Chrome is missing",
    }
    assert examine_tasks(tasks, env=env, in_openclaw=False) == {}


def test_a_browser_is_the_systems_or_else_playwrights_newest(tmp_path: Path) -> None:
    def put(*parts: str) -> Path:
        path = tmp_path.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
        return path

    env = {"PATH": str(tmp_path / "bin"), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "cache")}
    assert find_browser(env) is None
    shell = put("cache", "chromium_headless_shell-1300", "chrome-linux", "headless_shell")
    assert find_browser(env) == shell
    put("cache", "chromium-1200", "chrome-linux", "chrome")
    newer = put("cache", "chromium-1300", "chrome-linux64", "chrome")
    assert find_browser(env) == newer
    assert find_browser(env | {"PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "none")}) is None
    chrome = put("bin", "google-chrome")
    assert find_browser(env) == chrome


def test_python_packages_are_those_of_the_python_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    env = {"PATH": f"{tmp_path}/bin", "PYTHONPATH": f"{tmp_path}/packages"}
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "one_module.py").touch()
    assert lacking(env, "python:json", "pip:one-module", "python:no_such", "pip:no.such") == [
        "python:no_such",
        "pip:no.such",
    ]
    assert lacking({"PATH": ""}, "python:json") == ["python:json"]


def test_the_node_of_a_managed_openclaw_is_there_for_the_agent_but_not_for_a_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setenv("PINCHBENCH_CACHE", str(tmp_path))
    program(node_folder(tmp_path) / "node")
    assert lacking({"PATH": ""}, "node", kind=GradingType.LLM_JUDGE) == []
    assert lacking({"PATH": ""}, "node") == ["node"]


def a_run(folder: Path, *, needs: str) -> RunConfig:
    """A run of two tasks, the second of which has prerequisites."""
    config = run_config(folder, fake_openclaw(folder), TASKS)
    assert config.tasks_dir is not None
    path = config.tasks_dir / "task_b.md"
    text = path.read_text(encoding="utf-8").replace("id: task_b", f"id: task_b\nprerequisites: {needs}")
    path.write_text(text, encoding="utf-8")
    return replace(config, retry_delay_s=0.01, concurrency=2)


def summary_of(result: Result) -> str:
    text = io.StringIO()
    console = Console(file=text, width=200)
    print_summary(console, result.data, result.outcomes, result.grades, folder=result.folder)
    return text.getvalue()


async def test_a_task_without_its_prerequisite_is_not_run_and_runs_on_resume_once_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = a_run(tmp_path, needs="['cli:pb-missing-tool', git, a good mood]")

    result = await run_benchmark(config)
    again = await resume(ResumeConfig(output_dir=config.output_dir))

    for one in (result, again):
        outcome = next(one for one in one.outcomes if one.key.task_id == "task_b")
        assert (outcome.reason, outcome.attempt, outcome.key in one.grades) == (Reason.PREREQUISITE_MISSING, 1, False)
        assert outcome.note == "the program pb-missing-tool is missing"
        assert (one.unfinished, one.complete) == (1, False)
        data = json.loads(one.path.read_text("utf-8"))
        task = data["tasks"][1]
        assert (task["status"], task["reason"], task["score"]) == ("error", "prerequisite_missing", None)
        assert data["counts"]["reasons"] == {"completed": 1, "prerequisite_missing": 1}
        assert (data["counts"]["finished"], data["retries"]["attempts"]) == (1, 0)
        assert (data["left_out"]["prerequisite_missing"], data["left_out"]["infrastructure"]) == (1, 0)
        assert data["left_out"]["ungraded"] == 1  # task_a, which no judge has seen
        told = summary_of(one)
        assert "task_b: prerequisite missing (not run): the program pb-missing-tool is missing" in told
        assert "1 with a missing prerequisite" in told
    run = read_run(find_run(result.run_id, config.output_dir))
    assert "2 of 2 trials have no score (task_a, task_b)" in "; ".join(obstacles(run, {}, PrivateNames()))
    [key] = [key for key in run.facts.keys if key.task_id == "task_b"]
    assert (state_of(run, key), kind_of(run, key)) == (State.PREREQUISITE_MISSING, "skipped")
    assert [one.left_out.prerequisite_missing for one in side_of([run]).tasks.values()] == [0, 1]

    monkeypatch.setenv("PATH", f"{program(tmp_path / 'tools' / 'pb-missing-tool').parent}:{os.environ['PATH']}")
    done = await resume(ResumeConfig(output_dir=config.output_dir))

    assert [one.reason for one in done.outcomes] == [Reason.COMPLETED, Reason.COMPLETED]
    assert done.complete
    assert json.loads(done.path.read_text("utf-8"))["retries"]["attempts"] == 0


def test_a_task_with_servers_of_its_own_is_not_run_under_landlock_without_a_network(tmp_path: Path) -> None:
    tasks = make_suite(tmp_path, {"task_b": "Hi"}, head="network: own")
    config = replace(run_config(tmp_path, fake_openclaw(tmp_path), {}), tasks_dir=tasks, sandbox=Sandbox.LANDLOCK)
    [attempt] = prepare(replace(config, network=Network.MODEL)).attempts
    assert split_unmet(config, [attempt]) == ([attempt], ())
    assert split_unmet(replace(config, network=Network.NONE), [attempt]) == ([], ((attempt, SERVERS_REFUSED),))


def test_doctor_names_the_tasks_that_can_not_be_run(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, {"task_a": "Hi"}, head="prerequisites: [cli:pb-missing-tool, env:PB_UNSET, good luck]")
    found = find_prerequisites(suite, "all", openclaw=None)
    assert found.said == (
        "1 of 1 can't be run here: the program pb-missing-tool and the environment variable PB_UNSET "
        "are missing (task_a). What can't be checked: task_a (good luck)."
    )
    assert (found.level, found.do) == ("warning", "Install what is missing.")
    assert find_prerequisites(None, "task_38_git_rescue", openclaw=None).level == "ok"
