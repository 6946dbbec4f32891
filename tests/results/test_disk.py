"""Disks that fail and places that change: each a clear error or a survived event, and never a corrupt journal."""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from past_runs import outcome_of
from pinchbench.errors import ResultsError
from pinchbench.results.journal.journal import JournalWriter, is_written, read_journal
from pinchbench.results.paths import create_run, write_json
from pinchbench.results.records import Record, RunFinished, RunStarted, TrialFinished, encode

STARTED = RunStarted(run_id="r", model="mock/m1", at=1.5, trials=2)
FINISHED = RunFinished(at=2.5)
CHILD_LIMIT_S = 60


def finished(number: int, note: str = "") -> TrialFinished:
    return TrialFinished(outcome=outcome_of(f"task_{number}", note=note))


def in_child(code: str, *arguments: object) -> str:
    """Run a program in a process of its own, whose limits are nobody else's; return what it prints."""
    argv = [sys.executable, "-c", code, *map(str, arguments)]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=CHILD_LIMIT_S, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    """A small file system of its own."""
    if os.getuid() != 0 or sys.platform != "linux":
        pytest.skip("only root can mount, on Linux")
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mount refused: {done.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def fill(journal: JournalWriter, safe: list[Record]) -> None:
    """Append groups for ever; `safe` gets what was acknowledged."""
    while True:
        group: list[Record] = [finished(len(safe) + one, note="x" * 3000) for one in range(3)]
        journal.append(group)
        safe += group


def test_a_full_disk_costs_nothing_that_was_acknowledged_and_the_run_goes_on_once_there_is_space(
    tmp_path: Path,
) -> None:
    with mounted(tmp_path / "disk", "size=128k") as disk:
        files = create_run(disk, "m_r")
        safe: list[Record] = []
        with JournalWriter(files.journal) as journal:
            with pytest.raises(ResultsError, match=r"No space left.*is safe.*pinchbench-async resume .*m_r.*is space"):
                fill(journal, safe)
            with pytest.raises(ResultsError, match="No space left"):
                journal.append([FINISHED])  # also when there would be space
        assert safe
        assert read_journal(files.journal).records == tuple(safe)
        assert read_journal(files.journal).problems == ()
        with pytest.raises(ResultsError, match="can't be written: No space left"):
            write_json(files.aggregate, {"text": "x" * 128 * 1024})
        assert sorted(one.name for one in disk.iterdir()) == ["m_r"]
        subprocess.run(["mount", "-o", "remount,size=1m", disk], check=True)
        with JournalWriter(files.journal, go_on=True) as journal:
            journal.append([FINISHED])
        assert read_journal(files.journal).records == (*safe, FINISHED)


NO_FILES = """
import os, resource, sys
from pathlib import Path
from pinchbench.errors import ResultsError
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.records import RunFinished
from pinchbench.results.paths import write_json
folder = Path(sys.argv[1])
journal = JournalWriter(folder / "journal.jsonl").__enter__()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while len(held) < 100:
        held.append(os.open("/", os.O_RDONLY))
except OSError:
    pass
journal.append([RunFinished(at=1.0)])
for call in (
    lambda: write_json(folder / "a.json", {}),
    lambda: JournalWriter(folder / "another.jsonl"),
    lambda: read_journal(folder / "journal.jsonl"),
):
    try:
        call()
    except ResultsError as error:
        print(error)
"""


def test_a_process_out_of_open_files_goes_on_with_its_journal_and_is_reported_about_others(tmp_path: Path) -> None:
    told = in_child(NO_FILES, tmp_path).splitlines()
    assert [line.rpartition(": ")[2] for line in told] == ["Too many open files."] * 3
    assert read_journal(tmp_path / "journal.jsonl").records == (RunFinished(at=1.0),)
    assert [one.name for one in tmp_path.iterdir()] == ["journal.jsonl"]


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced", "folder deleted", "folder moved", "file for folder"])
def test_a_journal_that_is_no_longer_in_its_place_acknowledges_nothing(tmp_path: Path, what: str) -> None:
    files = create_run(tmp_path, "m_r")
    with JournalWriter(files.journal) as journal:
        journal.append([STARTED])
        match what:
            case "deleted":
                files.journal.unlink()
            case "moved":
                files.journal.rename(tmp_path / "aside")
            case "replaced":
                shutil.copy(files.journal, tmp_path / "copy")
                (tmp_path / "copy").rename(files.journal)
            case "folder deleted":
                shutil.rmtree(files.folder)
            case _:
                files.folder.rename(tmp_path / "aside")
                if what == "file for folder":
                    files.folder.touch()
        for _ in range(2):
            with pytest.raises(ResultsError, match=r"deleted, moved or replaced.*pinchbench-async resume"):
                journal.append([FINISHED])
    if what == "replaced":
        assert read_journal(files.journal).records == (STARTED,)


def test_a_journal_that_somebody_else_has_changed_is_written_no_more(tmp_path: Path) -> None:
    for change in (b"", encode(STARTED) * 2, encode(STARTED) + b"x"):
        path = tmp_path / f"{len(change)}.jsonl"
        with JournalWriter(path) as journal:
            journal.append([STARTED])
            path.write_bytes(change)
            with pytest.raises(ResultsError, match="was changed by somebody else"):
                journal.append([FINISHED])
        assert path.read_bytes() == change


def test_what_somebody_else_wrote_behind_a_failed_group_is_not_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"

    def fail(_: int) -> None:
        with path.open("ab") as other:
            other.write(encode(finished(2)))
        raise OSError(errno.EIO, "Input/output error")

    with JournalWriter(path) as journal, monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(ResultsError, match="Input/output error"):
            journal.append([finished(1)])
    assert read_journal(path).records == (finished(1), finished(2))


def test_a_write_that_is_broken_off_leaves_no_half_record_and_is_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    written: list[int] = []

    def broken_off(fd: int, data: memoryview) -> int:
        if written:
            raise KeyboardInterrupt
        written.append(write(fd, data[:7]))
        return 7

    with JournalWriter(tmp_path / "journal.jsonl") as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", broken_off)
            with pytest.raises(KeyboardInterrupt):
                journal.append([STARTED])
        with pytest.raises(ResultsError, match="was broken off"):
            journal.append([STARTED])
    assert written == [7]
    assert (tmp_path / "journal.jsonl").read_bytes() == b""


def test_a_torn_line_that_can_not_be_ended_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "journal.jsonl").write_bytes(encode(STARTED) + b"torn")
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(ResultsError, match="No space left on device"):
        JournalWriter(tmp_path / "journal.jsonl", go_on=True)


