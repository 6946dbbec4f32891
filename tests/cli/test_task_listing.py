"""`tasks show` and `tasks list` as a user meets them."""

from pathlib import Path

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
