"""A judge behind a real HTTP server on loopback that answers, misbehaves and records as a test asks.

It speaks OpenAI's chat completions, whole and streamed, so that our own client and an OpenClaw agent can both ask it.
"""

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
from anyio.from_thread import start_blocking_portal

from http_server import HttpServer, Request, Response, running

MARK = "«mark»"  # in an answer's text stands for the mark of its question
USAGE: Mapping[str, object] = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
PIECES = 3  # of a streamed reply
JSON: Mapping[str, str] = {"Content-Type": "application/json"}
MODELS = b'{"object": "list", "data": [{"id": "m1", "object": "model"}]}'
HUGE_BYTES = 9 * 1024 * 1024  # one MiB more than a client of ours reads


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What comes back for one request.

    A completion with `text` (or with `message`, as it stands), or instead `body`, as it stands. `cut` closes the
    connection before the response or in the middle of its body. The response waits `until` an event is set.
    """

    text: str = ""
    message: Mapping[str, object] | None = None
    body: bytes | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    finish: str = "stop"
    usage: object = field(default_factory=lambda: USAGE)
    cut: Literal["before", "inside"] | None = None
    until: anyio.Event | None = None


def verdict(total: object = 0.8, scores: Mapping[str, object] | None = None, notes: str = "Fine work.") -> str:
    """A verdict as the judges of public suites give it, without a mark."""
    return json.dumps({"scores": scores or {}, "total": total, "notes": notes})


def marked(total: object = 0.8, scores: Mapping[str, object] | None = None, notes: str = "Fine work.") -> str:
    """The verdict that a judge of ours is asked for."""
    return json.dumps({"mark": MARK, "notes": notes, "scores": scores or {}, "total": total}, ensure_ascii=False)


def good(total: object = 0.8, scores: Mapping[str, object] | None = None, notes: str = "Fine work.") -> Answer:
    return Answer(text=verdict(total, scores, notes))


def partial() -> Answer:
    return Answer(text=verdict()[:20], finish="length")


def empty() -> Answer:
    return Answer()


def slow() -> Answer:
    """Never comes."""
    return Answer(until=anyio.Event())


def not_json() -> Answer:
    return Answer(body=b"<html>It works!</html>")


def wrong_usage() -> Answer:
    usage = {"prompt_tokens": "many", "completion_tokens": -3, "total_tokens": 10**400, "cost": True}
    return replace(good(), usage=usage)


def huge() -> Answer:
    return good(notes="x" * HUGE_BYTES)


def failing(
    status: int, message: str = "no", *, code: str | None = None, param: str | None = None, **headers: str
) -> Answer:
    """An error in OpenAI's form; headers are given as `retry_after="7"`."""
    error = {"error": {"message": message, "type": "error", "param": param, "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, body=json.dumps(error).encode(), headers=named)


def cut(where: Literal["before", "inside"] = "inside") -> Answer:
    return replace(good(), cut=where)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked(Request):
    """A request for a completion."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        messages: list[dict[str, Any]] = self.json["messages"]
        return messages

    @property
    def mark(self) -> str:
        """What the question wants repeated; empty where it wants nothing."""
        found = re.findall(r'"mark": "([0-9a-f]+)"', "".join(str(one["content"]) for one in self.messages))
        return found[-1] if found else ""


class FakeJudge(HttpServer[Asked]):
    """A judge; `fake_judge` runs it. `requests` are those for completions."""

    def __init__(self, choose: Callable[[Asked], Answer], models: bytes = MODELS) -> None:
        super().__init__()
        self._models = models
        self.open_now = 0
        self.most_at_once = 0
        self._choose = choose

    @property
    def base_url(self) -> str:
        """Where it is asked."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def respond(self, request: Request) -> Response:
        if request.method == "GET":
            return Response(body=self._models, headers=JSON)
        if request.path.startswith("/api/"):  # it is no Ollama
            return Response(status=404, body=b"{}", headers=JSON)
        asked = Asked(method=request.method, path=request.path, headers=request.headers, body=request.body)
        self.open_now += 1
        self.most_at_once = max(self.most_at_once, self.open_now)
        self.record(asked)
        try:
            answer = self._choose(asked)
            answer = replace(answer, text=answer.text.replace(MARK, asked.mark))
            if answer.until is not None:
                await answer.until.wait()
            return _response(asked, answer)
        finally:
            self.open_now -= 1  # before the client can have the answer, and send the next


def _response(asked: Asked, answer: Answer) -> Response:
    is_streamed = asked.json.get("stream") is True and answer.body is None
    kind = {"Content-Type": "text/event-stream"} if is_streamed else JSON
    return Response(
        status=answer.status,
        body=_completion(asked, answer) if answer.body is None else answer.body,
        pieces=tuple(_events(asked, answer)) if is_streamed else (),
        headers={**kind, **answer.headers},
        cut=answer.cut,
    )


def _completion(asked: Asked, answer: Answer) -> bytes:
    message = answer.message or {"role": "assistant", "content": answer.text}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish}
    whole = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": asked.json.get("model"),
        "choices": [choice],
        "usage": answer.usage,
    }
    return json.dumps(whole).encode()


def _events(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """The same reply as server-sent events."""
    size = len(answer.text) // PIECES + 1
    texts = [answer.text[at : at + size] for at in range(0, len(answer.text), size)]
    deltas: list[tuple[Mapping[str, object], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": text}, None) for text in texts]
    deltas += [({}, answer.finish)]
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": asked.json.get("model")}
    for delta, finish in deltas:
        chunk = {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        yield b"data: %s\n\n" % json.dumps(chunk).encode()
    if asked.json.get("stream_options"):
        yield b"data: %s\n\n" % json.dumps({**common, "choices": [], "usage": answer.usage}).encode()
    yield b"data: [DONE]\n\n"


@asynccontextmanager
async def fake_judge(
    *answers: Answer, choose: Callable[[Asked], Answer] | None = None, models: bytes = MODELS
) -> AsyncGenerator[FakeJudge]:
    """Run a judge that gives `answers` in turn and the last one for ever, or what `choose` says; a good one else.

    `models` is what it says of its models.
    """
    script = list(answers) or [good()]

    def next_answer(asked: Asked) -> Answer:
        if choose is not None:
            return choose(asked)
        return script.pop(0) if len(script) > 1 else script[0]

    async with running(FakeJudge(next_answer, models)) as judge:
        yield judge


@contextmanager
def served(judge: AbstractAsyncContextManager[FakeJudge]) -> Iterator[FakeJudge]:
    """Let a judge answer in a thread of its own, next to the event loop of a command."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(judge) as answering:
        yield answering
