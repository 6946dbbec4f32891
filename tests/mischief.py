"""Text that would do harm on a page that does not escape it, wherever an agent, a model or a judge can put it."""

import json

from pinchbench.wire.exchange import Exchange
from wire.exchanges import CHAT, exchange, sse

MISCHIEF = (
    "</script><script>alert(1)</script><!-- <script>",
    "<img src=x onerror=alert(2)>",
    "[click](javascript:alert(3)) <a href='javascript:alert(3)'>me</a>",
    "\u202egnp.exe\u202c\u0000\u001b[31mred\u001b[0m \ud83d {{ 7 * 7 }} ${7 * 7}",
    "<style>body{display:none}</style><iframe src=https://example.com></iframe>",
)


def transcript_line(message: dict[str, object]) -> str:
    """A line of a transcript."""
    return json.dumps({"type": "message", "id": "m", "timestamp": "2026-01-02T03:00:01Z", "message": message}) + "\n"


def mischievous_transcript() -> str:
    """A conversation with each mischief in every field."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "\n".join(MISCHIEF)}]
    for text in MISCHIEF:
        call = {"type": "toolCall", "id": text, "name": text, "arguments": {text: text}}
        parts = [{"type": "thinking", "thinking": text}, {"type": "text", "text": text}, call]
        messages.append({"role": "assistant", "provider": "m", "model": text, "content": parts, "stopReason": text})
        answer = [{"type": "text", "text": text}]
        messages.append(
            {"role": "toolResult", "toolCallId": text, "toolName": text, "content": answer, "isError": True}
        )
    return "".join(map(transcript_line, messages)) + "</script><script>alert(4)</script>\n"


def mischievous_calls() -> tuple[Exchange, ...]:
    """Calls whose request and reply hold each mischief wherever a page shows them, and one that failed with it."""
    calls = []
    for number, text in enumerate(MISCHIEF, start=1):
        tool = {"type": "function", "function": {"name": text, "parameters": {}}}
        asked = {"model": text, "messages": [{"role": role, "content": text} for role in ("system", "user")]}
        function = {"index": 0, "id": text, "function": {"name": text, "arguments": text}}
        delta = {"content": text, "reasoning_content": text, "tool_calls": [function]}
        reply = sse({"model": text, "choices": [{"index": 0, "delta": delta, "finish_reason": text}]}, end="[DONE]")
        calls.append(exchange(CHAT, {**asked, "tools": [tool]}, reply, number=number))
    failure = json.dumps({"error": {"message": "\n".join(MISCHIEF)}}).encode()
    return (*calls, exchange(CHAT, {}, failure, number=len(calls) + 1, status=500, reply_headers=()))
