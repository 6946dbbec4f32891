"""`tasks show` and `tasks list` as a user meets them."""

import json
from pathlib import Path

import pytest

from command_line import call
from fakes import make_suite


def test_abilities_clock_and_timeline_of_a_task_are_shown(tmp_path: Path) -> None:
    head = (
        "abilities: [automations, chat]\nclock: 2026-03-02T07:30\ntimezone: Europe/Berlin\ntimeline: [{advance: 1d 2h}]"
    )
    make_suite(tmp_path, {"task_a": "Good morning."}, head=head)

    shown = call("tasks", "show", "task_a", "--tasks-dir", "tasks", cwd=tmp_path)
    listed = call("tasks", "list", "--tasks-dir", "tasks", cwd=tmp_path)

    assert "lets the agent use chat, automations\nbegins at 2026-03-02T07:30:00+01:00\n" in shown.stdout
    assert "\nTurn 1, message from sam, the owner:\nGood morning.\n\nTurn 2, 1 day, 2:00:00 pass\n" in shown.stdout
    assert "(uses chat, automations)" in listed.stdout


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--nope",), 2, "No such option '--nope'."),
        (("--task", "x"), 2, "No such option '--task'. Did you mean '--suite'?"),
        (("--form", "x"), 2, "'x' is not a valid integer"),
        (("--suite",), 2, "requires an argument"),
        (("--suite-format", "mine"), 2, "'mine' is not one of 'pinchbench'"),
        (("--markdown",), 2, "--markdown goes without --json."),
        (("extra",), 2, "unexpected extra argument (extra)"),
        (("--suite", "nope"), 2, "no task or category 'nope'"),
        (("--tasks-dir", "gone"), 3, "does not exist"),
    ],
)
def test_what_cannot_be_listed_is_json_too(tmp_path: Path, args: tuple[str, ...], code: int, said: str) -> None:
    done = call("tasks", "list", "--json", *args, cwd=tmp_path)
    [row] = json.loads(done.stdout)
    assert (done.returncode, row["path"], row["line"]) == (code, None, None)
    assert said in row["refused"]
    assert row["refused"] in done.stderr


def test_a_task_that_is_not_there_since_its_file_is_refused_is_listed_with_the_reason(tmp_path: Path) -> None:
    root = make_suite(tmp_path, {"task_a": "Good morning.", "task_b": ""})
    done = call("tasks", "list", "--json", "--suite", "task_b", "--tasks-dir", str(root), cwd=tmp_path)
    selection, file = json.loads(done.stdout)
    assert (Path(file["path"]).name, selection["path"]) == ("task_b.md", None)
    assert "no text under `## Prompt`" in file["refused"]
    assert "task_b" in selection["refused"]
