"""Play a task as its model: a provider on loopback whose replies are written by hand.

    python tests/by_hand.py serve FOLDER --port 8900
    pinchbench-async run --model local/by-hand --base-url http://127.0.0.1:8900/v1 --suite TASK \
        --no-preflight --timeout-multiplier 8
    python tests/by_hand.py next FOLDER
    python tests/by_hand.py call FOLDER NUMBER calls.json
    python tests/by_hand.py say FOLDER NUMBER "It is done."

`next` waits for a request and prints what is new in its conversation; `call` replies with tool calls, a JSON list of
`{"name": …, "arguments": {…}}`, `say` with text, and both wait for the next request.
"""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import click

SHOWN_CHARS = 24_000
NEXT_S = 540
KEEP_ALIVE_S = 5.0  # OpenClaw gives up on a stream without an event
POLL_S = 0.1


class ByHand(ThreadingHTTPServer):
    """Keeps each request of chat completions as a file and answers with the file that is written for it."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.numbers = folder, count(1)
        super().__init__(("127.0.0.1", port), Handler)


class Handler(BaseHTTPRequestHandler):
    """One request: streamed where it asks for that, since a reply by hand takes minutes."""

    server: ByHand

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class has
        """Print nothing."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = f"{next(self.server.numbers):04}"
        write(self.server.folder / f"{number}.request.json", request)
        reply = self.server.folder / f"{number}.reply.json"
        streamed = bool(request.get("stream"))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
        self.end_headers()
        try:
            due = time.monotonic() + KEEP_ALIVE_S
            while not reply.exists():
                time.sleep(POLL_S)
                if streamed and time.monotonic() > due:
                    self.send_event(number, {"role": "assistant", "content": ""})
                    due += KEEP_ALIVE_S
            self.answer(number, json.loads(reply.read_text(encoding="utf-8")), len(json.dumps(request)), streamed)
        except OSError:
            (self.server.folder / f"{number}.gone").touch()

    def answer(self, number: str, message: dict[str, Any], prompt_chars: int, streamed: bool) -> None:
        """Send a reply; its usage is estimated at four characters a token."""
        usage = {"prompt_tokens": prompt_chars // 4, "completion_tokens": len(json.dumps(message)) // 4 + 1}
        usage["total_tokens"] = sum(usage.values())
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        if streamed:
            calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls", []))]
            self.send_event(number, {"role": "assistant", **message, "tool_calls": calls})
            self.send_event(number, {}, finish_reason=finish, usage=usage)
            self.wfile.write(b"data: [DONE]\n\n")
        else:
            choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
            body = {"id": number, "object": "chat.completion", "choices": [choice], "usage": usage}
            self.wfile.write(json.dumps(body).encode())

    def send_event(
        self,
        number: str,
        delta: dict[str, Any],
        *,
        finish_reason: str | None = None,
        usage: dict[str, int] | None = None,
    ) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        event = {"id": number, "object": "chat.completion.chunk", "choices": [choice], "usage": usage}
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()


def reply(folder: Path, number: str, message: object) -> None:
    """Write the reply to a request. Raises click.UsageError if there is no such request."""
    if not (folder / f"{number}.request.json").exists():
        raise click.UsageError(f"There is no request {number}; `next` prints the number of the open one.")
    write(folder / f"{number}.reply.json", message)


def write(path: Path, value: object) -> None:
    """Write JSON to a file that is complete as soon as it exists."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value), encoding="utf-8")
    part.rename(path)


def messages_of(request: Path) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = json.loads(request.read_text(encoding="utf-8"))["messages"]
    return messages


def as_text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    parts = [{"text": content}] if isinstance(content, str) else content
    text = "\n".join(part.get("text", f"[{part.get('type')}]") for part in parts)
    cut = f"\n[… {len(text) - SHOWN_CHARS:,} more characters]" if len(text) > SHOWN_CHARS else ""
    return f"--- {message['role']}\n{text[:SHOWN_CHARS]}{cut}"


def show_next(folder: Path) -> None:
    """Wait for a request without a reply, and print what no earlier request of the folder had."""
    end = time.monotonic() + NEXT_S
    while time.monotonic() < end:
        seen: list[dict[str, Any]] = []
        for request in sorted(folder.glob("*.request.json")):
            number = request.name.partition(".")[0]
            messages = messages_of(request)
            if not any((folder / f"{number}.{done}").exists() for done in ("reply.json", "gone")):
                click.echo(f"=== request {number}")
                for message in messages:
                    if message not in seen and message["role"] != "assistant":
                        click.echo(as_text(message))
                return
            seen += messages
        time.sleep(POLL_S)
    click.echo(f"no request within {NEXT_S} s")


@click.group(help=__doc__)
def main() -> None: ...


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--port", type=int, required=True)
def serve(folder: Path, port: int) -> None:
    ByHand(folder, port).serve_forever()


@main.command("next")
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
def next_request(folder: Path) -> None:
    show_next(folder)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.argument("number")
@click.argument("text")
def say(folder: Path, number: str, text: str) -> None:
    reply(folder, number, {"content": text})
    show_next(folder)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.argument("number")
@click.argument("calls", type=click.File(encoding="utf-8"))
def call(folder: Path, number: str, calls: Any) -> None:
    named = [
        {
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": one["name"], "arguments": json.dumps(one["arguments"])},
        }
        for index, one in enumerate(json.load(calls))
    ]
    reply(folder, number, {"content": "", "tool_calls": named})
    show_next(folder)


if __name__ == "__main__":
    main()
