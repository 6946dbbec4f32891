"""Snapshots: whatever is in a workspace comes back as it was, and nothing else happens."""

import contextlib
import errno
import io
import os
import resource
import shutil
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from files.modes import mode
from pinchbench.files import archive, archive_write
from pinchbench.files.archive import END_MARK, ArchiveLostError, Kept, KeptFile, NoText, kept_texts
from pinchbench.files.archive_restore import restore_workspace
from pinchbench.files.archive_write import keep_workspace


def tree(folder: Path) -> dict[str, str]:
    """All below a folder: what files hold, where links lead."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"→ {path.readlink()}"
        elif path.is_dir():
            found[f"{name}/"] = ""
        else:
            found[name] = path.read_bytes().decode("latin-1")
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A workspace, the archive it is kept in, and the folder it is restored to."""

    workspace: Path
    archive: Path
    target: Path

    def keep(self) -> tuple[str, ...]:
        return keep_workspace(self.workspace, self.archive).left_out

    def restore(self) -> tuple[str, ...]:
        return restore_workspace(self.archive, self.target)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "ws").mkdir()
    (tmp_path / "kept").mkdir()
    return Place(
        workspace=tmp_path / "ws", archive=tmp_path / "kept" / "workspace.tar.zst", target=tmp_path / "new" / "copy"
    )


