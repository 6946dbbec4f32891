# ruff: noqa: T201 - it prints a table
"""Disturbs a run on a Ray cluster whose nodes have network namespaces of their own, and says what was lost.

`python tests/chaos/cluster.py [--trials 200]` runs a suite with a fake OpenClaw on one machine; then again on four
nodes with eight slots each, while a node is killed, another one joins, the runner is killed and its run resumed, and a
node's network is cut for half a minute. It ends with 1 if anything was lost, run twice, left running or otherwise
wrong. Everything is in namespaces that end with this process.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import psutil
from anyio import fail_after, to_thread

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from chaos.ledger import Findings, Ledger, scores
from chaos.suite import write_suite
from cluster.alone import play_alone, why_not
from cluster.three_nodes import command
from fakes import MODEL, fake_openclaw

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import Process

NODES, SLOTS = 4, 32
TRIAL_S = 4
CUT_S = 30.0  # longer than a node and the runner wait for each other, and until a lost node is used again
WAIT_S = 600.0  # for anything: four nodes on two busy cores are slow
LOOK_S = 0.2
HEAD = "10.77.0.1"  # on the bridge, beside the runner
PORT = 6379
RAY = str(Path(sys.executable).with_name("ray"))
# without stated ports, a node gives up if a busy machine takes 15 s to start what chooses them
PORTS = (
    "--metrics-export-port=7001",
    "--dashboard-agent-grpc-port=7002",
    "--dashboard-agent-listen-port=7003",
    "--runtime-env-agent-port=7004",
)
NODE = (*PORTS, "--num-cpus=2", f"--memory={9 * 2**30}", "--object-store-memory=80000000", "--block")


def ip(*argv: str) -> None:
    """Change the network."""
    subprocess.run(["ip", *argv], check=True)


class Node:
    """A node with a network, a folder for Ray and an address of its own."""

    def __init__(self, number: int, log: Path) -> None:
        """Connect it with the bridge, and start Ray in it."""
        self.name, self._link = f"node-{number}", f"link-{number}"
        address = f"10.77.0.{10 + number}"
        inside = ("-n", self.name)
        ip("netns", "add", self.name)
        ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self._link, "master", "bridge", "up")
        ip(*inside, "addr", "add", f"{address}/24", "dev", "eth0")
        ip(*inside, "link", "set", "eth0", "up")
        ip(*inside, "link", "set", "lo", "up")
        ray = (RAY, "start", f"--address={HEAD}:{PORT}", f"--node-ip-address={address}", *NODE)
        own = ("sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh", *ray)
        with (log / f"{self.name}.log").open("wb") as out:
            self._process = subprocess.Popen(["ip", "netns", "exec", self.name, *own], stdout=out, stderr=out)

    @property
    def processes(self) -> list[int]:
        """Those in its network."""
        found = subprocess.run(["ip", "netns", "pids", self.name], check=True, capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def kill(self) -> None:
        """Kill all at once, as when its power fails."""
        while pids := self.processes:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LOOK_S)

    def connect(self, state: str) -> None:
        """Set its link `up` or `down`."""
        ip("link", "set", self._link, state)


def start_head(log: Path) -> None:
    """Make the bridge, and start a head without slots beside the runner."""
    ip("link", "add", "bridge", "type", "bridge")
    ip("addr", "add", f"{HEAD}/24", "dev", "bridge")
    ip("link", "set", "bridge", "up")
    head = (
        "start",
        "--head",
        f"--node-ip-address={HEAD}",
        f"--port={PORT}",
        "--num-cpus=0",
        "--include-dashboard=false",
    )
    with (log / "head.log").open("wb") as out:
        subprocess.Popen([RAY, *head, "--object-store-memory=80000000", "--block"], stdout=out, stderr=out)
    os.environ["RAY_ADDRESS"] = f"{HEAD}:{PORT}"


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds."""
    with fail_after(WAIT_S):
        while not await to_thread.run_sync(condition):  # noqa: ASYNC110 - other processes change it
            await anyio.sleep(LOOK_S)


def nodes_that_live() -> int:
    """How many nodes the head knows."""
    asked = subprocess.run([RAY, "status", f"--address={HEAD}:{PORT}"], check=False, capture_output=True, text=True)
    return asked.stdout.split("Pending:")[0].count("1 node_")


def left(folder: Path) -> list[str]:
    """What lives of the agents and the programs of nodes."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if "pinchbench.cluster.node" in line or "guardian" in line or str(folder / "bin") in line:
                found.append(line[:200])
    return found


class Scene:
    """One run below a folder."""

    def __init__(self, folder: Path, trials: int) -> None:
        """Write its suite and its fake."""
        folder.mkdir()
        self.folder, self.trials = folder, trials
        self.program = fake_openclaw(folder)
        self.tasks = write_suite(folder, trials)
        for path in self.tasks.iterdir():  # long enough for trials to run on every node when something happens to one
            text = path.read_text("utf-8")
            path.write_text(text.replace("## Prompt\n\n", f"## Prompt\n\nscenario: sleep {TRIAL_S}\n"), "utf-8")

    def options(self, slots: int) -> list[str]:
        """Those of the run."""
        return [
            f"--model={MODEL}",
            f"--tasks-dir={self.tasks}",
            f"--output-dir={self.folder / 'results'}",
            f"--run-root={self.folder / 'runs'}",
            f"--openclaw={self.program}",
            f"--concurrency={slots}",
            "--isolation=private",
            "--no-wire",
            "--infra-retries=5",  # a trial may be on each node that is lost
            "--timeout-multiplier=20",
            "--no-upload",
        ]

    @property
    def journal(self) -> Path | None:
        """The run's journal, once there is one."""
        return next((self.folder / "results").glob("*/journal.jsonl"), None)

    def ended(self) -> int:
        """How many outcomes the journal has."""
        path = self.journal
        return path.read_text("utf-8", "replace").count('"type":"outcome"') if path is not None else 0

    def result(self) -> dict[str, object]:
        """Its result."""
        [path] = (self.folder / "results").glob("*.json")
        found: dict[str, object] = json.loads(path.read_text("utf-8"))
        return found

    async def reach(self, share: float, process: Process) -> None:
        """Wait until the journal has the ends of this share of the trials."""
        await until(lambda: self.ended() >= share * self.trials or process.returncode is not None)
        if process.returncode is not None:
            raise AssertionError(f"it ended before {share:.0%}:\n{(self.folder / 'log').read_text('utf-8')[-4000:]}")


