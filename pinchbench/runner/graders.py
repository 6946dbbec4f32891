"""M grading workers over one stream of finished trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import create_task_group

from pinchbench.grading.grader import checks_at_once
from pinchbench.results.records import GradeGiven
from pinchbench.runner.handover import hand_over

if TYPE_CHECKING:
    from anyio import Event
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.config import JudgeConfig
    from pinchbench.grading.grader import GradeJob, Grader
    from pinchbench.results.records import Record


def worker_count(judge: JudgeConfig | None) -> int:
    """How many trials are graded at once: enough to keep the judge and the checks busy."""
    return checks_at_once() + (judge.concurrency if judge is not None else 0)


async def run_graders(
    grader: Grader,
    jobs: MemoryObjectReceiveStream[GradeJob],
    records: MemoryObjectSendStream[Record],
    *,
    workers: int,
    hurry: Event,
    stop: Event | None = None,
) -> None:
    """Grade every trial that comes until the stream ends; owns both streams. Once `stop` is set, no more are begun.

    When `hurry` is set, or on a cancellation, the checks that run are ended; their trials, and those that wait, stay
    without a grade and can be graded later.
    """
    with jobs, records:
        async with create_task_group() as outer:

            async def heed() -> None:
                await hurry.wait()
                outer.cancel_scope.cancel()

            outer.start_soon(heed)
            async with create_task_group() as group:
                for _ in range(workers):
                    group.start_soon(_work, grader, jobs.clone(), records.clone(), stop)
            outer.cancel_scope.cancel()


async def _work(
    grader: Grader,
    jobs: MemoryObjectReceiveStream[GradeJob],
    records: MemoryObjectSendStream[Record],
    stop: Event | None,
) -> None:
    with jobs, records:
        async for job in jobs:
            if stop is not None and stop.is_set():
                break
            hand_over(records, GradeGiven(grade=await grader.grade(job)))
