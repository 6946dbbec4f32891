"""Anthropic's messages, whose parts are content blocks (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.defaults import ProtocolName
from pinchbench.json_values import Object, amount_at, count_at, json_text, object_at, objects_at, piece_at, text_at
from pinchbench.model.usage import Usage
from pinchbench.wire.protocols.call_facts import Message, RequestFacts, Role, Tool, ToolCall
from pinchbench.wire.protocols.openai_chat import attachment_of, attachments_of, read_tool, text_of
from pinchbench.wire.protocols.reply_builder import Protocol, ReplyBuilder, usage_of_call

if TYPE_CHECKING:
    from collections.abc import Iterator


USAGE = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
THINKING = frozenset({"thinking", "redacted_thinking"})
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
# Any other stop reason is an error to OpenClaw 2026.9.6.
STOPS = frozenset(
    {
        *("end_turn", "stop_sequence", "max_tokens", "tool_use", "pause_turn", "refusal", "sensitive"),
        *("model_context_window_exceeded", "compaction"),
    }
)


class AnthropicMessages(Protocol):
    """`POST …/messages`. Its stream ends with `message_stop`; input usage comes first and output usage last."""

    name = ProtocolName.ANTHROPIC
    endpoint = re.compile(r"/messages$")

    def read_request(self, path: str, body: Object) -> RequestFacts:
        """Read the body of a request."""
        del path  # the body names the model
        messages = tuple(one for message in objects_at(body, "messages") for one in _messages(message))
        tools = tuple(_tool(one) for one in objects_at(body, "tools"))
        return RequestFacts(
            model=text_at(body, "model"), system=text_of(body.get("system")), messages=messages, tools=tools
        )

    def read_event(self, event: Object, reply: ReplyBuilder) -> None:
        """Read one event of a streamed reply."""
        index = event.get("index")
        match text_at(event, "type"):
            case "message_start":
                message = object_at(event, "message")
                reply.name(model=text_at(message, "model"), response_id=text_at(message, "id"))
                _report_usage(object_at(message, "usage"), reply)
            case "content_block_start":
                _read_block(object_at(event, "content_block"), index, reply, is_start=True)
            case "content_block_delta":
                delta = object_at(event, "delta")
                reply.add_text(piece_at(delta, "text"))
                reply.add_reasoning(piece_at(delta, "thinking"))
                if text_at(delta, "type") == "input_json_delta":
                    reply.call(index).update(arguments=piece_at(delta, "partial_json"))
            case "content_block_stop":
                reply.end_call(index)
            case "message_delta":
                _stop(object_at(event, "delta"), reply)
                _report_usage(object_at(event, "usage"), reply)
            case "message_stop":
                reply.complete = True
            case _:
                pass

    def read_whole(self, body: Object, reply: ReplyBuilder) -> None:
        """Read a reply that is not streamed."""
        reply.name(model=text_at(body, "model"), response_id=text_at(body, "id"))
        _report_usage(object_at(body, "usage"), reply)
        for index, block in enumerate(objects_at(body, "content")):
            _read_block(block, index, reply, is_start=False)
        _stop(body, reply)
        reply.complete = bool(reply.stop_reason)


def _stop(said: Object, reply: ReplyBuilder) -> None:
    reply.stop_reason = text_at(said, "stop_reason") or reply.stop_reason
    if reply.stop_reason and reply.stop_reason not in STOPS:
        reply.error = reply.error or f"stop_reason: {reply.stop_reason}"


def _report_usage(reported: Object, reply: ReplyBuilder) -> None:
    """Take usage over what was reported before: the last event repeats only some of the counts."""
    if not any(amount_at(reported, key) is not None for key in USAGE):
        return
    known = reply.usage or Usage()
    before = (known.input_tokens, known.cache_read_tokens, known.cache_write_tokens, known.output_tokens)
    fresh, read, written, output = (
        count if amount_at(reported, key) is None else count_at(reported, key)
        for key, count in zip(USAGE, before, strict=True)
    )
    prompt = fresh + read + written
    reply.report_usage(usage_of_call(prompt=prompt, output=output, cached=read, written=written))


def _read_block(block: Object, index: object, reply: ReplyBuilder, *, is_start: bool) -> None:
    kind = text_at(block, "type")
    if kind == "text":
        reply.add_text(text_at(block, "text"))
    elif kind == "thinking":
        reply.add_reasoning(text_at(block, "thinking"))
    elif kind in CALLS:
        # At the start of a streamed call the input is an empty object, which is no part of the arguments.
        said = "" if is_start and not block.get("input") else json_text(block.get("input"))
        call = reply.call(index)
        call.update(call_id=text_at(block, "id"), name=text_at(block, "name"), arguments=said)
        call.is_open = is_start
    elif kind and kind not in THINKING:
        reply.attachments.append(attachment_of(block))


def _messages(message: Object) -> Iterator[Message]:
    """Split a message: the results in it come first, each a message of its own, as in the other protocols."""
    role = Role.ASSISTANT if text_at(message, "role") == "assistant" else Role.USER
    content = message.get("content")
    blocks = objects_at(message, "content")
    results = [block for block in blocks if text_at(block, "type") == "tool_result"]
    for block in results:
        yield Message(
            role=Role.TOOL,
            text=text_of(block.get("content")),
            call_id=text_at(block, "tool_use_id"),
            attachments=attachments_of(block.get("content")),
        )
    calls = tuple(
        ToolCall(id=text_at(block, "id"), name=text_at(block, "name"), arguments=json_text(block.get("input")))
        for block in blocks
        if text_at(block, "type") in CALLS
    )
    plain = {"text", "tool_result", *CALLS, *THINKING}
    others = tuple(attachment_of(block) for block in blocks if text_at(block, "type") not in plain)
    whole = Message(
        role=role,
        text=text_of(content),
        reasoning="\n".join(filter(None, (text_at(block, "thinking") for block in blocks))),
        tool_calls=calls,
        attachments=others,
    )
    if not results or whole != Message(role=role):
        yield whole


def _tool(tool: Object) -> Tool:
    named = read_tool(tool, "input_schema")
    return named if named.name else Tool(name=text_at(tool, "type"))
