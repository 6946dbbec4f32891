"""`experiment` and several `--model`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Completed, call, clean_environment
from fakes import MODEL, fake_openclaw
from pinchbench.experiment.record import EXPERIMENT_JSON, EXPERIMENT_PAGE
from pinchbench.model import Outcome, Reason, TrialKey, Usage
from pinchbench.results.journal.records import TrialFinished, encode

TASK = """\
---
id: {task_id}
grading_type: automated
timeout_seconds: 30
---
## Prompt

{prompt}

## Automated Checks

```python
def grade(transcript, workspace_path):
    return {{"done": 1.0}}
```
"""


def written(folder: Path, *, tasks: int = 2, last: str = "") -> Path:
    """Write a suite, a fake OpenClaw and an experiment of two variants."""
    program = fake_openclaw(folder)
    suite = folder / "tasks"
    suite.mkdir(parents=True, exist_ok=True)
    for number in range(tasks):
        text = TASK.format(task_id=f"task_{number}", prompt="Write out.txt.")
        (suite / f"task_{number}.md").write_text(text, encoding="utf-8")
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
  low: {{thinking: low}}
  high: {{thinking: high}}
{last}""",
        encoding="utf-8",
    )
    return path


def pinchbench(*args: str | Path, cwd: Path) -> Completed:
    return call(*map(str, args), cwd=cwd, env=clean_environment(cwd))


def test_an_experiment_prints_its_folder_and_compares_its_variants(tmp_path: Path) -> None:
    done = pinchbench("experiment", written(tmp_path), cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert sorted(one.name for one in folder.iterdir()) == [EXPERIMENT_PAGE, EXPERIMENT_JSON]
    lines = done.stderr.splitlines()
    [head] = [number for number, line in enumerate(lines) if line.startswith("variant")]
    low, high = lines[head + 1 : head + 3]
    assert (low.split()[:2], high.split()[:2]) == (["low", "1.000"], ["high", "1.000"])
    assert "baseline" in low
    assert "too few tasks" in high
    again = pinchbench("resume", folder, cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr


def test_an_experiment_as_json_holds_its_comparisons(tmp_path: Path) -> None:
    done = pinchbench("experiment", written(tmp_path, tasks=1), "--json", cwd=tmp_path)
    data = json.loads(done.stdout)
    assert data["experiment"].startswith("levels_")
    [one] = data["comparison"]["comparisons"]
    assert (data["comparison"]["baseline"]["label"], one["b"]["label"]) == ("low", "high")


def test_without_a_baseline_nothing_is_compared(tmp_path: Path) -> None:
    path = written(tmp_path, tasks=1, last="  gone: {openclaw: /nowhere/openclaw}\nbaseline: gone\n")
    done = pinchbench("experiment", path, "--json", cwd=tmp_path)
    assert done.returncode == 5
    assert json.loads(done.stdout)["comparison"] is None


def test_a_variant_that_can_not_run_is_named_with_the_way_to_go_on(tmp_path: Path) -> None:
    path = written(tmp_path, last="  gone: {openclaw: /nowhere/openclaw}\n")
    done = pinchbench("experiment", path, cwd=tmp_path)
    assert done.returncode == 5
    assert "gone could not be run: " in done.stderr
    assert f"pinchbench-async resume {done.stdout.strip()}" in done.stderr


def test_a_dry_run_starts_nothing(tmp_path: Path) -> None:
    path = written(tmp_path)
    told = pinchbench("experiment", path, "--dry-run", cwd=tmp_path)
    assert told.stdout.splitlines() == [
        "low: 2 trials, thinking low; time unknown, cost unknown",
        "high: 2 trials, thinking high; time unknown, cost unknown",
        (
            "4 trials on 2 slots: unknown time, at most 1 min 00 s; the cost is unknown, for no earlier run tells it."
            " Nothing was started."
        ),
    ]
    plan = json.loads(pinchbench("experiment", path, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert (plan["name"], plan["worst_case_s"]) == ("levels", 60.0)
    assert (plan["expected_s"], plan["expected_cost_usd"]) == (None, None)
    assert not (tmp_path / "out").exists()


def test_a_dry_run_tells_time_and_cost_going_by_earlier_runs_and_what_is_unknown(tmp_path: Path) -> None:
    earlier = tmp_path / "out" / "mock-m1_20260102-030405-9f3a"
    earlier.mkdir(parents=True)
    outcomes = [
        Outcome(
            key=TrialKey(task_id=f"task_{number}", repetition=1),
            reason=Reason.COMPLETED,
            digest="",
            execution_time_s=10.0,
            usage=Usage(requests=1, total_tokens=1000, cost_usd=0.5),
        )
        for number in range(2)
    ]
    (earlier / "journal.jsonl").write_bytes(b"".join(encode(TrialFinished(outcome=one)) for one in outcomes))
    path = written(tmp_path, last="  other: {model: mock/m2}\nbudget: {max-cost: 1.5}\n")
    told = pinchbench("experiment", path, "--dry-run", cwd=tmp_path).stdout.splitlines()
    assert told == [
        "low: 2 trials, thinking low; about 20.0 s of a slot, about $1.00",
        "high: 2 trials, thinking high; about 20.0 s of a slot, about $1.00",
        "other: 2 trials, model mock/m2; about 20.0 s of a slot, cost unknown",
        (
            "6 trials on 2 slots: about 30.0 s, at most 1 min 30 s; about $2.00 without other, whose cost is unknown,"
            " more than the budget of $1.50. Nothing was started."
        ),
    ]
    plan = json.loads(pinchbench("experiment", path, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert [one["expected_cost_usd"] for one in plan["variants"]] == [1.0, 1.0, None]
    assert (plan["expected_s"], plan["expected_cost_usd"]) == (30.0, None)


def test_a_wrong_file_is_refused_with_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path, last="  low2: {thinkin: low}\n")
    done = pinchbench("experiment", path, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{path}:15: `thinkin` is not a setting of a variant: did you mean `thinking`?" in done.stderr


def test_several_models_are_an_experiment(tmp_path: Path) -> None:
    told = pinchbench(
        "--model", "demo/oracle", "--model", "demo/null", "--suite", "task_00_sanity", "--dry-run", cwd=tmp_path
    )
    assert told.stdout.splitlines()[:2] == [
        "demo-oracle: 1 trial, model demo/oracle; time unknown, cost unknown",
        "demo-null: 1 trial, model demo/null; time unknown, cost unknown",
    ]
