"""The layout: no circle of imports, no name of a module twice, and `pinchbench/a/b.py` has `tests/a/test_b.py`."""

from collections import Counter
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

import pinchbench

PACKAGE = Path(pinchbench.__file__).parent
TESTS = Path(__file__).parent
# Modules that the tests of others cover, by folder. The list is to become shorter: a new module has a test file.
WITHOUT_A_FILE: Mapping[str, str] = {
    "": "defaults errors events transcript_lines",  # `transcript_lines`: test_transcripts.py
    "cli": ("export judge lazy output program run_plan selected_tasks tasks tasks_check"),
    "doctor": "live_calls",
    "experiment": "experiment_page experiment_record file_reader",
    "files": "archive_restore archive_write",
    "grading": "check_child check_limits",
    "grading/judge": "criteria",
    "llm": "openai_api",
    "llm/preflight": "question",
    "model": "finding task_programs",
    "openclaw/homes": "shared user_state",
    "process": "guardian_link spec",
    "process/guardian": "job_guard line process_tree",
    "publish/leaderboard": "public_names",
    "report/export": "trial_rows",
    "report/html": "document task_rows trial_page",
    "results": "finished_run records task_trials totals",
    "results/compare": "comparison_json samples",
    "runner": "assembly run_control stream_ends worker",
    "runner/again": "grade_again",
    "runner/setup": "judging set_up",
    "runner/trial": "slot",
    "serve": "pages",
    "suite": "suite_manifest yaml_nodes",
    "suite/formats": "core_completion markdown_folder",
    "wire/protocols": "call_facts",
}


def test_a_module_has_a_test_file_of_its_name() -> None:
    modules = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if not path.name.startswith("__")]
    without = {path for path in modules if not (TESTS / path.parent / f"test_{path.name}").exists()}
    known = {Path(folder, f"{name}.py") for folder, names in WITHOUT_A_FILE.items() for name in names.split()}

    assert without - known == set(), "write a test file of that name"
    assert known - without == set(), "remove these from WITHOUT_A_FILE: they are gone, or have a test file"


def test_no_two_modules_have_the_same_name() -> None:
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if not path.name.startswith("__"))

    assert [name for name, count in names.items() if count > 1] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    imports = grimp.build_graph("pinchbench", cache_dir=None)

    TopologicalSorter(
        {module: imports.find_modules_directly_imported_by(module) for module in imports.modules}
    ).prepare()  # raises CycleError, which names the circle
