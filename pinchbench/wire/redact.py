"""Exchanges and replies without keys, as they may be kept and passed on, also in streamed texts (pure)."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pinchbench.decoding import decode_json
from pinchbench.redaction import MASK
from pinchbench.transcript_lines import writable
from pinchbench.wire.exchange import Chunk, Exchange
from pinchbench.wire.protocols.encoding import ENCODING, Headers, Unreadable, decoded, encoding_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence


# The keys under which events have the pieces of what a model writes, in all protocols.
PIECES = (
    b"content text delta arguments partial_json thinking reasoning reasoning_content reasoning_text refusal"
).split()
# The text at each of these keys, never matched twice in the same place: the time is linear whatever the input. Looking
# for one literal key at a time is ten times as fast as looking for all of them.
FIELDS = {
    b'"%s"' % name: re.compile(rb'"%s"\s*+:\s*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"' % name, re.DOTALL) for name in PIECES
}


def _occurrences(data: bytes, text: bytes) -> Iterator[list[tuple[int, int]]]:
    """Yield where a text is that a model wrote token by token, as the start and the end of each of its pieces.

    The values of one key, such as `content`, are joined over all events and searched.

    Args:
        data: The body of a reply: JSON, or events with JSON.
        text: What is searched, as JSON writes it. Not an empty one.
    """
    for name, field in FIELDS.items():
        joined = b"".join(field.findall(data)) if name in data else b""
        at = joined.find(text)
        if at < 0:
            continue
        spans = [match.span(1) for match in field.finditer(data)]
        starts = [0, *accumulate(end - start for start, end in spans)]
        while at >= 0:
            yield list(_places(at, at + len(text), spans, starts))
            at = joined.find(text, at + len(text))


def substituted(data: bytes, texts: Mapping[bytes, bytes]) -> bytes:
    """Return the body of a reply with other texts in place of some; of texts that overlap, the longest is replaced.

    Args:
        data: As in `_occurrences`.
        texts: What is replaced, with its replacement, both as JSON writes them.
    """
    edits: dict[tuple[int, int], bytes] = {}
    taken: list[tuple[int, int]] = []
    for text in sorted(filter(None, texts), key=len, reverse=True):
        whole = ([found.span()] for found in re.finditer(re.escape(text), data))
        for places in (*whole, *_occurrences(data, text)):
            if any(start < end_ and start_ < end for start, end in places for start_, end_ in taken):
                continue
            taken.extend(places)
            for index, place in enumerate(places):
                edits[place] = texts[text] if index == 0 else b""
    parts: list[bytes] = []
    at = 0
    for (start, end), text in sorted(edits.items()):
        parts += [data[at:start], text]
        at = end
    return b"".join([*parts, data[at:]])


def _places(start: int, end: int, spans: Sequence[tuple[int, int]], starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the places in the data of a place in the joined texts."""
    index = bisect_right(starts, start) - 1
    while start < end:
        size = min(end, starts[index + 1]) - start
        if size:
            place = spans[index][0] + start - starts[index]
            yield place, place + size
        start += size
        index += 1


# Headers whose value is a key. The scheme before it is kept: it says how OpenClaw logs in.
KEY_HEADER = re.compile(r"^(?:proxy-)?authorization$|^(?:set-)?cookie$|(?:^|[-_])(?:api-?key|key|token|secret)$")
SCHEME = re.compile(r"^(?:Bearer|Basic)\s+", re.IGNORECASE)
KEY_PARAMETER = re.compile(r"(?<=[?&])((?:[\w.-]*[-_.])?(?:key|apikey|token|secret|password))=[^&#]*", re.IGNORECASE)


def redact(exchange: Exchange, secrets: Collection[str], *, clean_bytes: int = 0) -> Exchange:
    """Return an exchange without keys, and with its bodies as they were before `Content-Encoding`.

    The values of headers and query parameters that hold keys become `[key]`. Each secret becomes as many `*` as it has
    bytes, so that sizes and chunks stay as they were; also where chunks, or the texts of events, have only pieces of
    it. A secret within a body whose encoding can not be read is not found.

    Args:
        exchange: The exchange.
        secrets: Keys, in every form in which they may be written. Empty ones are ignored.
        clean_bytes: How many bytes at the beginning of the request's body hold no whole secret, as they are those of
            a request that was redacted before. To search them again took most of the time in long conversations.
    """
    patterns = sorted({secret.encode("utf-8", "replace") for secret in secrets} - {b""}, key=len, reverse=True)
    longest = max(map(len, patterns), default=0)
    request, request_headers = _decoded([Chunk(at_s=0.0, data=exchange.request)], exchange.request_headers)
    chunks, reply_headers = _decoded(exchange.chunks, exchange.reply_headers)

    def masked_text(text: str) -> str:
        return _masked(writable(text).encode(), patterns).decode("utf-8", "replace")

    def masked_headers(headers: Headers) -> Headers:
        return tuple((masked_text(name), masked_text(_masked_value(name, value))) for name, value in headers)

    return replace(
        exchange,
        provider=masked_text(exchange.provider),
        method=masked_text(exchange.method),
        path=masked_text(KEY_PARAMETER.sub(rf"\1={MASK}", exchange.path)),
        request_headers=masked_headers(request_headers),
        request=_masked(b"".join(chunk.data for chunk in request), patterns, start=max(0, clean_bytes - longest + 1)),
        reply_headers=masked_headers(reply_headers),
        chunks=_masked_chunks(chunks, patterns),
        error=masked_text(exchange.error),
        divergence=exchange.divergence
        and replace(
            exchange.divergence,
            summary=masked_text(exchange.divergence.summary),
            details=masked_text(exchange.divergence.details),
        ),
    )


