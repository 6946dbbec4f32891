"""Texts are found and replaced in streamed replies, also where events have pieces of them."""

from __future__ import annotations

import pytest

from pinchbench.wire.streamed_text import occurrences, substituted
from wire.exchanges import sse


def streamed(*texts: str) -> bytes:
    return sse(*({"delta": {"content": text}} for text in texts))


def test_an_occurrence_names_the_place_of_each_piece() -> None:
    data = streamed("a sec", "ret b")

    [found] = occurrences(data, [b"secret"])

    assert [data[start:end] for start, end in found.places] == [b"sec", b"ret"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("see /old/x",), ("see /new/place/x",)),
        (("see /o", "ld/x"), ("see /new/place", "/x")),
        (("/", "o", "l", "d", "/old"), ("/new/place", "", "", "", "/new/place")),
        (("nothing",), ("nothing",)),
    ],
)
def test_a_text_is_replaced_wherever_its_pieces_stand(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    assert substituted(streamed(*before), {b"/old": b"/new/place"}) == streamed(*after)


def test_the_longest_of_two_texts_is_replaced_and_nothing_twice() -> None:
    texts = {b"/a": b"/x/a", b"/a/b": b"/a"}

    assert substituted(streamed("/a/b and /a"), texts) == streamed("/a and /x/a")


def test_texts_outside_the_known_keys_are_replaced_where_they_are_whole() -> None:
    data = b'{"input": {"path": "/old/x"}}'

    assert substituted(data, {b"/old": b"/n"}) == b'{"input": {"path": "/n/x"}}'
