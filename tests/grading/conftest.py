"""Kept evidence of a trial, and checks that are run on it."""

import json
from dataclasses import fields, replace
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import pytest
from anyio import fail_after

from made_tasks import made_task
from pinchbench.files.archive_write import keep_workspace
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.grading.checks import CheckJob, GradeJob, run_check
from pinchbench.model.grade import CheckGrade
from pinchbench.model.task import Task
from pinchbench.model.trial import TrialKey
from pinchbench.results.evidence_files import Evidence
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.transcript_lines import parse_line

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
        self.folder = folder
        self.transcript = folder / "transcript.jsonl"
        self.tell()

    def tell(self, *events: object) -> None:
        """Write the transcript."""
        self.transcript.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")

    def job(self, code: str, **changes: object) -> CheckJob:
        """Keep the workspace as it is now, and return a check of it, with changes to it, its trial and its task."""
        evidence = Evidence(folder=self.folder)
        keep_workspace(self.workspace, evidence.workspace)
        named = [{one.name for one in fields(kind)} & changes.keys() for kind in (Task, GradeJob, CheckJob)]
        of_task, of_trial, of_job = ({name: changes[name] for name in names} for names in named)
        task = made_task(task_id="task", automated_checks=dedent(code), **of_task)
        trial = GradeJob(
            key=TrialKey(task_id="task", repetition=1),
            task=task,
            evidence=evidence,
            workspace=str(self.workspace),
            transcript_length=_count(evidence.transcript),
            ended_at=NOW,
            timeout_s=30.0,
            marker=self.marker,
        )
        trial = replace(trial, **of_trial)  # type: ignore[arg-type]
        job = CheckJob(trial=trial, scratch=self.scratch, timeout_s=30.0, sandbox=self.sandbox)
        return replace(job, **of_job)  # type: ignore[arg-type]

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
BARE = pytest.param(None, id="none", marks=() if REFUSED else pytest.mark.long)
IN_NAMESPACES = pytest.param(
    CheckSandbox(), id="namespaces", marks=pytest.mark.skipif(bool(REFUSED), reason=f"needs namespaces: {REFUSED}")
)


BOTH = pytest.mark.parametrize("desk", [pytest.param(None, id="none"), IN_NAMESPACES], indirect=True)


@pytest.fixture(params=[BARE, IN_NAMESPACES])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    """Return a place for checks, which `make test` runs as most machines do; the tests of `BOTH` are also run bare."""
    return Desk(tmp_path, f"test-check/{uuid4().hex}", request.param)
