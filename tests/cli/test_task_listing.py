"""`tasks show` and `tasks list` as a user meets them, with and without statistics."""

from __future__ import annotations

import json
from pathlib import Path

from bundled_suite import SUITE
from command_line import Completed, call, clean_environment
from fakes import make_suite
from past_runs import Made, PlannedRun, write_run

TASKS = ("task_00_sanity", "task_01_calendar", "task_02_shipment_audit")


def _write_runs(folder: Path) -> None:
    for number, level in enumerate((0.2, 0.4, 0.8, 1.0)):
        trials = {task_id: (Made(score=level), Made(score=level / 2)) for task_id in TASKS}
        run_id = f"20260102-030000-{number:04d}"
        digests = {task_id: SUITE.by_id[task_id].digest for task_id in TASKS}
        write_run(folder, PlannedRun(trials=trials, model=f"mock/m{number}", run_id=run_id, digests=digests))


def _stats(folder: Path, *args: str) -> Completed:
    return call(
        "tasks", "list", "--statistics", "--output-dir", "runs", *args, cwd=folder, env=clean_environment(folder)
    )


def test_abilities_clock_and_timeline_of_a_task_are_shown(tmp_path: Path) -> None:
    head = (
        "abilities: [automations, chat]\nclock: 2026-03-02T07:30\ntimezone: Europe/Berlin\ntimeline: [{advance: 1d 2h}]"
    )
    make_suite(tmp_path, {"task_a": "Good morning."}, head=head)

    shown = call("tasks", "show", "task_a", "--tasks-dir", "tasks", cwd=tmp_path, env=clean_environment(tmp_path))
    listed = call("tasks", "list", "--tasks-dir", "tasks", cwd=tmp_path, env=clean_environment(tmp_path))

    assert "lets the agent use chat, automations\nbegins at 2026-03-02T07:30:00+01:00\n" in shown.stdout
    assert "\nTurn 1, message from sam, the owner:\nGood morning.\n\nTurn 2, 1 day, 2:00:00 pass\n" in shown.stdout
    assert "(uses chat, automations)" in listed.stdout


def test_the_table_goes_to_stdout(tmp_path: Path) -> None:
    _write_runs(tmp_path / "runs")

    done = _stats(tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["task", *TASKS]
    assert "From 24 trials of 4 variants." in lines


def test_json_has_every_number_and_where_it_is_from(tmp_path: Path) -> None:
    _write_runs(tmp_path / "runs")

    reported = json.loads(_stats(tmp_path, "--json", "--suite", "task_00_sanity").stdout)

    (task,) = reported["tasks"]
    assert (task["task_id"], task["category"], task["trials"]) == ("task_00_sanity", "system-skills", 8)
    assert task["mean"]["low"] < task["mean"]["value"] < task["mean"]["high"]
    assert task["discrimination"] is None
    assert [one["model"] for one in reported["variants"]] == ["mock/m3", "mock/m2", "mock/m1", "mock/m0"]
    assert reported["noise_share"]["value"] > 0
    assert reported["excluded"] == []
