"""Server-sent events, however their bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.wire.exchange import Chunk
from pinchbench.wire.protocols.sse import ServerEvent, events


def read(*pieces: bytes) -> list[bytes]:
    return [event.data for event in events(Chunk(at_s=0.0, data=piece) for piece in pieces)]


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\r\n\r\ndata:  b\r\r", [b"a", b" b"]),
        (b"event: x\nid: 1\nretry: 5\ndata: a\ndata: b\n\n", [b"a\nb"]),
        (b": comment\n\n\n\ndata: a\n: comment\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data\n\n", [b""]),
        (b"database: a\n\n", []),
        (b"data: a", [b"a"]),
        (b"", []),
    ],
)
def test_events_are_read_as_the_standard_says(stream: bytes, data: list[bytes]) -> None:
    assert read(stream) == data


@given(
    stream=st.binary(max_size=20) | st.text("dat:\r\n a", max_size=60).map(str.encode), cuts=st.sets(st.integers(0, 60))
)
def test_cuts_change_nothing(stream: bytes, cuts: set[int]) -> None:
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]

    assert read(*(stream[start:end] for start, end in pairwise(places))) == read(stream)


def test_an_event_has_the_time_of_the_chunk_that_completes_it() -> None:
    chunks = (Chunk(at_s=1.0, data=b"data: a\n"), Chunk(at_s=2.0, data=b"\ndata: b"), Chunk(at_s=3.0, data=b""))

    assert list(events(chunks)) == [ServerEvent(at_s=2.0, data=b"a"), ServerEvent(at_s=3.0, data=b"b")]
