"""An experiment on real OpenClaw: killed, out of budget and resumed, it comes to the figures of separate runs."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIGKILL

import anyio
import pytest
import yaml
from anyio import create_task_group, fail_after

from fakes import NEW_RELEASE, OLD_RELEASE
from http_server import HttpServer, Request, Response, running
from pinchbench import Reason
from pinchbench.experiment.experiment_record import EXPERIMENT_JSON, ExperimentFiles, read_record
from pinchbench.llm.demo.script import ScriptedTurn, next_reply
from pinchbench.llm.demo.scripted_model import Completion, count_tokens
from pinchbench.openclaw.install import install
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.suite.solution import ToolStep
from real_openclaw import TaskFile, UserHome, write_suite

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

LIMIT_S = 900
BEST = 3  # right lines at most, and the level of the best model
SLOTS = 2
CALLS = 2  # of the model in each trial: it writes the file, then it answers
BUDGET_REACHED = 8  # the exit code
ROOM = 1.5  # trials' worth of tokens that a tight budget leaves
CHECK = f"""
from pathlib import Path

def grade(transcript, workspace_path):
    return {{"lines": Path(workspace_path, "out.txt").read_text().split().count("right") / {BEST}}}
"""


def right_lines(model: str, task: str) -> int:
    """What a model of a known quality gets right of a task: `m3-…` is the best, and odd tasks are harder."""
    return max(0, int(model[1]) - int(task) % 2)


def solved(model: str, task: str) -> ScriptedTurn:
    """What a model does for a task."""
    right = right_lines(model, task)
    content = "right\n" * right + "wrong\n" * (BEST - right)
    return ScriptedTurn(steps=(ToolStep(tool="write", args={"path": "out.txt", "content": content}),), answer="Done.")


class ModelsOfKnownQuality(HttpServer[Request]):
    """A provider of such models. From the `hold_at`th trial on it keeps silent, and sets `held`."""

    def __init__(self) -> None:
        super().__init__()
        self.hold_at: int | None = None
        self.held = anyio.Event()
        self._trials: set[tuple[str, str]] = set()

    async def respond(self, request: Request) -> Response:
        if not request.path.endswith("/chat/completions"):  # what other servers say of their models
            return Response(status=404, body=b"{}", headers={"Content-Type": "application/json"})
        asked = request.json
        messages, model = asked["messages"], asked["model"]
        named = re.search(r"Task number (\d)", json.dumps(messages))
        if named is None:  # `resume` asks whether the model answers
            turn = ScriptedTurn(answer="ready")
        else:
            task = named[1]
            self._trials.add((model, task))
            if self.hold_at is not None and len(self._trials) >= self.hold_at:
                self.held.set()
                return Response(silent=True)
            turn = solved(model, task)
        tokens = count_tokens(messages)
        completion = Completion(model=model, reply=next_reply(turn, messages), prompt_tokens=tokens, cached_tokens=0)
        if not asked.get("stream"):
            return Response(body=json.dumps(completion.whole()).encode(), headers={"Content-Type": "application/json"})
        events = [*(json.dumps(chunk) for chunk in completion.chunks()), "[DONE]"]
        body = "".join(f"data: {event}\n\n" for event in events)
        return Response(body=body.encode(), headers={"Content-Type": "text/event-stream"})

    def hold(self, at: int) -> None:
        """Keep silent from that trial on, counted from now; 0 for never."""
        self._trials.clear()
        self.hold_at = at or None
        self.held = anyio.Event()


def written(folder: Path, variants: Mapping[str, str], *, tasks: int, port: int) -> Path:
    """Write an experiment of these variants, models with their releases of OpenClaw, and its suite."""
    suite = [
        TaskFile(task_id=f"task_{number}", turns=[(f"Task number {number}: write out.txt.", [], "")], check=CHECK)
        for number in range(tasks)
    ]
    settings = {
        "tasks-dir": str(write_suite(folder / "suite", suite)),
        "output-dir": str(folder / "results"),
        "run-root": str(folder / "runs"),
        "base-url": f"http://127.0.0.1:{port}/v1",
        "concurrency": SLOTS,
        "no-preflight": True,
        "budget": {"max-tokens": 100_000_000},
        "variants": {model: {"model": f"quality/{model}", "openclaw": release} for model, release in variants.items()},
    }
    path = folder / "qualities.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return path


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "pinchbench", *args]


async def killed(models: ModelsOfKnownQuality, *args: str, at: int) -> None:
    """Run a command, and end the runner at once when the model is asked for the `at`th trial."""
    models.hold(at)
    async with await anyio.open_process(command(*args), stdout=subprocess.DEVNULL, stderr=None) as process:

        async def end_early() -> None:
            await process.wait()
            models.held.set()

        async with create_task_group() as group:
            group.start_soon(end_early)
            await models.held.wait()
            assert process.returncode is None, "it has ended by itself: see what it told"
            process.send_signal(SIGKILL)
    assert process.returncode == -SIGKILL
    models.hold(0)


async def code(*args: str) -> tuple[int, str]:
    """Run a command to its end; return its exit code and what it has told."""
    done = await anyio.run_process(command(*args), check=False, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode()


def experiment_in(folder: Path) -> ExperimentFiles:
    [record] = (folder / "results").glob(f"*/{EXPERIMENT_JSON}")
    return ExperimentFiles(output_dir=record.parent.parent, name=record.parent.name)


def runs_of(files: ExperimentFiles) -> dict[str, PastRun]:
    """Return the runs by variant, of those that have begun."""
    runs = {one.name: files.run(one) for one in read_record(files).variants}
    return {name: read_run(run) for name, run in runs.items() if run.journal.exists()}


def figures(run: PastRun) -> dict[str, tuple[Reason, float | None, int]]:
    """Return how each trial ended, its score, and how many calls of the model it made."""
    return {str(one.key): (one.reason, run.score(one.key), one.usage.requests) for one in run.outcomes}


def known(model: str, tasks: int) -> dict[str, tuple[Reason, float, int]]:
    return {
        f"task_{number}": (Reason.COMPLETED, right_lines(model, str(number)) / BEST, CALLS) for number in range(tasks)
    }


def tight_budget(runs: Sequence[PastRun]) -> int:
    """Return a limit of tokens that leaves room for a few more trials only."""
    ended = [one for run in runs for one in run.outcomes if one.reason.is_valid]
    used = sum(one.usage.total_tokens for one in ended)
    return int(used + ROOM * used / len(ended))


def ended_in(runs: Mapping[str, PastRun]) -> int:
    return sum(one.reason.is_valid for run in runs.values() for one in run.outcomes)


async def begun_and_killed(models: ModelsOfKnownQuality, path: Path, *, trials: int) -> ExperimentFiles:
    """Begin an experiment and kill its runner midway."""
    await killed(models, "experiment", str(path), at=trials // 2 + 1)
    files = experiment_in(path.parent)
    assert 0 < ended_in(runs_of(files)) < trials
    return files


async def end_at_a_tight_budget(files: ExperimentFiles, *, trials: int) -> None:
    """Let the rest of an experiment reach a budget that has room for a few trials."""
    before = runs_of(files)
    limit = tight_budget(list(before.values()))
    exit_code, told = await code("resume", str(files.folder), "--max-tokens", str(limit))
    assert exit_code == BUDGET_REACHED, told
    assert f"--max-tokens {limit:,} of the experiment" in " ".join(told.split()), told
    assert ended_in(before) < ended_in(runs_of(files)) < trials
    assert read_record(files).budget.max_tokens == limit


def check(files: ExperimentFiles, variants: Mapping[str, str], *, tasks: int) -> None:
    """Check that each variant has a whole run, with its release, the known figures, and no trial done twice."""
    runs = runs_of(files)
    assert {name: run.facts.versions["openclaw"] for name, run in runs.items()} == dict(variants)
    for name, run in runs.items():
        assert figures(run) == known(name, tasks)
        assert (run.unfinished, run.differences) == (0, ())
        for trial in run.attempts.values():
            assert sum(one.reason.is_valid for one in trial.outcomes) == 1


async def test_an_experiment_killed_twice_gives_models_of_known_quality_their_scores(
    home: UserHome, tmp_path: Path
) -> None:
    before = home.snapshot()
    variants = {"m3": NEW_RELEASE, "m2": OLD_RELEASE, "m1": NEW_RELEASE, "m0": OLD_RELEASE}
    for release in (NEW_RELEASE, OLD_RELEASE):
        install(release)
    async with running(ModelsOfKnownQuality()) as models:
        path = written(tmp_path, variants, tasks=2, port=models.port)
        with fail_after(2 * LIMIT_S):
            files = await begun_and_killed(models, path, trials=8)
            await end_at_a_tight_budget(files, trials=8)
            await killed(models, "resume", str(files.folder), "--max-tokens", "100000000", at=1)
            exit_code, told = await code("resume", str(files.folder))  # within the budget that was raised before
            assert exit_code == 0, told
    check(files, variants, tasks=2)
    assert home.snapshot() == before
