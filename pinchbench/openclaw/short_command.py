"""Run OpenClaw's commands that set something up or print something: seconds, under a guardian."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import move_on_after, to_thread

from pinchbench.errors import OpenClawError
from pinchbench.files.folders import remove_folder
from pinchbench.process.spec import EndReason, Limits, ProcessSpec
from pinchbench.process.supervise import supervise

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from pinchbench.openclaw.command import OpenClaw

SHORT_GRACE_S = 2.0  # a command that reads or writes a config exits quickly
REMOVE_LIMIT_S = 30.0
SHORT_LIMIT_S = 120.0  # `--version` and the like take 1 to 9 CPU-seconds; a loaded machine multiplies that


async def run_short(
    found: OpenClaw, args: Sequence[str], *, env: Mapping[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a short OpenClaw command with the environment `env`, and return its output and unchecked exit code.

    It runs as in `run_guarded`. Raises OpenClawError if it can't be started or takes longer than `SHORT_LIMIT_S`.
    """
    command, env = " ".join(["openclaw", *args]), {**env, "OPENCLAW_NO_RESPAWN": "1"}
    try:
        return await run_guarded([str(found.program), *args], env=env, limit_s=SHORT_LIMIT_S, stdin=stdin)
    except TimeoutError as error:
        raise OpenClawError(f"`{command}` did not end within {SHORT_LIMIT_S:.0f} s.") from error
    except OSError as error:
        raise OpenClawError(f"`{command}` can't be run ({found.program}): {error}.") from error


async def run_guarded(
    argv: Sequence[str], *, env: Mapping[str, str], limit_s: float, cwd: Path | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a program, in a folder of its own unless `cwd` is given; return its output and unchecked exit code.

    It runs under a guardian, like an agent: it and all processes it started are dead when this returns or is cancelled,
    and when the runner dies. Raises TimeoutError, and another OSError if it can't be started.
    """
    async with short_lived_folder() as folder:
        await to_thread.run_sync((folder / "stdin").write_bytes, stdin)
        spec = ProcessSpec(
            argv=argv,
            cwd=cwd or folder,
            env=env,
            stdin=folder / "stdin",
            stdout=folder / "stdout",
            stderr=folder / "stderr",
            marker=f"setup/{os.getpid()}/{folder.name}",
            limits=Limits(grace_s=SHORT_GRACE_S),
        )
        end = await supervise(spec, timeout_s=limit_s)
        if end.reason is EndReason.TIMED_OUT:
            raise TimeoutError
        if end.exit_code is None:
            raise OSError(end.error)
        output = await to_thread.run_sync((folder / "stdout").read_bytes)
        errors = await to_thread.run_sync((folder / "stderr").read_bytes)
        return subprocess.CompletedProcess(argv, end.exit_code, output, errors)


def last_line(output: bytes) -> str:
    """Return the last line of a program's output that is not blank, at most 300 characters of it."""
    lines = output.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no message")[:300]


@asynccontextmanager
async def short_lived_folder(parent: Path | None = None, prefix: str = "pinchbench-") -> AsyncGenerator[Path]:
    """Make a private folder for temporary files, and remove it at the end. Raises OSError.

    Its path is short unless it is made in another folder, `parent`.
    """
    folder = await to_thread.run_sync(lambda: Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).resolve())
    try:
        yield folder
    finally:
        with move_on_after(REMOVE_LIMIT_S, shield=True):
            await to_thread.run_sync(remove_folder, folder, abandon_on_cancel=True)
