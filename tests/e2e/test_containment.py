"""Whatever a real agent has started is dead when its trial is over, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest
from anyio import fail_after, to_thread

from pinchbench import Reason, RunConfig, run_benchmark
from pinchbench.process.leftovers import find_marked
from real_openclaw import Step, TaskFile, older_release_is_long, write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.openclaw.command import OpenClaw

pytestmark = [pytest.mark.openclaw, pytest.mark.anyio]


def _tag(number: int) -> int:
    """A number that no other process of the tests uses at the same time."""
    return os.getpid() * 10 + number


def _stay(tag: int) -> Step:
    """Start children that stay: in the background, in a session of their own, without the marker."""
    command = f"sleep {tag}1 & setsid sleep {tag}2 & (setsid env -i /bin/sleep {tag}3 &) ; echo started"
    return "exec", {"command": command, "yieldMs": 1000}  # OpenClaw would wait for the children's output


def _wait(command: str) -> Step:
    """Run a command in the foreground for longer than the trial may take; OpenClaw's own default is 10 s."""
    return "exec", {"command": command, "yieldMs": 120_000}


def _alive(tag: int) -> list[str]:
    """The command lines of living processes that a task with this tag has started."""
    wanted = {f"{tag}{number}" for number in range(1, 10)}
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        arguments = process.info["cmdline"] or []
        if process.info["status"] != psutil.STATUS_ZOMBIE and wanted & set(arguments):
            found.append(" ".join(arguments))
    return found


@older_release_is_long
@pytest.mark.usefixtures("home")
async def test_nobody_survives_a_normal_end_or_a_timeout(openclaw: OpenClaw, tmp_path: Path) -> None:
    normal, late = _tag(1), _tag(2)
    suite = write_suite(
        tmp_path / "suite",
        [
            TaskFile(task_id="task_normal", turns=[("Start and go.", [_stay(normal)], "Started.")]),
            TaskFile(
                task_id="task_late",
                turns=[
                    (
                        "Start and stay.",
                        [_stay(late), _wait(f"touch reached; sleep {late}4")],
                        "Never said.",
                    )
                ],
                timeout_s=90,
            ),
        ],
    )
    config = RunConfig(
        model="demo/oracle",
        tasks_dir=suite,
        openclaw=openclaw.version,
        concurrency=2,
        output_dir=tmp_path / "results",
        run_root=tmp_path / "pb",
    )

    result = await run_benchmark(config)

    reasons = {one.key.task_id: one.reason for one in result.outcomes}
    assert reasons == {"task_normal": Reason.COMPLETED, "task_late": Reason.TIMED_OUT}
    assert (tmp_path / "pb" / result.run_id / "task_late" / "reached").exists()
    assert _alive(normal) == []
    assert _alive(late) == []
    assert find_marked(result.run_id) == []


@pytest.mark.usefixtures("home")
async def test_nobody_survives_a_ctrl_c_and_the_run_says_what_became_of_each_trial(
    openclaw: OpenClaw, tmp_path: Path
) -> None:
    tag = _tag(3)
    fifo = tmp_path / "seen" / "reached"
    fifo.parent.mkdir()
    os.mkfifo(fifo)
    stay = [_stay(tag), _wait(f"echo now > {fifo}; sleep {tag}4")]
    suite = write_suite(
        tmp_path / "suite",
        [
            TaskFile(task_id="task_first", turns=[("Start and stay.", stay, "Never said.")]),
            TaskFile(task_id="task_second", turns=[("Never asked.", [], "Never said.")]),
        ],
    )
    command = [sys.executable, "-m", "pinchbench", "--model", "demo/oracle", "--tasks-dir", str(suite)]
    command += ["--openclaw", openclaw.version, "--output-dir", str(tmp_path / "results")]
    command += ["--run-root", str(tmp_path / "pb"), "--no-upload", "--sandbox-allow", f"{fifo.parent}:rw"]
    with subprocess.Popen(  # noqa: ASYNC220 - starts at once; what waits is in threads
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as runner:
        try:
            with fail_after(180):
                await to_thread.run_sync(fifo.read_text, abandon_on_cancel=True)
            # those of the step before; the command that has just told of itself is about to be the fourth
            assert len(_alive(tag)) >= 3
            runner.send_signal(signal.SIGINT)
            with fail_after(60):
                out, err = await to_thread.run_sync(runner.communicate, abandon_on_cancel=True)
        finally:
            runner.kill()

    assert runner.returncode == 130, err
    assert "SIGINT" in err
    assert _alive(tag) == []
    data = json.loads((tmp_path / "results" / out.strip()).read_text(encoding="utf-8"))
    assert find_marked(data["run_id"]) == []
    assert [(task["task_id"], task["reason"]) for task in data["tasks"]] == [("task_first", "interrupted")]
    assert data["counts"]["not_run"] == 1
    assert data["interrupted"] == "SIGINT"
