"""How much a task can give."""

from collections.abc import Callable
from pathlib import Path

import pytest

from made_tasks import task_text
from pinchbench.suite import fixtures
from pinchbench.suite.fixtures import FixtureError, refuse_unkept
from pinchbench.suite.loading import read_suite
from suite_packs import write_claw_bench, write_harbor, write_wildclaw


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [
        ("MAX_FILE_BYTES", 99, r"many/1 is larger than the 0 MiB"),
        ("MAX_KEPT_BYTES", 299, "gives 3 files with 0 MiB"),
        ("MAX_ENTRIES", 2, "gives 3 files"),
    ],
)
def test_more_than_is_kept_of_a_workspace_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, said: str
) -> None:
    (tmp_path / "many").mkdir()
    sources = [tmp_path / "many", tmp_path / "one"]
    for path in (tmp_path / "many" / "1", tmp_path / "many" / "2", tmp_path / "one"):
        path.write_bytes(bytes(100))
    refuse_unkept(sources)
    monkeypatch.setattr(fixtures, limit, most)
    with pytest.raises(FixtureError, match=said):
        refuse_unkept(sources)


def test_a_task_whose_fixtures_are_not_kept_is_refused_at_load(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    with (tmp_path / "assets" / "big.bin").open("wb") as file:
        file.truncate(257 * 1024 * 1024)
    text = task_text("id: task_big\nworkspace_files:\n  - {source: big.bin, dest: big.bin}")
    (tmp_path / "task_big.md").write_text(text, encoding="utf-8")
    (problem,) = read_suite(tmp_path).problems
    assert "big.bin is larger than the 256 MiB that are kept of a file" in problem.reason
    assert problem.line == 4


@pytest.mark.parametrize("write", [write_claw_bench, write_harbor, write_wildclaw])
def test_so_is_a_task_of_a_format_with_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path]
) -> None:
    folder = write(tmp_path)
    assert read_suite(folder).problems == ()
    monkeypatch.setattr(fixtures, "MAX_FILE_BYTES", 1)
    assert all("larger than the 0 MiB" in problem.reason for problem in read_suite(folder).problems)
    assert not read_suite(folder).suite.tasks
