"""The suite that is shown is the one on the disk, though it is read once."""

import os
from pathlib import Path

import pytest

from made_tasks import task_text
from pinchbench.files.user_data import bundled_tasks_dir, cache_dir
from pinchbench.model.task import LoadedSuite
from pinchbench.suite.loading import read_suite
from pinchbench.suite.remembered import FILE, remembered


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PINCHBENCH_CACHE", str(tmp_path / "cache"))
    tasks = tmp_path / "tasks"
    (tasks / "assets").mkdir(parents=True)
    (tasks / "assets" / "note.txt").write_text("one", encoding="utf-8")
    head = "id: task_note\nworkspace_files:\n  - {source: note.txt, dest: note.txt}"
    (tasks / "task_note.md").write_text(task_text(head), encoding="utf-8")
    return tasks


class Reader:
    """Reads a folder, and counts how often."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.times = 0

    def __call__(self) -> LoadedSuite:
        self.times += 1
        return read_suite(self.folder)

    def shown(self) -> LoadedSuite:
        return remembered(self.folder, self)


def test_an_unchanged_folder_is_read_once(folder: Path) -> None:
    read = Reader(folder)
    assert read.shown() == read.shown() == read_suite(folder)
    assert read.times == 1


def _written_again(folder: Path) -> None:
    before = (folder / "assets" / "note.txt").stat()
    (folder / "assets" / "note.txt").write_text("two", encoding="utf-8")
    os.utime(folder / "assets" / "note.txt", ns=(before.st_atime_ns, before.st_mtime_ns))


def _added(folder: Path) -> None:
    (folder / "task_more.md").write_text(task_text("id: task_more"), encoding="utf-8")


def _renamed(folder: Path) -> None:
    (folder / "task_note.md").rename(folder / "task_other.md")


@pytest.mark.parametrize("change", [_written_again, _added, _renamed])
def test_a_changed_folder_is_read_again(folder: Path, change: object) -> None:
    assert callable(change)
    read = Reader(folder)
    before = read.shown()
    change(folder)
    assert read.shown() == read_suite(folder) != before


@pytest.mark.parametrize("left", [0, 20, 40, 400])
def test_a_torn_copy_is_written_anew(folder: Path, left: int) -> None:
    read = Reader(folder)
    read.shown()
    path = cache_dir() / FILE
    path.write_bytes(path.read_bytes()[:left])
    assert read.shown() == read.shown() == read_suite(folder)
    assert read.times == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_another_user_has_left_is_not_loaded(folder: Path) -> None:
    read = Reader(folder)
    read.shown()
    os.chown(cache_dir() / FILE, 12345, -1)
    read.shown()
    assert read.times == 2


def test_a_suite_with_problems_is_read_each_time(folder: Path) -> None:
    (folder / "task_bad.md").write_text("---\nid: [\n---\n", encoding="utf-8")
    read = Reader(folder)
    assert read.shown().problems
    assert read.shown().problems
    assert read.times == 2


def test_without_a_cache_folder_the_suite_is_read(folder: Path) -> None:
    cache_dir().write_text("in the way", encoding="utf-8")
    assert Reader(folder).shown() == read_suite(folder)


def test_of_all_readings_only_those_that_are_only_shown_may_be_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old = LoadedSuite(suite=read_suite(bundled_tasks_dir()).suite, note="old")
    monkeypatch.setattr("pinchbench.suite.loading.remembered", lambda _folder, _read: old)
    assert read_suite(bundled_tasks_dir(), only_shown=True).note == "old"
    assert read_suite(bundled_tasks_dir()).note == ""
