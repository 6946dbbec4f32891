"""Which protocol a request speaks (pure)."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING

from pinchbench.wire.protocols.anthropic import AnthropicMessages
from pinchbench.wire.protocols.gemini import Gemini
from pinchbench.wire.protocols.json_values import parse
from pinchbench.wire.protocols.openai_chat import OpenAIChat
from pinchbench.wire.protocols.openai_responses import OpenAIResponses

if TYPE_CHECKING:
    from pinchbench.wire.protocols.json_values import Object
    from pinchbench.wire.protocols.reply_builder import ReplyBuilder
    from pinchbench.wire.protocols.values import ProtocolName, RequestFacts


class Protocol(typing.Protocol):
    """Reads what requests and replies say. Nothing raises: what a body does not say is empty.

    Attributes:
        end_mark: the data of the event that ends a stream and is no JSON; empty if there is none.
    """

    name: ProtocolName
    end_mark: bytes

    def read_request(self, path: str, body: Object) -> RequestFacts:
        """Read path and body of a request."""

    def read_event(self, event: Object, reply: ReplyBuilder) -> None:
        """Read one event of a streamed reply."""

    def read_whole(self, body: Object, reply: ReplyBuilder) -> None:
        """Read a reply that is not streamed."""

    def is_ended(self, reply: ReplyBuilder, *, closed_cleanly: bool) -> bool:
        """Return whether a stream whose events are all read is complete without a mark of its end."""


ANTHROPIC = AnthropicMessages()
BY_PATH: tuple[tuple[str, Protocol], ...] = (
    ("/chat/completions", OpenAIChat()),
    ("/responses", OpenAIResponses()),
    ("/messages", ANTHROPIC),
    (":generateContent", Gemini()),
    (":streamGenerateContent", Gemini()),
)


def protocol_of(path: str, body: bytes) -> Protocol | None:
    """Return the protocol of a request; None if none here knows it.

    Args:
        path: The path, whose query and what stands before its last part do not matter.
        body: The body, which decides for clouds that serve Anthropic's models under paths of their own.
    """
    plain = path.partition("?")[0].rstrip("/")
    for end, protocol in BY_PATH:
        if plain.endswith(end):
            return protocol
    if b'"anthropic_version"' in body:
        value = parse(body)
        if isinstance(value, dict) and "anthropic_version" in value and "messages" in value:
            return ANTHROPIC
    return None