def test_the_names_of_new_files_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def note(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    files = create_run(tmp_path / "results", "m_r")
    folders = [path.stat().st_ino for path in (files.folder, files.output_dir, tmp_path)]
    assert synced == folders
    with JournalWriter(files.journal):
        assert synced[3:] == folders[:1]
    write_json(files.aggregate, {})
    assert synced[4:] == [files.aggregate.stat().st_ino, folders[1]]


class FailingDisk:
    """Takes a number of bytes, in pieces, and then fails once or for good; `fsync` may fail as well."""

    def __init__(self, room: int, piece: int, fsyncs: int) -> None:
        self.room, self.piece, self.fsyncs = room, piece, fsyncs
        self._write, self._fsync = os.write, os.fsync

    def write(self, fd: int, data: memoryview) -> int:
        take = min(self.piece, self.room, len(data))
        if not take:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= take
        return self._write(fd, data[:take])

    def fsync(self, fd: int) -> None:
        self.fsyncs -= 1
        if not self.fsyncs:
            raise OSError(errno.EIO, "Input/output error")
        self._fsync(fd)

    def truncate(self, _fd: int, _size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")


WRITERS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 4), min_size=1, max_size=6),  # the sizes of its groups
        st.integers(0, 3000),  # room in bytes
        st.integers(1, 400),  # bytes at a time
        st.integers(2, 9),  # the fsync that fails; the first is the folder's
        st.booleans(),  # whether the failed group can be cut off
    ),
    min_size=1,
    max_size=4,
)


@given(WRITERS)
def test_what_was_acknowledged_is_read_back_once_and_in_order_wherever_the_disk_fails(
    writers: list[tuple[list[int], int, int, int, bool]],
) -> None:
    acknowledged: list[Record] = []
    tried: list[Record] = []
    number = failures = 0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        for groups, room, piece, fsyncs, can_truncate in writers:
            disk = FailingDisk(room, piece, fsyncs)
            with JournalWriter(path, go_on=True) as journal, pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "write", disk.write)
                patch.setattr(os, "fsync", disk.fsync)
                if not can_truncate:
                    patch.setattr(os, "ftruncate", disk.truncate)
                failed = False
                for size in groups:
                    group: list[Record] = [finished(number + one) for one in range(size)]
                    number += size
                    tried += group
                    try:
                        journal.append(group)
                    except ResultsError:
                        failures += not failed and not can_truncate
                        failed = True
                        continue
                    assert not failed
                    acknowledged += group
        read = read_journal(path)
    assert [record for record in read.records if record in acknowledged] == acknowledged
    assert [record for record in tried if record in read.records] == list(read.records)  # in order, none twice
    assert read.differences == ()  # what was not acknowledged leaves no gap
    assert len(read.problems) <= failures  # a torn line for each group that could not be cut off, and no other
    if not failures:
        assert list(read.records) == acknowledged


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS])
def test_where_there_are_no_locks_nothing_is_written_and_what_is_there_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_fd: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "journal.jsonl"
    with JournalWriter(path) as journal:
        journal.append([STARTED])
        assert is_written(path)
    assert not is_written(path)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(ResultsError, match=r"has no locks \(.*Use --output-dir"):
        JournalWriter(path, go_on=True)
    assert not is_written(path)
    assert read_journal(path).records == (STARTED,)
