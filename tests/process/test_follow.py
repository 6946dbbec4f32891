"""Tailing a file that grows, and one that does not behave; bytes into lines."""

import errno
import os
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from itertools import pairwise
from pathlib import Path

import aiofiles
import anyio
import pytest
from anyio import fail_after
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.process.follow import CHUNK_BYTES, Follower, LineSplitter, Output


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "growing.log"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every file that a follower opens."""
    files: list[object] = []
    real: Callable[..., Awaitable[object]] = aiofiles.open

    async def counting(file: Path, *args: object, **options: object) -> object:
        files.append(file)
        return await real(file, *args, **options)

    monkeypatch.setattr(aiofiles, "open", counting)
    return files


def overwrite(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def delete(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    other = path.with_suffix(".new")
    append(other, b"new")
    other.rename(path)


def move_aside(path: Path) -> None:
    path.rename(path.with_name("aside"))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


async def test_gives_what_was_added(path: Path) -> None:
    append(path, b"one")
    async with aclosing(Follower(path)) as follower:
        with fail_after(60):
            assert await follower.read() == b"one"
            assert await follower.read() == b""
            append(path, b"two")
            append(path, b"three")
            assert await follower.read() == b"twothree"


async def test_a_file_that_the_machine_can_not_open_is_distinguished_from_one_that_is_not_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(path, b"here")
    async with aclosing(Follower(path)) as follower:
        with fail_after(60), monkeypatch.context() as patch:
            for number, is_machines in ((errno.ENOENT, False), (errno.EACCES, False), (errno.EMFILE, True)):
                patch.setattr(aiofiles, "open", partial(refuse, number))
                assert await follower.read() == b""
                assert (follower.failure is not None) == is_machines
            output = Output(path, follower, lambda _: None)
            with pytest.raises(OSError, match="Too many open files"):
                await output.finish()
        assert await follower.read() == b"here"
        assert follower.failure is None


async def refuse(number: int, *_: object, **__: object) -> None:
    raise OSError(number, os.strerror(number))


async def test_what_nobody_wants_can_be_skipped_but_for_its_end(path: Path) -> None:
    async with aclosing(Follower(path)) as follower:
        with fail_after(60):
            assert follower.skip(4) == 0
            append(path, b"head")
            assert await follower.read() == b"head"
            assert follower.skip(4) == 0
            append(path, b"middle" * CHUNK_BYTES + b"tail")
            assert follower.skip(4) == 6 * CHUNK_BYTES
            assert await follower.read() == b"tail"
            overwrite(path, b"new")
            assert follower.skip(4) == 0
            assert await follower.read() == b"new"


@pytest.mark.parametrize("is_replaced", [False, True], ids=["truncated", "replaced"])
async def test_a_file_that_was_truncated_or_replaced_is_read_from_its_beginning(
    path: Path, *, is_replaced: bool
) -> None:
    append(path, b"a long beginning")
    async with aclosing(Follower(path)) as follower:
        with fail_after(60):
            await follower.read()
            replace(path) if is_replaced else overwrite(path, b"new")
            assert await follower.read() == b"new"
            append(path, b" and more")
            assert await follower.read() == b" and more"


@pytest.mark.parametrize(("change", "given"), [(replace, b"new"), (delete, b"")])
async def test_a_file_that_changes_between_the_look_and_the_open_is_given_as_it_is_then(
    path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], given: bytes
) -> None:
    append(path, b"old")
    real: Callable[..., Awaitable[object]] = aiofiles.open

    async def change_first(file: Path, *args: object, **options: object) -> object:
        change(path)
        return await real(file, *args, **options)

    monkeypatch.setattr(aiofiles, "open", change_first)
    async with aclosing(Follower(path)) as follower:
        with fail_after(60):
            assert await follower.read() == given
            assert await follower.read() == b""


async def test_a_folder_in_its_place_gives_nothing_until_the_file_is_back(path: Path) -> None:
    append(path, b"first")
    async with aclosing(Follower(path)) as follower:
        with fail_after(60):
            await follower.read()
            delete(path)
            (path / "below").mkdir(parents=True)  # on some file systems an empty folder has no size
            assert await follower.read() == b""
            assert await follower.read() == b""
            move_aside(path)
            append(path, b"second life")
            assert await follower.read() == b"second life"


async def test_a_file_that_has_not_grown_is_not_opened(path: Path, opened: list[object]) -> None:
    append(path, b"")
    async with aclosing(Follower(path)) as follower:
        with fail_after(60):
            for _ in range(3):
                await follower.read()
            assert opened == []
            append(path, b"some")
            for _ in range(3):
                await follower.read()
            append(path, b"more")
            assert await follower.read() == b"more"
    assert opened == [path]


async def test_a_cancelled_read_loses_nothing(path: Path) -> None:
    append(path, b"all of it")
    got = b""
    async with aclosing(Follower(path)) as follower:
        with anyio.CancelScope() as scope:
            scope.cancel()
            got += await follower.read()
        with fail_after(60):
            got += await follower.read()
    assert got == b"all of it"


# Few different bytes, so that newlines are frequent; among them the separators that `splitlines` would fall for.
TEXT = st.lists(st.sampled_from([b"\n", b"\r", b"\x0b", b"\x0c", b"\x85", "\u2028".encode(), b"a", b"bc", b""])).map(
    b"".join
)


@st.composite
def chunked(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    text = draw(TEXT)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)))))
    edges = [0, *cuts, len(text)]
    return text, [text[start:end] for start, end in pairwise(edges)]


def split(chunks: list[bytes], max_line_bytes: int) -> list[bytes]:
    splitter = LineSplitter(max_line_bytes=max_line_bytes)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    last = splitter.finish()
    return [*lines, last] if last else lines


@given(chunked())
def test_chunking_changes_nothing(sample: tuple[bytes, list[bytes]]) -> None:
    text, chunks = sample
    *ended, rest = text.split(b"\n")
    expected = [*ended, rest] if rest else ended
    assert split(chunks, 1000) == expected


@given(chunked(), st.integers(1, 4))
def test_of_a_long_line_the_head_is_kept(sample: tuple[bytes, list[bytes]], most: int) -> None:
    text, chunks = sample
    *ended, rest = text.split(b"\n")
    expected = [*ended, rest] if rest else ended
    assert split(chunks, most) == [data[:most] for data in expected]


@given(chunked())
def test_lines_are_given_as_soon_as_they_end(sample: tuple[bytes, list[bytes]]) -> None:
    splitter = LineSplitter(max_line_bytes=1000)
    for chunk in sample[1]:
        assert len(splitter.feed(chunk)) == chunk.count(b"\n")


def test_an_endless_line_is_held_in_flat_memory() -> None:
    splitter = LineSplitter(max_line_bytes=10)
    for _ in range(1000):
        assert splitter.feed(b"x" * 1000) == []
    assert len(splitter._held) == 10
    assert splitter.feed(b"\nnext\n") == [b"x" * 10, b"next"]
