"""Exchanges that are kept hold no keys, wherever those were."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pinchbench.wire.exchange import Chunk
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.redact import Masking, masked_exchange, redact, substituted
from wire.exchanges import CHAT, GEMINI, MESSAGES, cut, exchange, sse

SECRET = "sk-live-0123456789abcdef"
STARS = "*" * len(SECRET)


@pytest.mark.parametrize(
    ("name", "value", "masked"),
    [
        ("authorization", "Bearer anything", "Bearer [key]"),
        ("Authorization", "anything", "[key]"),
        ("x-api-key", "anything", "[key]"),
        ("x-goog-api-key", "anything", "[key]"),
        ("api-key", "anything", "[key]"),
        ("cookie", "a=b", "[key]"),
        ("x-auth-token", "anything", "[key]"),
        ("x-other", f"a {SECRET} b", f"a {STARS} b"),
        ("content-type", "application/json", "application/json"),
        ("max-tokens", "5", "5"),
    ],
)
def test_headers_that_hold_keys_are_masked(name: str, value: str, masked: str) -> None:
    whole = replace(exchange(CHAT), request_headers=((name, value),), reply_headers=((name, value),))

    clean = redact(whole, [SECRET])

    assert clean.request_headers == clean.reply_headers == ((name, masked),)
    assert redact(clean, [SECRET]) == clean


@pytest.mark.parametrize(
    ("path", "masked"),
    [
        (f"{GEMINI}&key=AIza-x", f"{GEMINI}&key=[key]"),
        ("/v1?api_key=a&b=c", "/v1?api_key=[key]&b=c"),
        ("/v1?access_token=a#f", "/v1?access_token=[key]#f"),
        (f"/{SECRET}/v1?monkey=1", f"/{STARS}/v1?monkey=1"),
    ],
)
def test_keys_in_paths_are_masked(path: str, masked: str) -> None:
    assert redact(exchange(path), [SECRET]).path == masked


def test_a_secret_in_a_request_is_masked_and_the_body_keeps_its_size() -> None:
    body = json.dumps({"messages": [{"role": "user", "content": f"use {SECRET}!"}]}).encode()

    clean = redact(exchange(CHAT, body), ["", SECRET])

    assert clean.request == body.replace(SECRET.encode(), STARS.encode())


@given(size=st.integers(1, 200))
def test_a_secret_that_chunks_split_is_masked(size: int) -> None:
    reply = sse({"choices": [{"delta": {"content": f"it is {SECRET}, or {SECRET}"}}]}, end="[DONE]")
    chunks = cut(reply, size)

    clean = redact(exchange(CHAT, {}, chunks), [SECRET])

    assert clean.reply == reply.replace(SECRET.encode(), STARS.encode())
    assert [(len(one.data), one.at_s) for one in clean.chunks] == [(len(one.data), one.at_s) for one in chunks]


@given(size=st.integers(1, 9), chunk=st.integers(1, 300))
def test_a_secret_that_a_model_writes_piece_by_piece_is_masked(size: int, chunk: int) -> None:
    text = f'a "{SECRET}" b'
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    chat = sse(*({"choices": [{"delta": {"content": piece}}]} for piece in pieces))
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    messages = sse(*({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas))

    one = facts_of(redact(exchange(CHAT, {}, cut(chat, chunk)), [SECRET])).reply.message
    other = facts_of(redact(exchange(MESSAGES, {}, cut(messages, chunk)), [SECRET])).reply.message

    assert one is not None
    assert other is not None
    assert one.text == other.tool_calls[0].arguments == f'a "{STARS}" b'


def test_a_secret_in_a_compressed_reply_is_masked() -> None:
    reply = json.dumps({"error": {"message": f"bad key {SECRET}"}}).encode()
    headers = (("content-encoding", "gzip"), ("content-length", "9"), ("retry-after", "3"))
    whole = exchange(CHAT, {}, cut(gzip.compress(reply), 7), status=401, reply_headers=headers)

    clean = redact(whole, [SECRET])

    assert clean.reply == reply.replace(SECRET.encode(), STARS.encode())
    assert clean.reply_headers == (("retry-after", "3"),)
    assert facts_of(clean).reply.error == f"bad key {STARS}"


def test_a_secret_of_another_form_and_a_longer_one_that_begins_alike_are_masked_whole() -> None:
    clean = redact(exchange(CHAT, b"abcdefgh-1 abcdefgh ABC"), ["abcdefgh", "abcdefgh-1", "ABC"])

    assert clean.request == b"********** ******** ***"


@pytest.mark.parametrize("start", [b'"text":"', b'"text":"\\', b'"text', b'"text"   :', b'"text":"' + b"\\" * 10_000])
def test_hostile_replies_are_searched_in_linear_time(start: bytes) -> None:
    chunk = Chunk(at_s=0.0, data=start * (3_000_000 // len(start)))

    redact(exchange(CHAT, {}, (chunk,)), [SECRET])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_a_stream_is_masked_whatever_its_pieces_and_nothing_else_is_held_back(size: int) -> None:
    stream, masking = b"s-key s-kes-key s-ke\n", Masking(b"s-key")
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    passed = [masking.feed(piece, is_last=False) for piece in pieces]
    assert b"".join(passed) + masking.feed(b"", is_last=True) == b"***** s-ke***** s-ke\n"
    assert b"".join(passed).endswith(b"\n")


def streamed(*texts: str) -> bytes:
    return sse(*({"delta": {"content": text}} for text in texts))


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


def test_texts_outside_the_known_keys_are_replaced_where_they_are_whole() -> None:
    data = b'{"input": {"path": "/old/x"}}'

    assert substituted(data, {b"/old": b"/n"}) == b'{"input": {"path": "/n/x"}}'


@given(size=st.integers(1, 9), chunk=st.integers(1, 300))
def test_a_recorded_exchange_is_masked_in_all_its_texts_and_keeps_its_sizes(size: int, chunk: int) -> None:
    pieces = [SECRET[start : start + size] for start in range(0, len(SECRET), size)]
    reply = sse(*({"choices": [{"delta": {"content": piece}}]} for piece in pieces))
    whole = exchange(f"{CHAT}?user={SECRET}", {"say": SECRET}, cut(reply, chunk), reply_headers=(("x", SECRET),))

    clean = masked_exchange(whole, lambda data: data.replace(SECRET.encode(), STARS.encode()))

    assert (clean.path, clean.reply_headers) == (f"{CHAT}?user={STARS}", (("x", STARS),))
    assert SECRET.encode() not in clean.request
    assert [len(one.data) for one in clean.chunks] == [len(one.data) for one in whole.chunks]
    message = facts_of(exchange(CHAT, {}, clean.chunks)).reply.message
    assert message is not None
    assert message.text == STARS
