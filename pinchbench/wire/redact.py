"""Exchanges without keys, as they may be kept (pure)."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pinchbench.wire.exchange import Chunk
from pinchbench.wire.protocols.content_encoding import ENCODING, Unreadable, decoded, encoding_of
from pinchbench.wire.protocols.json_values import writable
from pinchbench.wire.streamed_text import occurrences

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinchbench.wire.exchange import Exchange
    from pinchbench.wire.protocols.content_encoding import Headers

MASK = "[key]"
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
    clean = _masked(whole, patterns)
    masked = bytearray(clean)
    for occurrence in occurrences(clean, patterns):
        for start, end in occurrence.places:
            masked[start:end] = b"*" * (end - start)
    if masked == whole:
        return tuple(chunks)
    ends = list(accumulate(len(chunk.data) for chunk in chunks))
    return tuple(
        replace(chunk, data=bytes(masked[end - len(chunk.data) : end])) for chunk, end in zip(chunks, ends, strict=True)
    )
