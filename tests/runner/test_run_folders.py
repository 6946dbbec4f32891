"""The homes of a run that was killed a moment ago are taken over, though its agents may still write into them."""

import os
from pathlib import Path

import pytest

from pinchbench.errors import ResultsError
from pinchbench.runner import run_folders
from pinchbench.runner.run_folders import HOMES, OWNER, own_homes


def _left(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Have removals leave what these answers say, one after another; return those that are to come."""
    waiting = list(answers)
    monkeypatch.setattr(run_folders, "REMOVAL_PAUSE_S", 0.0)
    monkeypatch.setattr(run_folders, "remove_folder", lambda _homes, **_options: waiting.pop(0))
    return waiting


def test_homes_that_are_still_written_into_are_removed_by_a_later_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = _left(monkeypatch, "Directory not empty", "Directory not empty", "")
    os.close(own_homes(tmp_path / "run"))
    assert waiting == []
    assert (tmp_path / "run" / HOMES / OWNER).exists()


def test_homes_that_stay_are_an_error_that_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = _left(monkeypatch, *["Permission denied"] * run_folders.REMOVALS)
    with pytest.raises(ResultsError, match=r"\.homes can't be removed: Permission denied; name another folder"):
        own_homes(tmp_path / "run")
    assert waiting == []
