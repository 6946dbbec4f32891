"""Ollama's own API, whose requests are nearly those of chat completions (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.json_values import count_at, json_text, object_at, objects_at, text_at
from pinchbench.wire.protocols.call_facts import ProtocolName
from pinchbench.wire.protocols.openai_chat import OpenAIChat
from pinchbench.wire.protocols.reply_builder import usage_of_call

if TYPE_CHECKING:
    from pinchbench.json_values import Object
    from pinchbench.wire.protocols.reply_builder import ReplyBuilder


class Ollama(OpenAIChat):
    """`POST …/api/chat`. A reply is a JSON object a line, the last with `done` and the counts of tokens."""

    name = ProtocolName.OLLAMA
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
