"""`--isolation shared`: what the seed document says, in the user's own OpenClaw and through the user's gateway."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream

from pinchbench import Isolation, Reason, RunConfig, run_benchmark
from pinchbench.events import Event, TrialBegan
from pinchbench.llm.demo.completion import provider_config
from pinchbench.llm.demo.script import plan_turns
from pinchbench.llm.demo.scripted_model import ScriptedModel, scripted_model
from pinchbench.openclaw.command import OpenClaw
from pinchbench.process.leftovers import MARKER, end_marked
from pinchbench.suite.loading import load_suite
from pinchbench.suite.solution import load_solution
from real_openclaw import TaskFile, UserHome, newest_release, write_suite

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

SLOT = "shared"
GATEWAY = "e2e-gateway"


@asynccontextmanager
async def _gateway(openclaw: OpenClaw, home: UserHome) -> AsyncGenerator[None]:
    """Run the user's gateway until the block ends."""
    env = {"HOME": str(home.path), "PATH": openclaw.path(os.environ["PATH"]), "TMPDIR": str(home.path), MARKER: GATEWAY}
    argv = [str(openclaw.program), "gateway", "run"]
    async with await anyio.open_process(argv, env=env, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            with anyio.fail_after(120):
                while "[gateway] ready" not in said:
                    said += (await process.stdout.receive()).decode("utf-8", "replace")
            async with anyio.create_task_group() as group:
                group.start_soon(_drain, process)
                yield
                os.killpg(process.pid, signal.SIGTERM)
                with anyio.fail_after(30):
                    await process.wait()
                group.cancel_scope.cancel()
        finally:
            with anyio.move_on_after(30, shield=True):
                await anyio.to_thread.run_sync(end_marked, GATEWAY)


async def _drain(process: anyio.abc.Process) -> None:
    assert process.stdout is not None
    async for _ in process.stdout:
        pass


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
                    model.play(
                        SLOT, event.key, plan_turns(load_solution(root, task.task_id), task)[0]
                    )  # and answers again

        async with _gateway(openclaw, home):
            for run in ("first", "second"):
                config = RunConfig(
                    model="mine/m1",
                    isolation=Isolation.SHARED,
                    tasks_dir=root,
                    openclaw=openclaw.version,
                    output_dir=tmp_path / "results" / run,
                    run_root=tmp_path / "pb",
                )

                result = await run_benchmark(config, observer=play)

                assert [one.reason for one in result.outcomes] == [Reason.COMPLETED] * 2, result.outcomes
                for word in words:
                    workspace = tmp_path / "pb" / result.run_id / f"task_{word}"
                    assert [path.name for path in workspace.glob("*.txt")] == [f"{word}.txt"]
    listed = json.loads((home.state / "openclaw.json").read_text(encoding="utf-8"))["agents"]
    ids = listed["entries"].keys() if "entries" in listed else [one["id"] for one in listed["list"]]
    assert sorted(ids) == ["bench-mine-m1", "main"]
