"""Plays a run on three nodes of a real Ray cluster; started in namespaces of its own, whose end is everybody's end.

`three_nodes.py FOLDER` prints what was seen as JSON. Prompts wait at a gate, so that a node and a runner are killed
while their trials run.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import psutil
from anyio import fail_after, to_thread

sys.path.insert(0, str(Path(__file__).parents[1]))

from cluster.alone import play
from endpoint_files import model_at
from fake_judge import USAGE, Answer, Asked, fake_judge, slow
from fakes import MODEL, fake_openclaw, make_suite, open_gate, poll
from pinchbench.results.journal.journal import read_journal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from anyio.abc import Process
    from ray.cluster_utils import Cluster

    from fakes import Gate, Guest

PROGRAM = str(Path(sys.executable).with_name("pinchbench-async"))
LIMIT_S = 600.0  # of what takes seconds, on a machine that does much else
SLOTS = 6
USER_KEY_NAME, USER_KEY = "KEY_OF_THE_USER", "sk-of-the-user"
OTHER_MODEL = "mock/m2"
NODE = {"num_cpus": 2, "memory": 2 * 1024**3, "object_store_memory": 80_000_000, "include_dashboard": False}


def start_cluster(nodes: int = 3) -> Cluster:
    """Start a cluster of nodes with two CPUs each."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - where its settings are in the environment

    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    for _ in range(nodes - 1):
        cluster.add_node(wait=False, **NODE)
    cluster.wait_for_nodes(LIMIT_S)
    os.environ["RAY_ADDRESS"] = cluster.address
    return cluster


def options(folder: Path, tasks: Path) -> list[str]:
    """The options of a run below a folder."""
    return [
        f"--model={MODEL}",
        f"--tasks-dir={tasks}",
        f"--output-dir={folder / 'results'}",
        f"--run-root={folder / 'runs'}",
        f"--openclaw={folder / 'bin' / 'openclaw'}",
        f"--concurrency={SLOTS}",
        "--no-wire",
        "--timeout-multiplier=20",  # trials wait while nodes come and go
    ]


@asynccontextmanager
async def command(*argv: str, log: Path, env: Mapping[str, str] = os.environ) -> AsyncGenerator[Process]:
    """Run a command for the duration of the block; it ends in it."""
    with log.open("wb") as errors, log.with_suffix(".out").open("wb") as out:
        opening = anyio.open_process([PROGRAM, *argv], stdin=None, stdout=out, stderr=errors, env=env)
        async with await opening as process:
            yield process


async def run_to_end(*argv: str, log: Path, env: Mapping[str, str] = os.environ) -> int | None:
    """Run a command to its end; its exit code."""
    async with command(*argv, log=log, env=env) as process:
        return await process.wait()


async def guests(gate: Gate, number: int) -> list[Guest]:
    """Wait for turns of the agent."""
    return [await gate.next(LIMIT_S) for _ in range(number)]


async def those_left(waiting: list[Guest], number: int) -> list[Guest]:
    """Wait until as many turns of the agent are left as stated, and return those."""
    left = list(waiting)
    enough = anyio.Event()

    async def watch(guest: Guest) -> None:
        await guest.gone()
        left.remove(guest)
        if len(left) == number:
            enough.set()

    with fail_after(LIMIT_S):
        async with anyio.create_task_group() as group:
            for guest in waiting:
                group.start_soon(watch, guest)
            await enough.wait()
            group.cancel_scope.cancel()
    return left


def result(folder: Path) -> dict[str, object]:
    """What the newest result says of the trials, their attempts and evidence, without times."""
    paths = list((folder / "results").glob("*.json"))
    if len(paths) != 1:
        raise AssertionError((folder / "log").read_text("utf-8"))
    path = paths[0]
    data = json.loads(path.read_text("utf-8"))
    out = (folder / "log.out").read_text("utf-8")
    trials = {
        task["task_id"]: {
            name: run.get(name)
            for run in task["runs"]
            for name in ("reason", "attempt", "node", "transcript_length", "tool_calls", "usage", "agent_id", "level")
        }
        for task in data["tasks"]
    }
    attempts = [one.reason.value for one in read_journal(path.with_suffix("") / "journal.jsonl").state.attempts]
    files = sorted({file.name for file in (path.with_suffix("") / "trials").glob("*/*/*")})
    return {"trials": trials, "attempts": sorted(attempts), "files": files, "out": out}