class TestKeepAndRestore:
    def test_all_comes_back(self, place: Place) -> None:
        ws = place.workspace
        (ws / "a" / "b").mkdir(parents=True)
        (ws / "empty folder").mkdir()
        (ws / "a" / "bytes").write_bytes(bytes(range(256)) * 1000)
        (ws / "a" / "tool.sh").write_text("#!/bin/sh\n", encoding="utf-8")
        (ws / "a" / "tool.sh").chmod(0o755)
        (ws / "a" / "secret").touch(mode=0o600)
        (ws / "empty").touch()
        (ws / ("long " * 45)).mkdir()
        (ws / "a" / "link").symlink_to("../empty")
        (ws / "dangling").symlink_to("a/nothing")
        (ws / "looped").symlink_to("looped")
        for path in (ws / "a" / "b", ws / "a" / "tool.sh", ws / "a"):
            os.utime(path, (1e9, 1e9 + 0.5))
        os.utime(ws / "empty", (-5, -5))
        assert place.keep() == ()
        assert mode(place.archive) == 0o600
        assert list(place.archive.parent.iterdir()) == [place.archive]
        assert place.restore() == ("looped leads round in a circle.",)
        (ws / "looped").unlink()
        assert tree(place.target) == tree(ws)
        assert mode(place.target) == 0o700
        assert [mode(place.target / "a" / name) for name in ("tool.sh", "secret", "b")] == [
            mode(ws / "a" / name) for name in ("tool.sh", "secret", "b")
        ]
        for name in ("a", "a/b", "a/tool.sh", "empty", "a/link"):
            assert (place.target / name).lstat().st_mtime == (ws / name).lstat().st_mtime

    @settings(max_examples=60)
    @given(
        files=st.dictionaries(
            st.lists(
                st.binary(min_size=1, max_size=6).map(lambda name: b"n" + name.translate(None, b"/\0")),
                min_size=1,
                max_size=3,
            ).map(tuple),
            st.binary(max_size=200),
            max_size=8,
        )
    )
    def test_names_of_any_bytes_and_files_of_any_content_come_back(self, files: dict[tuple[bytes, ...], bytes]) -> None:
        with TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "ws").mkdir()
            for name, content in files.items():
                path = os.path.join(os.fsencode(root / "ws"), *name)  # noqa: PTH118
                with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
                    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
                    with open(path, "wb") as file:  # noqa: PTH123
                        file.write(content)
            assert keep_workspace(root / "ws", root / "kept") == Kept()
            assert restore_workspace(root / "kept", root / "copy") == ()
            assert tree(root / "copy") == tree(root / "ws")
            kept_texts(root / "kept", max_file_bytes=10, max_bytes=100)

    def test_the_same_workspace_gives_the_same_bytes(self, place: Place, tmp_path: Path) -> None:
        for order in (("b", "a", "c"), ("c", "a", "b")):
            ws = tmp_path / "".join(order)
            ws.mkdir()
            for name in order:
                (ws / name).mkdir()
                (ws / name / "file").write_text(name, encoding="utf-8")
                os.utime(ws / name / "file", (1e9, 1e9))
            for name in order:
                os.utime(ws / name, (1e9, 1e9))
            assert keep_workspace(ws, place.archive.with_name(ws.name)) == Kept()
        assert place.archive.with_name("bac").read_bytes() == place.archive.with_name("cab").read_bytes()

    def test_special_files_are_left_out_and_named(self, place: Place) -> None:
        os.mkfifo(place.workspace / "pipe")
        with socket.socket(socket.AF_UNIX) as listener:
            with contextlib.chdir(place.workspace):  # a socket's path is short
                listener.bind("socket")
            assert place.keep() == ("pipe is a named pipe, not a file.", "socket is a socket, not a file.")
        assert place.restore() == ()
        assert tree(place.target) == {}

    def test_what_is_beyond_the_limits_is_left_out_and_not_read(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with (place.workspace / "giant").open("wb") as file:
            file.truncate(1 << 40)
        for name, size in (("a", 1000), ("b", 1000), ("c", 500)):
            (place.workspace / name).write_bytes(bytes(size))
        monkeypatch.setattr(archive_write, "MAX_KEPT_BYTES", 1700)
        kept = keep_workspace(place.workspace, place.archive)
        assert kept.left_out == (
            "b is beyond the 0 MiB that are kept of a workspace.",
            "giant is larger than 256 MiB.",
        )
        assert kept.beyond == "b is beyond the 0 MiB that are kept of a workspace"
        assert place.restore() == ()
        assert tree(place.target).keys() == {"a", "c"}

    def test_no_more_entries_than_the_limit_are_kept(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archive_write, "MAX_ENTRIES", 5)
        (place.workspace / "folder").mkdir()
        for number in range(4):
            (place.workspace / "folder" / str(number)).touch()
        assert place.keep() == ()
        (place.workspace / "folder" / "more").touch()
        assert place.keep() == ("folder holds more: 5 entries are kept of a workspace.",)
        assert place.restore() == ()
        assert len(tree(place.target)) == 5

    # the runner never tells the agent a name that it does not use itself
    @pytest.mark.parametrize(
        ("of_the_runner", "of_the_agent"),
        [("ws", "ws"), ("by another name/ws", "ws"), ("by another name/ws", "by another name/ws")],
    )
    def test_an_absolute_link_into_the_workspace_becomes_relative(
        self, place: Place, tmp_path: Path, of_the_runner: str, of_the_agent: str
    ) -> None:
        (tmp_path / "by another name").symlink_to(tmp_path)
        ws, root = place.workspace, tmp_path / of_the_agent
        (ws / "a").mkdir()
        (ws / "a" / "file").touch()
        (ws / "a" / "to file").symlink_to(root / "a" / "file")
        (ws / "to file").symlink_to(root / "a" / "file")
        (ws / "a" / "to all").symlink_to(root)
        (ws / "gone").symlink_to(root / "a" / "gone")
        (ws / "beside").symlink_to(f"{root}-2")
        keep_workspace(tmp_path / of_the_runner, place.archive)
        assert place.restore() == ("beside leads out of the workspace.",)
        assert {name: text for name, text in tree(place.target).items() if text} == {
            "a/to file": "→ file",
            "to file": "→ a/file",
            "a/to all": "→ ..",
            "gone": "→ a/gone",
        }

    def test_links_that_lead_out_are_kept_but_not_restored(self, place: Place, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "file").write_text("not ours", encoding="utf-8")
        ws = place.workspace
        (ws / "d").mkdir()
        links = {
            "absolute": str(tmp_path / "outside"),
            "up": "../outside",
            "d/up": "../../outside",
            "by another": "d/up/file",
            "by a folder's parent": "inward/../../outside",
            "inward": "d",
            "up and down again": "../ws/d",
        }
        for name, text in links.items():
            (ws / name).symlink_to(text)
        assert place.keep() == ()
        left_out = place.restore()
        assert {one.removesuffix(" leads out of the workspace.") for one in left_out} == links.keys() - {"inward"}
        assert tree(place.target) == {"d/": "", "inward": "→ d"}
        assert b"not ours" not in zstandard.ZstdDecompressor().stream_reader(place.archive.read_bytes()).read()

    def test_a_workspace_that_is_gone_is_an_empty_one(self, place: Place, tmp_path: Path) -> None:
        place.workspace.rmdir()
        assert place.keep() == ("The workspace itself is gone.",)
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "file").touch()
        place.workspace.symlink_to(tmp_path / "elsewhere")
        assert place.keep() == ("The workspace itself is gone.",)
        assert place.restore() == ()
        assert tree(place.target) == {}

    @pytest.mark.parametrize(
        "change", ["shrinks", "grows", "vanishes", "becomes a link", "becomes a pipe", "becomes a folder"]
    )
    def test_a_file_that_changes_meanwhile_does_not_break_the_archive(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, change: str
    ) -> None:
        file = place.workspace / "file"
        file.write_bytes(b"x" * 100_000)
        (place.workspace / "later").write_bytes(b"y")
        walk = archive_write._walk

        def walk_and_change(*args: object) -> Iterator[tuple[str, os.stat_result]]:
            for entry in walk(*args):  # type: ignore[arg-type]
                if entry[0] == "file":
                    alter(file, change)
                yield entry

        monkeypatch.setattr(archive_write, "_walk", walk_and_change)
        sentences = place.keep()
        assert place.restore() == ()
        assert (place.target / "later").read_bytes() == b"y"
        match change:
            case "shrinks":
                assert sentences == ("file could be read only in part; its last 99990 bytes are kept as zeros.",)
                assert (place.target / "file").read_bytes() == b"x" * 10 + bytes(99_990)
            case "grows":
                assert sentences == ()
                assert (place.target / "file").stat().st_size == 100_000
            case _:
                assert len(sentences) == 1
                assert not (place.target / "file").exists()

    @pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
    def test_what_cannot_be_read_is_named(self, place: Place) -> None:
        (place.workspace / "file").touch(mode=0)
        (place.workspace / "folder").mkdir(mode=0)
        assert place.keep() == ("file can't be read: Permission denied.", "folder can't be read: Permission denied.")

    def test_a_path_too_long_is_named(self, place: Place) -> None:
        at = os.open(place.workspace, os.O_RDONLY)
        for _ in range(30):
            os.mkdir("x" * 200, dir_fd=at)
            below = os.open("x" * 200, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = below
        os.close(at)
        (sentence,) = place.keep()
        assert sentence.endswith("can't be read: File name too long.")
        assert all("can't be used here" in one or "not there" in one for one in place.restore())

    def test_a_full_disk_leaves_no_archive(self, place: Place) -> None:
        (place.workspace / "file").write_bytes(os.urandom(3_000_000))
        place.archive.write_bytes(b"before")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (1_000_000, limits[1])
        )  # Python ignores the signal: an OSError remains
        try:
            with pytest.raises(OSError, match="File too large"):
                place.keep()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert tree(place.archive.parent) == {"workspace.tar.zst": "before"}


