"""Follow a run that another process writes: read its journal as it grows and turn the records into events."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import UNSET

from pinchbench import events
from pinchbench.errors import ResultsError
from pinchbench.files.beneath import open_regular
from pinchbench.results import records
from pinchbench.results.aggregate import limits_of
from pinchbench.results.journal.recovery import MAX_RECORD_BYTES
from pinchbench.results.manifest import read_facts
from pinchbench.results.run_state import RunState, as_resumed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinchbench.events import Event
    from pinchbench.results.paths import RunFiles
    from pinchbench.results.records import Record


def event_of(record: Record) -> Event | None:  # noqa: PLR0911 - one for each
    """Return the event; None for a record that shows nothing by itself."""
    match record:
        case records.TrialFinished(outcome=outcome, retried=retried):
            return events.TrialEnded(outcome=outcome, retried=retried)
        case records.GradeGiven(grade=grade):
            return events.TrialGraded(grade=grade)
        case records.PaceSet(limit=limit, why=why, is_end=is_end):
            return events.PaceChanged(limit=limit, why=why, is_end=is_end)
        case records.BudgetSet(max_cost=max_cost, max_tokens=max_tokens):
            return events.BudgetChanged(
                max_cost_usd=None if max_cost is UNSET else max_cost,
                max_tokens=None if max_tokens is UNSET else max_tokens,
            )
        case records.TrialStopped(key=key):
            return events.SkipAsked(keys=(key,))
        case records.TrialsSkipped(keys=keys):
            return events.SkipAsked(keys=keys)
        case _:
            return None


READ_BYTES = MAX_RECORD_BYTES  # per read
NO_LIMIT_S = 0.0  # for a task that run.json does not contain


class JournalTail:
    """Reads what was appended to a growing journal since the last read. Changes nothing and keeps no file open."""

    def __init__(self, path: Path) -> None:
        """Create a tail at the start of the file; nothing is read yet."""
        self._path = path
        self._at = 0

    def read(self) -> list[Record]:
        """Return whole records that were appended, perhaps not all of them; empty if there are none. Blocks.

        Invalid records are skipped: `read_journal` reports them later. Raises ResultsError if the file can't be read.
        """
        try:
            with open_regular(self._path) as file:
                size = file.seek(0, 2)
                # a writer whose disk is full truncates what it has not acknowledged; events already emitted for it are
                # not withdrawn
                self._at = min(self._at, size)
                file.seek(self._at)
                data = file.read(READ_BYTES)
        except OSError as error:
            raise ResultsError(f"The journal {self._path} can't be read: {error.strerror}.") from error
        end = data.rfind(b"\n") + 1
        if not end and len(data) == READ_BYTES:
            end = len(data)  # too long for a record: reading continues after its end
        self._at += end
        found = []
        for line in data[:end].split(b"\n"):
            with suppress(ValueError):  # torn, or written by another release
                found.append(records.decode(line.strip(b"\0")))
        return found


class FollowedRun:
    """The events of a run that another process executes, read from its files.

    Running agents write nothing to the journal: their activity and usage are known only when they end.
    """

    def __init__(self, files: RunFiles) -> None:
        """Read the facts of the run. Blocks. Raises ResultsError if there is no such run."""
        self.facts = read_facts(files.provenance)
        self.state = RunState(created_at=self.facts.created_at)
        self.records = 0  # how many were read
        self._files = files
        self._tail = JournalTail(files.journal)
        self._has_begun = False

    def read(self) -> list[Event]:
        """Return all events since the last call. Blocks. Raises ResultsError if the journal can't be read."""
        now = time.time()
        seen: list[Event] = [] if self._has_begun else [self.begin(now)]
        self._has_begun = True
        while found := self._tail.read():
            self.records += len(found)
            for record in found:
                seen += self.tell(record, now)
        return seen

    def begin(self, now: float) -> events.RunBegan:
        """Return how the run began, or was resumed, and what is left of it. `now` is in seconds since the epoch."""
        return self._began(self.facts.created_at, now)

    def tell(self, record: Record, now: float) -> Iterator[Event]:
        """Yield the events of a record that was just read."""
        self.state.apply(record)
        match record:
            case records.TrialStarted(key=key, slot=slot, attempt=attempt, at=at, node=node):
                task = self.facts.tasks.get(key.task_id)
                yield events.TrialBegan(
                    slot=slot,
                    key=key,
                    timeout_s=NO_LIMIT_S if task is None else task.timeout_s,
                    attempt=attempt,
                    ago_s=max(0.0, now - at),
                    node="" if node is UNSET else node,
                )
            case records.NoteAdded(text=text):
                yield events.Notice(text=f"Note: {text}")
            case records.RunResumed(at=at):
                self.facts = as_resumed(self.facts, [record])
                yield self._began(at, now)
            case records.RegradeStarted(trials=trials):
                yield events.RegradeBegan(run=self._files.name, trials=trials)
            case records.RunFinished(interrupted=str(signal)):
                yield events.Notice(text=f"{signal} has ended the run.")
            case _ if (event := event_of(record)) is not None:
                yield event
            case _:
                return

    def _began(self, at: float, now: float) -> events.RunBegan:
        gone = self.state.gone
        planned = [key for key in self.facts.keys if key.task_id not in gone]
        ahead = self.state.left(planned).keys
        limits = limits_of(self.facts)
        slots = self.facts.config.get("concurrency")
        return events.RunBegan(
            run_id=self.facts.run_id,
            model=self.facts.model,
            trials=len(planned),
            slots=max(1, min(slots if isinstance(slots, int) else 1, len(ahead))),
            folder=self._files.folder,
            ahead=ahead,
            pass_threshold=self.facts.pass_threshold,
            has_mean=self.facts.has_mean,
            max_cost_usd=limits.max_cost,
            max_tokens=limits.max_tokens,
            max_hours=limits.max_hours,
            ago_s=max(0.0, now - at),
        )
