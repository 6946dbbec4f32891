"""The file of a bundle, a plain tar in which every byte follows from the files in it; checking it and the run in it."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

from pinchbench.decoding import decode_json
from pinchbench.errors import ResultsError
from pinchbench.files.beneath import open_regular
from pinchbench.publish.bundle.public_copy import PUBLISHED, Published
from pinchbench.results.evidence_files import file_digest
from pinchbench.results.paths import RunFiles
from pinchbench.results.verification import Verified, check_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

SUFFIX = ".tar"
SUMS = "SHA256SUMS"  # the first file, in the format of `sha256sum`: the others by name
BLOCK = 512
END = bytes(2 * BLOCK)
COPY_BYTES = 1024 * 1024
MAX_SUMS_BYTES = 64 * 1024 * 1024
LINE = re.compile(r"([0-9a-f]{64})  ([^\n\\]+)")


def is_bundle(path: Path) -> bool:
    """Return whether a path is meant as a bundle: an existing file whose name says so. Blocks."""
    return path.suffix == SUFFIX and path.is_file()


def write_bundle(folder: Path, file: IO[bytes]) -> None:
    """Write all files below a folder. The same files give the same bytes. Blocks. Raises OSError."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    sums = "".join(f"{file_digest(folder / name)}  {name}\n" for name in names).encode()
    _add(SUMS, io.BytesIO(sums), len(sums), file)
    for name in names:
        with open_regular(folder / name) as source:
            _add(name, source, os.fstat(source.fileno()).st_size, file)
    file.write(END)


def _add(name: str, source: BinaryIO, size: int, file: IO[bytes]) -> None:
    file.write(_header(name, size))
    while data := source.read(COPY_BYTES):
        file.write(data)
    file.write(bytes(-size % BLOCK))


def _header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    return entry.tobuf(tarfile.GNU_FORMAT)


def unpack_bundle(bundle: Path, target: Path) -> tuple[str, ...]:
    """Unpack a bundle into `target`, a new folder; return what is not as it was written, sentences without a full stop.

    Only regular files are made, with plain names below `target`, and no more bytes than the bundle has. Reading ends
    where the place of the next file is unknown. Blocks.
    Raises ResultsError if the bundle can't be read or a file can't be written.
    """
    try:
        target.mkdir(mode=0o700)
        with open_regular(bundle) as file:
            return tuple(_unpacked(file, target))
    except OSError as error:
        raise ResultsError(f"{bundle} can't be unpacked into {target}: {error.strerror}.") from error


def _unpacked(file: BinaryIO, target: Path) -> Iterator[str]:
    size = _read_header(file, SUMS)
    sums = _parse(file.read(size)) if size is not None and size <= MAX_SUMS_BYTES else {}
    if size is None or not sums or not _is_padded(file, size):
        yield f"{SUMS} is not as it was written"
        return
    for name, digest in sums.items():
        size = _read_header(file, name)
        if size is None:
            yield f"the header of {name} is not as it was written"
            return
        path = target / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(number, "wb") as copy:
            found = _copied(file, size, copy)
        if found != digest:
            yield f"{name}, or its line in {SUMS}, is not as it was written"
        if not _is_padded(file, size):
            yield f"what follows {name} is not as it was written"
    if file.read(len(END) + 1) != END:
        yield "its end is not as it was written"


def _read_header(file: BinaryIO, name: str) -> int | None:
    """Return the size of the file whose header comes next; None if it is not the header of a file of this name."""
    found = file.read(len(_header(name, 0)))
    try:
        size = tarfile.TarInfo.frombuf(found[-BLOCK:], tarfile.ENCODING, "surrogateescape").size
        return size if size >= 0 and found == _header(name, size) else None
    except (tarfile.HeaderError, ValueError):
        return None


def _parse(sums: bytes) -> dict[str, str]:
    """Return the digest of each file by its name; nothing if the text is not what `write_bundle` writes."""
    found: dict[str, str] = {}
    try:
        *lines, rest = sums.decode().split("\n")
    except UnicodeDecodeError:
        return {}
    for line in lines:
        match = LINE.fullmatch(line)
        if match is None or any(part in {"", ".", ".."} or "\0" in part for part in match[2].split("/")):
            return {}
        found[match[2]] = match[1]
    return found if not rest and list(found) == sorted(found) and len(found) == len(lines) else {}


def _copied(file: BinaryIO, size: int, copy: IO[bytes]) -> str:
    """Copy the next bytes, or all that are left; return their SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    while size and (data := file.read(min(size, COPY_BYTES))):
        digest.update(data)
        copy.write(data)
        size -= len(data)
    return digest.hexdigest()


def _is_padded(file: BinaryIO, size: int) -> bool:
    padding = bytes(-size % BLOCK)
    return file.read(len(padding)) == padding


def check_bundle(bundle: Path) -> Verified:
    """Compare a bundle with its digests, and the run in it with those of its journal. Blocks. Raises nothing."""
    try:
        with TemporaryDirectory(prefix="pinchbench-") as folder:
            target = Path(folder) / "bundle"
            if differences := unpack_bundle(bundle, target):
                return Verified(run=str(bundle), differences=differences)
            files, published = run_in(target)
            found = check_run(files)
            return replace(
                found,
                differences=tuple(one.replace(f"{target}/", "") for one in found.differences),
                problem=found.problem.replace(f"{target}/", ""),
                bundle=file_digest(bundle),
                taken_out=sum(one.places for one in published.taken_out),
            )
    except (ResultsError, OSError) as error:
        return Verified(run=str(bundle), problem=str(error))


def run_in(folder: Path) -> tuple[RunFiles, Published]:
    """Return the run that was unpacked into a folder. Blocks. Raises ResultsError if it holds anything else."""
    names = {path.name for path in folder.iterdir()}
    for path in folder.glob(f"*/{PUBLISHED}"):
        files = RunFiles(output_dir=folder, name=path.parent.name)
        if names == {files.folder.name, files.aggregate.name}:
            try:
                return files, decode_json(path.read_bytes(), Published)
            except (OSError, ValueError, RecursionError) as error:
                raise ResultsError(f"{PUBLISHED} can't be read: {error}.") from error
    raise ResultsError("It holds no published run.")
