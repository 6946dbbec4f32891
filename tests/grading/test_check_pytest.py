"""Verifiers that are tests of pytest: what they are worth, and when they give no score."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pinchbench.model.grade import Ungraded
from pinchbench.model.task_programs import PytestVerifier
from suite_packs import put, write_claw_bench

if TYPE_CHECKING:
    from pathlib import Path

    from grading.conftest import Desk

pytestmark = pytest.mark.anyio


def verifier(tmp_path: Path, tests: str | None = None, needs: tuple[str, ...] = ()) -> PytestVerifier:
    root = write_claw_bench(tmp_path / "pack")
    file = root / "mail" / "mail-001-hello" / "verifier" / "test_output.py"
    if tests is not None:
        put(file, tests)
    return PytestVerifier(file=file, root=root, limit_s=60, default_weight=2, needs=needs)


async def test_tests_count_by_their_weights_and_errors_and_skips_earn_nothing(desk: Desk, tmp_path: Path) -> None:
    (desk.workspace / "out.txt").write_text("hello", encoding="utf-8")
    before = sorted((tmp_path / "pack").rglob("*"))
    grade = await desk.check("", verifier=verifier(tmp_path))
    assert grade.breakdown == {
        "test_the_set_up_is_there": 0.0,
        "test_out_says_hello": 1.0,
        "test_there_is[out.txt]": 1.0,
        "test_there_is[missing.txt]": 0.0,
        "TestReport::test_it_is_read": 0.0,
        "test_for_later": 0.0,
        "test_nothing_else_lies_about": 1.0,
    }
    assert grade.score == pytest.approx((5 + 3 + 2) / (2 + 5 + 3 + 3 + 4 + 1 + 2))
    assert "FileNotFoundError" in desk.said()
    left = {path.name for path in (tmp_path / "pack").rglob("*")} - {path.name for path in before}
    assert left & {"__pycache__", ".pytest_cache"} == set()


@pytest.mark.parametrize(
    ("tests", "why", "note"),
    [
        ("import os\ndef test_a(workspace): os._exit(0)\n", Ungraded.CHECK_DIED, "ended with exit code 0"),
        ("import pytest\n@pytest.fixture\ndef pytest_x(: pass\n", Ungraded.CHECK_NO_SCORES, "can't be collected"),
        ("x = 1\n", Ungraded.CHECK_NO_SCORES, "there are none with a weight"),
        ("import gone_and_away\n", Ungraded.CHECK_NO_SCORES, "No module named 'gone_and_away'"),
        ("import pytest\n@pytest.mark.weight(0)\ndef test_a(): pass\n", Ungraded.CHECK_NO_SCORES, "none with a weight"),
    ],
)
async def test_tests_that_can_not_be_counted_give_no_score(
    desk: Desk, tmp_path: Path, tests: str, why: Ungraded, note: str
) -> None:
    grade = await desk.check("", verifier=verifier(tmp_path, tests))
    assert (grade.score, grade.ungraded) == (None, why), grade
    assert note in grade.notes[0]


async def test_tests_find_the_workspace_in_a_variable_too_and_see_what_lies_beside_them(
    desk: Desk, tmp_path: Path
) -> None:
    (desk.workspace / "out.txt").write_text("5", encoding="utf-8")
    (beside := tmp_path / "pack" / "environment").mkdir(parents=True)
    (beside / "answer.txt").write_text("5", encoding="utf-8")
    tests = f"""
        import os, shutil
        from pathlib import Path

        def test_out(workspace):
            assert Path(os.environ["THE_WORKSPACE"], "out.txt").samefile(workspace / "out.txt")

        def test_answer(workspace):
            assert Path({str(beside)!r}, "answer.txt").read_text() == (workspace / "out.txt").read_text()

        def test_programs():
            assert shutil.which("pytest")
    """
    found = replace(verifier(tmp_path, tests), beside=(beside,), workspace_variable="THE_WORKSPACE")
    grade = await desk.check("", verifier=found)
    assert grade.breakdown == {"test_out": 1.0, "test_answer": 1.0, "test_programs": 1.0}


async def test_without_a_module_that_the_tests_need_there_is_no_score(desk: Desk, tmp_path: Path) -> None:
    grade = await desk.check("", verifier=verifier(tmp_path, needs=("json", "gone_and_away")))
    assert (grade.score, grade.ungraded) == (None, Ungraded.CHECK_NO_SCORES)
    assert "need the modules gone_and_away" in grade.notes[0]


async def test_what_a_program_of_the_agent_says_about_the_tests_does_not_count(desk: Desk, tmp_path: Path) -> None:
    (desk.workspace / "conftest.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    (desk.workspace / "pytest.ini").write_text("[pytest]\naddopts = --co\n", encoding="utf-8")
    tests = "def test_a(workspace): assert False\n"
    grade = await desk.check("", verifier=verifier(tmp_path, tests))
    assert grade.score == 0.0
