"""What a lock on a file says about whoever held it: something on a local file system, nothing on another."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING

import pytest

from pinchbench import flock

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("is_held", [True, False])
def test_a_lock_on_a_local_file_system_says_whether_its_holder_lives(tmp_path: Path, is_held: bool) -> None:
    path = tmp_path / "owner"
    with path.open("wb") as holder, path.open("rb") as other:
        if is_held:
            fcntl.flock(holder, fcntl.LOCK_EX)

        assert flock.is_local(other.fileno())
        assert flock.is_surely_unlocked(other.fileno()) is not is_held


def test_a_lock_on_another_file_system_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flock, "LOCAL", frozenset())
    path = tmp_path / "owner"
    path.touch()
    with path.open("rb") as file:
        assert not flock.is_local(file.fileno())
        assert not flock.is_surely_unlocked(file.fileno())
