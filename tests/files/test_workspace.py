"""Workspaces: filled with exactly the task's files, and nothing leaves them."""

import subprocess
import sys
from pathlib import Path

import pytest

from files.modes import mode
from pinchbench.files.workspace import fill_workspace, replace_files, unnamed
from pinchbench.model.task import WorkspaceFile


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


AS_ORDINARY_USER = """
import os, tempfile
from pathlib import Path
from pinchbench.files.workspace import copy_files
from pinchbench.model.task import WorkspaceFile

if os.getuid() == 0:  # who can write everything
    os.setgid(1000)
    os.setuid(1000)
with tempfile.TemporaryDirectory() as folder:
    source, workspace = Path(folder, "repository", ".git", "objects"), Path(folder, "workspace")
    source.mkdir(parents=True)
    for text in ("one", "two"):
        if (source / "a").exists():
            (source / "a").unlink()
        (source / "a").write_text(text)
        (source / "a").chmod(0o444)
        files = WorkspaceFile(dest="in", source=source.parents[1]), WorkspaceFile(dest="a", source=source / "a")
        copy_files(workspace, files)
    copies = [workspace / "in" / ".git" / "objects" / "a", workspace / "a"]
    print(*((one.read_text(), oct(one.stat().st_mode)[-3:]) for one in copies))
"""


def test_objects_of_git_are_copied_over_others_by_an_ordinary_user() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AS_ORDINARY_USER], capture_output=True, text=True, check=False, cwd="/", timeout=240
    )
    assert (done.stdout.strip(), done.stderr) == ("('two', '444') ('two', '444')", "")


def test_what_was_there_before_is_kept_aside(tmp_path: Path) -> None:
    workspace = tmp_path / "task"
    for number in range(3):
        fill_workspace(workspace, [WorkspaceFile(dest="n", content=str(number))])
    names = {path.name: (path / "n").read_text("utf-8") for path in tmp_path.iterdir()}
    assert names == {"task": "2", "task~1": "0", "task~2": "1"}


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


def test_a_folder_without_its_name_is_found_by_a_link_until_it_has_the_name_again(tmp_path: Path) -> None:
    workspace = tmp_path / "task"
    fill_workspace(workspace, [WorkspaceFile(dest="n", content="x")])

    with unnamed(workspace):
        assert (workspace / "n").read_text("utf-8") == "x"
        assert "task" not in workspace.resolve().name
        (workspace / "made").write_text("y", encoding="utf-8")

    assert not workspace.is_symlink()
    assert {path.name for path in workspace.iterdir()} == {"n", "made"}
    assert list(tmp_path.iterdir()) == [workspace]


def test_a_link_of_a_killed_runner_is_kept_aside_with_its_folder(tmp_path: Path) -> None:
    workspace = tmp_path / "task"
    (tmp_path / ".3f2a").mkdir()
    (tmp_path / ".3f2a" / "half").write_text("done", encoding="utf-8")
    workspace.symlink_to(".3f2a")

    fill_workspace(workspace, [])

    assert list(workspace.iterdir()) == []
    assert (tmp_path / "task~1" / "half").read_text("utf-8") == "done"


def test_files_take_the_place_of_whatever_is_there(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "ws", tmp_path / "outside"
    for folder in (workspace / "a" / "full", outside):
        folder.mkdir(parents=True)
    (outside / "x").write_text("kept", encoding="utf-8")
    (workspace / "a" / "full" / "x").write_text("agent", encoding="utf-8")
    (workspace / "b").symlink_to(outside)
    (workspace / "c").write_text("agent", encoding="utf-8")
    (workspace / "d").symlink_to(outside / "x")
    replace_files(workspace, [WorkspaceFile(dest=dest, content="ours") for dest in ("a/full", "b/x", "c/x", "d")])
    assert {path: (workspace / path).read_text("utf-8") for path in ("a/full", "b/x", "c/x", "d")} == dict.fromkeys(
        ("a/full", "b/x", "c/x", "d"), "ours"
    )
    assert (outside / "x").read_text("utf-8") == "kept"
