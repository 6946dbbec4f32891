"""OpenAI's responses, whose conversation is a list of items (pure)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pinchbench.defaults import ProtocolName
from pinchbench.json_values import (
    Object,
    amount_at,
    count_at,
    error_in,
    json_text,
    list_at,
    object_at,
    objects_at,
    piece_at,
    text_at,
)
from pinchbench.transcript_lines import writable
from pinchbench.wire.protocols.call_facts import Message, RequestFacts, Role, ToolCall
from pinchbench.wire.protocols.openai_chat import (
    ROLES,
    SYSTEM_ROLES,
    attachment_of,
    attachments_of,
    read_logprobs,
    read_tool,
    split_system,
    text_of,
)
from pinchbench.wire.protocols.reply_builder import Protocol, ReplyBuilder, usage_of_call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.model.usage import Usage


TEXT_DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})
REASONING_DELTAS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
ARGUMENT_DELTAS = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})
ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
CALLS = frozenset({"function_call", "custom_tool_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


class OpenAIResponses(Protocol):
    """`POST …/responses`. Its stream ends with `response.completed`, `.incomplete` or `.failed`."""

    name = ProtocolName.OPENAI_RESPONSES
    endpoint = re.compile(r"/responses$")

    def read_request(self, path: str, body: Object) -> RequestFacts:
        """Read the body of a request."""
        del path  # the body names the model
        asked = body.get("input")
        if isinstance(asked, str):
            items = [Message(role=Role.USER, text=writable(asked))]
        else:
            items = _merged(_message(item) for item in objects_at(body, "input"))
        system, messages = split_system(items)
        return RequestFacts(
            model=text_at(body, "model"),
            system="\n".join(filter(None, (text_at(body, "instructions"), system))),
            messages=messages,
            # a tool that the provider runs itself has a type and no name
            tools=tuple(
                replace(read_tool(one), name=text_at(one, "name", "type")) for one in objects_at(body, "tools")
            ),
            continues=text_at(body, "previous_response_id"),
        )

    def read_event(self, event: Object, reply: ReplyBuilder) -> None:
        """Read one event of a streamed reply."""
        kind = text_at(event, "type")
        place = event.get("output_index")
        item = object_at(event, "item")
        key = place if isinstance(place, int) else text_at(event, "item_id") or text_at(item, "id")
        if kind in TEXT_DELTAS:
            reply.add_text(piece_at(event, "delta"))
            reply.logprobs += read_logprobs(list_at(event, "logprobs"))
        elif kind in REASONING_DELTAS:
            reply.add_reasoning(piece_at(event, "delta"))
        elif kind in ARGUMENT_DELTAS:
            reply.call(key).update(arguments=piece_at(event, "delta"))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            _read_call(item, key, reply)
        elif kind == "response.created":
            _read_names(object_at(event, "response"), reply)
        elif kind in ENDS:
            self.read_whole(object_at(event, "response"), reply)
            reply.complete = True
        elif kind == "error":
            reply.error = error_in(event) or reply.error

    def read_whole(self, body: Object, reply: ReplyBuilder) -> None:
        """Read a reply that is not streamed, or the summary that ends one, whose parts count if none came before."""
        _read_names(body, reply)
        usage = object_at(body, "usage")
        if usage:
            reply.report_usage(_usage(usage), amount_at(usage, "cost"))
        status = text_at(body, "status")
        reply.stop_reason = text_at(object_at(body, "incomplete_details"), "reason") or status
        reply.error = error_in(body) or reply.error or (status if status in ("failed", "cancelled") else "")
        reply.complete = status not in ("", "in_progress", "queued")
        if reply.is_empty:
            _read_output(objects_at(body, "output"), reply)


def _read_names(response: Object, reply: ReplyBuilder) -> None:
    reply.name(model=text_at(response, "model"), response_id=text_at(response, "id"))


def _read_output(items: list[Object], reply: ReplyBuilder) -> None:
    for place, item in enumerate(items):
        match text_at(item, "type"):
            case "message":
                reply.add_text(text_of(item.get("content")))
                for part in objects_at(item, "content"):
                    reply.logprobs += read_logprobs(list_at(part, "logprobs"))
            case "reasoning":
                reply.add_reasoning(text_of(item.get("summary")) or text_of(item.get("content")))
            case _:
                _read_call(item, place, reply)


def _read_call(item: Object, key: object, reply: ReplyBuilder) -> None:
    if text_at(item, "type") in CALLS:
        call = reply.call(key)
        said = "" if call.arguments else text_at(item, "arguments", "input")
        call.update(call_id=text_at(item, "call_id", "id"), name=text_at(item, "name"), arguments=said)


def _usage(usage: Object) -> Usage:
    details = object_at(usage, "input_tokens_details")
    return usage_of_call(
        prompt=count_at(usage, "input_tokens"),
        output=count_at(usage, "output_tokens"),
        cached=count_at(details, "cached_tokens"),
        written=count_at(details, "cache_write_tokens"),
        total=count_at(usage, "total_tokens"),
    )


def _message(item: Object) -> Message:
    kind, role = text_at(item, "type"), text_at(item, "role")
    if kind in CALLS:
        arguments = json_text(item.get("arguments") or item.get("input"))
        call = ToolCall(id=text_at(item, "call_id", "id"), name=text_at(item, "name"), arguments=arguments)
        return Message(role=Role.ASSISTANT, tool_calls=(call,))
    if kind in RESULTS:
        output = item.get("output")
        return Message(
            role=Role.TOOL,
            text=text_of(output) or ("" if isinstance(output, (str, list)) else json_text(output)),
            call_id=text_at(item, "call_id"),
            attachments=attachments_of(output),
        )
    if kind == "reasoning":
        # The provider's own, encrypted form of the reasoning is different each time, and no part of what was said.
        return Message(role=Role.ASSISTANT, reasoning=text_of(item.get("summary")) or text_of(item.get("content")))
    known = Role.SYSTEM if role in SYSTEM_ROLES else ROLES.get(role)
    if kind in ("message", "") and known:
        content = item.get("content")
        return Message(role=known, text=text_of(content), attachments=attachments_of(content))
    if kind == "item_reference":  # names what the provider keeps, by an id that is different each time
        return Message(role=Role.OTHER, text=kind)
    return Message(role=Role.OTHER, text=json_text(item), attachments=(attachment_of(item),))


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Join the items of one reply, as other protocols have them, into one message."""
    merged: list[Message] = []
    for message in messages:
        before = merged[-1] if merged else None
        if before is None or before.role is not Role.ASSISTANT or message.role is not Role.ASSISTANT:
            merged.append(message)
            continue
        merged[-1] = replace(
            before,
            text="\n".join(filter(None, (before.text, message.text))),
            reasoning="\n".join(filter(None, (before.reasoning, message.reasoning))),
            tool_calls=before.tool_calls + message.tool_calls,
            attachments=before.attachments + message.attachments,
        )
    return merged