def alter(file: Path, change: str) -> None:
    if change == "shrinks":
        os.truncate(file, 10)
        return
    if change == "grows":
        file.write_bytes(b"x" * 200_000)
        return
    file.unlink()
    match change:
        case "becomes a link":
            file.symlink_to(file.parent)
        case "becomes a pipe":
            os.mkfifo(file)
        case "becomes a folder":
            file.mkdir()


class TestDamage:
    def test_one_that_is_missing_is_said_so(self, place: Place) -> None:
        with pytest.raises(ArchiveLostError, match="can't be read: No such file"):
            place.restore()
        with pytest.raises(ArchiveLostError, match="can't be read: No such file"):
            kept_texts(place.archive, max_file_bytes=1, max_bytes=1)

    def test_a_cut_at_any_place_is_noticed(self, place: Place, tmp_path: Path) -> None:
        (place.workspace / "a").write_bytes(os.urandom(300))
        (place.workspace / "zeros").write_bytes(bytes(300_000))
        place.keep()
        whole = place.archive.read_bytes()
        for length in [*range(0, len(whole), 7), *range(len(whole) - 60, len(whole))]:
            place.archive.write_bytes(whole[:length])
            with pytest.raises(ArchiveLostError, match="archive of the workspace"):
                restore_workspace(place.archive, tmp_path / str(length) / "copy")
            shutil.rmtree(tmp_path / str(length))
            with pytest.raises(ArchiveLostError):
                kept_texts(place.archive, max_file_bytes=10, max_bytes=10)

    def test_a_changed_byte_is_noticed_or_harmless(self, place: Place, tmp_path: Path) -> None:
        (place.workspace / "folder").mkdir()
        (place.workspace / "folder" / "a").write_bytes(os.urandom(300))
        (place.workspace / "link").symlink_to("folder/a")
        place.keep()
        whole = bytearray(place.archive.read_bytes())
        unnoticed = 0
        for at in range(0, len(whole), 3):
            changed = whole.copy()
            changed[at] ^= 0x55
            place.archive.write_bytes(changed)
            try:
                restore_workspace(place.archive, tmp_path / f"copy{at}")
            except ArchiveLostError:
                continue
            unnoticed += 1
            assert tree(tmp_path / f"copy{at}") == tree(place.workspace)
        assert unnoticed < 5

    def test_one_that_holds_too_much_is_refused(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        (place.workspace / "zeros").write_bytes(bytes(500_000))
        place.keep()
        monkeypatch.setattr(archive, "MAX_KEPT_BYTES", 1000)
        monkeypatch.setattr(archive, "MAX_ENTRIES", 2)
        with pytest.raises(ArchiveLostError, match="more than a workspace may"):
            place.restore()

    def test_what_is_called_before_each_entry_can_end_it(self, place: Place) -> None:
        (place.workspace / "file").touch()
        place.keep()

        def stop() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            restore_workspace(place.archive, place.target, before_each=stop)
        assert tree(place.target) == {}


def pack(archive: Path, *members: tarfile.TarInfo) -> None:
    """Write an archive that holds what it should not."""
    with zstandard.open(archive, "wb") as packed, tarfile.open(fileobj=packed, mode="w:") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"evil"[: member.size]))
    archive.write_bytes(archive.read_bytes() + zstandard.ZstdCompressor().compress(END_MARK))


