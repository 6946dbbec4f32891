"""Where a request goes, and which key it gets (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from pinchbench.decoding import decode_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Header = tuple[bytes, bytes]

KEY_HEADERS = frozenset({b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key"})
# RFC 9110, 7.6.1, and what older clients send; `transfer-encoding` stays, because bodies keep their framing.
HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer upgrade".split()
)
ACCEPTED = frozenset(b"identity gzip x-gzip deflate".split())  # what `protocols/encoding.py` reads
ROUTE = re.compile(r"/s/([^/?]+)(.*)", re.DOTALL)


def parse_route(target: str) -> tuple[str, str]:
    """Return the token and the rest of a request's target; no token if it is not an address of a slot.

    The rest includes the query, and begins with `/` unless there is no path left.
    """
    found = ROUTE.fullmatch(target)
    return (found[1], found[2]) if found else ("", target)


def slot_path(token: str) -> str:
    """Return the path of the provider's base URL for a slot."""
    return f"/s/{token}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a provider is. `path` has no `/` at its end."""

    host: str
    port: int
    tls: bool
    path: str

    @classmethod
    def parse(cls, base_url: str) -> Origin:
        """Parse a base URL. Raises ValueError if it is not one of HTTP."""
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{base_url} is not a URL of HTTP")
        tls = parts.scheme == "https"
        return cls(host=parts.hostname, port=parts.port or (443 if tls else 80), tls=tls, path=parts.path.rstrip("/"))

    @property
    def url(self) -> str:
        """It without a path."""
        return f"http{'s' if self.tls else ''}://{self.authority}"

    @property
    def authority(self) -> str:
        """The value of the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def with_model(body: bytes, model: str) -> bytes:
    """Return a JSON body that asks for another model; the same body if it names none."""
    try:
        request = decode_json(body)
    except (msgspec.DecodeError, ValueError):
        return body
    if not isinstance(request, dict) or "model" not in request:
        return body
    return msgspec.json.encode({**request, "model": model})


def request_headers(headers: Iterable[Header], *, origin: Origin, token: str, key: str) -> list[Header]:
    """Return the headers for the provider: its host, and its key where the client sent the slot's token.

    An encoding of the reply that can't be read here is not asked for; Node.js asks for some over TLS.
    """
    passed = end_to_end(headers, also=frozenset({b"expect"}))
    return [(name, _header_value(name.lower(), value, origin, token=token, key=key)) for name, value in passed]


def end_to_end(headers: Iterable[Header], *, also: frozenset[bytes] = frozenset()) -> list[Header]:
    """Return the headers that are passed on, in their order. `also` are names that are not."""
    pairs = list(headers)
    named = {
        word.strip().lower() for name, value in pairs if name.lower() == b"connection" for word in value.split(b",")
    }
    excluded = HOP_BY_HOP | also | (named - {b"transfer-encoding", b"content-length", b"host"})
    if any(name.lower() == b"transfer-encoding" for name, _ in pairs):
        excluded |= {b"content-length"}  # RFC 9112, 6.3: it does not count, and Node.js refuses both
    return [(name, value) for name, value in pairs if name.lower() not in excluded]


def _header_value(name: bytes, value: bytes, origin: Origin, *, token: str, key: str) -> bytes:
    if name == b"host":
        return origin.authority.encode()
    if name == b"accept-encoding":
        named = (one.strip() for one in value.split(b","))
        return b", ".join(one for one in named if one.partition(b";")[0].lower() in ACCEPTED) or b"identity"
    if name in KEY_HEADERS:
        scheme, space, sent = value.rpartition(b" ")
        if sent == token.encode():
            return scheme + space + key.encode()
    return value


def recorded_headers(headers: Iterable[Header]) -> tuple[tuple[str, str], ...]:
    """Return headers for the recording, which masks the keys in them."""
    return tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers)


ERROR_TYPES = {HTTPStatus.FORBIDDEN: "permission", HTTPStatus.NOT_FOUND: "not_found"}


def error_response(status: HTTPStatus, reason: str) -> bytes:
    """Return a response of the wire's own, as clients of OpenAI, Anthropic and Gemini understand it."""
    kind = ERROR_TYPES.get(status, "invalid_request")
    error = {"type": f"{kind}_error", "code": kind, "status": kind.upper(), "message": reason}
    body = msgspec.json.encode({"type": "error", "error": error})
    size = str(len(body)).encode()
    headers = [(b"Content-Type", b"application/json"), (b"Content-Length", size), (b"Connection", b"close")]
    return response_head(status, status.phrase.encode(), headers) + body


def response_head(status: int, reason: bytes, headers: Sequence[Header]) -> bytes:
    """Return the status line and the headers of a response as bytes."""
    lines = [b"HTTP/1.1 %d %s" % (status, reason), *(name + b": " + value for name, value in headers), b"", b""]
    return b"\r\n".join(lines)
