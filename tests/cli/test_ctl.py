"""`ctl`: what it prints, and the codes that it exits with."""

import json
from functools import partial
from pathlib import Path

import pytest
from anyio import create_task_group, fail_after, to_thread

from command_line import Completed, call
from fakes import TURN_LIMIT_S, fake_openclaw, open_gate, run_config
from past_runs import Made, PlannedRun, write_run
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.paths import RunFiles, runs_of
from pinchbench.results.records import NoteAdded
from pinchbench.results.result_json import read_aggregate
from pinchbench.runner.run_benchmark import run_benchmark

LIMIT_S = 240
RUN = "20260101-000000-0001"


def past_run(folder: Path) -> RunFiles:
    run = PlannedRun(run_id=RUN, trials={"task_a": (Made(score=0.5),), "task_b": (Made(score=1.0),)})
    return write_run(folder / "results", run)


def ctl(folder: Path, *words: str) -> Completed:
    return call("ctl", *words, cwd=folder)


def test_a_note_on_a_run_that_has_ended_is_in_its_result(tmp_path: Path) -> None:
    files = past_run(tmp_path)

    done = ctl(tmp_path, RUN, "note", "the laptop was on battery")

    assert (done.returncode, done.stdout) == (0, "Noted.\n")
    assert json.loads(files.aggregate.read_text("utf-8"))["control"]["notes"][0]["text"] == "the laptop was on battery"
    assert isinstance(read_journal(files.journal).records[-1], NoteAdded)


def test_what_is_refused_goes_to_stderr_with_exit_code_2_and_as_json_to_stdout(tmp_path: Path) -> None:
    past_run(tmp_path)

    done = ctl(tmp_path, RUN, "pause")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pinchbench-async ctl 20260101-000000-0001 requeue TRIAL" in done.stderr
    done = ctl(tmp_path, RUN, "pause", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["ok"] is False


def test_a_run_that_is_written_but_takes_no_commands_says_so(tmp_path: Path) -> None:
    files = past_run(tmp_path)
    with JournalWriter(files.journal, go_on=True):
        done = ctl(tmp_path, str(files.folder), "note", "hello")
        status = ctl(tmp_path, str(files.folder), "status")
    assert status.stdout.startswith("Working: it is being set up")
    assert done.returncode == 2
    assert "takes no commands: it is setting the run up" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["no-such-run", "status"], "has no run"),
        ([RUN, "explode"], "No such command"),
        ([RUN, "set", "--concurrency", "many"], "not a valid integer"),
        ([RUN, "set"], "Say what to change"),
        ([RUN], "Missing command"),
    ],
)
def test_bad_input_gets_a_clear_error(tmp_path: Path, words: list[str], sentence: str) -> None:
    past_run(tmp_path)
    done = ctl(tmp_path, *words)
    assert done.returncode != 0
    assert sentence in done.stderr


def test_a_score_of_ones_own_stands_next_to_the_measured_one_in_result_and_summary(tmp_path: Path) -> None:
    files = past_run(tmp_path)
    before = read_run(files).data.score

    done = ctl(tmp_path, RUN, "note", "the check overlooks a file", "--trial", "task_a", "--score", "1")
    tagged = ctl(tmp_path, RUN, "note", "see the log", "--trial", "task_a", "--tag", "check")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "task_a: 1, as you say; measured 0.5. The result shows both.\n"
    assert tagged.stdout == "Noted.\n"
    data = read_aggregate(files.aggregate)
    assert data.score == before
    assert data.control
    assert [(one.task_id, one.measured, one.score) for one in data.control.overridden] == [("task_a", 0.5, 1.0)]
    assert data.control.score_with_overrides is not None
    assert data.control.score_with_overrides.mean == 1.0
    assert [(one.task_id, one.tags) for one in data.control.notes] == [("task_a", ("check",))]
    assert data.tasks[0].score == 0.5


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Missing argument 'TEXT'"),
        (["x", "--score", "1"], "name it with --trial"),
        (["", "--trial", "task_a", "--score", "1"], "needs a reason"),
        (["x", "--trial", "task_a", "--score", "2"], "not in the range"),
        (["x", "--trial", "task_a", "--score", "1", "--tag", "y"], "--tag goes with a note"),
        (["x", "--trial", "task_x"], "no trial 'task_x'. It has: task_a, task_b."),
        (["x" * 5000], "at most 4000"),
    ],
)
def test_what_can_not_be_written_is_refused_and_changes_nothing(
    tmp_path: Path, words: list[str], sentence: str
) -> None:
    files = past_run(tmp_path)
    before = files.journal.read_bytes()

    done = ctl(tmp_path, RUN, "note", *words)

    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert files.journal.read_bytes() == before


async def test_a_run_that_works_is_asked_over_its_socket(tmp_path: Path, user: object) -> None:
    del user
    async with open_gate() as gate:
        prompts = {"task_a": f"scenario: gate {gate.port}"}
        config = run_config(tmp_path, fake_openclaw(tmp_path), prompts, timeout_s=TURN_LIMIT_S)
        with fail_after(LIMIT_S):
            async with create_task_group() as group:
                group.start_soon(run_benchmark, config)
                turn = await gate.next()
                [files] = runs_of(config.output_dir)
                done = await to_thread.run_sync(partial(ctl, tmp_path, str(files.folder), "status", "--json"))
                await turn.let_go()
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)["data"]
    assert [one["trial"] for one in status["work"]["running"]] == ["task_a"]
    assert status["work"]["standing"] == "working"
