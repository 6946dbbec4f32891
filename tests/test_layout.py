"""Where tests stand: `pinchbench/a/b.py` has `tests/a/test_b.py`, so that a newcomer finds them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pinchbench

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(pinchbench.__file__).parent
TESTS = Path(__file__).parent
# Modules that the tests of others cover, by folder. The list is to become shorter: a new module has a test file.
WITHOUT_A_FILE: Mapping[str, tuple[str, ...]] = {
    # click commands and their parts: tests/test_cli*.py, test_help.py and test_completion.py call them as a user does
    "cli": (
        "afterwards",
        "clean",
        "compare",
        "completing",
        "completion",
        "doctor",
        "export",
        "history",
        "openclaw",
        "options",
        "output",
        "program",
        "register",
        "regrade",
        "report",
        "resume",
        "run",
        "running",
        "sections",
        "tasks",
        "upload",
        "verify",
        "watch",
    ),
    "demo": ("completion",),
    "": (
        "errors",
        "events",
        "limits",
        "model",
    ),
    # what a check or a judge is made of: test_checks.py, test_hostile_checks.py, test_judge*.py
    "grading": (
        "check_chance",
        "check_child",
        "check_limits",
        "check_place",
        "evidence",
        "judge_criteria",
        "judge_record",
        "judge_view",
        "judge_wire",
    ),
    # test_upload.py, test_account.py and test_payload.py
    "leaderboard": (
        "client",
        "eligible",
        "known",
        "privacy",
        "register",
        "submission",
    ),
    # test_home.py, test_agent.py and runner/test_shared.py
    "openclaw": (
        "added",
        "needed",
        "progress",
        "shared",
    ),
    "preflight": (
        "ask",
        "question",
    ),
    # a guardian and a process that forks them are tested whole: test_guardian.py, test_prepared.py, test_supervise.py
    "process": (
        "guardian_link",
        "memory",
        "output",
        "prepared_process",
    ),
    "process/guardian": (
        "guard",
        "line",
        "tree",
    ),
    "process/prepared": ("call",),
    "report": (
        "caused_by_agent",
        "lines",
        "plan",
    ),
    # a test file for each format
    "report/export": (
        "inspect_samples",
        "rows",
        "session_slices",
        "whole_file",
        "whole_folder",
    ),
    # test_page.py and the tests in a browser
    "report/html": (
        "compare",
        "document",
        "plots",
        "rows",
        "svg",
        "trial_page",
    ),
    # records and values that their readers' tests write and read
    "results": (
        "comparison_record",
        "lock",
        "past_run",
        "reading",
        "records",
        "sides",
        "transcript_lines",
        "verdict",
    ),
    # the steps of a run: test_run.py, test_resume.py, test_grading.py and test_gateway.py
    "runner": (
        "bench",
        "clean",
        "control",
        "finish",
        "graders",
        "handover",
        "judging",
        "plan",
        "pool",
        "prepare",
        "provenance",
        "regrade",
        "run_folders",
        "set_up",
    ),
    "runner/doctor": (
        "calls",
        "tasks",
    ),
    # tests/test_snapshot.py
    "snapshot": (
        "archive",
        "keep",
        "left_out",
        "restore",
        "texts",
    ),
    # parts of the reader: test_parse.py, test_load.py and tests/fuzz/test_suites.py
    "suite": (
        "bundled",
        "check_code",
        "fixtures",
        "keys",
        "manifest",
        "markdown",
        "paths",
        "spelling",
        "template",
        "yaml_nodes",
    ),
}


def test_a_module_has_a_test_file_of_its_name() -> None:
    modules = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if not path.name.startswith("__")]
    without = {path for path in modules if not (TESTS / path.parent / f"test_{path.name}").exists()}
    known = {Path(folder, f"{name}.py") for folder, names in WITHOUT_A_FILE.items() for name in names}

    assert without - known == set(), "write a test file of that name"
    assert known - without == set(), "remove these from WITHOUT_A_FILE: they are gone, or have a test file"
