"""Where what the user keeps is."""

from pathlib import Path

import pytest

from pinchbench.files.user_data import data_dir


def test_the_environment_chooses_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PINCHBENCH_DATA", "mine")

    assert data_dir() == tmp_path / "mine"


def test_without_a_choice_it_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PINCHBENCH_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data-of-a-user")

    assert data_dir() == Path("/data-of-a-user/pinchbench")
