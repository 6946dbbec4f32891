"""A bundle's file: the same files give the same bytes, and each byte counts."""

import io
import tarfile
from pathlib import Path

import pytest

from pinchbench.errors import ResultsError
from pinchbench.publish.bundle.bundle_file import is_bundle, unpack_bundle, write_bundle

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
