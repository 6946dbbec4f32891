"""Records on their way to the journal, and the word when they are on the disk."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from anyio import BrokenResourceError, CancelScope, ClosedResourceError, create_memory_object_stream, create_task_group

from pinchbench.events import PaceChanged, TrialEnded, TrialGraded
from pinchbench.results.journal import write_records
from pinchbench.results.records import GradeGiven, PaceSet, Record, TrialFinished

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.events import Event
    from pinchbench.results.journal import JournalWriter

T = TypeVar("T")


@asynccontextmanager
async def recording(
    journal: JournalWriter, emit: Callable[[Event], None]
) -> AsyncGenerator[MemoryObjectSendStream[Record]]:
    """The writer of a run beside the block, which gets the stream of its records.

    The writer outlives every cancel: it ends when all senders have closed. Outcomes and grades are shown once they
    are on the disk. Raises ResultsError, in an ExceptionGroup, when the journal can't be written.
    """
    # Without bound, so that handing over a record never waits; the plan bounds it.
    sender, receiver = create_memory_object_stream[Record](math.inf)

    def written(record: Record) -> None:
        if isinstance(record, TrialFinished):
            emit(TrialEnded(outcome=record.outcome, retried=record.retried))
        elif isinstance(record, PaceSet):
            emit(PaceChanged(limit=record.limit, why=record.why, is_end=record.is_end))
        elif isinstance(record, GradeGiven):
            emit(TrialGraded(grade=record.grade))

    async with create_task_group() as group:
        group.start_soon(_write, receiver, journal, written)
        with sender:
            yield sender


async def _write(
    receiver: MemoryObjectReceiveStream[Record], journal: JournalWriter, written: Callable[[Record], None]
) -> None:
    with CancelScope(shield=True):
        await write_records(receiver, journal, written)


def hand_over(stream: MemoryObjectSendStream[T], item: T) -> None:
    """Give something to whoever is at the other end. Never waits, so that it works in a cancelled scope as well."""
    # The writer is gone only when it failed: then its error ends the run, and is the one to be told. The graders are
    # gone when the grading was ended: the trial stays without a grade. What the writer itself brings up after the last
    # sender has gone comes too late to matter.
    with suppress(BrokenResourceError, ClosedResourceError):
        stream.send_nowait(item)
