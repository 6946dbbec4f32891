"""Folders of our own: made for the user alone, removed whatever is in them."""

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from files.modes import mode
from pinchbench.errors import ResultsError
from pinchbench.files.folders import (
    folder_error,
    is_local,
    is_surely_unlocked,
    private_folder,
    refuse_noexec,
    remove_folder,
    set_aside,
    sync_folder,
)


def test_a_private_folder_is_made_with_its_parents_and_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    assert private_folder(path) == path
    assert mode(path) == 0o700


def test_a_link_is_refused_even_to_a_folder_of_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("link", "dangling"):
        with pytest.raises(ResultsError, match=name):
            private_folder(tmp_path / name)


def test_a_private_folder_is_for_the_user_alone_whatever_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o277)
    try:
        assert mode(private_folder(tmp_path / "mine")) == 0o700
    finally:
        os.umask(before)


def shared_place(folder: Path) -> Path:
    """A folder where everybody may put something, as /tmp is."""
    place = folder / "shared"
    place.mkdir()
    place.chmod(0o1777)
    return place


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a link away")
def test_no_link_of_another_users_is_followed_where_everybody_may_put_one(tmp_path: Path) -> None:
    place = shared_place(tmp_path)
    (tmp_path / "theirs").mkdir()
    planted = place / "planted"
    planted.symlink_to(tmp_path / "theirs")
    os.chown(planted, 12345, -1, follow_symlinks=False)
    (tmp_path / "mine").symlink_to("shared/planted/../planted")  # the way through a link of one's own is looked at too
    for path in (planted / "runs", place / "sub" / ".." / "planted" / "runs", tmp_path / "mine" / "runs"):
        with pytest.raises(ResultsError, match=f"{planted} is a link that another user has put there.*--run-root"):
            private_folder(path)
    assert not list((tmp_path / "theirs").iterdir())
    place.chmod(0o755)  # here they could not have put it by themselves
    assert private_folder(planted / "runs") == planted / "runs"


def test_links_of_the_users_own_are_followed_on_the_way(tmp_path: Path) -> None:
    place = shared_place(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (place / "link").symlink_to("../elsewhere")
    assert private_folder(place / "link" / "runs").resolve() == tmp_path / "elsewhere" / "runs"
    (place / "loop").symlink_to("loop")
    with pytest.raises(ResultsError, match="can't be made"):
        private_folder(place / "loop" / "runs")


def test_each_reason_why_a_folder_can_not_be_made_has_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    reported = {
        errno.ENOSPC: "there is no space left",
        errno.EDQUOT: "there is no space left",
        errno.EROFS: f"{tmp_path} is on a read-only file system",
        errno.EACCES: f"you may not write in {tmp_path}",
        errno.ENAMETOOLONG: "the name is too long",
        errno.EIO: "Input/output error",
    }
    for number, sentence in reported.items():
        error = folder_error(tmp_path / "a" / "b", OSError(number, os.strerror(number)), option="--output-dir")
        assert f"{tmp_path / 'a' / 'b'} can't be made: {sentence}" in str(error)
        assert str(error).endswith("name another folder with --output-dir.")
    with pytest.raises(ResultsError, match="dangling is a link that leads to no folder"):
        private_folder(tmp_path / "dangling" / "runs")
    with pytest.raises(ResultsError, match="the name is too long"):
        private_folder(tmp_path / ("x" * 300))


def test_what_is_in_the_way_is_set_aside_under_the_first_free_number(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    assert set_aside(path) is None
    path.mkdir()
    (path / "inside").touch()
    assert set_aside(path) == tmp_path / "folder~1"
    path.write_text("a file", encoding="utf-8")
    assert set_aside(path) == tmp_path / "folder~2"
    path.symlink_to("nowhere")
    assert set_aside(path) == tmp_path / "folder~3"
    assert set_aside(path) is None
    assert set_aside(tmp_path / "folder~2" / "below") is None
    assert (tmp_path / "folder~1" / "inside").exists()
    assert (tmp_path / "folder~2").read_text("utf-8") == "a file"
    assert (tmp_path / "folder~3").is_symlink()


def test_a_folder_that_can_not_be_synced_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def refuse(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse)
    sync_folder(tmp_path)
    sync_folder(tmp_path / "missing")
    assert synced == [tmp_path.stat().st_ino]


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


@pytest.mark.skipif(not hasattr(os, "ST_NOEXEC"), reason="the system does not tell")
def test_a_folder_in_which_nothing_can_be_executed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_noexec(tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC | os.ST_NODEV))
    with pytest.raises(ResultsError, match=r"mounted noexec.*--run-root"):
        refuse_noexec(tmp_path)
