"""A run.json that is damaged is named, with the place and what to do, by every command that meets it."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from command_line import Completed, call, clean_environment
from past_runs import Made, PlannedRun, write_run
from pinchbench.results.paths import RunFiles

GOOD, DAMAGED = "20260101-000000-0001", "20260102-000000-0002"
COMMANDS = {
    "resume": ("resume", DAMAGED),
    "resume of the newest": ("resume",),
    "regrade": ("regrade", DAMAGED),
    "report": ("report", DAMAGED),
    "export": ("export", DAMAGED, "--format", "csv"),
    "compare": ("compare", GOOD, DAMAGED),
    "compare by the model's name": ("compare", GOOD, "other/m2"),
    "upload": ("upload", DAMAGED),
    "verify": ("verify", DAMAGED),
}


def _without_a_key(text: str) -> str:
    facts = json.loads(text)
    del facts["config"]["model"]
    return json.dumps(facts)


DAMAGES: Mapping[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda _: "", "run.json: it is empty."),
    "truncated": (lambda text: text.partition("pass_threshold")[0], "run.json:8: Input data was truncated."),
    "no JSON": (lambda text: text.replace('": "', '" = "', 1), "run.json:2: JSON is malformed"),
    "a key is missing": (_without_a_key, "run.json: Object missing required field `model` - at `$.config`."),
    "a key of another type": (
        lambda text: json.dumps({**json.loads(text), "versions": ["2026.9.6"]}),
        "got `array` - at `$.versions`.",
    ),
}


def _two_runs(folder: Path) -> RunFiles:
    """A good run, and a newer one of another model to be damaged."""
    write_run(folder / "results", PlannedRun(trials={"task_a": (Made(),)}, run_id=GOOD))
    return write_run(
        folder / "results", PlannedRun(trials={"task_a": (Made(),)}, run_id=DAMAGED, model="other/m2", planned_beyond=1)
    )


def _call(folder: Path, *args: str) -> Completed:
    done = call(*args, cwd=folder, env=clean_environment(folder, COLUMNS="1000"))
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_run_json_is_named_with_its_place_and_what_to_do(tmp_path: Path, command: str, damage: str) -> None:
    files = _two_runs(tmp_path)
    spoil, said = DAMAGES[damage]
    files.provenance.write_text(spoil(files.provenance.read_text("utf-8")), encoding="utf-8")

    done = _call(tmp_path, *COMMANDS[command])

    told = done.stdout + done.stderr
    assert done.returncode == 6, told
    assert f"results/{files.name}/run.json" in told
    assert said in told
    assert "put back a copy of it, or remove the run: rm -r " in told


def test_the_history_lists_a_damaged_run_next_to_the_others(tmp_path: Path) -> None:
    files = _two_runs(tmp_path)
    files.provenance.write_text("{", encoding="utf-8")

    done = _call(tmp_path, "history")

    assert done.returncode == 0
    assert f"results/{files.name}/run.json:1: Input data was truncated" in done.stdout
    assert "mock/m1" in done.stdout


def test_a_setting_of_the_wrong_type_is_named_by_who_needs_it(tmp_path: Path) -> None:
    files = _two_runs(tmp_path)
    facts = json.loads(files.provenance.read_text("utf-8"))
    facts["config"]["concurrency"] = "many"
    files.provenance.write_text(json.dumps(facts), encoding="utf-8")

    done = _call(tmp_path, "resume", DAMAGED)

    assert done.returncode == 2
    assert "Expected `int`, got `str` - at `$.config.concurrency`" in done.stderr
    assert f"results/{files.name}/run.json" in done.stderr
