"""The user's providers and logins reach the private homes, and the user's own state stays as it is."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pinchbench import Reason, RunConfig, run_benchmark
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.short_command import run_short
from real_openclaw import TaskFile, UserHome, newest_release, write_suite

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

STORED = "sk-stored-login-123456789"
NAMED = "sk-from-environment-987654321"


class _Endpoint(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint that writes down which key came, and says hello."""

    daemon_threads = True
    block_on_close = True

    def __init__(self) -> None:
        self.keys: list[str] = []
        super().__init__(("127.0.0.1", 0), _Answer)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Answer(BaseHTTPRequestHandler):
    server: _Endpoint

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.keys.append(self.headers.get("authorization", ""))
        base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m1"}
        usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
        chunks: list[dict[str, object]] = [
            {**base, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hello."}}]},
            {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {**base, "choices": [], "usage": usage},
        ]
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Say nothing."""


@contextmanager
def _endpoint() -> Iterator[_Endpoint]:
    with _Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _config(tmp_path: Path, openclaw: OpenClaw, **options: str) -> RunConfig:
    suite = write_suite(tmp_path / "suite", [TaskFile(task_id="task_hello", turns=[("Say hello.", [], "")])])
    return RunConfig(
        preflight=False,
        model="mine/m1",
        tasks_dir=suite,
        openclaw=openclaw.version,
        output_dir=tmp_path / "results",
        run_root=tmp_path / "pb",
        **options,  # type: ignore[arg-type]
    )


async def test_a_stored_login_and_a_configured_provider_reach_a_private_home(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    with _endpoint() as server:
        model = {"id": "m1", "name": "m1", "input": ["text"], "contextWindow": 100_000, "maxTokens": 4096}
        provider = {"baseUrl": server.url, "api": "openai-completions", "models": [model]}
        home.configure({"models": {"mode": "merge", "providers": {"mine": provider}}})
        env = {"HOME": str(home.path), "PATH": openclaw.path("/usr/bin:/bin")}
        login = ["models", "auth", "paste-api-key", "--provider", "mine"]
        await run_short(openclaw, login, env=env, stdin=STORED.encode() + b"\n")
        before = home.snapshot()

        result = await run_benchmark(_config(tmp_path, openclaw))

    assert [one.reason for one in result.outcomes] == [Reason.COMPLETED], result.outcomes[0].note
    assert set(server.keys) == {f"Bearer {STORED}"}
    assert home.snapshot() == before
    _assert_nowhere(STORED, tmp_path / "results", tmp_path / "pb")


@newest_release
async def test_a_base_url_gets_the_key_of_the_named_variable_and_no_file_does(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("my_test_key", NAMED)
    before = home.snapshot()
    with _endpoint() as server:
        config = _config(tmp_path, openclaw, base_url=server.url, api_key_env="my_test_key")

        result = await run_benchmark(config)

    assert [one.reason for one in result.outcomes] == [Reason.COMPLETED], result.outcomes[0].note
    assert set(server.keys) == {f"Bearer {NAMED}"}
    assert home.snapshot() == before
    _assert_nowhere(NAMED, tmp_path / "results", tmp_path / "pb")


def _assert_nowhere(secret: str, *roots: Path) -> None:
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
