"""`--isolation shared`: what the seed document says, in the user's own OpenClaw and through the user's gateway."""

import json
import socket
from pathlib import Path

import pytest
from anyio.streams.memory import MemoryObjectReceiveStream

from pinchbench import Isolation, Reason, run_benchmark
from pinchbench.events import Event, TrialBegan
from pinchbench.llm.demo.script import plan_turns
from pinchbench.llm.demo.scripted_model import ScriptedModel, provider_config, scripted_model
from pinchbench.openclaw.command import OpenClaw
from pinchbench.suite.loading import load_suite
from pinchbench.suite.solution import load_solution
from real_openclaw import TaskFile, UserHome, newest_release, run_config, running_gateway, write_suite

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

SLOT = "shared"


def _configure(home: UserHome, model: ScriptedModel) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gateway = {"mode": "local", "port": port, "bind": "loopback", "auth": {"mode": "token", "token": "e2e-token"}}
    defaults = {"model": {"primary": "mine/m1", "fallbacks": []}, "skipBootstrap": True}
    providers = {"mine": provider_config(model.base_url(SLOT), "m1")}
    config: dict[str, object] = {
        "gateway": gateway,
        "agents": {"defaults": defaults},
        "models": {"mode": "merge", "providers": providers},
    }
    (home.state / "openclaw.json").write_text(json.dumps(config), encoding="utf-8")


@newest_release
async def test_the_agent_is_added_once_and_works_in_each_trials_own_workspace(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    words = ("walnut", "yarrow")
    tasks = [
        TaskFile(
            task_id=f"task_{word}",
            # the second turn begins with files in the workspace, which newer releases remember
            turns=[
                (f"Keep {word}.", [("write", {"path": f"{word}.txt", "content": word})], f"Kept {word}."),
                ("Is it there?", [], "Yes."),
            ],
        )
        for word in words
    ]
    root = write_suite(tmp_path / "suite", tasks)
    suite = {task.task_id: task for task in load_suite(root).suite.tasks}
    async with scripted_model() as model:
        _configure(home, model)

        async def play(events: MemoryObjectReceiveStream[Event]) -> None:
            async for event in events:
                if isinstance(event, TrialBegan):
                    task = suite[event.key.task_id]
                    model.play(SLOT, plan_turns(load_solution(root, task.task_id), task)[0])  # and answers again

        async with running_gateway(openclaw, home.path):
            for run in ("first", "second"):
                config = run_config(
                    tmp_path,
                    openclaw,
                    root,
                    model="mine/m1",
                    isolation=Isolation.SHARED,
                    output_dir=tmp_path / "results" / run,
                )

                result = await run_benchmark(config, observer=play)

                assert [one.reason for one in result.outcomes] == [Reason.COMPLETED] * 2, result.outcomes
                for word in words:
                    workspace = tmp_path / "runs" / result.run_id / f"task_{word}"
                    assert [path.name for path in workspace.glob("*.txt")] == [f"{word}.txt"]
    listed = json.loads((home.state / "openclaw.json").read_text(encoding="utf-8"))["agents"]
    ids = listed["entries"].keys() if "entries" in listed else [one["id"] for one in listed["list"]]
    assert sorted(ids) == ["bench-mine-m1", "main"]
