"""`experiment` and several `--model`, as a user calls them."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from anyio import create_task_group, fail_after, to_thread

from command_line import Completed, call, clean_environment
from fakes import MODEL, SCORED_BY_MODEL, TURN_LIMIT_S, Gate, fake_openclaw, make_suite, open_gate, with_models
from past_runs import Made, PlannedRun, write_run
from pinchbench.experiment.experiment_record import EXPERIMENT_JSON, EXPERIMENT_PAGE
from pinchbench.experiment.experiment_spec import DEFAULT_SEED
from pinchbench.experiment.sequential import Design, Sequential
from pinchbench.results.compare.verdict import SequentialComparison, SequentialVerdict

pytestmark = pytest.mark.usefixtures("checks_in_process")


def written(
    folder: Path,
    *,
    tasks: int = 2,
    prompt: str = "Write out.txt.",
    variants: str = "  low: {thinking: low}\n  high: {thinking: high}\n",
    last: str = "",
) -> Path:
    """Write a suite, a fake OpenClaw and an experiment of two variants; the model `mock/bad` scores 0, others 1."""
    program = with_models(fake_openclaw(folder), "mock/bad")
    prompts = {f"task_{number}": prompt for number in range(tasks)}
    make_suite(folder, prompts, check=SCORED_BY_MODEL, timeout_s=TURN_LIMIT_S)
    path = folder / "levels.yaml"
    path.write_text(
        f"""\
