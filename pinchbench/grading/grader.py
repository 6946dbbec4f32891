"""One trial to its grade: the check and the judge side by side."""

from __future__ import annotations

import os
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, create_task_group, move_on_after, to_thread

from pinchbench.grading.checks import CheckJob, run_check
from pinchbench.grading.combine import combine
from pinchbench.grading.evidence import make_question
from pinchbench.grading.judge_record import keep_replies
from pinchbench.model import CheckGrade, Grade, GradingType, JudgeGrade, Ungraded
from pinchbench.results.evidence import Evidence, digests_of
from pinchbench.secrets import mask_file

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.grading.judge import Judge
    from pinchbench.model import Task, TrialKey

MIN_CHECK_S = 60.0  # a check may take as long as the agent had, and never less than this
MASK_LIMIT_S = 10.0  # a check may print some MB
MAX_NOTE = 4000  # characters of a traceback in the journal
NO_JUDGE = JudgeGrade(ungraded=Ungraded.NO_JUDGE, notes=("no judge was asked for; `--judge MODEL` names one",))


def checks_at_once() -> int:
    """How many checks run side by side: they work hard but shortly, beside agents that mostly wait."""
    return max(1, (os.cpu_count() or 1) // 2)


@dataclass(frozen=True, kw_only=True, slots=True)
class GradeJob:
    """A trial that is to be graded: paths, not contents.

    `ended_at` (seconds since the epoch, UTC) is what a check takes for now, in the agent's `timezone` (a name for `TZ`,
    or empty). `workspace` is where the agent worked, as its transcript names it; `transcript_length` counts the events
    of that transcript. `not_kept` says what is missing in the kept workspace. `marker` names the check's processes.
    """

    key: TrialKey
    task: Task
    evidence: Evidence
    workspace: str
    transcript_length: int
    ended_at: float
    timeout_s: float
    marker: str
    not_kept: tuple[str, ...] = ()
    timezone: str = ""
    attempt: int = 1


class Grader:
    """What the grading workers of a run share: the judge, and the place where checks run."""

    def __init__(
        self, *, judge: Judge | None, scratch: Path, secrets: tuple[str, ...] = (), checks: int | None = None
    ) -> None:
        """`scratch` is a folder in which checks run; other runners may use it as well. Without a judge, what needs one stays ungraded.

        At most `checks` run at once; by default so few that agents can work beside them.
        """
        self._judge = judge
        self._scratch = scratch
        self._secrets = secrets
        self._checks = CapacityLimiter(checks or checks_at_once())

    async def grade(self, job: GradeJob) -> Grade:
        """Grade a trial. What is kept of that holds no keys; the grade itself is as it was given. Raises as `_grade`."""
        files = None
        try:
            grade = await self._grade(job)
        finally:
            with move_on_after(MASK_LIMIT_S, shield=True), suppress(OSError):
                files = await to_thread.run_sync(_finish_log, job.evidence, self._secrets, abandon_on_cancel=True)
        return replace(grade, files=files)

    async def _grade(self, job: GradeJob) -> Grade:
        """Grade a trial. What goes wrong is in the grade; only a cancellation raises, when all processes are dead."""
        parts = _Parts()
        wants = job.task.grading_type
        try:
            async with create_task_group() as group:
                if wants is not GradingType.LLM_JUDGE:
                    group.start_soon(self._check, job, parts)
                if wants is not GradingType.AUTOMATED:
                    group.start_soon(self._ask_judge, job, parts)
        except Exception:  # noqa: BLE001 - a bug of ours must not cost the other trials their grades
            note = traceback.format_exc()[-MAX_NOTE:]
            return Grade(
                key=job.key,
                attempt=job.attempt,
                grading_type=wants,
                ungraded=Ungraded.GRADER_BUG,
                notes=(note,),
                digest=job.task.digest,
                graded_at=time.time(),
            )
        grade = combine(job.key, job.task, check=parts.check, judge=parts.judge, graded_at=time.time())
        missing = tuple(f"not in the kept workspace: {one}" for one in job.not_kept)
        return replace(grade, attempt=job.attempt, notes=(*grade.notes, *missing))

    async def _check(self, job: GradeJob, parts: _Parts) -> None:
        async with self._checks:
            parts.check = await run_check(
                CheckJob(
                    code=job.task.automated_checks or "",
                    transcript=job.evidence.transcript,
                    archive=job.evidence.workspace,
                    workspace=job.workspace,
                    transcript_length=job.transcript_length,
                    now=job.ended_at,
                    timezone=job.timezone,
                    scratch=self._scratch,
                    name=str(job.key),
                    log=job.evidence.check_log,
                    marker=job.marker,
                    timeout_s=max(job.timeout_s, MIN_CHECK_S),
                )
            )

    async def _ask_judge(self, job: GradeJob, parts: _Parts) -> None:
        if self._judge is None:
            parts.judge = NO_JUDGE
            return
        try:
            ask = partial(make_question, job.task, job.evidence, transcript_length=job.transcript_length)
            question = await to_thread.run_sync(ask)
        except OSError as error:
            parts.judge = JudgeGrade(ungraded=Ungraded.EVIDENCE_LOST, notes=(f"the evidence can't be read: {error}",))
            return
        judgement = await self._judge.grade(question)
        keep = partial(keep_replies, job.evidence, question, judgement, self._secrets)
        try:
            parts.judge = replace(judgement.grade, replies_digest=await to_thread.run_sync(keep))
        except OSError as error:
            note = f"the judge's replies could not be kept: {error}"
            parts.judge = replace(judgement.grade, notes=(*judgement.grade.notes, note))


def _finish_log(evidence: Evidence, secrets: tuple[str, ...]) -> dict[str, str]:
    mask_file(evidence.check_log, secrets)
    return digests_of([evidence.check_log])


@dataclass(slots=True)
class _Parts:
    """What the two graders have come to."""

    check: CheckGrade | None = None
    judge: JudgeGrade | None = None
