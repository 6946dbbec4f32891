"""`tasks check --form`: forms are made and played, and what is wrong with them is named."""

from pathlib import Path

import pytest

from command_line import call
from form_suite import suite

pytestmark = pytest.mark.usefixtures("checks_in_process")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("100 + seed", "2 forms of 1 task: all as expected."),
        ("42 if seed == 8 else 100", "task_sum, memorised: its check gives 1.000, not 0 to 0.2"),
        ("100", "task_sum has the same answers in the forms 7, 8."),
    ],
)
def test_forms_are_checked_for_their_solutions_and_against_memorised_answers(
    tmp_path: Path, answer: str, said: str
) -> None:
    root = suite(tmp_path, answer=answer)
    arguments = ("tasks", "check", "--tasks-dir", str(root), "--form", "7-8", "--run-root", str(tmp_path / "pb"))
    done = call(*arguments, cwd=tmp_path)
    assert said in done.stderr
    assert done.returncode == (0 if "all as" in said else 3)


@pytest.mark.parametrize("seeds", ["8-7", "x", "1-", "-3", "99999999999"])
def test_what_is_no_range_of_seeds_is_refused(tmp_path: Path, seeds: str) -> None:
    done = call("tasks", "check", "--form", seeds, cwd=tmp_path)
    assert done.returncode == 2
    assert "no seed and no range of seeds" in done.stderr