model: {MODEL}
openclaw: {program}
tasks-dir: tasks
output-dir: out
run-root: runs
isolation: private
sandbox: none
no-wire: true
no-preflight: true
infra-retries: 0
concurrency: 2
variants:
{variants}{last}""",
        encoding="utf-8",
    )
    return path


def pinchbench(*args: str | Path, cwd: Path) -> Completed:
    return call(*map(str, args), cwd=cwd)


def test_an_experiment_prints_its_folder_and_compares_its_variants(tmp_path: Path) -> None:
    done = pinchbench("experiment", written(tmp_path), cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert sorted(one.name for one in folder.iterdir()) == [EXPERIMENT_PAGE, EXPERIMENT_JSON]
    lines = done.stderr.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("model"))
    assert [line.split()[:3] for line in lines[head + 1 : head + 3]] == [["low", "1", "1.000"], ["high", "1", "1.000"]]
    assert any(line.startswith("high: The data can't tell low from high: ") for line in lines)
    again = pinchbench("resume", folder, cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr


def test_a_variant_that_can_not_run_is_named_with_the_way_to_go_on(tmp_path: Path) -> None:
    path = written(tmp_path, last="  gone: {openclaw: /nowhere/openclaw}\n")
    done = pinchbench("experiment", path, cwd=tmp_path)
    assert done.returncode == 5
    assert "gone could not be run: " in done.stderr
    assert f"pinchbench-async resume {done.stdout.strip()}" in done.stderr


def test_a_dry_run_starts_nothing(tmp_path: Path) -> None:
    path = written(tmp_path)
    reported = pinchbench("experiment", path, "--dry-run", cwd=tmp_path)
    assert reported.stdout.splitlines() == [
        "low: 2 trials, thinking low; time unknown, cost unknown",
        "high: 2 trials, thinking high; time unknown, cost unknown",
        (
            "4 trials on 2 slots: unknown time, at most 10 min 00 s; the cost is unknown, since there is no earlier run"
            " to go by. Nothing was started."
        ),
    ]
    plan = json.loads(pinchbench("experiment", path, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert (plan["name"], plan["worst_case_s"]) == ("levels", 600.0)
    assert (plan["expected_s"], plan["expected_cost_usd"]) == (None, None)
    assert not (tmp_path / "out").exists()


def test_a_dry_run_tells_time_and_cost_going_by_earlier_runs_and_what_is_unknown(tmp_path: Path) -> None:
    trials = {f"task_{number}": (Made(took_s=10, setup_s=0, tokens=1000, cost_usd=0.5),) for number in range(2)}
    write_run(tmp_path / "out", PlannedRun(trials=trials))
    path = written(tmp_path, last="  other: {model: mock/m2}\nbudget: {max-cost: 1.5}\n")
    reported = pinchbench("experiment", path, "--dry-run", cwd=tmp_path).stdout.splitlines()
    assert reported == [
        "low: 2 trials, thinking low; about 20.0 s of a slot, about $1.00",
        "high: 2 trials, thinking high; about 20.0 s of a slot, about $1.00",
        "other: 2 trials, model mock/m2; about 20.0 s of a slot, cost unknown",
        (
            "6 trials on 2 slots: about 30.0 s, at most 15 min 00 s; about $2.00 without other, whose cost is unknown,"
            " more than the budget of $1.50. Nothing was started."
        ),
    ]
    plan = json.loads(pinchbench("experiment", path, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert [one["expected_cost_usd"] for one in plan["variants"]] == [1.0, 1.0, None]
    assert (plan["expected_s"], plan["expected_cost_usd"]) == (30.0, None)


def test_a_budget_that_is_reached_is_reported_with_the_variants_and_the_way_to_go_on(tmp_path: Path) -> None:
    path = written(tmp_path, last="budget: {max-tokens: 500}\n")  # a trial of the fake uses 220
    done = pinchbench("experiment", path, cwd=tmp_path)
    assert done.returncode == 8, done.stderr
    [reported] = [line for line in done.stderr.splitlines() if "--max-tokens 500 of the experiment" in line]
    assert set(reported.partition(": ")[0].split(", ")) <= {"low", "high"}  # not of one that had no trial left
    assert f"pinchbench-async resume {done.stdout.strip()} --max-tokens …" in done.stderr


def test_each_variant_has_to_pass_the_gate(tmp_path: Path) -> None:
    path = written(tmp_path, last="  marked: {workspace-files: {marker.txt: marker.txt}}\n")
    (tmp_path / "marker.txt").write_text("here", encoding="utf-8")
    for task in (tmp_path / "tasks").glob("*.md"):
        text = task.read_text("utf-8").replace(
            "0.0 if \"'bad'\" in str(transcript) else 1.0", '0.2 + 0.8 * (Path(workspace_path) / "marker.txt").exists()'
        )
        task.write_text(text.replace("def grade", "from pathlib import Path\n\ndef grade"), encoding="utf-8")
    done = pinchbench("experiment", path, "--fail-under", "0.9", cwd=tmp_path)
    assert done.returncode == 11, done.stderr
    assert "low: Gate, score<0.9: failed." in done.stderr
    assert "high: Gate, score<0.9: failed." in done.stderr
    assert "marked: Gate, score<0.9: passed." in done.stderr
    assert len([*(tmp_path / "out").glob("*/gate.json")]) == 3

    folder = done.stdout.strip()
    assert pinchbench("resume", folder, "--fail-under", "0.1", cwd=tmp_path).returncode == 0
    assert pinchbench("resume", folder, "--baseline", folder, cwd=tmp_path).returncode == 6


def test_several_models_are_an_experiment(tmp_path: Path) -> None:
    reported = pinchbench(
        "--model", "demo/oracle", "--model", "demo/null", "--suite", "task_00_sanity", "--dry-run", cwd=tmp_path
    )
    assert reported.stdout.splitlines()[:2] == [
        "demo-oracle: 1 trial, model demo/oracle; time unknown, cost unknown",
        "demo-null: 1 trial, model demo/null; time unknown, cost unknown",
    ]


GOOD_AND_BAD = f"  good: {{model: {MODEL}}}\n  bad: {{model: mock/bad}}\n"


@pytest.mark.long
def test_an_experiment_ends_when_it_is_decided_and_tells_the_verdict(tmp_path: Path) -> None:
    path = written(tmp_path, tasks=4, variants=GOOD_AND_BAD, last="runs: 5\nuntil: decided\n")
    done = pinchbench("experiment", path, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "bad: Decided: worse than good. The difference is −1.000 (−1.000 to " in done.stderr
    assert "Trials are left" not in done.stderr
    again = pinchbench("resume", done.stdout.strip(), "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    [compared] = json.loads(again.stdout)["sequential"]["comparisons"]
    assert (compared["variant"], compared["verdict"]) == ("bad", "worse")
    assert compared["blocks"] < 20


@contextmanager
def started(*args: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-m", "pinchbench", *args, "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=cwd, env=clean_environment(cwd)) as process:
        try:
            yield process
        finally:
            process.kill()


async def let_go(gate: Gate, turns: int) -> None:
    for _ in range(turns):
        await (await gate.next()).let_go()


@pytest.mark.long
async def test_ctrl_c_at_a_barrier_and_a_kill_later_change_nothing_in_what_is_decided(tmp_path: Path) -> None:
    async with open_gate() as gate:
        path = written(
            tmp_path,
            prompt=f"scenario: gate {gate.port}",
            variants=GOOD_AND_BAD,
            last="runs: 6\nuntil: decided\n",
        )
        with fail_after(240):
            with started("experiment", str(path), cwd=tmp_path) as process:
                await let_go(gate, 3)
                last = await gate.next()  # all others wait for this trial
                process.send_signal(signal.SIGINT)
                await last.gone()
                assert await to_thread.run_sync(process.wait) == 130
                assert process.stdout is not None
                [folder] = [one.parent for one in (tmp_path / "out").glob(f"*/{EXPERIMENT_JSON}")]
                [compared] = json.loads(process.stdout.read())["sequential"]["comparisons"]
                assert (compared["verdict"], compared["blocks"]) == ("open", 1)
            with started("resume", str(folder), cwd=tmp_path) as process:
                await let_go(gate, 2)
                guests = [await gate.next(), await gate.next()]
                process.kill()
                for guest in guests:
                    await guest.gone()
            with started("resume", str(folder), cwd=tmp_path) as process:
                async with create_task_group() as group:
                    group.start_soon(let_go, gate, 100)
                    assert await to_thread.run_sync(process.wait) == 0
                    group.cancel_scope.cancel()
                assert process.stdout is not None
                reported = json.loads(process.stdout.read())["sequential"]["comparisons"]
    assert reported == list(msgspec.to_builtins(uninterrupted()))


def uninterrupted() -> tuple[SequentialComparison, ...]:
    """Return what two tasks and six repetitions come to if all is made in one session."""
    design = Design(variants=("good", "bad"), tasks=("task_0", "task_1"), runs=6, seed=DEFAULT_SEED)
    sequential = Sequential(design)
    for key in design.keys:
        sequential.settle("good", key, 1.0)
        sequential.settle("bad", key, 0.0)
    [compared] = sequential.comparisons
    assert (compared.verdict, 4 < compared.blocks < 12) == (SequentialVerdict.WORSE, True)
    return sequential.comparisons
