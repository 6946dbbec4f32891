"""A bundle's file: the same files give the same bytes, and each byte counts; it is checked as a file and as a run."""

import io
import tarfile
from pathlib import Path

import pytest

from pinchbench.errors import ResultsError
from pinchbench.publish.bundle.bundle_file import check_bundle, is_bundle, unpack_bundle, write_bundle
from pinchbench.publish.bundle.public_copy import TextRemover, copy_publicly
from pinchbench.results.evidence_files import file_digest
from pinchbench.results.verification import State
from published_runs import published_run

LONG = f"run/{'long' * 30}/text"  # more than the hundred characters of a header
CONTENTS = {LONG: b"a long name", "run/empty": b"", "run/run.json": b"{}" * 300, "run.json": b"1"}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    for name, content in CONTENTS.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with (tmp_path / "run.tar").open("wb") as file:
        write_bundle(tmp_path / "made", file)
    return tmp_path / "run.tar"


def test_what_is_unpacked_is_what_was_packed(bundle: Path, tmp_path: Path) -> None:
    assert is_bundle(bundle)
    assert unpack_bundle(bundle, tmp_path / "new") == ()
    found = {path.relative_to(tmp_path / "new").as_posix(): path for path in (tmp_path / "new").rglob("*")}
    assert {name: path.read_bytes() for name, path in found.items() if path.is_file()} == CONTENTS


def test_other_programs_read_it(bundle: Path) -> None:
    with tarfile.open(bundle) as tar:
        assert sorted(tar.getnames()) == sorted(["SHA256SUMS", *CONTENTS])


def test_the_same_files_give_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    again = io.BytesIO()
    write_bundle(tmp_path / "made", again)
    assert again.getvalue() == bundle.read_bytes()


def test_an_altered_byte_is_named_wherever_it_is(bundle: Path, tmp_path: Path) -> None:
    whole = bundle.read_bytes()
    altered = tmp_path / "altered.tar"
    for at in range(0, len(whole), 97):
        for bit in (0x01, 0x80):
            altered.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            target = tmp_path / f"{at}-{bit}"
            assert unpack_bundle(altered, target), f"byte {at} counts for nothing"


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: data[:2000]])
def test_a_byte_that_is_missing_or_added_is_named(bundle: Path, tmp_path: Path, change: object) -> None:
    assert callable(change)
    bundle.write_bytes(change(bundle.read_bytes()))
    assert unpack_bundle(bundle, tmp_path / "new")


def test_an_altered_file_is_named_and_those_after_it_are_read(bundle: Path, tmp_path: Path) -> None:
    bundle.write_bytes(bundle.read_bytes().replace(b"a long name", b"a LONG name"))
    assert unpack_bundle(bundle, tmp_path / "new") == (f"{LONG}, or its line in SHA256SUMS, is not as it was written",)
    assert (tmp_path / "new/run/run.json").exists()


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "run/../../out", "run//out", "./out"])
def test_nothing_is_written_outside(bundle: Path, tmp_path: Path, name: str) -> None:
    line = f"{'0' * 64}  {name}\n".encode()
    with tarfile.open(bundle, "w", format=tarfile.GNU_FORMAT) as tar:
        for path, content in (("SHA256SUMS", line), (name, b"")):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    assert unpack_bundle(bundle, tmp_path / "new") == ("SHA256SUMS is not as it was written",)
    assert list((tmp_path / "new").iterdir()) == []


def test_a_link_is_not_made(bundle: Path, tmp_path: Path) -> None:
    with tarfile.open(bundle, "w", format=tarfile.GNU_FORMAT) as tar:
        line = f"{'0' * 64}  run\n".encode()
        entry = tarfile.TarInfo("SHA256SUMS")
        entry.size = len(line)
        tar.addfile(entry, io.BytesIO(line))
        link = tarfile.TarInfo("run")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(link)
    assert unpack_bundle(bundle, tmp_path / "new") == ("the header of run is not as it was written",)
    assert list((tmp_path / "new").iterdir()) == []


def test_names_that_exclude_each_other_are_refused(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with pytest.raises(ResultsError, match="can't be unpacked"):
        unpack_bundle(bundle, tmp_path / "new")


def _bundle(tmp_path: Path, folder: str = "copy") -> Path:
    with (tmp_path / "run.tar").open("wb") as file:
        write_bundle(tmp_path / folder, file)
    return tmp_path / "run.tar"


def test_a_bundle_is_verified_and_named_by_its_digest(tmp_path: Path) -> None:
    copy_publicly(published_run(tmp_path), tmp_path / "copy", TextRemover(names=["zelda"], keys=[]))
    bundle = _bundle(tmp_path)
    found = check_bundle(bundle)
    assert found.state is State.VERIFIED
    assert (found.bundle, found.taken_out) == (file_digest(bundle), 11)


def test_a_file_that_was_edited_and_packed_again_is_named(tmp_path: Path) -> None:
    files, _ = copy_publicly(published_run(tmp_path), tmp_path / "copy", TextRemover(names=[], keys=[]))
    transcript = files.folder / "trials/task_a/1/transcript.jsonl"
    transcript.write_bytes(b"{}\n")
    found = check_bundle(_bundle(tmp_path))
    assert found.differences == (f"{files.name}/trials/task_a/1/transcript.jsonl is not as it was written",)


def test_an_altered_byte_is_named(tmp_path: Path) -> None:
    copy_publicly(published_run(tmp_path), tmp_path / "copy", TextRemover(names=[], keys=[]))
    bundle = _bundle(tmp_path)
    bundle.write_bytes(bundle.read_bytes().replace(b"Done.", b"Gone."))
    found = check_bundle(bundle)
    assert found.state is State.ALTERED
    assert "stdout.log" in found.differences[0]


def test_another_archive_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("x", encoding="utf-8")
    found = check_bundle(_bundle(tmp_path, "other"))
    assert (found.state, found.problem) == (State.UNREADABLE, "It holds no published run.")
    assert check_bundle(tmp_path / "none.tar").state is State.UNREADABLE
