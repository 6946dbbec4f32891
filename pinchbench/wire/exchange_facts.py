"""What an exchange says, whatever its protocol (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from operator import attrgetter
from typing import TYPE_CHECKING

from pinchbench.defaults import ProtocolName
from pinchbench.json_values import EMPTY, error_in, error_text, parse
from pinchbench.wire.exchange import Chunk, Exchange, ExchangeEnd
from pinchbench.wire.protocols.anthropic import AnthropicMessages
from pinchbench.wire.protocols.call_facts import ExchangeFacts, ReplyFacts, RequestFacts
from pinchbench.wire.protocols.encoding import Headers, Unreadable, decoded, encoding_of, events, json_lines
from pinchbench.wire.protocols.gemini import Gemini
from pinchbench.wire.protocols.openai_chat import Ollama, OpenAIChat
from pinchbench.wire.protocols.openai_responses import OpenAIResponses
from pinchbench.wire.protocols.reply_builder import Protocol, ReplyBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


ANTHROPIC = AnthropicMessages()
PROTOCOLS: tuple[Protocol, ...] = (OpenAIChat(), OpenAIResponses(), ANTHROPIC, Ollama(), Gemini())


def protocol_of(path: str, body: bytes) -> Protocol | None:
    """Return the protocol of a request; None if none here knows it.

    Args:
        path: The path, whose query and what stands before its last part do not matter.
        body: The body, which decides for clouds that serve Anthropic's models under paths of their own.
    """
    plain = path.partition("?")[0].rstrip("/")
    for protocol in PROTOCOLS:
        if protocol.endpoint.search(plain):
            return protocol
    if b'"anthropic_version"' in body:
        value = parse(body)
        if isinstance(value, dict) and "anthropic_version" in value and "messages" in value:
            return ANTHROPIC
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadExchange:
    """An exchange and what it says."""

    exchange: Exchange
    facts: ExchangeFacts

    @property
    def error(self) -> str:
        """The provider's or the connection's message about a failed call; empty if a stream just ended early."""
        has_left = self.exchange.end is ExchangeEnd.CLIENT_LEFT
        return self.facts.reply.error or ("" if has_left else self.exchange.error)


def read_each(exchanges: Iterable[Exchange]) -> Iterator[ReadExchange]:
    """Read exchanges one by one."""
    return (ReadExchange(exchange=one, facts=facts_of(one)) for one in exchanges)


def read_all(exchanges: Iterable[Exchange]) -> list[ReadExchange]:
    """Read exchanges, and return them in the order of their numbers."""
    return [*read_each(sorted(exchanges, key=attrgetter("number")))]


JSON_STARTS = (b"{", b"[")
SSE_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":", b"\xef\xbb\xbf")
SNIFFED_BYTES = 4096


def facts_of(exchange: Exchange) -> ExchangeFacts:
    """Return what an exchange says. Never raises: of a damaged body it returns what can be read."""
    body = request_body(exchange.request, exchange.request_headers)
    protocol = protocol_of(exchange.path, body)
    return ExchangeFacts(
        protocol=protocol.name if protocol is not None else None,
        request=_read_request(protocol, exchange.path, body),
        reply=_read_reply(protocol, exchange),
    )


def request_facts(path: str, body: bytes) -> RequestFacts:
    """Return what a request asks for, given its path and its body without `Content-Encoding`."""
    return _read_request(protocol_of(path, body), path, body)


def request_body(body: bytes, headers: Headers) -> bytes:
    """Return the body of a request without its `Content-Encoding`; unchanged if that can not be read."""
    try:
        return b"".join(chunk.data for chunk in decoded([Chunk(at_s=0.0, data=body)], encoding_of(headers)))
    except Unreadable:
        return body


def is_success(exchange: Exchange) -> bool:
    """Return whether the provider accepted the request."""
    return HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES


def _read_request(protocol: Protocol | None, path: str, body: bytes) -> RequestFacts:
    if protocol is None:
        return RequestFacts()
    value = parse(body)
    return protocol.read_request(path, value if isinstance(value, dict) else EMPTY)


def _read_reply(protocol: Protocol | None, exchange: Exchange) -> ReplyFacts:
    if not exchange.status:
        return ReplyFacts(error=exchange.error or "no reply")
    try:
        chunks = decoded(exchange.chunks, encoding_of(exchange.reply_headers))
    except Unreadable as problem:
        return ReplyFacts(error=f"status {exchange.status}. {problem}")
    if not is_success(exchange):
        return ReplyFacts(error=error_text(b"".join(chunk.data for chunk in chunks), exchange.status))
    if protocol is None:
        return ReplyFacts(complete=exchange.end is ExchangeEnd.COMPLETE)
    reply = ReplyBuilder()
    is_whole = exchange.end is ExchangeEnd.COMPLETE
    is_stream = protocol.name is ProtocolName.OLLAMA or _is_stream(exchange.reply_headers, chunks)
    if is_stream:
        last = _read_stream(protocol, chunks, reply, is_whole=is_whole)
    else:
        last = b"".join(chunk.data for chunk in chunks)
        _read_whole(protocol, last, reply)
    if last and is_whole and reply.is_empty and not (reply.complete or reply.error):
        reply.error = error_text(last, exchange.status)  # a page of a proxy, or an error in a form of its own
    if reply.complete:
        reply.error = reply.error or _unfit(protocol, exchange, b"" if is_stream else last)
    return reply.facts()


def _read_whole(protocol: Protocol, body: bytes, reply: ReplyBuilder) -> None:
    value = parse(body)
    # Gemini streams a list of chunks where it is not asked for events.
    for part in value if isinstance(value, list) and protocol.name is ProtocolName.GEMINI else [value]:
        if isinstance(part, dict):
            reply.error = error_in(part) or reply.error
            protocol.read_whole(part, reply)


STREAMED = re.compile(rb'"stream": ?true')
SDK_PROTOCOLS = (ProtocolName.OPENAI_CHAT, ProtocolName.OPENAI_RESPONSES)


MAX_HEADER_BYTES = 16 * 1024  # of a reply, for Node.js


def _unfit(protocol: Protocol, exchange: Exchange, body: bytes) -> str:
    """Return why OpenClaw 2026.9.6 can't use a whole reply; empty if it can.

    `body` is what came instead of a stream. OpenClaw makes an event of its first line alone.
    """
    headers = exchange.reply_headers
    if sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
        return "the headers are too large for Node.js"
    if protocol.name not in SDK_PROTOCOLS or not STREAMED.search(exchange.request):
        return ""
    kind = ",".join(value for name, value in headers if name.lower() == "content-type").lower()
    if kind and "event-stream" not in kind and "json" not in kind:
        return f"the type of the reply is {kind}, not text/event-stream"
    return NO_JSON if b"\n" in body.strip() else ""


NO_JSON = "an event of the stream is no JSON"  # OpenClaw 2026.9.6 gives such a stream up
NOTHING = "the stream holds nothing of a reply, nor why it ended"


def _read_stream(protocol: Protocol, chunks: Sequence[Chunk], reply: ReplyBuilder, *, is_whole: bool) -> bytes:
    """Read the events of a stream up to the mark of its end, and return the last one."""
    data, is_broken = b"", False
    for event in json_lines(chunks) if protocol.name is ProtocolName.OLLAMA else events(chunks):
        reply.error = reply.error or (NO_JSON if is_broken else "")
        if protocol.end_mark and event.data.startswith(protocol.end_mark):
            reply.complete = not reply.is_empty or bool(reply.stop_reason)
            if not reply.complete:
                reply.error = reply.error or (error_text(data, HTTPStatus.OK) if data else NOTHING)
            return data
        reply.at_s, data = event.at_s, event.data
        value = parse(data)
        # proxies end streams of other protocols with the mark of chat completions, too; Google's reader fails then
        is_mark = data == OpenAIChat.end_mark and protocol.name is not ProtocolName.GEMINI
        is_broken = value is None and not is_mark and data.strip() not in (b"", b"null")
        if isinstance(value, dict):
            reply.error = error_in(value) or reply.error
            protocol.read_event(value, reply)
    reply.error = reply.error or (NO_JSON if is_broken and is_whole else "")  # else it was cut
    reply.complete = reply.complete or (is_whole and bool(reply.stop_reason))  # some servers never send the mark
    return data


def _is_stream(headers: Headers, chunks: Sequence[Chunk]) -> bool:
    """Return whether a reply is events; its beginning decides, as some servers send a wrong content type."""
    start, size = [], 0
    for chunk in chunks:
        start.append(chunk.data[:SNIFFED_BYTES])
        size += len(chunk.data)
        if size >= SNIFFED_BYTES:
            break
    begin = b"".join(start).lstrip()
    if begin.startswith(JSON_STARTS):
        return False
    declared = any(name.lower() == "content-type" and "event-stream" in value for name, value in headers)
    return declared or begin.startswith(SSE_STARTS)
