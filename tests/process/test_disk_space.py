"""A file system without room left."""

import errno
from pathlib import Path

import pytest

from pinchbench.process import capacity
from pinchbench.process.capacity import find_full, is_disk_full

HUGE = 2**62


def test_the_folder_whose_file_system_has_no_bytes_left_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "MIN_FREE_BYTES", HUGE)
    assert find_full([tmp_path / "gone", tmp_path]).startswith(f"{tmp_path} is on a file system with ")


def test_a_file_system_that_takes_no_more_files_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "MIN_FREE_BYTES", 0)
    monkeypatch.setattr(capacity, "MIN_FREE_INODES", HUGE)
    assert "more files" in find_full([Path("/proc/self"), Path("/dev/shm"), Path("/")])  # one of them counts inodes


def test_the_systems_own_words_for_a_full_disk_are_known() -> None:
    assert is_disk_full(OSError(errno.ENOSPC, "no space"))
    assert is_disk_full(OSError(errno.EDQUOT, "quota"))
    assert not is_disk_full(FileNotFoundError(errno.ENOENT, "gone"))
