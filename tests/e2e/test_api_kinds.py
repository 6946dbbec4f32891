"""Ollama's own API: OpenClaw asks it through the wire, which reads tool calls, usage and the window that is sent."""

import json
from pathlib import Path

import pytest

from http_server import HttpServer, Request, Response, running
from pinchbench import Reason, run_benchmark
from pinchbench.openclaw.command import OpenClaw
from real_openclaw import TaskFile, UserHome, newest_release, run_config

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

CHECK = """
def grade(transcript: list, workspace_path: str) -> dict:
    from pathlib import Path
    path = Path(workspace_path) / "out.txt"
    return {"written": 1.0 if path.is_file() and path.read_text() == "hi" else 0.0}
"""
TASK = TaskFile(task_id="task_write", turns=[("Write hi into out.txt.", [], "Done.")], check=CHECK)
CALL = {"function": {"name": "write", "arguments": {"path": "out.txt", "content": "hi"}}}


class Ollama(HttpServer[Request]):
    """A server with a model that writes a file, and says that it has."""

    async def respond(self, request: Request) -> Response:
        if request.path == "/api/show":
            said = {"parameters": "num_ctx 16384", "capabilities": ["completion", "tools", "thinking"]}
            return Response(body=json.dumps(said).encode())
        if request.path != "/api/chat":
            return Response(status=404, body=b'{"error": "not found"}')
        self.record(request)
        is_done = any(message["role"] == "tool" for message in request.json["messages"])
        is_over = is_done or not request.json["stream"]
        message = {"content": "Done."} if is_over else {"content": "", "tool_calls": [CALL]}
        lines = (
            {"model": "qwen3", "message": {"role": "assistant", **message}, "done": False},
            {"message": {}, "done": True, "done_reason": "stop", "prompt_eval_count": 9000, "eval_count": 20},
        )
        pieces = tuple(json.dumps(line).encode() + b"\n" for line in lines)
        return Response(pieces=pieces, headers={"Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked"})


@newest_release
async def test_ollama_is_asked_by_its_own_api_with_the_window_that_it_reports(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    async with running(Ollama()) as server:
        config = run_config(
            tmp_path, openclaw, [TASK], model="local/qwen3", base_url=f"http://127.0.0.1:{server.port}", api="ollama"
        )
        result = await run_benchmark(config)

    [outcome] = result.outcomes
    told = json.loads(result.path.read_bytes())
    asked = [request.json for request in server.requests if request.json["stream"]]
    assert (outcome.reason, told["score"]["mean"]) == (Reason.COMPLETED, 1.0)
    [run] = told["tasks"][0]["runs"]
    assert 0 < run["wire"]["start_s"] < told["execution_time"]
    assert {request["options"]["num_ctx"] for request in asked} == {16_384}
    assert told["usage"]["total_tokens"] == 9020 * len(asked)
    assert not list((home.state / "agents").glob("local*"))
