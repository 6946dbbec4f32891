"""The files of a workspace as values, and changes to them."""

from pathlib import Path

from pinchbench.authoring.attack.workspace_files import NoFile, SymbolicLink, read_files, write_changes


def test_regular_files_are_read_and_what_tools_keep_is_not(tmp_path: Path) -> None:
    for name in ("a.txt", "folder/b.txt", ".git/config", "bare.git/HEAD", "folder/__pycache__/b.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "link").symlink_to("a.txt")
    assert read_files(tmp_path) == {"a.txt": b"a.txt", "folder/b.txt": b"folder/b.txt"}


def test_a_change_replaces_whatever_is_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "gone").write_bytes(b"old")
    write_changes(
        tmp_path,
        {
            "file": NoFile.FOLDER,
            "folder": SymbolicLink(target="folder"),
            "gone": NoFile.ABSENT,
            "new/deep": b"new",
            "never": NoFile.ABSENT,
        },
    )
    assert (tmp_path / "file").is_dir()
    assert (tmp_path / "folder").is_symlink()
    assert not (tmp_path / "folder").exists()
    assert not (tmp_path / "gone").exists()
    assert (tmp_path / "new" / "deep").read_bytes() == b"new"