def lines(log: Path) -> list[str]:
    """What a runner has shown, without what its death has cut."""
    return log.read_text("utf-8", "replace").split("\n")[:-1]


async def disturb(scene: Scene, nodes: list[Node], findings: Findings) -> int:
    """Run on the nodes, and do to them what the module says."""
    folder = scene.folder
    ledger, calls = Ledger(findings), scene.program.with_name("calls.log")
    async with command("run", *scene.options(SLOTS), "--cluster=ray", log=folder / "log") as process:
        await scene.reach(0.1, process)
        say("kill a node")
        await to_thread.run_sync(nodes[0].kill)
        await scene.reach(0.25, process)
        say("let one join")
        nodes.append(await to_thread.run_sync(Node, len(nodes), folder.parent))
        await until(lambda: "has joined" in (folder / "log").read_text("utf-8") or process.returncode is not None)
        await scene.reach(0.45, process)
        say("kill the runner")
        process.send_signal(signal.SIGKILL)
    findings.kills += 1
    await until(lambda: not left(folder))
    ledger.take(scene.journal, lines(folder / "log"), calls)
    ended, trials = scene.ended(), scene.trials
    results = f"--output-dir={folder / 'results'}"
    async with command("resume", results, "--cluster=ray", log=folder / "resumed") as process:
        await scene.reach(ended / trials + 0.05, process)
        say(f"cut a network for {CUT_S:.0f} s")
        nodes[1].connect("down")
        await anyio.sleep(CUT_S)
        nodes[1].connect("up")
        say("let it end")
        with fail_after(WAIT_S):
            code = await process.wait()
    with suppress(TimeoutError):
        await until(lambda: not left(folder))
    findings.left += left(folder)
    findings.sessions += 2
    ledger.take(scene.journal, lines(folder / "resumed"), calls)
    ledger.close(scene.result())
    log = (folder / "log").read_text("utf-8") + (folder / "resumed").read_text("utf-8")
    findings.hits["nodes lost"] = len(set(re.findall(r"the node (\S+) was lost", log)))
    findings.hits["nodes joined"] = log.count("has joined")
    if findings.hits["nodes lost"] < 2 or not findings.hits["nodes joined"]:
        findings.other.append(f"what was done to the nodes was not noticed: {dict(findings.hits)}")
    return code


def say(text: str) -> None:
    """Tell what happens."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


async def play(folder: Path, trials: int) -> Findings:
    """Play everything."""
    findings = Findings()
    start_head(folder)
    say("one machine")
    quiet = Scene(folder / "machine", trials)
    async with command("run", *quiet.options(SLOTS), log=quiet.folder / "log") as process:
        with fail_after(WAIT_S):
            usual = await process.wait()
    say("start the nodes")
    await until(lambda: nodes_that_live() == 1)  # one that starts before its head can stay behind
    nodes: list[Node] = []
    for number in range(NODES):  # one after another: Ray gives up if a part of a node takes 15 s to start
        nodes.append(Node(number, folder))
        await until(lambda: nodes_that_live() == len(nodes) + 1)
    say("a cluster")
    scene = Scene(folder / "cluster", trials)
    code = await disturb(scene, nodes, findings)
    if code != usual:
        findings.other.append(
            f"exit code {code}, and {usual} on one machine: {(scene.folder / 'resumed').read_text('utf-8')[-2000:]}"
        )
    one, other = scores(quiet.result()), scores(scene.result())
    findings.differs += [
        f"{key}: {one.get(key)} and {other.get(key)}" for key in one | other if one.get(key) != other.get(key)
    ]
    findings.runs = 1
    return findings


def main() -> int:
    """Play everything in namespaces; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("folder", nargs="?", type=Path, help=argparse.SUPPRESS)  # where it plays inside
    options = parser.parse_args()
    if (folder := options.folder) is not None:
        findings = anyio.run(play, folder, options.trials)
        (folder / "seen.json").write_text(json.dumps({"hits": findings.hits, "bad": findings.bad}), encoding="utf-8")
        sys.stdout.flush()
        os._exit(0)  # the namespace ends with this process, and the cluster with it
    if why := why_not():
        print(f"There can be no namespaces here: {why}")
        return 2
    folder = Path(tempfile.mkdtemp(prefix="pinchbench-chaos-"))
    began = time.monotonic()
    seen = play_alone(Path(__file__).resolve(), folder, f"--trials={options.trials}", PINCHBENCH_SANDBOX="none")
    print(f"{options.trials} trials in {time.monotonic() - began:.0f} s: {seen['hits']}, in {folder}")
    for sentence in seen["bad"]:
        print(f"  ! {sentence}")
    if not seen["bad"]:
        print("0 lost, 0 run twice, 0 left alive, 0 journal errors, the result of one machine")
        shutil.rmtree(folder)
    return 1 if seen["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
