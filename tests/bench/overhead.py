"""What does a trial cost apart from its agent?

`python tests/bench/overhead.py [--trials 200,1000] [--rounds 3] [--concurrency 16]` makes whole runs
whose agent does nothing but leave a transcript: workspace, guardian, followers, journal and kept evidence are real. In
a graded run each trial has a trivial check as well, from the restored workspace to the grade in the journal. They take
turns with `xargs -P` that starts the same program as often. Each run is a process of its own, so that its memory is
its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))

import anyio

from fakes import MODEL, make_suite, run_config
from pinchbench.defaults import Isolation
from pinchbench.events import Event, RunBegan, TrialGraded
from pinchbench.openclaw.command import agent_id
from pinchbench.runner.run_benchmark import run_benchmark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream

TASKS = 20  # of a suite: each is run as often as the number of trials asks for
AGENT = agent_id(MODEL)
PROMPT = "Do nothing."
TIME = "2026-01-01T00:00:00.000Z"
SESSION = (
    {"type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "WORKSPACE"},
    {"type": "message", "id": "u", "timestamp": TIME, "message": {"role": "user", "content": PROMPT}},
    {
        "type": "message",
        "id": "a",
        "timestamp": TIME,
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "Done."}],
            "provider": MODEL.partition("/")[0],
            "model": MODEL.partition("/")[2],
            "usage": {"input": 80, "output": 10, "totalTokens": 90},
            "stopReason": "stop",
        },
    },
)
# A shell's own words only: nothing is cheaper that still leaves what a completed trial leaves.
IDLE = f"""#!/bin/sh
case $1 in
agent)
    for word; do
        case $word in
        --agent=*) agent=${{word#*=}} ;;
        --session-id=*) session=${{word#*=}} ;;
        esac
    done
    printf '%s\\n' {shlex.join(map(json.dumps, SESSION)).replace("WORKSPACE", "'$PWD'")} >"$OPENCLAW_STATE_DIR/agents/$agent/sessions/$session.jsonl"
    echo Done.
    ;;
agents)
    mkdir -p "$OPENCLAW_STATE_DIR/agents/$3/sessions"
    sleep 1 # the real one takes several, in which the guardians start
    printf '%s' '{{"agents": {{"list": [{{"id": "{AGENT}"}}]}}}}' >"$OPENCLAW_CONFIG_PATH"
    ;;
*) echo 'OpenClaw 2026.6.5 (idle)' ;;
esac
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What so many trials came to, from the first one's start to the result: seconds, CPU seconds.

    The runner's memory at its peak is shown twice: when the last trial was graded, and when the result was written.
    """

    wall_s: float
    cpu_s: float
    own_cpu_s: float = 0.0
    done_rss_bytes: int = 0
    end_rss_bytes: int = 0


def idle_openclaw(folder: Path) -> Path:
    """Write the program."""
    program = folder / "openclaw"
    program.write_text(IDLE, encoding="utf-8")
    program.chmod(0o755)
    return program


def cpu_s(who: int) -> float:
    """User and system time so far."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def peak_rss_bytes() -> int:
    """The most memory that this process has had; what it was forked from does not count."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(status.read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]) * 1024


def one_run(folder: Path, *, trials: int, concurrency: int, checked: bool) -> Cost:
    """One run in this process."""
    tasks = min(TASKS, trials)
    prompts = {f"task_{number:02}": PROMPT for number in range(tasks)}
    config = run_config(folder, folder / "openclaw", prompts)
    if checked:
        make_suite(folder, prompts, check='return {"done": 1.0}')
    config = replace(config, runs=trials // tasks, concurrency=concurrency, isolation=Isolation.PRIVATE)
    began: list[float] = []
    graded = done_rss_bytes = 0

    def now() -> list[float]:
        return [time.monotonic(), cpu_s(resource.RUSAGE_SELF), cpu_s(resource.RUSAGE_CHILDREN)]

    async def watch(events: MemoryObjectReceiveStream[Event]) -> None:
        nonlocal graded, done_rss_bytes
        async for event in events:
            if isinstance(event, RunBegan):
                began.extend(now())
            graded += isinstance(event, TrialGraded)
            if graded == trials and not done_rss_bytes:
                done_rss_bytes = peak_rss_bytes()

    result = anyio.run(partial(run_benchmark, config, observer=watch))
    wall_s, own_s, others_s = (after - before for after, before in zip(now(), began, strict=True))
    odd = [outcome for outcome in result.outcomes if outcome.reason != "completed"]
    if odd or len(result.outcomes) != trials:
        raise SystemExit(f"{len(result.outcomes)} of {trials} trials have ended, and not all well: {odd[:1]}")
    scores = [grade.score for grade in result.grades.values()]
    if checked and scores != [1.0] * trials:
        raise SystemExit(f"{scores.count(1.0)} of {trials} trials have the score of their check")
    return Cost(
        wall_s=wall_s,
        cpu_s=own_s + others_s,
        own_cpu_s=own_s,
        done_rss_bytes=done_rss_bytes,
        end_rss_bytes=peak_rss_bytes(),
    )


def run_apart(*, trials: int, concurrency: int, checked: bool) -> Cost:
    """One run in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        idle_openclaw(Path(name))
        argv = [sys.executable, __file__, "--run-in", name, "--trials", str(trials), "--concurrency", str(concurrency)]
        env = {**os.environ, "HOME": name, "PINCHBENCH_CACHE": name}
        done = subprocess.run([*argv, *["--checked"] * checked], env=env, stdout=subprocess.PIPE, check=True)
    return Cost(**json.loads(done.stdout))


def run_xargs(*, trials: int, concurrency: int) -> Cost:
    """The same program as often, with nothing around it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = ["--local", f"--agent={AGENT}", "--session-id=NUMBER", "--timeout=90", f"--message={PROMPT}"]
        argv = ["xargs", "-P", str(concurrency), "-I", "NUMBER", str(idle_openclaw(folder)), "agent", *options]
        numbers = "".join(f"{number}\n" for number in range(trials)).encode()
        (folder / "agents" / AGENT / "sessions").mkdir(parents=True)
        env = {**os.environ, "OPENCLAW_STATE_DIR": name}
        began, before_s = time.monotonic(), cpu_s(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, input=numbers, env=env, stdout=subprocess.DEVNULL, check=True)
        return Cost(wall_s=time.monotonic() - began, cpu_s=cpu_s(resource.RUSAGE_CHILDREN) - before_s)


def compare(options: argparse.Namespace, trials: int) -> list[list[str]]:
    """The rows of one number of trials."""
    from bench.measure import Spread, interleave  # noqa: PLC0415 - what prints tables is no part of a runner's memory

    costs: dict[str, list[Cost]] = {}
    size = {"trials": trials, "concurrency": options.concurrency}

    def note(name: str, cost: Cost) -> float:
        costs.setdefault(name, []).append(cost)
        return cost.wall_s / trials * 1000

    contenders = {
        "xargs": lambda: note("xargs", run_xargs(**size)),
        "a run": lambda: note("a run", run_apart(**size, checked=False)),
        "a graded run": lambda: note("a graded run", run_apart(**size, checked=True)),
    }
    figures = interleave(options.rounds, contenders)
    rows = []
    for name, ms in figures.items():
        mine = costs[name][1:]  # the first round does not count
        beyond = Spread.of([one - other for one, other in zip(ms, figures["xargs"], strict=True)])
        total = Spread.of([cost.cpu_s / trials * 1000 for cost in mine])
        own = Spread.of([cost.own_cpu_s / trials * 1000 for cost in mine])
        done, end = (max(getattr(cost, name) for cost in mine) / 1e6 for name in ("done_rss_bytes", "end_rss_bytes"))
        rows.append(
            [
                name,
                str(trials),
                Spread.of(ms).text(),
                beyond.text() if name != "xargs" else "",
                total.text(),
                own.text() if own.median else "",
                f"{done:.1f}, {end:.1f}" if end else "",
            ]
        )
    return rows


def sizes(text: str) -> Sequence[int]:
    """Numbers of trials, from `200,1000`; above a suite of tasks, multiples of its size."""
    return [int(one) for one in text.split(",")]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=sizes, default=(200, 1000), help="numbers of trials, with commas between")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--run-in", type=Path, help=argparse.SUPPRESS)  # one run, in this process and folder
    parser.add_argument("--checked", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run_in is not None:
        with redirect_stdout(sys.stderr):
            cost = one_run(
                options.run_in, trials=options.trials[0], concurrency=options.concurrency, checked=options.checked
            )
        sys.stdout.write(json.dumps(asdict(cost)))
        return
    from bench.measure import machine, print_table  # noqa: PLC0415 - as above

    rows = [row for trials in options.trials for row in compare(options, trials)]
    print_table(
        f"an agent that does nothing, {options.concurrency} at once, by trial",
        ["what", "trials", "ms", "beyond xargs, ms", "CPU, ms", "its own, ms", "peak RSS, MB"],
        rows,
        note=(
            "its own CPU and peak RSS are the runner's; RSS when all trials were done, and with the result written; "
            f"{options.rounds} rounds, median (least–most); {machine()}"
        ),
    )


if __name__ == "__main__":
    main()
