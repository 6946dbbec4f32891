"""Copies of a folder: like it again, whatever has become of them."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from files.modes import mode
from pinchbench.files.folders import copy_folder, remove_folder


def template(folder: Path) -> Path:
    """A folder to copy: files with their rights and times, links, an empty folder."""
    source = folder / "template"
    (source / "state" / "agents").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "state" / "settings.json").write_text("{}", encoding="utf-8")
    (source / "state" / "settings.json").chmod(0o600)
    (source / "state" / "program").write_text("#!/bin/sh\n", encoding="utf-8")
    (source / "state" / "program").chmod(0o755)
    (source / "cache").symlink_to(folder)
    (source / "nowhere").symlink_to("missing")
    (source / "state").chmod(0o700)
    os.utime(source / "state" / "program", (1000, 2000))
    os.utime(source / "state", (1000, 3000))
    return source


def listing(root: Path) -> dict[str, object]:
    """All that a copy has to be like."""
    found: dict[str, object] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        info = path.lstat()
        kind: object = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        attributes = os.listxattr(path, follow_symlinks=False) if hasattr(os, "listxattr") else []
        shape = (
            None if path.is_symlink() else (stat.S_IMODE(info.st_mode), info.st_mtime_ns, info.st_nlink, info.st_uid)
        )
        found[str(path.relative_to(root))] = (kind, shape, attributes)
    return found


def test_a_copy_is_like_its_source_and_makes_its_parents(tmp_path: Path) -> None:
    source, target = template(tmp_path), tmp_path / "new" / "target"
    copy_folder(source, target)
    assert listing(target) == listing(source)


def spoil_nothing(target: Path) -> None:
    pass


def spoil_contents(target: Path) -> None:
    (target / "state" / "settings.json").write_text('{"memory": "a secret", "longer": true}', encoding="utf-8")
    (target / "state" / "program").write_text("", encoding="utf-8")
    (target / "state" / "program").chmod(0o4777)


def spoil_by_adding(target: Path) -> None:
    (target / "state" / "agents" / "one" / "sessions").mkdir(parents=True)
    (target / "state" / "agents" / "one" / "sessions" / "old.jsonl").touch()
    (target / "empty" / ".hidden").touch()
    (target / "link").symlink_to("/")
    os.mkfifo(target / "pipe")


def spoil_rights(target: Path) -> None:
    (target / "state" / "agents").chmod(0)
    (target / "state" / "settings.json").chmod(0)
    (target / "state").chmod(0o500)
    target.chmod(0o2777)


def spoil_kinds(target: Path) -> None:
    (target / "empty").rmdir()
    (target / "empty").symlink_to(target.parent / "victim")
    (target / "cache").unlink()
    (target / "cache").mkdir()
    (target / "state" / "program").unlink()
    (target / "state" / "program").mkdir()
    (target / "state" / "settings.json").unlink()
    (target / "state" / "settings.json").symlink_to(target.parent / "victim" / "kept")


def spoil_links(target: Path) -> None:
    for name in ("cache", "nowhere"):
        (target / name).unlink()
        (target / name).symlink_to(target.parent / "victim")
    (target / "state" / "agents").rmdir()
    (target / "state" / "agents").symlink_to(target.parent / "victim")


def spoil_by_a_second_name(target: Path) -> None:
    (target / "state" / "settings.json").unlink()
    (target / "state" / "settings.json").hardlink_to(target.parent / "victim" / "kept")


def spoil_altogether(target: Path) -> None:
    remove_folder(target)
    target.symlink_to(target.parent / "victim")


def spoil_by_depth(target: Path) -> None:
    place = os.open(target / "empty", os.O_RDONLY)
    for _ in range(1500):  # longer than any path may be, and deeper than Python recurses
        os.mkdir("deeper", dir_fd=place)
        below = os.open("deeper", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)


def spoil_attributes(target: Path) -> None:
    try:
        for path in (target, target / "state" / "agents", target / "state" / "program"):
            os.setxattr(path, "user.memory", b"a secret")
    except OSError:
        pytest.skip("this file system has no attributes")


def spoil_owners(target: Path) -> None:
    for path in (target / "state" / "settings.json", target / "state" / "agents", target):
        os.chown(path, 65534, 65534)


NO_ATTRIBUTES = pytest.mark.skipif(not hasattr(os, "setxattr"), reason="only Linux has these in Python")
NO_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_nothing,
        spoil_contents,
        spoil_by_adding,
        spoil_rights,
        spoil_kinds,
        spoil_links,
        spoil_by_a_second_name,
        spoil_altogether,
        spoil_by_depth,
        pytest.param(spoil_attributes, marks=NO_ATTRIBUTES),
        pytest.param(spoil_owners, marks=NO_ROOT),
    ],
)
def test_whatever_has_become_of_a_copy_it_is_like_its_source_again(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    source, target, victim = template(tmp_path), tmp_path / "target", tmp_path / "victim"
    victim.mkdir()
    (victim / "kept").write_text("kept", encoding="utf-8")
    copy_folder(source, target)
    spoil(target)
    copy_folder(source, target)
    assert listing(target) == listing(source)
    assert [(path.name, path.read_text("utf-8")) for path in victim.iterdir()] == [("kept", "kept")]
    assert mode(victim / "kept") & 0o600 == 0o600


def test_a_source_that_cannot_be_read_is_an_error_and_the_copy_stays(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "kept").touch()
    with pytest.raises(FileNotFoundError):
        copy_folder(tmp_path / "nowhere", target)
    assert (target / "kept").exists()
