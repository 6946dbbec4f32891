"""Google's Gemini: what requests and replies say."""

import json

from pinchbench.defaults import ProtocolName
from pinchbench.model.usage import Usage
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.protocols.call_facts import Message, Role, TokenLogprob, Tool, ToolCall
from wire.exchanges import GEMINI, cut, exchange, sse

REQUEST = {
    "systemInstruction": {"parts": [{"text": "be kind"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "aa"}}]},
        {
            "role": "model",
            "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "read", "args": {"p": 1}}}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "text"}}}]},
    ],
    "tools": [
        {"functionDeclarations": [{"name": "read", "description": "Read", "parameters": {}}]},
        {"googleSearch": {}},
    ],
}
CHUNKS = (
    {"candidates": [{"content": {"parts": [{"text": "think", "thought": True}]}}], "modelVersion": "gemini-9-001"},
    {"candidates": [{"content": {"parts": [{"text": "Grü"}]}}], "responseId": "r1"},
    {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {"text": "ße"},
                        {"functionCall": {"name": "exec", "args": {"a": 1}}, "thoughtSignature": "s"},
                    ]
                },
                "logprobsResult": {"chosenCandidates": [{"token": "t", "tokenId": 5, "logProbability": -1.5}]},
            }
        ]
    },
    {
        "candidates": [{"finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 30,
            "cachedContentTokenCount": 10,
            "candidatesTokenCount": 4,
            "thoughtsTokenCount": 2,
            "totalTokenCount": 36,
        },
    },
)
REPLY = Message(
    role=Role.ASSISTANT, text="Grüße", reasoning="think", tool_calls=(ToolCall(name="exec", arguments='{"a":1}'),)
)
USAGE = Usage(requests=1, input_tokens=20, output_tokens=6, cache_read_tokens=10, total_tokens=36)


def test_a_request_is_read_and_its_path_names_the_model() -> None:
    facts = facts_of(exchange(GEMINI, REQUEST))

    said = facts.request
    assert (facts.protocol, facts.request.model, said.system) == (ProtocolName.GEMINI, "gemini-9", "be kind")
    assert said.tools == (Tool(name="read", description="Read", parameters="{}"), Tool(name="googleSearch"))
    user, assistant, tool = said.messages
    assert (user.role, user.text, len(user.attachments)) == (Role.USER, "hi", 1)
    calls = (ToolCall(id="read", name="read", arguments='{"p":1}'),)
    assert assistant == Message(role=Role.ASSISTANT, reasoning="hm", tool_calls=calls)
    assert tool == Message(role=Role.TOOL, text='{"output":"text"}', call_id="read")


def test_events_and_a_list_of_chunks_say_the_same() -> None:
    streamed = facts_of(exchange(GEMINI, REQUEST, cut(sse(*CHUNKS), 4))).reply
    listed = facts_of(exchange(GEMINI, REQUEST, json.dumps(CHUNKS).encode(), reply_headers=())).reply

    for reply in (streamed, listed):
        assert (reply.message, reply.usage, reply.complete) == (REPLY, USAGE, True)
        assert (reply.model, reply.response_id, reply.stop_reason) == ("gemini-9-001", "r1", "STOP")
        assert reply.logprobs == (TokenLogprob(token="t", logprob=-1.5, id=5),)
        assert reply.token_ids == (5,)


def test_a_reply_without_a_finish_reason_is_not_complete_and_a_refused_prompt_is() -> None:
    cut_off = facts_of(exchange(GEMINI, REQUEST, sse(*CHUNKS[:3]))).reply
    refused = facts_of(exchange(GEMINI, REQUEST, sse({"promptFeedback": {"blockReason": "SAFETY"}}))).reply

    unnamed = facts_of(exchange(GEMINI, REQUEST, sse({"promptFeedback": {"safetyRatings": []}}))).reply

    assert (unnamed.complete, unnamed.stop_reason) == (True, "PROMPT_BLOCKED")
    assert (cut_off.complete, cut_off.message) == (False, REPLY)
    assert (refused.complete, refused.stop_reason, refused.message) == (True, "SAFETY", None)


def test_an_error_may_stand_in_a_list() -> None:
    body = [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota"}}]

    reply = facts_of(exchange(GEMINI, REQUEST, json.dumps(body).encode(), status=429)).reply

    assert reply.error == "RESOURCE_EXHAUSTED 429: Quota"


def test_the_mark_of_chat_completions_is_no_doing_of_the_model() -> None:
    reply = facts_of(exchange(GEMINI, REQUEST, sse(*CHUNKS, end="[DONE]"))).reply
    assert (reply.complete, bool(reply.error)) == (False, True)
