"""Bytes into lines."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pinchbench.process.follow import LineSplitter

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
