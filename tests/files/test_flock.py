"""Locks tell that nobody has a file only where they meet all who may have it."""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pinchbench.files import flock
from pinchbench.files.flock import is_local, is_surely_unlocked

if TYPE_CHECKING:
    from collections.abc import Iterator

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no other system tells of its file systems")


@contextmanager
def opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


@on_linux
def test_a_file_in_memory_is_this_machines_and_one_of_the_kernels_own_is_not() -> None:
    with opened(Path("/dev/shm")) as memory, opened(Path("/proc/self/status")) as kernels:
        assert is_local(memory)
        assert not is_local(kernels)


def test_where_the_system_does_not_tell_nothing_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flock, "MOUNTS", tmp_path / "missing")
    with opened(tmp_path) as fd:
        assert not is_local(fd)
        assert not is_surely_unlocked(fd)


@on_linux
def test_a_lock_is_seen_through_another_descriptor_until_its_holder_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with opened(path) as fd:
        with opened(path) as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            assert not is_surely_unlocked(fd)
        assert is_surely_unlocked(fd)
        with opened(path) as another:
            fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nothing was kept
