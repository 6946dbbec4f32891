"""What the tests of the wire share: exchanges of each protocol, as a provider sends them."""

import json
from collections.abc import Iterable, Sequence

from pinchbench.wire.exchange import Chunk, Exchange, ExchangeEnd

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
MESSAGES = "/v1/messages"
GEMINI = "/v1beta/models/gemini-9:streamGenerateContent?alt=sse"
SSE = (("content-type", "text/event-stream"),)


def sse(*values: object, end: str = "") -> bytes:
    """Write values as server-sent events, and then `end` as one that is no JSON."""
    data = [*map(_json, values), *([end.encode()] if end else [])]
    return b"".join(b"data: %s\n\n" % one for one in data)


def _json(value: object) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # an unpaired surrogate, which JSON can only escape
        return json.dumps(value).encode()


def cut(data: bytes, size: int) -> tuple[Chunk, ...]:
    """Cut a reply into chunks of this many bytes, one each tenth of a second."""
    return tuple(
        Chunk(at_s=(index + 1) / 10, data=data[start : start + size])
        for index, start in enumerate(range(0, len(data), size))
    )


def exchange(
    path: str,
    request: object = None,
    reply: bytes | Sequence[Chunk] = b"",
    *,
    number: int = 1,
    turn: int = 0,
    status: int = 200,
    reply_headers: Iterable[tuple[str, str]] = SSE,
    end: ExchangeEnd = ExchangeEnd.COMPLETE,
    began_at: float = 1000.0,
    ended_s: float = 1.0,
) -> Exchange:
    """Build an exchange, of a body as JSON or bytes."""
    body = request if isinstance(request, bytes) else json.dumps(request or {}).encode()
    chunks = (Chunk(at_s=0.1, data=reply),) if isinstance(reply, bytes) else tuple(reply)
    return Exchange(
        number=number,
        began_at=began_at,
        turn=turn,
        provider="mock",
        method="POST",
        path=path,
        request=body,
        status=status,
        reply_headers=tuple(reply_headers),
        chunks=chunks,
        ended_s=ended_s,
        end=end,
    )
