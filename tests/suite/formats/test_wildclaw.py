"""WildClawBench's tasks are refused: before, they loaded without a message and were scored wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.suite.load import load_suite, read_suite
from suite_packs import write_wildclaw

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("folder", [".", "tasks", "tasks/01_Office"])
def test_tasks_with_a_workspace_path_are_refused_with_file_and_line(tmp_path: Path, folder: str) -> None:
    task = write_wildclaw(tmp_path) / "01_Office" / "01_Office_task_1_minutes.md"
    loaded = read_suite(tmp_path / folder)
    assert (loaded.suite.format, loaded.suite.tasks) == (SuiteFormat.WILDCLAW, ())
    [problem] = loaded.problems
    assert (problem.path, problem.line) == (task, 20)
    with pytest.raises(SuiteError, match="every agent would get a wrong score"):
        load_suite(tmp_path / folder, skip_broken=True)


def test_they_are_refused_as_pinchbench_tasks_too(tmp_path: Path) -> None:
    folder = write_wildclaw(tmp_path) / "01_Office"
    [problem] = read_suite(folder, suite_format=SuiteFormat.PINCHBENCH).problems
    assert "looks like a task of the format wildclaw" in problem.reason