def left(folder: Path) -> list[str]:
    """What of the agents and the programs of nodes lives, and what of their folders is there."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if "pinchbench.cluster.node" in line or "guardian" in line or str(folder / "bin") in line:
                found.append(line)
    root = folder / "runs"
    return found + [str(path) for path in (root.glob("*-node-*") if root.is_dir() else ())]


async def nothing_left(folder: Path) -> None:
    """Wait until nothing is left on the nodes."""
    with fail_after(LIMIT_S):
        await poll(lambda: not left(folder))


async def plain(folder: Path) -> dict[str, object]:
    """Run twenty trials of two suites on the nodes, and on one machine."""
    more_tasks = make_suite(folder / "more", {f"task_more_{number}": "Do a little." for number in range(3)})
    assert await run_to_end("suite", "more", str(more_tasks), log=folder / "added") == 0
    suites = "--suite=all", "--suite=more"
    seen: dict[str, object] = {}
    for place, more in (("cluster", ["--cluster=ray"]), ("machine", [])):
        own = folder / place
        fake_openclaw(own)
        tasks = make_suite(own, {f"task_{number:02}": "Do a little." for number in range(17)})
        code = await run_to_end("run", *options(own, tasks), *suites, *more, log=own / "log")
        seen[place] = {"code": code, **result(own)}
        await nothing_left(own)
    return seen


async def asked_first(folder: Path) -> dict[str, object]:
    """Let each node ask a model on its loopback its question before the first trial."""
    fake_openclaw(folder)
    tasks = make_suite(folder, {f"task_{number}": "Do a little." for number in range(SLOTS)})
    head = os.environ["RAY_ADDRESS"]
    asking = {name: value for name, value in os.environ.items() if name != "PINCHBENCH_NO_PREFLIGHT"}
    async with fake_judge(Answer(text="Yes.")) as model:
        argv = *options(folder, tasks), f"--base-url={model.base_url}"
        code = await run_to_end("run", *argv, f"--cluster=ray://{head}", log=folder / "log", env=asking)
    await nothing_left(folder)
    log = (folder / "log").read_text("utf-8")
    return {"code": code, "log": log, "asked": len(model.requests), **result(folder)}


def say(asked: Asked) -> Answer:
    """Play a user who says one thing before it has nothing left to say."""
    is_first = asked.messages[-1]["content"].count('"user": ') == 1
    said = {"is_finished": not is_first, "message": "It is for Friday." if is_first else ""}
    return Answer(text=json.dumps(said), usage={**USAGE, "cost": 0.25})


def with_user(folder: Path, base_url: str) -> list[str]:
    """The options of a run of conversations, whose user is a model that only this machine reaches."""
    fake_openclaw(folder)
    tasks = make_suite(folder, {f"task_{number}": "Book a table." for number in range(SLOTS)})
    for path in tasks.iterdir():
        path.write_text(path.read_text("utf-8") + "\n## Simulated User\n\nYou are Ada.\n", encoding="utf-8")
    model = model_at(base_url, folder, "user-1", key_env=USER_KEY_NAME)
    return [*options(folder, tasks), f"--user-model={model}"]


async def conversations(folder: Path) -> dict[str, object]:
    """Let a model play users on the nodes and on one machine; what was said and asked."""
    seen: dict[str, object] = {}
    env = {**os.environ, USER_KEY_NAME: USER_KEY}  # the nodes do not have it
    for place, more in (("cluster", ["--cluster=ray"]), ("machine", [])):
        own = folder / place
        own.mkdir()
        async with fake_judge(choose=say) as user:
            argv = with_user(own, user.base_url)
            own_env = {**env, "PINCHBENCH_CONFIG": str(own)}
            code = await run_to_end("run", *argv, *more, log=own / "log", env=own_env)
            keys = [request.headers["authorization"] for request in user.requests]
        await nothing_left(own)
        log = await to_thread.run_sync((own / "log").read_text)
        seen[place] = {"code": code, "log": log, "keys": keys, "users": users(own), **result(own)}
    own = folder / "stopped"
    own.mkdir()
    async with (
        fake_judge(slow()) as user,
        command(
            "run",
            *with_user(own, user.base_url),
            "--cluster=ray",
            log=own / "log",
            env={**env, "PINCHBENCH_CONFIG": str(own)},
        ) as process,
    ):
        with fail_after(LIMIT_S):
            await user.wait_for_requests(SLOTS)
            process.send_signal(signal.SIGINT)
            code = await process.wait()
    await nothing_left(own)
    seen["stopped"] = {"code": code, "log": await to_thread.run_sync((own / "log").read_text), **result(own)}
    return seen


def users(folder: Path) -> dict[str, object]:
    """What the result says of simulated users, without times, and what their records say."""
    [path] = (folder / "results").glob("*.json")
    data = json.loads(path.read_text("utf-8"))
    facts = [
        {name: value for name, value in run["user"].items() if name != "latency_s"}
        for task in data["tasks"]
        for run in task["runs"]
    ]
    totals = {name: value for name, value in data["user"].items() if name != "latency_s"}
    records = (path.with_suffix("") / "trials").glob("*/*/user.jsonl")
    lines = [
        json.loads(line).get("message", "") for record in records for line in record.read_text("utf-8").splitlines()
    ]
    return {"facts": facts, "totals": totals, "said": sorted(lines)}


async def disturbed(folder: Path, cluster: Cluster) -> dict[str, object]:
    """Kill a node while two trials run on each, add another one, then kill the runner, and go on with the run."""
    fake_openclaw(folder)
    async with open_gate() as gate:
        tasks = make_suite(folder, {f"task_{number}": f"scenario: gate {gate.port}" for number in range(SLOTS)})
        async with command("run", *options(folder, tasks), "--cluster=ray", log=folder / "log") as process:
            first = await guests(gate, SLOTS)
            node = cluster.worker_nodes.copy().pop()
            await to_thread.run_sync(partial(cluster.remove_node, node, allow_graceful=False))
            left = await those_left(first, SLOTS - SLOTS // 3)
            # all other slots are in use: these are on the node that joins
            cluster.add_node(**NODE)  # on the main thread, where Ray sets signal handlers
            again = await guests(gate, SLOTS // 3)
            for guest in again:
                await guest.let_go()
            await completed(folder, len(again))
            process.send_signal(signal.SIGKILL)
            for guest in left:
                with fail_after(LIMIT_S):
                    await guest.gone()
        results = f"--output-dir={folder / 'results'}"
        async with command("resume", results, "--cluster=ray", log=folder / "resumed") as process:
            for guest in await guests(gate, len(left)):
                await guest.let_go()
            code = await process.wait()
    await nothing_left(folder)
    return {"code": code, "log": (folder / "log").read_text("utf-8"), **result(folder)}


async def experiment(folder: Path) -> dict[str, object]:
    """Compare two models, and go on with that after it has been killed."""
    fake_openclaw(folder)
    async with open_gate() as gate:
        tasks = make_suite(folder, {f"task_{number}": f"scenario: gate {gate.port}" for number in range(SLOTS)})
        argv = "run", *options(folder, tasks), f"--model={OTHER_MODEL}", "--cluster=ray"
        async with command(*argv, log=folder / "log") as process:
            waiting = await guests(gate, SLOTS)
            process.send_signal(signal.SIGKILL)
            for guest in waiting:
                with fail_after(LIMIT_S):
                    await guest.gone()
        [whole] = (folder / "results").glob("*/experiment.json")
        async with command("resume", str(whole.parent), "--cluster=ray", log=folder / "resumed") as process:
            for guest in await guests(gate, SLOTS):
                await guest.let_go()
            for guest in await guests(gate, SLOTS):
                await guest.let_go()
            code = await process.wait()
    await nothing_left(folder)
    runs = [json.loads(path.read_text("utf-8")) for path in (folder / "results").glob("*.json")]
    return {
        "code": code,
        "log": (folder / "resumed").read_text("utf-8"),
        "reasons": [one["reason"] for run in runs for task in run["tasks"] for one in task["runs"]],
        "nodes": [sorted({one["node"] for task in run["tasks"] for one in task["runs"]}) for run in runs],
    }


async def completed(folder: Path, number: int) -> None:
    """Wait until the journal has so many trials that have ended well."""
    [journal] = (folder / "results").glob("*/journal.jsonl")
    with fail_after(LIMIT_S):
        await poll(lambda: journal.read_text().count('"reason":"completed"') >= number)


async def play_all(folder: Path, cluster: Cluster) -> dict[str, object]:
    """Play everything."""
    for name in ("plain", "asked first", "conversations", "experiment", "disturbed"):
        (folder / name).mkdir()
    return {
        "plain": await plain(folder / "plain"),
        "asked first": await asked_first(folder / "asked"),
        "conversations": await conversations(folder / "conversations"),
        "experiment": await experiment(folder / "experiment"),
        "disturbed": await disturbed(folder / "disturbed", cluster),
    }


if __name__ == "__main__":
    play(play_all, Path(sys.argv[1]), start_cluster())  # which has to be started on the main thread
