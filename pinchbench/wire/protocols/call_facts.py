"""The facts of an exchange, in the same words for every protocol."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinchbench.defaults import ProtocolName
    from pinchbench.model.usage import Usage


class Role(StrEnum):
    """Whose message it is. `OTHER` is an item that no protocol here knows; its text is its JSON."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call of a tool. `arguments` is JSON as the model wrote it, which may be invalid or cut."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message of a conversation.

    Attributes:
        text: its text parts, joined by newlines.
        reasoning: what a model said of its reasoning.
        tool_calls: the calls that an assistant asks for.
        call_id: the call whose result a `TOOL` message is.
        attachments: for each other part, such as an image, its kind and a digest.
    """

    role: Role
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool that a request offers. `parameters` is its schema as JSON with sorted keys."""

    name: str
    description: str = ""
    parameters: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestFacts:
    """What a request tells the model.

    Attributes:
        model: the model, as it is requested.
        system: the system prompt, and the system messages with which the conversation begins.
        continues: the id of the reply that the messages follow, if the provider keeps the conversation
            (`previous_response_id`); else they are the whole conversation.
    """

    model: str = ""
    system: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    continues: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenLogprob:
    """A token of a reply and its logarithmic probability; `id` is None where the provider did not give it."""

    token: str
    logprob: float
    id: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyFacts:
    """What a reply says. What it does not say is empty or None.

    Attributes:
        model: the model that answered, as the provider names it.
        response_id: the provider's id of the reply.
        message: the assistant's message so far; None if nothing of one came.
        usage: in OpenClaw's convention, where `input_tokens` excludes cached tokens; None if it was never reported.
        cost_usd: the cost that the provider reported, which is in `usage` too.
        stop_reason: why the model stopped, in the provider's word.
        first_content_s: when the first chunk with text, reasoning or a tool call came, in seconds since the exchange
            began; None if nothing came, or if the reply was not streamed.
        last_content_s: as `first_content_s`, of the last such chunk.
        complete: whether the reply has its protocol's own end.
        error: the text of an error, at most about `errors.MAX_ERROR_CHARS` long.
        token_ids: the ids of the reply's tokens, and `prompt_token_ids` those of the request's, where they were given.
    """

    model: str = ""
    response_id: str = ""
    message: Message | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    stop_reason: str = ""
    first_content_s: float | None = None
    last_content_s: float | None = None
    complete: bool = False
    error: str = ""
    token_ids: tuple[int, ...] = ()
    prompt_token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ExchangeFacts:
    """What an exchange says. `protocol` is None for a request that no protocol here knows."""

    protocol: ProtocolName | None = None
    request: RequestFacts = RequestFacts()
    reply: ReplyFacts = ReplyFacts()
