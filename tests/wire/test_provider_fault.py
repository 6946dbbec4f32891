"""Whose doing a failed call is: replies of the four protocols, judged as a person judges them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.provider_fault import BY_STATUS, SITUATIONS, UNKNOWN, situation_of
from wire.exchanges import CHAT, GEMINI, MESSAGES, RESPONSES, exchange, sse

REFERENCE = Path(__file__).parents[2] / "docs/reference/reasons.md"
OVERFLOW, FILTER, CALL = "context overflow", "content filter", "tool call that the server cannot parse"
BUSY, ACCOUNT, TIME = "throttling", "account or budget", "time-out"
DOWN, FIELD, LONG = "server out of memory, crashed or unavailable", "field that OpenClaw wrote", "text too long for a"
TEMPLATE = "chat template that refuses"
REPLY_LIMIT, STATUS, PAGE = "limit of the reply's length", "status that no content", "page of a proxy"


def openai(message: str, kind: str | None = "invalid_request_error", code: object = None, **more: object) -> object:
    return {"error": {"message": message, "type": kind, "code": code, **more}}


def anthropic(message: str, *, kind: str = "invalid_request_error") -> object:
    return {"type": "error", "error": {"type": kind, "message": message}}


def gemini(message: str, *, code: int = 400, status: str = "INVALID_ARGUMENT") -> object:
    return [{"error": {"code": code, "status": status, "message": message}}]


FAILED: Mapping[str, Sequence[tuple[str, int, object]]] = {
    OVERFLOW: [  # the conversation became longer than the model can read
        (CHAT, 400, openai("This model's maximum context length is 8192 tokens", code="context_length_exceeded")),
        (CHAT, 400, openai("the request exceeds it", "exceed_context_size_error", 400)),
        (CHAT, 500, openai("Context size has been exceeded.", "server_error", 500)),
        (CHAT, 500, openai("The prompt (with the chat template) has 9000 tokens, which exceeds the context size 8192")),
        (CHAT, 400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
        (CHAT, 400, {"error": "prompt too long; exceeded max context length by 17 tokens"}),
        (CHAT, 413, openai("Request body too large for m1. Max size: 8000 tokens.", code="tokens_limit_reached")),
        (CHAT, 413, "<html><h1>413 Request Entity Too Large</h1></html>"),
        (CHAT, 413, ""),
        (CHAT, 400, openai("Provider returned error", None, 400, metadata={"raw": "prompt is too long: 9 > 8"})),
        (
            CHAT,
            400,
            {
                "object": "error",
                "type": "BadRequestError",
                "message": "The input (9 tokens) is longer than the model's context length (8 tokens).",
            },
        ),
        (
            CHAT,
            422,
            {
                "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096",
                "error_type": "validation",
            },
        ),
        (
            RESPONSES,
            400,
            openai("Your input exceeds the context window of this model.", code="context_length_exceeded"),
        ),
        (MESSAGES, 400, anthropic("prompt is too long: 210000 tokens > 200000 maximum")),
        (MESSAGES, 413, anthropic("Request exceeds the maximum size", kind="request_too_large")),
        (GEMINI, 400, gemini("The input token count (9) exceeds the maximum number of tokens allowed (8).")),
        (CHAT, 400, openai("max_tokens is too large: 8. The context length is 9 and you have 2 input tokens")),
        (CHAT, 400, openai("Input length 9 exceeds the maximum length 8. Request id: 02", "BadRequest")),
        (CHAT, 400, {"error": "Cannot truncate prompt with n_keep (9332) >= n_ctx (4096)"}),
        (CHAT, 400, {"code": 20015, "message": "length of prompt_tokens (9) must be less than max_seq_len."}),
        (CHAT, 422, {"error": "Input validation error: `inputs` must have less than 1024 tokens."}),
        (CHAT, 400, {"error": {"code": "1210", "message": "对话内容超过模型上下文长度限制"}}),
        (GEMINI, 400, gemini("the input token count is 9 but model only supports up to 8")),
        (CHAT, 400, {"error": {"code": "1261", "msg": "Prompt too long"}}),
        (CHAT, 400, {"error": {"message": {"detail": "prompt is too long: 9 tokens"}}}),
        (CHAT, 400, {"error": "Bad Request", "message": "Input is too long for requested model."}),
        (CHAT, 400, openai("no", metadata={"raw": {"error": {"message": "prompt is too long"}}})),
        (CHAT, 400, openai("Token limit exceeded: 9 > 8")),
        (CHAT, 400, openai("The number of tokens (9) is over the limit of 8")),
        (CHAT, 400, openai("The conversation has 9 tokens, more than the 8 of the model")),
        (CHAT, 400, openai("The text is too long: token number exceeds 8")),
        (CHAT, 400, openai("max_input_tokens exceeded", "context_length_error")),
        (CHAT, 400, openai("You exceeded the model's token limit")),
        (CHAT, 400, openai("Prompt has 9 tokens but the context only fits 8")),
        (CHAT, 400, openai("messages 长度超出限制")),
        (CHAT, 400, openai("请求的 token 数量超过模型上限")),
        (CHAT, 500, openai("prompt is too long: 9 tokens > 8 maximum", "new_api_error")),
    ],
    LONG: [
        (RESPONSES, 400, openai("Invalid 'input[3].output': string too long. Expected at most 10485760")),
        (MESSAGES, 400, anthropic("messages.8.content.0.image.source.base64.data: dimensions exceed 8000")),
    ],
    FILTER: [  # a filter refused what the conversation says
        (CHAT, 400, openai("Please modify your prompt and retry.", None, "content_filter", param="prompt")),
        (CHAT, 403, openai("Content violates usage guidelines.", "The caller does not have permission")),
        (CHAT, 400, openai("Output data may contain inappropriate content.", "data_inspection_failed")),
        (CHAT, 500, openai("The response was filtered due to the prompt triggering Azure's content policy.")),
        (CHAT, 500, openai("Please modify your prompt and retry.", "upstream_error", "content_filter")),
        (CHAT, 500, openai("<400> DataInspectionFailed: Output data may contain inappropriate content.")),
        (CHAT, 500, openai("This reply was blocked by the content filter")),
        (CHAT, 400, {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}}),
        (CHAT, 403, openai("m1 requires moderation on OpenInference. Your input was flagged", None, 403)),
        (RESPONSES, 400, openai("Invalid prompt: we've limited access to this content.", code="invalid_prompt")),
        (MESSAGES, 400, anthropic("Output blocked by content filtering policy")),
        (CHAT, 403, openai('It requires moderation. Your input was flagged for "x". No credits were charged.')),
        (CHAT, 400, openai("The input text may contain sensitive information. Request id: 02", "BadRequest")),
        (CHAT, 400, {"error": [{"code": 2016, "message": "Prompt blocked due to security configurations"}]}),
        (CHAT, 451, openai("The content you provided is blocked.", "censorship_blocked")),
        (CHAT, 403, {"code": "no permission", "error": "Content violates guidelines. API key ID: 1"}),
        (CHAT, 400, openai("Request contains blocked content")),
        (CHAT, 400, openai("Request blocked: prompt injection detected")),
        (CHAT, 400, openai("内容审核不通过")),
    ],
    TEMPLATE: [  # the server could not write OpenClaw's messages as its model's prompt
        (CHAT, 500, openai("TemplateError: Conversation roles must alternate user/assistant/user/assistant/...")),
        (CHAT, 400, openai("Conversation roles must alternate user/assistant/user/assistant/...", "BadRequestError")),
        (CHAT, 500, openai("Jinja Exception: System role not supported at row 1, column 300", "server_error", 500)),
        (CHAT, 500, openai("{{- raise_exception('Unexpected message role.') }}", "server_error", 500)),
        (CHAT, 400, openai('Error rendering prompt with jinja template: "Only user and tool roles are supported."')),
        (CHAT, 500, openai("Error in applying chat template from request: No user query found in messages.")),
        (CHAT, 500, openai("Unknown method: items at row 56, column 41: tool_call.arguments | items")),
        (CHAT, 400, openai("Can only get item pairs from a mapping.", "BadRequestError", 400)),
    ],
    CALL: [  # the server could not read the model's own tool call
        (CHAT, 400, openai("Failed to call a function. Please adjust your prompt.", code="tool_use_failed")),
        (CHAT, 500, openai("XML syntax error on line 4: element <function> closed by </tool>", "api_error")),
        (CHAT, 500, openai("error parsing tool call: raw='{\"rate limit\": ', err=unexpected end", "api_error")),
        (CHAT, 500, openai("Failed to parse input at pos 12: <tool_call>please wait", "server_error", 500)),
        (CHAT, 400, openai("Expecting ',' delimiter: line 1 column 20 (char 19)", "BadRequestError", 400)),
        (CHAT, 400, openai("Invalid \\escape: line 1 column 20 (char 19)", "BadRequestError", 400)),
        (CHAT, 400, openai("Parsing failed. The model generated output that could not be parsed.")),
        (CHAT, 400, openai("json: cannot unmarshal string into ChatRequest.messages.function.arguments")),
        (CHAT, 424, {"message": "Model produced invalid sequence as part of ToolUse."}),
        (CHAT, 400, {"message": "The value at messages.3.content.0.toolUse.input is not valid JSON."}),
        (MESSAGES, 400, anthropic("messages: `tool_use` ids must be unique")),
        (GEMINI, 400, gemini("contents[1].parts[0].function_call.name: Name cannot be empty")),
        (CHAT, 400, openai("tool call validation failed: write was not in request.tools")),
        (CHAT, 400, openai("The arguments of the function call are not valid JSON")),
        (CHAT, 500, openai("[json.exception.parse_error.101] parse error at line 1, column 20")),
        (CHAT, 500, openai("unexpected token 12606 while expecting start token 200006")),
        (RESPONSES, 400, openai("Invalid 'input[5].name': string does not match pattern.")),
        (MESSAGES, 400, anthropic("Found multiple `tool_result` blocks with id: t")),
    ],
    BUSY: [  # too many requests, also where tokens are said to be too many
        (CHAT, 400, openai("Too many tokens, please wait before trying again.", "ThrottlingException")),
        (CHAT, 413, openai("Request too large for m1 on tokens per minute (TPM): Limit 6000", "tokens")),
        (CHAT, 400, {"__type": "ThrottlingException", "message": "Too many input tokens"}),
        (CHAT, 403, openai("Request limit exceeded for your plan")),
        (CHAT, 400, {"error": "server busy, please try again. maximum pending requests exceeded"}),
        (CHAT, 400, openai("Maximum number of in-flight requests exceeded")),
        (CHAT, 400, openai("The request queue length exceeds the limit")),
        (CHAT, 400, openai("Token limit exceeded for today")),
        (CHAT, 400, openai("该模型当前访问量过大，请您稍后再试")),
    ],
    STATUS: [
        (CHAT, 429, openai("Request too large for m1: Limit 30000, Requested 50000", "tokens")),
        (GEMINI, 429, gemini("Quota exceeded for input tokens, limit: 0", code=429, status="RESOURCE_EXHAUSTED")),
        (MESSAGES, 529, anthropic("Overloaded", kind="overloaded_error")),
        (CHAT, 402, openai("You requested up to 32000 tokens, but can only afford 99", None, 402)),
        (CHAT, 524, "<html><body>The origin web server took too long to respond.</body></html>"),
        (CHAT, 504, ""),
        (CHAT, 431, "<h1>431 Request Header Fields Too Large</h1>"),
    ],
    ACCOUNT: [
        (CHAT, 400, openai("Your requests have exceeded the limit of free usage")),
        (CHAT, 403, openai("You must accept the usage policy of this model before using it")),
        (CHAT, 400, openai("ExceededBudget: over budget for context window", "budget_exceeded", "400")),
        (CHAT, 400, openai("Your organization was disabled for violating our usage policies.")),
        (GEMINI, 400, gemini("API key not valid. Please pass a valid API key.")),
    ],
    TIME: [
        (CHAT, 400, openai("Request exceeded the time limit of 300 seconds")),
        (CHAT, 400, openai("Request lifetime exceeds 10 min")),
        (CHAT, 400, openai("upstream took too long to respond", None)),
    ],
    DOWN: [
        (CHAT, 400, openai("Failed to run content safety check")),
        (CHAT, 400, openai("not enough memory for a context length of 9")),
        (CHAT, 500, openai("failed to allocate context window buffer: out of memory", "api_error")),
        (CHAT, 400, openai("The moderation service is unavailable, try again", None)),
    ],
    PAGE: [
        (CHAT, 403, "<html><body>This content has been blocked by the content filter of a firm.</body></html>"),
        (CHAT, 500, "<html><body>The maximum context length</body></html>"),
        (CHAT, 400, "<center>Request Header Or Cookie Too Large</center>"),
        (CHAT, 200, "<!DOCTYPE html><html><body>Sign in to the network</body></html>"),
    ],
    UNKNOWN.name: [
        (CHAT, 400, openai("Request URI Too Large")),
        (CHAT, 500, "The context window service failed"),
        (CHAT, 500, openai("Internal error in the content filter")),
        (CHAT, 500, openai("An error happened during content moderation")),
        (CHAT, 400, openai("Provider returned error", None, 400)),
        (CHAT, 400, openai("Invalid tool call id: it must be 9 letters")),
    ],
    FIELD: [  # what OpenClaw wrote into the request
        (CHAT, 400, openai("Invalid 'messages[3].tool_calls[0].id': string too long.", code="string_above_max_length")),
        (CHAT, 400, openai("Invalid 'user': string too long. Expected a maximum length of 64")),
        (RESPONSES, 400, openai("Invalid 'prompt_cache_key': string too long. Expected at most 64")),
        (CHAT, 400, openai("Invalid 'tools': array too long. Expected at most 128 items")),
        (MESSAGES, 400, anthropic("messages.1.content.0.tool_use.id: String should match pattern")),
        (MESSAGES, 400, anthropic("tools.3.custom.input_schema: JSON schema is invalid")),
    ],
    REPLY_LIMIT: [
        (CHAT, 400, openai("The maximum tokens you requested exceeds the model limit of 8")),
        (CHAT, 400, openai("max_tokens is too large: 8192. This model's maximum context length is 4096")),
    ],
}


@pytest.mark.parametrize(
    ("path", "status", "body", "situation"),
    [(*call, situation) for situation, calls in FAILED.items() for call in calls],
)
def test_a_failed_call_has_its_situation(path: str, status: int, body: object, situation: str) -> None:
    data = body if isinstance(body, str) else json.dumps(body)
    reply = facts_of(exchange(path, {}, data.encode(), status=status, reply_headers=())).reply
    assert not reply.complete
    assert situation_of(reply.error, status).name.startswith(situation)


@pytest.mark.parametrize(
    ("path", "events", "situation"),
    [
        (CHAT, [openai("Too many tokens, please wait", "ThrottlingException", 429)], STATUS),
        (CHAT, [openai("The upstream took too long to produce a token", "timeout")], TIME),
        (CHAT, [{"choices": []}, openai("Provider disconnected", None, 502)], STATUS),
        (CHAT, [{"object": "error", "type": "BadRequestError", "message": "maximum context length is 8"}], OVERFLOW),
        (CHAT, [{"choices": [{"delta": {"content": "I"}, "finish_reason": "network_error"}]}], UNKNOWN.name),
        (CHAT, [{"choices": [{"delta": {"content": "I"}, "finish_reason": "eos"}]}], UNKNOWN.name),
        (CHAT, [], UNKNOWN.name),
        (CHAT, [{"choices": [], "usage": {"completion_tokens": 5}}], UNKNOWN.name),
        (CHAT, [{"choices": [{"delta": {}, "finish_reason": "sensitive"}]}], FILTER),
        (CHAT, [{"choices": [{"delta": {"content": "I"}, "finish_reason": "model_length"}]}], OVERFLOW),
        (CHAT, [{"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "gone"}}]}], STATUS),
        (CHAT, [{"choices": [{"finish_reason": "error", "native_finish_reason": "MALFORMED_FUNCTION_CALL"}]}], CALL),
        (CHAT, [{"choices": [{"finish_reason": "RECITATION"}]}], FILTER),
        (CHAT, [{"choices": [{"finish_reason": "blocked"}]}], FILTER),
        (CHAT, [{"detail": "prompt is too long"}], OVERFLOW),
        (CHAT, [{"error": {}, "choices": [{"delta": {"content": "I"}, "finish_reason": "stop"}]}], UNKNOWN.name),
        (
            MESSAGES,
            [{"type": "message_delta", "delta": {"stop_reason": "stop"}}, {"type": "message_stop"}],
            UNKNOWN.name,
        ),
        (MESSAGES, [{"type": "error", "message": "prompt is too long"}], OVERFLOW),
        (RESPONSES, [{"type": "response.completed", "response": {"status": "cancelled"}}], UNKNOWN.name),
        (RESPONSES, [{"type": "error", "code": "context_length_exceeded", "message": "Too long."}], OVERFLOW),
        (
            RESPONSES,
            [
                {
                    "type": "response.failed",
                    "response": {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "wait"}},
                }
            ],
            BUSY,
        ),
        (RESPONSES, [{"type": "response.failed", "response": {"status": "failed", "error": None}}], UNKNOWN.name),
        (CHAT, [{"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}], FILTER),
        (CHAT, [{"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}], BUSY),
        (MESSAGES, [anthropic("Overloaded", kind="overloaded_error")], BUSY),
        (GEMINI, gemini("The model is overloaded.", code=503, status="UNAVAILABLE"), STATUS),
    ],
)
def test_an_error_within_a_stream_counts_like_one_before_it(path: str, events: list[object], situation: str) -> None:
    end = "[DONE]" if path == CHAT else ""
    reply = facts_of(exchange(path, {}, sse(*events, end=end))).reply
    assert not reply.complete
    assert situation_of(reply.error, 200).name.startswith(situation)


@pytest.mark.parametrize(
    ("words", "is_models"),
    [
        ("Provider returned an incomplete or malformed tool call", True),
        ("Responses stream completed tool call with invalid JSON arguments", True),
        ("Anthropic refusal (category: cyber).", True),
        ("Context overflow: prompt too large for the model.", True),
        ("Model context window too small (4096 tokens). Minimum is 16000.", False),
        ("Stream ended without finish_reason", False),
        ("LLM request timed out.", False),
    ],
)
def test_without_a_wire_openclaws_own_words_decide(words: str, *, is_models: bool) -> None:
    assert situation_of(words).is_models is is_models


def test_the_reference_lists_every_situation_with_its_class_and_its_source() -> None:
    rows = [line.split("|")[1:4] for line in REFERENCE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    listed = {tuple(cell.strip() for cell in row) for row in rows}
    for one in (BY_STATUS, *SITUATIONS, UNKNOWN):
        assert (one.name, "the model's" if one.is_models else "the provider's", one.source) in listed
