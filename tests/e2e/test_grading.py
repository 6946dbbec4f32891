"""Grades of trials on real OpenClaw: solutions, and an OpenClaw judge."""

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import anyio
import pytest

from bundled_suite import SUITE
from endpoint_files import model_at
from fake_judge import fake_judge, good
from fakes import NEW_RELEASE, OLD_RELEASE
from pinchbench import JudgeConfig, run_benchmark
from pinchbench.model.task import GradingType, Tier
from pinchbench.openclaw.command import OpenClaw
from pinchbench.process.leftovers import find_marked
from real_openclaw import TaskFile, UserHome, newest_release, run_config

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

# without the hard tier, whose solutions are played without OpenClaw: they are a few long scripts
TASKS = {task.task_id: task for task in SUITE.tasks if task.tier is Tier.STANDARD}
# of each type of grading, and one with several sessions
SAMPLE = ("task_00_sanity", "task_04_workshop_memory", "task_05_outage_brief", "task_11_evidence_brief")
MANY = tuple(dict.fromkeys((*SAMPLE, *list(TASKS)[::6])))


async def run_bundled(openclaw: OpenClaw, folder: Path, judge: str, tasks: Collection[str]) -> dict[str, Any]:
    """Run solutions of bundled tasks as a user does; return the result's JSON. No limit is reached on a slow one."""
    options = ["--model=demo/oracle", f"--openclaw={openclaw.version}", "--concurrency=2", "--json"]
    options += [f"--suite={','.join(tasks)}"]
    judging = [f"--judge={model_at(judge, folder)}", "--no-judge-cache"]
    places = [f"--output-dir={folder / 'results'}", f"--run-root={folder / 'pb'}", "--timeout-multiplier=3"]
    argv = [sys.executable, "-m", "pinchbench", *options, *judging, *places]
    done = await anyio.run_process(argv, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    data: dict[str, Any] = json.loads(done.stdout)
    assert find_marked(data["run_id"]) == []
    return data


@pytest.mark.parametrize(("openclaw", "tasks"), [(OLD_RELEASE, SAMPLE), (NEW_RELEASE, MANY)], indirect=["openclaw"])
async def test_the_solutions_earn_every_point_of_each_type_of_grading(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path, tasks: Collection[str]
) -> None:
    assert {TASKS[name].grading_type for name in tasks} == set(GradingType)
    before = home.snapshot()
    async with fake_judge(good(1.0)) as judge:
        data = await run_bundled(openclaw, tmp_path, judge.base_url, tasks)
    assert {task["task_id"]: task["score"] for task in data["tasks"]} == dict.fromkeys(tasks, 1.0)
    assert (data["score"]["mean"], data["score"]["tasks"]) == (1.0, len(tasks))
    assert data["left_out"] == {"ungraded": 0, "infrastructure": 0, "not_run": 0, "tasks_without_score": 0}
    # the judge has read what the agents really wrote
    asked = json.dumps([request.json for request in judge.requests])
    assert "brief.md" in asked
    assert home.snapshot() == before


@newest_release
async def test_an_openclaw_agent_judges_without_any_tool(openclaw: OpenClaw, home: UserHome, tmp_path: Path) -> None:
    before = home.snapshot()
    steps: list[tuple[str, dict[str, object]]] = [
        ("write", {"path": "poem.txt", "content": "A short poem about rain."})
    ]
    task = TaskFile(task_id="task_poem", turns=[("Write a poem to poem.txt.", steps, "Done.")])
    async with fake_judge(good(0.75, notes="Short, but a poem.")) as judge:
        config = run_config(
            tmp_path,
            openclaw,
            [task],
            preflight=False,
            judge=JudgeConfig(model="openclaw:local/judge-1", base_url=judge.base_url, concurrency=1, cache=False),
        )
        result = await run_benchmark(config)
    [grade] = result.grades.values()
    assert (grade.score, grade.ungraded) == (0.75, None)
    assert grade.judge is not None
    assert grade.judge.model == "openclaw:local/judge-1"
    assert grade.judge.usage.requests == 1
    [request] = judge.requests
    assert request.json["model"] == "judge-1"
    assert not request.json.get("tools")
    assert "A short poem about rain." in json.dumps(request.messages)
    assert find_marked(result.run_id) == []
    assert home.snapshot() == before
