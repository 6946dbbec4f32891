"""Ollama's own API: what requests and replies say."""

import json

from pinchbench.defaults import ProtocolName
from pinchbench.model.usage import Usage
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.protocols.call_facts import Message, Role, Tool, ToolCall
from wire.exchanges import cut, exchange

PATH = "/api/chat"
NDJSON = (("content-type", "application/x-ndjson"),)
REQUEST = {
    "model": "qwen3",
    "messages": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "read", "arguments": {"p": 1}}}]},
        {"role": "tool", "content": "text", "tool_call_id": "ollama_call_1", "tool_name": "read"},
    ],
    "tools": [{"type": "function", "function": {"name": "read", "description": "Read", "parameters": {}}}],
}
LINES = (
    {"model": "qwen3", "message": {"role": "assistant", "content": "", "thinking": "think"}, "done": False},
    {"model": "qwen3", "message": {"content": "Grüße\u2028"}, "done": False},
    {"message": {"content": "", "tool_calls": [{"function": {"name": "exec", "arguments": {"a": 1}}}]}, "done": False},
    {"message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 30, "eval_count": 6},
)
BODY = b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in LINES)


def test_a_request_is_read_with_its_tools() -> None:
    facts = facts_of(exchange(PATH, REQUEST, reply_headers=NDJSON))

    said = facts.request
    assert (facts.protocol, facts.request.model, said.system) == (ProtocolName.OLLAMA, "qwen3", "be kind")
    assert said.tools == (Tool(name="read", description="Read", parameters="{}"),)
    _, assistant, tool = said.messages
    assert assistant.tool_calls == (ToolCall(name="read", arguments='{"p":1}'),)
    assert (tool.role, tool.text, tool.call_id) == (Role.TOOL, "text", "ollama_call_1")


def test_a_reply_is_read_line_by_line_wherever_its_chunks_end() -> None:
    for size in (1, 3, len(BODY)):
        reply = facts_of(exchange(PATH, REQUEST, cut(BODY, size), reply_headers=NDJSON)).reply

        assert reply.message == Message(
            role=Role.ASSISTANT,
            text="Grüße\u2028",
            reasoning="think",
            tool_calls=(ToolCall(name="exec", arguments='{"a":1}'),),
        )
        assert reply.usage == Usage(requests=1, input_tokens=30, output_tokens=6, total_tokens=36)
        assert (reply.model, reply.stop_reason, reply.complete) == ("qwen3", "stop", True)


def test_a_reply_that_was_cut_is_not_complete_and_an_error_is_named() -> None:
    cut_off = facts_of(exchange(PATH, REQUEST, BODY.partition(b'{"message": {"content": ""}, "done": true')[0])).reply
    assert (cut_off.complete, cut_off.usage) == (False, None)

    failed = facts_of(exchange(PATH, REQUEST, b'{"error": "model runner has stopped"}\n')).reply
    assert (failed.complete, failed.error) == (False, "model runner has stopped")