def entry(name: str, **fields: object) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = 4 if not fields or "mtime" in fields else 0
    for field, value in fields.items():
        setattr(member, field, value)
    return member


class TestHostileArchives:
    @pytest.mark.parametrize(
        "members",
        [
            [entry("../evil")],
            [entry("/evil")],
            [entry("a/../../evil")],
            [entry("./evil")],
            [entry("a//evil")],
            [entry(".")],
            [entry("no/folder")],
            [entry("d", type=tarfile.SYMTYPE, linkname=".."), entry("d/evil")],
            [entry("d", type=tarfile.SYMTYPE, linkname="x"), entry("d")],
            [entry("d", type=tarfile.DIRTYPE), entry("d", type=tarfile.SYMTYPE, linkname=".."), entry("d/../evil")],
            [entry("f"), entry("f/evil")],
            [entry("h", type=tarfile.LNKTYPE, linkname="../outside")],
            [entry("h", type=tarfile.LNKTYPE, linkname="/etc/passwd")],
            [entry("p", type=tarfile.FIFOTYPE)],
            [entry("c", type=tarfile.CHRTYPE, devmajor=1, devminor=3)],
            [entry("l", type=tarfile.SYMTYPE, linkname="a/../..")],
            [entry("l", type=tarfile.SYMTYPE, linkname="")],
        ],
        ids=lambda members: "+".join(f"{member.name}→{member.linkname}" for member in members),
    )
    def test_nothing_is_written_outside(self, tmp_path: Path, members: list[tarfile.TarInfo]) -> None:
        (tmp_path / "outside").write_text("mine", encoding="utf-8")
        pack(tmp_path / "archive", *members)
        before = tree(tmp_path)
        left_out = restore_workspace(tmp_path / "archive", tmp_path / "copy")
        assert left_out
        after = tree(tmp_path)
        assert {name: text for name, text in after.items() if not name.startswith("copy/")} == before
        for path in (tmp_path / "copy").rglob("*"):
            assert path.resolve().is_relative_to(tmp_path / "copy")
            assert path.is_file() or path.is_dir() or path.is_symlink()

    def test_no_file_is_written_through_a_chain_of_links_too_long_to_resolve(self, tmp_path: Path) -> None:
        # Each component is a link to a long folder: resolved, the path is longer than a path may be, which makes
        # a resolver that gives up take the rest as it stands.
        long = "d" * 247
        members, at = [], ""
        for letter in "abcdefghijklmnop":
            members.append(entry(f"{at}{long}", type=tarfile.DIRTYPE))
            members.append(entry(f"{at}{letter}", type=tarfile.SYMTYPE, linkname=long))
            at += f"{long}/"
        short = "/".join("abcdefghijklmnop")
        members.append(entry(f"{at}{'l' * 254}", type=tarfile.SYMTYPE, linkname="../" * 16))
        members.append(entry("escape", type=tarfile.SYMTYPE, linkname=f"{short}/{'l' * 254}/../../outside"))
        members.append(entry("escape/evil"))
        (tmp_path / "outside").mkdir()
        pack(tmp_path / "archive", *members)
        left_out = restore_workspace(tmp_path / "archive", tmp_path / "copy")
        assert "escape leads out of the workspace." in left_out
        assert "escape/evil was in a folder that is not there." in left_out
        assert list((tmp_path / "outside").iterdir()) == []
        assert not (tmp_path / "copy" / "escape").is_symlink()

    def test_a_disk_that_refuses_a_write_is_no_name_that_can_not_be_used(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (place.workspace / "file").write_text("text", encoding="utf-8")
        place.keep()

        def refuse(*_: object) -> None:
            raise OSError(errno.EINVAL, "Invalid argument")

        monkeypatch.setattr(shutil, "copyfileobj", refuse)
        with pytest.raises(OSError, match="Invalid argument"):
            place.restore()


class TestTexts:
    def kept(self, place: Place, **files: bytes) -> dict[str, KeptFile]:
        for name, content in files.items():
            path = place.workspace / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        (place.workspace / "link").symlink_to("a")
        place.keep()
        return {file.path: file for file in kept_texts(place.archive, max_file_bytes=10, max_bytes=25)}

    def test_texts_are_given_by_path(self, place: Place) -> None:
        kept = self.kept(place, b=b"two", a__b=b"one", a__c="ü".encode(), empty=b"")
        assert list(kept.values()) == [
            KeptFile(path="a/b", size=3, text="one"),
            KeptFile(path="a/c", size=2, text="ü"),
            KeptFile(path="b", size=3, text="two"),
            KeptFile(path="empty", size=0, text=""),
        ]

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            (b"x" * 99, "x" * 10),
            ("ü".encode() * 99, "ü" * 5),
            (b"a" + "ü".encode() * 99, "aüüüü"),
            (b"x" * 10 + b"\0" * 9, "x" * 10),
        ],
    )
    def test_a_long_text_is_cut_between_characters(self, place: Place, content: bytes, text: str) -> None:
        assert self.kept(place, file=content)["file"] == KeptFile(path="file", size=len(content), text=text)

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ("报告：好。".encode("gb18030"), "报告：好。"),
            ("四十二报告好".encode("gb18030"), "四十二报告"),  # ten bytes are read
            ("四十 二报告好".encode("gb18030"), "四十 二报"),
            ("café für".encode("latin-1"), None),
            (b"\xfcber x\xf6", None),
            ("他说：“好”——".encode("gb18030")[:10], "他说：“好"),
            (bytes(range(0x80, 0x88)), None),
            (b"\x01" + "报告".encode("gb18030"), None),
        ],
    )
    def test_a_text_in_chinas_encoding_is_one(self, place: Place, content: bytes, text: str | None) -> None:
        assert self.kept(place, file=content)["file"].text == text

    def test_beyond_the_limit_of_all_there_are_only_sizes(self, place: Place) -> None:
        kept = self.kept(place, a=b"a" * 10, b=b"b" * 99, c=b"c" * 9, d=b"ddddd", e=b"", f=b"f", g=b"\0" * 99)
        assert {name: file.text for name, file in kept.items()} == {
            "a": "a" * 10,
            "b": None,
            "c": "c" * 9,
            "d": "ddddd",
            "e": "",
            "f": "f",
            "g": None,
        }
        assert (kept["b"].size, kept["b"].no_text, kept["g"].no_text) == (99, NoText.NO_ROOM, NoText.BINARY)
        assert kept["a"].no_text is None

    def test_what_lies_deep_or_comes_last_makes_room_for_the_others(self, place: Place) -> None:
        for name in ("a/deep/1", "a/deep/2", "lib/3", "top", "z/brief"):
            path = place.workspace / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_bytes(b"x" * (1 if name == "z/brief" else 10))
        place.keep()

        def with_text(limit: int) -> list[str]:
            kept = kept_texts(
                place.archive, max_file_bytes=10, max_bytes=limit, comes_last=lambda path: path.startswith("lib/")
            )
            assert all((one.text is None) == (one.no_text is NoText.NO_ROOM) for one in kept)
            return [one.path for one in kept if one.text is not None]

        assert with_text(1) == ["z/brief"]
        assert with_text(11) == ["top", "z/brief"]
        assert with_text(31) == ["a/deep/1", "a/deep/2", "top", "z/brief"]
        assert with_text(41) == ["a/deep/1", "a/deep/2", "lib/3", "top", "z/brief"]


