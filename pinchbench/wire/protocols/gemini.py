"""Google's Gemini, whose path names the model (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pinchbench.defaults import ProtocolName
from pinchbench.json_values import (
    EMPTY,
    Object,
    count_at,
    json_text,
    list_at,
    number_at,
    object_at,
    objects_at,
    piece_at,
    text_at,
)
from pinchbench.wire.protocols.call_facts import Message, RequestFacts, Role, TokenLogprob, Tool, ToolCall
from pinchbench.wire.protocols.openai_chat import attachment_of, read_tool
from pinchbench.wire.protocols.reply_builder import Protocol, ReplyBuilder, usage_of_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinchbench.model.usage import Usage


MODEL = re.compile(r"/models/([^/:?]+)(?::|$)")


class Gemini(Protocol):
    """`POST …/models/MODEL:streamGenerateContent`. Its stream has no mark of its end but the finish reason."""

    name = ProtocolName.GEMINI
    endpoint = re.compile(r"/models/[^/]+:(?:g|streamG)enerateContent$")

    def read_request(self, path: str, body: Object) -> RequestFacts:
        """Read path and body of a request."""
        named = MODEL.search(path)
        # both spellings are accepted, as in all of Google's JSON
        system = object_at(body, "systemInstruction") or object_at(body, "system_instruction")
        tools = tuple(tool for group in objects_at(body, "tools") for tool in _tools(group))
        return RequestFacts(
            model=unquote(named[1]) if named else "",
            system=_text(objects_at(system, "parts")),
            messages=tuple(one for content in objects_at(body, "contents") for one in _messages(content)),
            tools=tools,
        )

    def read_whole(self, body: Object, reply: ReplyBuilder) -> None:
        """Read a reply, or one chunk of it: they have the same form."""
        reply.name(model=text_at(body, "modelVersion"), response_id=text_at(body, "responseId"))
        usage = object_at(body, "usageMetadata")
        if usage:
            reply.report_usage(_usage(usage))
        candidate = next(iter(objects_at(body, "candidates")), EMPTY)
        for part in objects_at(object_at(candidate, "content"), "parts"):
            _read_part(part, reply)
        feedback = object_at(body, "promptFeedback")
        refused = text_at(feedback, "blockReason") or ("PROMPT_BLOCKED" if not candidate and feedback else "")
        reply.stop_reason = text_at(candidate, "finishReason") or refused or reply.stop_reason
        reply.complete = bool(reply.stop_reason)
        for token in objects_at(object_at(candidate, "logprobsResult"), "chosenCandidates"):
            _read_token(token, reply)


def _read_part(part: Object, reply: ReplyBuilder) -> None:
    text = piece_at(part, "text")
    call = object_at(part, "functionCall")
    if call:
        reply.call(reply.call_count).update(
            call_id=text_at(call, "id"), name=text_at(call, "name"), arguments=json_text(call.get("args") or {})
        )
    elif part.get("thought") is True:
        reply.add_reasoning(text)
    elif text:
        reply.add_text(text)
    elif set(part) - {"text", "thoughtSignature"}:
        reply.attachments.append(_attachment(part))


def _read_token(token: Object, reply: ReplyBuilder) -> None:
    logprob, token_id = number_at(token, "logProbability"), token.get("tokenId")
    number = token_id if type(token_id) is int else None
    if logprob is not None:
        reply.logprobs.append(TokenLogprob(token=text_at(token, "token"), logprob=logprob, id=number))
    if number is not None:
        reply.token_ids.append(number)


def _usage(usage: Object) -> Usage:
    return usage_of_call(
        prompt=count_at(usage, "promptTokenCount") + count_at(usage, "toolUsePromptTokenCount"),
        output=count_at(usage, "candidatesTokenCount") + count_at(usage, "thoughtsTokenCount"),
        cached=count_at(usage, "cachedContentTokenCount"),
        total=count_at(usage, "totalTokenCount"),
    )


def _messages(content: Object) -> Iterator[Message]:
    """Split a content: the results in it come first, each a message of its own, as in the other protocols."""
    role = Role.ASSISTANT if text_at(content, "role") == "model" else Role.USER
    parts = objects_at(content, "parts")
    results = [found for part in parts if (found := object_at(part, "functionResponse"))]
    for result in results:
        # Without ids a result belongs to the call of its name.
        call_id = text_at(result, "id") or text_at(result, "name")
        yield Message(role=Role.TOOL, text=json_text(result.get("response")), call_id=call_id)
    calls = tuple(
        ToolCall(
            id=text_at(call, "id") or text_at(call, "name"),
            name=text_at(call, "name"),
            arguments=json_text(call.get("args") or {}),
        )
        for part in parts
        if (call := object_at(part, "functionCall"))
    )
    known = {"text", "thought", "thoughtSignature", "functionCall", "functionResponse"}
    whole = Message(
        role=role,
        text=_text([part for part in parts if part.get("thought") is not True]),
        reasoning=_text([part for part in parts if part.get("thought") is True]),
        tool_calls=calls,
        attachments=tuple(_attachment(part) for part in parts if set(part) - known),
    )
    if not results or whole != Message(role=role):
        yield whole


def _text(parts: Sequence[Object]) -> str:
    return "\n".join(filter(None, (text_at(part, "text") for part in parts)))


def _attachment(part: Object) -> str:
    kind = next((key for key in part if key not in ("thought", "thoughtSignature")), "")
    return f"{kind} {attachment_of(part)}".strip()


def _tools(group: Object) -> Iterator[Tool]:
    declared = list_at(group, "functionDeclarations") or list_at(group, "function_declarations")
    for one in declared:
        if isinstance(one, dict):
            yield read_tool(one, "parametersJsonSchema" if "parametersJsonSchema" in one else "parameters")
    if not declared:  # what the provider runs itself, such as a search
        yield from (Tool(name=str(name)) for name in group)
