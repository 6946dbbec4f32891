"""Kept evidence of a trial, and checks that are run on it."""

from __future__ import annotations

import json
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from anyio import fail_after

from pinchbench.files.archive_write import keep_workspace
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.grading.checks import CheckJob, run_check
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.transcript_lines import parse_line

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.model.grade import CheckGrade

NOW = 1_750_000_000.0  # 2025-06-15, 15:06:40 UTC


class Desk:
    """A trial's workspace and transcript, the evidence made of them, and a place where checks are run on it."""

    def __init__(self, folder: Path, marker: str, sandbox: CheckSandbox | None) -> None:
        """Begin with an empty workspace and an empty transcript."""
        self.sandbox = sandbox
        self.workspace = folder / "runs" / "task"
        self.workspace.mkdir(parents=True)
        self.scratch = folder / "scratch"
        self.log = folder / "check.log"
        self.marker = marker
        self._folder = folder
        self._transcript = folder / "transcript.jsonl"
        self.tell()

    def tell(self, *events: object) -> None:
        """Write the transcript."""
        self._transcript.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")

    def job(self, code: str, **changes: object) -> CheckJob:
        """Keep the workspace as it is now, and return a check of it."""
        archive = self._folder / "workspace.tar.zst"
        keep_workspace(self.workspace, archive)
        job = CheckJob(
            code=dedent(code),
            transcript=self._transcript,
            chat=self._folder / "chat.jsonl",
            archive=archive,
            workspace=str(self.workspace),
            transcript_length=0,
            now=NOW,
            scratch=self.scratch,
            name="task",
            log=self.log,
            marker=self.marker,
            timeout_s=30.0,
            sandbox=self.sandbox,
        )
        job = replace(job, **changes)  # type: ignore[arg-type]
        return replace(job, transcript_length=_count(job.transcript)) if "transcript_length" not in changes else job

    async def check(self, code: str, **changes: object) -> CheckGrade:
        """Run a check that must come to its end."""
        job = self.job(code, **changes)
        with fail_after(60):
            return await run_check(job)

    def said(self) -> str:
        """Return what is in the check's log."""
        return self.log.read_text("utf-8") if self.log.exists() else ""


def _count(transcript: Path) -> int:
    lines = transcript.read_bytes().split(b"\n") if transcript.is_file() else []
    return sum(len(parse_line(line).events) for line in lines)


REFUSED = find_support().reason(Level.NAMESPACES)
IN_NAMESPACES = pytest.param(
    CheckSandbox(), id="namespaces", marks=pytest.mark.skipif(bool(REFUSED), reason=f"needs namespaces: {REFUSED}")
)


@pytest.fixture(params=[pytest.param(None, id="none"), IN_NAMESPACES])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return Desk(tmp_path, f"test-check/{uuid4().hex}", request.param)