def test_an_infrastructure_error_is_never_kept_as_an_empty_workspace(place: Place) -> None:
    (place.workspace / "answer.txt").write_text("42", encoding="utf-8")
    (place.workspace / "folder").mkdir()
    script = f"""
import errno, os, resource
from pathlib import Path
from pinchbench.files.archive_write import keep_workspace
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
workspace, archive = Path({str(place.workspace)!r}), Path({str(place.archive)!r})
for spare in range(1, 4):
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    for number in held[:spare]:
        os.close(number)
    try:
        said = keep_workspace(workspace, archive).left_out
    except OSError as error:
        assert error.errno == errno.EMFILE, error
        assert not archive.exists()
        print("raised")
    else:
        print("kept", said)
    for number in held[spare:]:
        os.close(number)
"""
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    lines = shown.stdout.splitlines()
    assert "raised" in lines
    assert all(line in ("raised", "kept ()") for line in lines)
    assert list(place.archive.parent.glob(f".{place.archive.name}.*")) == []


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOMEM, errno.ENFILE, errno.ESTALE, errno.EMFILE])
def test_a_failing_machine_is_no_reason_to_leave_a_file_out(
    place: Place, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    (place.workspace / "answer.txt").write_text("42", encoding="utf-8")
    opened = os.open

    def fails(path: object, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if str(path).endswith("answer.txt"):
            raise OSError(code, os.strerror(code))
        return opened(path, flags, mode, dir_fd=dir_fd)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", fails)
    with pytest.raises(OSError, match=os.strerror(code)):
        place.keep()
    assert not place.archive.exists()
