"""Grading workers over one stream of finished trials, and the end of their work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import create_task_group, move_on_after

from pinchbench.grading.grader import checks_at_once
from pinchbench.results.records import GradeGiven
from pinchbench.runner.handover import hand_over
from pinchbench.runner.interrupt import GRADING_LIMIT_S

if TYPE_CHECKING:
    from anyio import Event
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.config import JudgeConfig
    from pinchbench.grading.grader import GradeJob, Grader
    from pinchbench.results.records import Record


TRIALS_A_PLACE = 4  # so that trials that wait for one of the two, checks or judge, do not keep the other idle


def worker_count(judge: JudgeConfig | None) -> int:
    """How many trials are taken at once: enough to keep the judge and the checks busy."""
    return TRIALS_A_PLACE * (checks_at_once() + (judge.concurrency if judge is not None else 0))


async def run_graders(
    grader: Grader,
    jobs: MemoryObjectReceiveStream[GradeJob],
    records: MemoryObjectSendStream[Record],
    *,
    workers: int,
    stop: Event,
    hurry: Event,
    begin_no_more: bool = False,
) -> None:
    """Grade every trial that comes until the stream ends; owns both streams.

    Once `stop` is set, that may take `GRADING_LIMIT_S` seconds longer; with `begin_no_more`, what was not begun by
    then is left out. At that limit, when `hurry` is set, or on a cancellation, the checks that run are ended. Trials
    that were not graded stay without a grade and can be graded later.
    """
    with jobs, records:
        async with create_task_group() as outer:

            async def heed() -> None:
                await stop.wait()
                with move_on_after(GRADING_LIMIT_S):
                    await hurry.wait()
                outer.cancel_scope.cancel()

            outer.start_soon(heed)
            async with create_task_group() as group:
                for _ in range(workers):
                    group.start_soon(_work, grader, jobs.clone(), records.clone(), stop if begin_no_more else None)
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
