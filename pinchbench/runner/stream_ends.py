"""The ends of a run's streams: the writer of the journal, and the graders of finished trials."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from anyio import BrokenResourceError, CancelScope, ClosedResourceError, move_on_after
from anyio import Event as AnyioEvent

from pinchbench.grading.grader import Grader, checks_at_once
from pinchbench.results.journal.journal import JournalWriter, write_records
from pinchbench.results.journal.tail import event_of
from pinchbench.results.records import GradeGiven, Record
from pinchbench.runner.signals import GRADING_LIMIT_S, Interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.config.asked_models import JudgeConfig
    from pinchbench.events import Event
    from pinchbench.grading.checks import GradeJob
    from pinchbench.model.grade import Grade
    from pinchbench.runner.run_context import Redactor

T = TypeVar("T")
TRIALS_A_PLACE = 4  # so that trials that wait for one of the two, checks or judge, do not keep the other idle


async def write(
    records: MemoryObjectReceiveStream[Record],
    journal: JournalWriter,
    *,
    redactor: Redactor,
    emit: Callable[[Event], None],
    follow: Callable[[Record], None] = lambda _: None,
) -> None:
    """Write the records of a run, without keys; once they are on the disk, `follow` gets them and events are emitted.

    Outlives every cancellation: it ends when all senders have closed. Owns the stream. Raises ResultsError when the
    journal can't be written.
    """

    def append(group: Sequence[Record]) -> None:
        journal.append([redactor.record(record) for record in group])

    def written(record: Record) -> None:
        follow(record)
        if (event := event_of(record)) is not None:
            emit(event)

    with CancelScope(shield=True):
        await write_records(records, append, written)


def hand_over(stream: MemoryObjectSendStream[T], item: T) -> None:
    """Send an item to the other end of a stream. Never waits, so that it works in a cancelled scope as well."""
    # The writer is gone only when it failed: then its error ends the run, and is the one to report. The graders are
    # gone when the grading was ended: the trial stays without a grade. What the writer itself brings up after the last
    # sender has gone comes too late to matter.
    with suppress(BrokenResourceError, ClosedResourceError):
        stream.send_nowait(item)


def worker_count(judge: JudgeConfig | None) -> int:
    """How many trials are taken at once: enough to keep the judge and the checks busy."""
    return TRIALS_A_PLACE * (checks_at_once() + (judge.concurrency if judge is not None else 0))


async def grade_trials(
    grader: Grader,
    jobs: MemoryObjectReceiveStream[GradeJob],
    records: MemoryObjectSendStream[Record],
    graded: Callable[[Grade], None],
    *,
    begin_no_more: AnyioEvent | None = None,
) -> None:
    """Grade one trial after another until the stream ends; owns both streams. `graded` gets what is on its way to them.

    Once the event `begin_no_more` is set, what was not begun by then is left out.
    """
    with jobs, records:
        async for job in jobs:
            if begin_no_more is not None and begin_no_more.is_set():
                break
            grade = await grader.grade(job)
            hand_over(records, GradeGiven(grade=grade))
            graded(grade)


async def limit_grading(interrupt: Interrupt, grading: CancelScope) -> None:
    """Cancel the grading `GRADING_LIMIT_S` seconds after the run was asked to stop, or as soon as it has to hurry.

    The checks that run are ended then. Trials that were not graded stay without a grade and can be graded later.
    """
    await interrupt.stop.wait()
    with move_on_after(GRADING_LIMIT_S):
        await interrupt.hurry.wait()
    grading.cancel()