def _decoded(chunks: Sequence[Chunk], headers: Headers) -> tuple[Sequence[Chunk], Headers]:
    encoding = encoding_of(headers)
    if not encoding:
        return chunks, headers
    try:
        plain = decoded(chunks, encoding)
    except Unreadable:
        return chunks, headers
    return plain, tuple(one for one in headers if one[0].lower() not in (ENCODING, "content-length"))


def _masked_value(name: str, value: str) -> str:
    if not KEY_HEADER.search(name.lower()):
        return value
    scheme = SCHEME.match(value)
    return f"{scheme[0] if scheme else ''}{MASK}"


def _masked(data: bytes, patterns: Sequence[bytes], *, start: int = 0) -> bytes:
    """Mask each pattern that begins at `start` or after."""
    for pattern in patterns:
        if data.find(pattern, start) >= 0:
            data = data[:start] + data[start:].replace(pattern, b"*" * len(pattern))
    return data


def _masked_chunks(chunks: Sequence[Chunk], patterns: Sequence[bytes]) -> tuple[Chunk, ...]:
    whole = b"".join(chunk.data for chunk in chunks)
    masked = _masked_pieces(_masked(whole, patterns), partial(_masked, patterns=patterns))
    return tuple(chunks) if masked == whole else _with_data(chunks, masked)


def _with_data(chunks: Sequence[Chunk], whole: bytes) -> tuple[Chunk, ...]:
    ends = list(accumulate(len(chunk.data) for chunk in chunks))
    return tuple(
        replace(chunk, data=whole[end - len(chunk.data) : end]) for chunk, end in zip(chunks, ends, strict=True)
    )


def masked_exchange(exchange: Exchange, mask: Callable[[bytes], bytes]) -> Exchange:
    """Return an exchange of a recording with its texts as `mask` returns them: as many bytes as it is given.

    What a model wrote token by token is masked both as it stands and joined.
    """
    chunks = tuple(exchange.chunks)
    fields = msgspec.json.encode(replace(exchange, request=b"", chunks=()))
    plain = decode_json(mask(fields), type(exchange))
    reply = _masked_pieces(mask(b"".join(chunk.data for chunk in chunks)), mask)
    return replace(plain, request=mask(exchange.request), chunks=_with_data(chunks, reply))


def _masked_pieces(data: bytes, mask: Callable[[bytes], bytes]) -> bytes:
    """Mask what a model wrote token by token; `mask` returns as many bytes as it is given."""
    for name, field in FIELDS.items():
        joined = b"".join(field.findall(data)) if name in data else b""
        if (clean := mask(joined)) != joined:  # seldom
            masked, at = bytearray(data), 0
            for match in field.finditer(data):
                start, end = match.span(1)
                masked[start:end] = clean[at : at + end - start]
                at += end - start
            data = bytes(masked)
    return data


def masked(data: bytes, secret: bytes) -> bytes:
    """Return data in which a secret, if there is one, is as many `*` as it has bytes."""
    return data.replace(secret, b"*" * len(secret)) if secret else data


class Masking:
    """Masks a secret in a stream. The end of a piece is held back while it may be the beginning of the secret."""

    def __init__(self, secret: bytes) -> None:
        """Take the secret, which is not empty."""
        self._secret = secret
        self._held = b""

    def feed(self, piece: bytes, *, is_last: bool) -> bytes:
        """Take the next piece; return what can be passed on."""
        data = masked(self._held + piece if self._held else piece, self._secret)
        self._held = b""
        if is_last:
            return data
        at = data.find(self._secret[:1], max(0, len(data) - len(self._secret) + 1))
        while at >= 0:
            if self._secret.startswith(data[at:]):
                self._held = data[at:]
                return data[:at]
            at = data.find(self._secret[:1], at + 1)
        return data
