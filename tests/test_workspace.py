"""Workspaces: private, filled with exactly the task's files, and nothing leaves them; kept and restored unharmed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pinchbench.errors import ResultsError
from pinchbench.model import WorkspaceFile
from pinchbench.workspace import (
    fill_workspace,
    private_folder,
)


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


def test_a_workspace_holds_the_tasks_files_byte_for_byte(tmp_path: Path) -> None:
    source = tmp_path / "assets"
    (source / "folder" / "deep").mkdir(parents=True)
    (source / "data.bin").write_bytes(bytes(range(256)))
    (source / "tool.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (source / "tool.sh").chmod(0o755)
    (source / "folder" / "deep" / "a.txt").write_bytes(b"a\r\n")
    (source / "folder" / "link").symlink_to("deep/a.txt")
    workspace = tmp_path / "runs" / "task"
    text = "one\r\ntwo\nthree\r é\u2028"
    fill_workspace(
        workspace,
        [
            WorkspaceFile(dest="notes/text.txt", content=text),
            WorkspaceFile(dest="empty", content=""),
            WorkspaceFile(dest="data.bin", source=source / "data.bin"),
            WorkspaceFile(dest="bin/tool.sh", source=source / "tool.sh"),
            WorkspaceFile(dest="in", source=source / "folder"),
        ],
    )
    assert mode(workspace) == 0o700
    files = {str(path.relative_to(workspace)): path for path in workspace.rglob("*") if path.is_file()}
    assert sorted(files) == ["bin/tool.sh", "data.bin", "empty", "in/deep/a.txt", "in/link", "notes/text.txt"]
    assert files["notes/text.txt"].read_bytes() == text.encode()
    assert files["empty"].read_bytes() == b""
    assert files["data.bin"].read_bytes() == bytes(range(256))
    assert files["in/deep/a.txt"].read_bytes() == b"a\r\n"
    assert files["in/link"].readlink() == files["in/link"].parent.joinpath("deep/a.txt").relative_to(workspace / "in")
    assert mode(files["bin/tool.sh"]) & 0o100


def test_what_was_there_before_is_kept_aside(tmp_path: Path) -> None:
    workspace = tmp_path / "task"
    for number in range(3):
        fill_workspace(workspace, [WorkspaceFile(dest="n", content=str(number))])
    names = {path.name: (path / "n").read_text("utf-8") for path in tmp_path.iterdir()}
    assert names == {"task": "2", ".task.before-1": "0", ".task.before-2": "1"}


def test_a_link_in_the_workspaces_place_is_moved_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "task").symlink_to(elsewhere)
    fill_workspace(tmp_path / "task", [WorkspaceFile(dest="n", content="x")])
    assert not (tmp_path / "task").is_symlink()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("dest", ["out/n", "out/deep/n", "out", "file"])
@pytest.mark.parametrize("kind", ["content", "file", "folder"])
def test_no_file_leaves_the_workspace_through_a_link(tmp_path: Path, dest: str, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine", encoding="utf-8")
    links = tmp_path / "links"
    links.mkdir()
    (links / "out").symlink_to(outside)
    (links / "file").symlink_to(outside / "file")
    (links / "n").write_text("n", encoding="utf-8")
    placed = {
        "content": WorkspaceFile(dest=f"in/{dest}", content="x"),
        "file": WorkspaceFile(dest=f"in/{dest}", source=links / "n"),
        "folder": WorkspaceFile(dest=f"in/{dest}", source=links),
    }[kind]
    with pytest.raises(OSError, match="would leave the workspace through a link"):
        fill_workspace(tmp_path / "task", [WorkspaceFile(dest="in", source=links), placed])
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text("utf-8") == "mine"


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        fill_workspace(tmp_path / "task", [WorkspaceFile(dest="n", source=tmp_path / "gone")])
