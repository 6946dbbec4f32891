"""QwenClawBench's format: its sources, weights and rule, and what is wrong with a file of it."""

from pathlib import Path

import pytest

from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.model.task import GradingType
from pinchbench.suite.loading import load_suite, read_suite, solution_of
from suite_packs import write_qwenclaw


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_qwenclaw(tmp_path)


def test_tasks_have_the_files_of_their_own_folder_first(tasks: Path) -> None:
    loaded = load_suite(tasks)
    assert loaded.suite.format is SuiteFormat.QWENCLAW
    ledger = loaded.suite.by_id["task_00001_ledger"]
    sources = {file.dest: file.source and file.source.read_text("utf-8") for file in ledger.workspace_files}
    assert sources == {
        "workspace/ledger.csv": "amount\n5\n",
        "shared.txt": "for all\n",
        "notes/rounding.md": None,
    }
    assert (ledger.grading_type, ledger.timeout_s) == (GradingType.HYBRID, 1800)


def test_an_id_is_the_files_name_and_a_weight_of_another_name_is_a_half(tasks: Path) -> None:
    found = load_suite(tasks).suite.by_id
    assert list(found) == ["task_00001_ledger", "task_00002_calls", "task_00003_weights"]
    weights = found["task_00003_weights"].grading_weights
    assert weights == pytest.approx({"automated": 0.7 / 1.2, "llm_judge": 0.5 / 1.2})


@pytest.mark.parametrize("above", ["", "..", "../../.."])
def test_a_checkout_is_read_from_any_folder_above_its_tasks(tasks: Path, above: str) -> None:
    root = (tasks / above).resolve()
    loaded = load_suite(root)
    assert (len(loaded.suite.tasks), loaded.suite.root) == (3, tasks)
    assert solution_of(loaded.suite, loaded.suite.tasks[0]) is not None


BROKEN = [
    ("source: ledger.csv", "source: missing.csv", 13, "the source 'missing.csv' is missing"),
    ("source: ledger.csv", "source: ../ledger.csv", 13, "`source` '../ledger.csv' holds `..`"),
    ("dest: shared.txt", "dest: /shared.txt", 16, "`dest` '/shared.txt' is absolute"),
    ("dest: shared.txt", "dest: workspace/ledger.csv", 15, "two workspace files have the place"),
    ("dest: shared.txt", "dest: workspace/ledger.csv/x", 15, "is a file, so"),
    ("source: shared.txt\n    dest:", "dest:", 15, "needs `source`"),
    ("grading_type: hybrid", "grading_type: mixed", 7, "`grading_type` is 'mixed'"),
    ("automated: 0.4", "automated: much", 9, "`grading_weights` needs positive numbers"),
    ("timeout_seconds: 1800", "timeout_seconds: soon", 11, "`timeout_seconds` must be a number"),
    ("timeout_seconds: 1800", "timeout_secnds: 1800", 11, "did you mean `timeout_seconds`"),
    ("## Prompt", "## Promt", 2, "no text under `## Prompt`"),
    ("## Automated Checks", "## Automatic Checks", 7, "needs a python fence under `## Automated Checks`"),
    ("def grade(", "def score(", 37, "defines no function `grade"),
    ("    from pathlib", "  from pathlib", 39, "the check is not valid Python"),
    ("category: data", "category: [data", 5, "not valid YAML"),
    ("category: data", "category: [data]", 4, "`category` must be text"),
    ("content: |", "content: [1]\n    note: |", 18, "`content` must be text"),
]


@pytest.mark.parametrize(("whole", "broken", "line", "reason"), BROKEN)
def test_what_is_wrong_is_named_with_file_and_line(
    tasks: Path, whole: str, broken: str, line: int, reason: str
) -> None:
    path = tasks / "task_00001_ledger.md"
    text = path.read_text("utf-8")
    assert whole in text
    path.write_text(text.replace(whole, broken, 1), encoding="utf-8")
    [problem] = read_suite(tasks).problems
    assert (problem.path, problem.line) == (path, line), problem
    assert reason in problem.reason
    with pytest.raises(SuiteError, match=f"{path}:{line}: "):
        load_suite(tasks)
    assert len(load_suite(tasks, skip_broken=True).suite.tasks) == 2


def test_a_task_of_another_format_next_to_them_is_refused(tasks: Path) -> None:
    path = tasks / "task_00001_ledger.md"
    path.write_text(path.read_text("utf-8").replace("## Expected Behavior", "## Workspace Path"), encoding="utf-8")
    with pytest.raises(SuiteError, match="holds tasks of the formats qwenclaw and wildclaw"):
        read_suite(tasks)
    [problem] = read_suite(tasks, suite_format=SuiteFormat.QWENCLAW).problems
    assert (problem.line, "looks like a task of the format wildclaw" in problem.reason) == (26, True)
