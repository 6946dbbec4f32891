"""Grading one trial: the check and the judges at the same time, and one grade from all."""

from __future__ import annotations

import os
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, amap, gather, move_on_after, to_thread

from pinchbench.grading.checks import CheckJob, GradeJob, run_check
from pinchbench.grading.judge.kept_replies import keep_replies
from pinchbench.grading.judge.prompt import Question, make_question
from pinchbench.grading.judge.votes import Judge, mean_grade
from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade, Ungraded
from pinchbench.model.task import GradingType, Task
from pinchbench.redaction import mask_file
from pinchbench.results.evidence_files import Evidence, digests_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.model.trial import TrialKey


def combine(
    key: TrialKey, task: Task, *, check: CheckGrade | None, judge: JudgeGrade | None, graded_at: float
) -> Grade:
    """Return the grade of a trial from the parts that its grading type requires; these must be given.

    A hybrid task's score is the weighted mean of its parts. If one part has no score, the whole is ungraded, for that
    part's reason; the result of the other part stays in the grade. A judge counts as 0, and need not be given, where
    the check's score is below the gate of the task's rule.
    """
    parts = tuple(_parts(task, check, judge))
    ungraded = next((part.ungraded for _, _, part in parts if part.score is None), None)
    score = None
    if ungraded is None:
        score = sum(weight * part.score for _, weight, part in parts if part.score is not None)
        score = min(1.0, max(0.0, score))  # weights sum to 1 except for rounding
    is_hybrid = task.grading_type is GradingType.HYBRID
    return Grade(
        key=key,
        grading_type=task.grading_type,
        score=score,
        ungraded=ungraded,
        breakdown={
            f"{name}.{criterion}" if is_hybrid else criterion: points
            for name, _, part in parts
            for criterion, points in part.breakdown.items()
        },
        notes=tuple(note for _, _, part in parts for note in part.notes),
        check=check,
        judge=judge,
        digest=task.digest,
        graded_at=graded_at,
    )


def is_gated(task: Task, check: CheckGrade | None) -> bool:
    """Return whether a hybrid task's judge counts as 0 because of what the check says."""
    return (
        task.grading_type is GradingType.HYBRID
        and check is not None
        and check.score is not None
        and check.score < task.rule.judge_gate
    )


def _parts(
    task: Task, check: CheckGrade | None, judge: JudgeGrade | None
) -> Iterator[tuple[str, float, CheckGrade | JudgeGrade]]:
    if is_gated(task, check):
        note = f"the judge counts as 0: the check gives less than {task.rule.judge_gate:g}"
        judge = JudgeGrade(score=0.0, notes=(note,))
    for name, part in ((GradingType.AUTOMATED, check), (GradingType.LLM_JUDGE, judge)):
        if part is not None:
            yield name, task.grading_weights[name] if task.grading_type is GradingType.HYBRID else 1.0, part


MIN_CHECK_S = 60.0  # a check's limit is the agent's, but at least this
MASK_LIMIT_S = 10.0  # a check may print a few MB
MAX_NOTE = 4000  # characters of a traceback in the journal
NO_JUDGE = JudgeGrade(ungraded=Ungraded.NO_JUDGE, notes=("no judge was asked for; `--judge MODEL` names one",))


def checks_at_once() -> int:
    """Return how many checks run at once: they use the CPU heavily but briefly, while agents mostly wait."""
    return max(1, (os.cpu_count() or 1) // 2)


class Grader:
    """State shared by the grading workers of a run: the judges, and the folder in which checks run."""

    def __init__(
        self,
        *,
        judges: Sequence[Judge] = (),
        scratch: Path,
        secrets: tuple[str, ...] = (),
        checks: int | None = None,
        sandbox: CheckSandbox | None = None,
    ) -> None:
        """Take the judges and `scratch`, a folder in which checks run and which other runners may share.

        Without a judge, trials that need one stay ungraded. At most `checks` checks run at once; the default leaves CPU
        time for the agents. Each check runs in `sandbox`, if there is one.
        """
        self._judges = judges
        self._scratch = scratch
        self._secrets = secrets
        self._sandbox = sandbox
        self._checks = CapacityLimiter(checks or checks_at_once())

    async def grade(self, job: GradeJob) -> Grade:
        """Grade a trial and mask secrets in the kept log of its check; the grade itself is not masked.

        Raises only what `_grade` raises.
        """
        files = None
        try:
            grade = await self._grade(job)
        finally:
            with move_on_after(MASK_LIMIT_S, shield=True), suppress(OSError):
                files = await to_thread.run_sync(_finish_log, job.evidence, self._secrets, abandon_on_cancel=True)
        return replace(grade, files=files)

    async def _grade(self, job: GradeJob) -> Grade:
        """Grade a trial. Failures are reported in the grade.

        Only a cancellation raises, after all processes are dead.
        """
        wants = job.task.grading_type
        check: CheckGrade | None = None
        judge: JudgeGrade | None = None
        try:
            if wants is GradingType.HYBRID and job.task.rule.judge_gate:
                check = await self._check(job)
                if check.score is not None and not is_gated(job.task, check):
                    judge = await self._ask_judges(job)
            elif wants is GradingType.HYBRID:
                check, judge = await gather(self._check(job), self._ask_judges(job))
            elif wants is GradingType.LLM_JUDGE:
                judge = await self._ask_judges(job)
            else:
                check = await self._check(job)
        except Exception:  # noqa: BLE001 - a bug in the grader must not affect other trials
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
        grade = combine(job.key, job.task, check=check, judge=judge, graded_at=time.time())
        missing = tuple(f"not in the kept workspace: {one}" for one in job.not_kept)
        return replace(grade, attempt=job.attempt, notes=(*grade.notes, *missing))

    async def _check(self, job: GradeJob) -> CheckGrade:
        limit_s = job.task.verifier.limit_s if job.task.verifier is not None else 0.0
        timeout_s = max(job.timeout_s, MIN_CHECK_S, limit_s)
        check = CheckJob(trial=job, scratch=self._scratch, timeout_s=timeout_s, sandbox=self._sandbox)
        async with self._checks:
            return await run_check(check)

    async def _ask_judges(self, job: GradeJob) -> JudgeGrade:
        if not self._judges:
            return NO_JUDGE
        try:
            ask = partial(make_question, job.task, job.evidence, transcript_length=job.transcript_length)
            question = await to_thread.run_sync(ask)
        except OSError as error:
            return JudgeGrade(ungraded=Ungraded.EVIDENCE_LOST, notes=(f"the evidence can't be read: {error}",))
        return mean_grade(await amap(lambda judge: self._ask_judge(judge, question, job.evidence), self._judges))

    async def _ask_judge(self, judge: Judge, question: Question, evidence: Evidence) -> JudgeGrade:
        judgement = await judge.grade(question)
        keep = partial(keep_replies, evidence, question, judgement, self._secrets)
        try:
            return replace(judgement.grade, replies_digest=await to_thread.run_sync(keep))
        except OSError as error:
            note = f"the judge's replies could not be kept: {error}"
            return replace(judgement.grade, notes=(*judgement.grade.notes, note))


def _finish_log(evidence: Evidence, secrets: tuple[str, ...]) -> dict[str, str]:
    mask_file(evidence.check_log, secrets)
    return digests_of([evidence.check_log])
