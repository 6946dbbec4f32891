"""OpenAI's chat completions, which most other providers speak as well, and Ollama's own API (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.defaults import ProtocolName
from pinchbench.json_values import (
    EMPTY,
    Object,
    amount_at,
    canonical,
    count_at,
    digest_of,
    error_in,
    ints_at,
    json_text,
    list_at,
    number_at,
    object_at,
    objects_at,
    parse,
    piece_at,
    text_at,
)
from pinchbench.transcript_lines import writable
from pinchbench.wire.protocols.call_facts import Message, RequestFacts, Role, TokenLogprob, Tool, ToolCall
from pinchbench.wire.protocols.reply_builder import BAD_CALL, CallBuilder, Protocol, ReplyBuilder, usage_of_call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.model.usage import Usage


SYSTEM_ROLES = frozenset({"system", "developer"})
ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "function": Role.TOOL}
REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking")  # each provider has its own name
# Any other finish reason is an error to OpenClaw 2026.9.6, whatever the model said before it.
FINISHES = frozenset({"stop", "end", "length", "tool_calls", "tool_call", "function_call", "content_filter"})


class OpenAIChat(Protocol):
    """`POST …/chat/completions`. Its stream ends with `[DONE]`; usage comes in a chunk after the finish reason."""

    name = ProtocolName.OPENAI_CHAT
    endpoint = re.compile(r"/chat/completions$")
    end_mark = b"[DONE]"

    def read_request(self, path: str, body: Object) -> RequestFacts:
        """Read the body of a request."""
        del path  # the body names the model
        system, messages = split_system(map(_message, objects_at(body, "messages")))
        tools = tuple(read_tool(object_at(one, "function")) for one in objects_at(body, "tools"))
        return RequestFacts(model=text_at(body, "model"), system=system, messages=messages, tools=tools)

    def read_whole(self, body: Object, reply: ReplyBuilder) -> None:
        """Read a reply that is not streamed."""
        self.read_event(body, reply)
        reply.complete = bool(reply.stop_reason)

    def read_event(self, event: Object, reply: ReplyBuilder) -> None:
        """Read one chunk of a streamed reply. A server that leaves out `[DONE]` has ended with its finish reason."""
        reply.name(model=text_at(event, "model"), response_id=text_at(event, "id"))
        reply.prompt_token_ids = ints_at(event, "prompt_token_ids") or reply.prompt_token_ids
        choice = next(iter(objects_at(event, "choices")), EMPTY)  # as OpenClaw does, whatever its index
        usage = object_at(event, "usage") or object_at(choice, "usage")
        if usage:
            reply.report_usage(_usage(usage), amount_at(usage, "cost"))
        said = "message" if choice.get("delta") is None else "delta"
        self._read_choice(choice, object_at(choice, said), reply)

    def _read_choice(self, choice: Object, delta: Object, reply: ReplyBuilder) -> None:
        finish = choice.get("finish_reason")
        reply.stop_reason = (json_text(finish) if finish else "") or reply.stop_reason
        if reply.stop_reason and reply.stop_reason not in FINISHES:
            why = f"finish_reason: {reply.stop_reason} {text_at(choice, 'native_finish_reason')}"
            reply.error = reply.error or error_in(choice) or why.strip()
        content = delta.get("content")
        parts = [content] if isinstance(content, dict) else content
        thoughts = [_part_text(one) for one in objects_at(delta, "reasoning_details")] or _thoughts(parts)
        reply.add_reasoning(piece_at(delta, *REASONING) or "".join(thoughts))
        reply.add_text(content if isinstance(content, str) else text_of(parts))
        reply.add_text(piece_at(delta, "refusal"))
        legacy = object_at(delta, "function_call")
        for call in objects_at(delta, "tool_calls") or ([{"index": 0, "function": legacy}] if legacy else []):
            function = object_at(call, "function")
            index, call_id = call.get("index"), text_at(call, "id")
            name, said = function.get("name"), function.get("arguments")
            built = reply.call(index) if isinstance(index, (int, float)) else reply.call_of(call_id)
            if not isinstance(said, str | None) or (name and _is_another(built, call_id, said or "")):
                reply.error = reply.error or BAD_CALL
            built.update(
                call_id=call_id,
                name=writable(name) if isinstance(name, str) else None,
                arguments=said if isinstance(said, str) else json_text(said),
            )
        reply.token_ids += ints_at(choice, "token_ids")
        reply.logprobs += read_logprobs(list_at(object_at(choice, "logprobs"), "content"))


def _is_another(built: CallBuilder, call_id: str, arguments: str) -> bool:
    """Return whether the first piece of another call has the index of one that is whole, as of many servers."""
    is_new = bool(built.id and call_id and call_id != built.id) or arguments.lstrip().startswith("{")
    return is_new and isinstance(parse("".join(built.arguments).encode("utf-8", "replace")), dict)


class Ollama(OpenAIChat):
    """Ollama's `POST …/api/chat`, whose requests are nearly the same.

    A reply is a JSON object a line, the last with `done` and the counts of tokens.
    """

    name = ProtocolName.OLLAMA
    endpoint = re.compile(r"/api/chat$")
    end_mark = b""

    def read_event(self, event: Object, reply: ReplyBuilder) -> None:
        """Read a line of a reply."""
        reply.name(model=text_at(event, "model"), response_id="")
        message = object_at(event, "message")
        reply.add_reasoning(text_at(message, "thinking"))
        reply.add_text(text_at(message, "content"))
        for call in objects_at(message, "tool_calls"):  # each is whole, and may be without an id
            function = object_at(call, "function")
            reply.call(reply.call_count).update(
                call_id=text_at(call, "id"),
                name=text_at(function, "name"),
                arguments=json_text(function.get("arguments") or {}),
            )
        if event.get("done") is True:
            reply.stop_reason, reply.complete = text_at(event, "done_reason") or "stop", True
            if "eval_count" in event:
                prompt, output = count_at(event, "prompt_eval_count"), count_at(event, "eval_count")
                reply.report_usage(usage_of_call(prompt=prompt, output=output))


def _usage(usage: Object) -> Usage:
    details = object_at(usage, "prompt_tokens_details")
    return usage_of_call(
        prompt=count_at(usage, "prompt_tokens", "input_tokens"),
        output=count_at(usage, "completion_tokens", "output_tokens"),
        cached=count_at(details, "cached_tokens") or count_at(usage, "prompt_cache_hit_tokens"),
        written=count_at(details, "cache_write_tokens") or count_at(usage, "cache_creation_input_tokens"),
        total=count_at(usage, "total_tokens"),
    )


def _message(message: Object) -> Message:
    role = text_at(message, "role")
    calls = tuple(
        ToolCall(
            id=text_at(call, "id"),
            name=text_at(object_at(call, "function"), "name"),
            arguments=json_text(object_at(call, "function").get("arguments")),
        )
        for call in objects_at(message, "tool_calls")
    )
    known = Role.SYSTEM if role in SYSTEM_ROLES else ROLES.get(role)
    return Message(
        role=known or Role.OTHER,
        text=text_of(message.get("content")) if known else json_text(message),
        reasoning=text_at(message, *REASONING),
        tool_calls=calls,
        call_id=text_at(message, "tool_call_id"),
        attachments=attachments_of(message.get("content")),
    )


def split_system(messages: Iterable[Message]) -> tuple[str, tuple[Message, ...]]:
    """Take the system messages from the beginning of a conversation."""
    every = tuple(messages)
    first = next((index for index, one in enumerate(every) if one.role is not Role.SYSTEM), len(every))
    return "\n".join(one.text for one in every[:first]), every[first:]


def read_tool(tool: Object, parameters: str = "parameters") -> Tool:
    """Read a tool whose schema is at this key."""
    return Tool(
        name=text_at(tool, "name"),
        description=text_at(tool, "description"),
        parameters=canonical(json_text(tool.get(parameters))),
    )


def text_of(content: object) -> str:
    """Return the text of a content that is a text or a list of parts, joined by newlines."""
    if isinstance(content, str):
        return writable(content)
    parts = content if isinstance(content, list) else []
    return "\n".join(filter(None, (_part_text(part) for part in parts)))


def _part_text(part: object) -> str:
    return writable(part) if isinstance(part, str) else text_at(part, "text", "refusal")


def _thoughts(content: object) -> list[str]:
    """Return the texts of the parts with which Mistral's models reason."""
    parts = content if isinstance(content, list) else []
    return [text_of(one.get("thinking")) for one in parts if isinstance(one, dict) and one.get("type") == "thinking"]


def attachments_of(content: object) -> tuple[str, ...]:
    """Return kind and digest of each part that has no text."""
    parts = content if isinstance(content, list) else []
    return tuple(attachment_of(part) for part in parts if isinstance(part, dict) and not _part_text(part))


def attachment_of(part: Object) -> str:
    """Return kind and digest of a part, whatever is said of caching it."""
    said = {key: value for key, value in part.items() if key != "cache_control"}
    return f"{text_at(part, 'type')} {digest_of(said)}".strip()


def read_logprobs(tokens: list[object]) -> list[TokenLogprob]:
    """Read tokens with their logarithmic probabilities, leaving out those without one."""
    return [
        TokenLogprob(token=text_at(one, "token"), logprob=logprob)
        for one in tokens
        if (logprob := number_at(one, "logprob")) is not None
    ]
