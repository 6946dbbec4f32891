"""Short commands of OpenClaw: bounded in time, and nothing of them is left running."""

import os
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import fail_after

from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.short_command import run_short
from processes import living


def hanging(folder: Path, script: str) -> OpenClaw:
    program = folder / "openclaw"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return OpenClaw(program=program, version="2026.9.6")


async def test_a_short_command_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinchbench.openclaw.short_command.SHORT_LIMIT_S", 0.2)
    monkeypatch.chdir(tmp_path)
    program = hanging(tmp_path, "exec sleep 600")
    with fail_after(60), pytest.raises(OpenClawError, match="`openclaw --version` did not end within 0 s"):
        await run_short(program, ["--version"], env=os.environ)
    assert living(tmp_path) == []


async def test_a_cancelled_short_command_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fifo = tmp_path / "ready"
    os.mkfifo(fifo)
    program = hanging(tmp_path, f"echo ready > {fifo}; exec sleep 600")
    with fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(run_short, program, ["--version"], env=os.environ))
            assert await anyio.Path(fifo).read_text() == "ready\n"
            group.cancel_scope.cancel()
    assert living(tmp_path) == []
