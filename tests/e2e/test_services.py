"""A task's service on real OpenClaw: one for all sessions of the agent, and its log is what the check believes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from grading.conftest import REFUSED
from pinchbench import Reason, RunConfig, run_benchmark
from pinchbench.process.leftovers import find_marked
from real_openclaw import TaskFile, UserHome, older_release_is_long, write_suite
from suite_packs import put

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.openclaw.command import OpenClaw

pytestmark = [
    pytest.mark.openclaw,
    pytest.mark.anyio,
    pytest.mark.skipif(bool(REFUSED), reason=f"services need namespaces: {REFUSED}"),
]

LEDGER = """
    import http.server, itertools, os

    numbers = itertools.count(1)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            if self.path != "/health":
                number = next(numbers)
                print("entry", number, self.path, flush=True)
                self.wfile.write(f"entry {number}".encode())

        def log_message(self, *args):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
CHECK = """
from pathlib import Path

def grade(transcript, workspace_path):
    entries = Path(workspace_path, ".services", "ledger.log").read_text().splitlines()
    receipt = Path(workspace_path, "receipt.txt")
    return {
        "entered": float(entries == ["entry 1 /rent", "entry 2 /heat"]),
        "receipt": float(receipt.exists() and receipt.read_text() == "entry 2"),
    }
"""
SERVICE = {"name": "ledger", "command": ["python3", "ledger.py"], "folder": "ledger", "port": 8020, "ready": "/health"}


def _task(task_id: str) -> TaskFile:
    enter = "curl -sS http://127.0.0.1:8020"
    hidden = "ls /service; ls -A /workspace/.services"  # what belongs to the service, and what only the check gets
    return TaskFile(
        task_id=task_id,
        turns=[
            ("Enter the rent.", [("exec", {"command": f"{enter}/rent && {hidden}"})], "Entered the rent."),
            ("Enter the heating.", [("exec", {"command": f"{enter}/heat > receipt.txt"})], "Entered the heating."),
        ],
        new_session=frozenset({1}),
        check=CHECK,
        services=[SERVICE | {"limit": 240}],
    )


@older_release_is_long
async def test_the_sessions_of_an_agent_share_one_service_apart_from_that_of_another_trial(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    before = home.snapshot()
    tasks_dir = write_suite(tmp_path / "tasks", [_task("task_cedar"), _task("task_maple")])
    put(tasks_dir / "assets" / "ledger" / "ledger.py", LEDGER)
    config = RunConfig(
        model="demo/oracle",
        tasks_dir=tasks_dir,
        openclaw=openclaw.version,
        concurrency=2,
        output_dir=tmp_path / "results",
        run_root=tmp_path / "pb",
    )
    result = await run_benchmark(config)
    assert [one.reason for one in result.outcomes] == [Reason.COMPLETED] * 2, result.outcomes
    for outcome in result.outcomes:
        grade = result.grades[outcome.key]
        assert grade.breakdown == {"entered": 1.0, "receipt": 1.0}, grade
        assert len(outcome.session_ids) == 2
        text = (result.folder / outcome.evidence / "transcript.jsonl").read_text(encoding="utf-8")
        assert "entered the rent" in text.lower()
        assert "ledger" not in text  # neither the service's program nor its log
    assert home.snapshot() == before
    assert find_marked(result.run_id) == []
