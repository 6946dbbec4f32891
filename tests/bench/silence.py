# ruff: noqa: T201 - it prints what became of the trial
"""Whether a model that says nothing for minutes is waited for, on real OpenClaw.

`python tests/bench/silence.py [--release 2026.9.6] [--isolation gateway] [--silent 330]` runs one trial whose model
answers
after so many seconds, and prints how the trial ended and how often the model was asked: `completed` and once, if
OpenClaw
lets it think. Its own limits are 120 s, and 300 s for self-hosted models. `tests/e2e/test_failures.py` has the same in
short.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parent.parent))

from fakes import NEW_RELEASE
from pinchbench import RunConfig, run_benchmark
from pinchbench.defaults import Isolation
from real_openclaw import TaskFile, write_suite

SPARE_S = 120.0  # of the trial's limit, for OpenClaw's own start on a busy machine
BASE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m1"}
CHUNKS = [
    {**BASE, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Done."}}]},
    {**BASE, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]


class Model(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint whose stream begins at once and is silent for `silent_s` seconds."""

    daemon_threads = True

    def __init__(self, silent_s: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.silent_s = silent_s
        self.calls = 0


class Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.calls += 1
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.flush()
        time.sleep(self.server.silent_s)
        for chunk in CHUNKS:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


async def _measure(folder: Path, model: Model, release: str, isolation: Isolation) -> None:
    task = TaskFile(task_id="task_silent", turns=[("Say done.", [], "Done.")], timeout_s=model.silent_s + SPARE_S)
    config = RunConfig(
        model="mock/m1",
        base_url=f"http://127.0.0.1:{model.server_port}/v1",
        tasks_dir=write_suite(folder / "suite", [task]),
        openclaw=release,
        isolation=isolation,
        output_dir=folder / "results",
        run_root=folder / "runs",
        infra_retries=0,
    )
    result = await run_benchmark(config)
    for one in result.outcomes:
        print(f"{one.reason.value} after {one.execution_time_s:.0f} s, asked {model.calls} times {one.note}".rstrip())


def main() -> None:
    """Run one trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default=NEW_RELEASE)
    parser.add_argument("--isolation", default=Isolation.GATEWAY, type=Isolation)
    parser.add_argument("--silent", type=float, default=330.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Model(chosen.silent) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        anyio.run(_measure, Path(folder), model, chosen.release, chosen.isolation)
        model.shutdown()


if __name__ == "__main__":
    main()
