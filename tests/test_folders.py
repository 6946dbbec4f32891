"""Folders of our own: made for the user alone, removed whatever is in them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pinchbench.errors import ResultsError
from pinchbench.folders import private_folder, remove_folder


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_private_folder_is_made_with_its_parents_and_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    assert private_folder(path) == path
    assert mode(path) == 0o700


@pytest.mark.parametrize("before", [0o755, 0o1777, 0o500])
def test_a_folder_of_the_users_own_stays_as_it_is(tmp_path: Path, before: int) -> None:
    path = tmp_path / "mine"
    path.mkdir()
    path.chmod(before)
    assert private_folder(path) == path
    assert path.stat().st_mode & 0o7777 == before
    path.chmod(0o700)


def test_a_link_is_refused_even_to_a_folder_of_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("link", "dangling"):
        with pytest.raises(ResultsError, match=name):
            private_folder(tmp_path / name)


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ResultsError, match="can't be made or used"):
            private_folder(path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 12345, -1)
    for permissions in (0o777, 0o1777):
        theirs.chmod(permissions)
        with pytest.raises(ResultsError, match="belongs to another user; name another folder with --run-root"):
            private_folder(theirs)


def test_a_sticky_folder_of_roots_will_do_for_everybody_and_another_of_roots_will_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = Path("/tmp")
    permissions = shared.stat().st_mode
    assert (shared.stat().st_uid, permissions & stat.S_ISVTX) == (0, stat.S_ISVTX)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert private_folder(shared) == shared
    assert shared.stat().st_mode == permissions
    with pytest.raises(ResultsError, match="belongs to another user"):
        private_folder(tmp_path)


@pytest.mark.parametrize("mode", [0o700, 0])
def test_a_folder_of_any_depth_is_removed(tmp_path: Path, mode: int) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    top = tmp_path / "top"
    top.mkdir()
    at = os.open(top, os.O_RDONLY)
    for _ in range(1100):  # deeper than Python calls, longer than a path may be
        os.mkdir("deep", dir_fd=at)
        below = os.open("deep", os.O_RDONLY, dir_fd=at)
        os.symlink(outside, "link", dir_fd=at)
        os.close(at)
        at = below
    os.fchmod(at, mode)
    os.close(at)
    (top / "wide").mkdir()
    for number in range(20):
        (top / "wide" / str(number)).mkdir(mode=mode)
    assert remove_folder(top) == ""
    assert not top.exists()
    assert (outside / "file").exists()


def test_a_folder_that_is_not_there_is_removed_already(tmp_path: Path) -> None:
    assert remove_folder(tmp_path / "gone") == ""


def test_the_last_entry_goes_last(tmp_path: Path) -> None:
    folder = tmp_path / "homes"
    for name in ("a", "owner", "z"):
        (folder / name / "x").mkdir(parents=True)
    (folder / "owner").rename(tmp_path / "aside")
    (folder / "owner").write_text("me", encoding="utf-8")
    assert remove_folder(folder, last="owner") == ""
    assert not folder.exists()


def test_what_can_not_be_removed_keeps_neither_the_rest_nor_is_it_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "homes"
    for name in ("a", "stuck", "z"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").touch()
    (folder / "owner").write_text("me", encoding="utf-8")
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path.parent.name == "stuck":
            raise PermissionError(1, "Operation not permitted", str(path))
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    assert "Operation not permitted" in remove_folder(folder, last="owner")
    assert sorted(path.name for path in folder.iterdir()) == ["owner", "stuck"]
