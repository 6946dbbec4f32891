"""The runs and experiments of an output folder, read once and again only where their files have changed."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from pinchbench.errors import ResultsError
from pinchbench.experiment.experiment_record import EXPERIMENT_JSON, ExperimentFiles
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import is_written
from pinchbench.results.manifest import read_facts
from pinchbench.results.paths import runs_of
from pinchbench.results.run_list import RunEntry, State, run_entry
from pinchbench.results.task_statistics import Item, find_subjects, item_statistics
from pinchbench.serve.live_run import LiveRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.manifest import TaskFacts
    from pinchbench.results.paths import RunFiles

SHARE = 0.05  # of the time at most, to read a growing run again: a large one takes seconds
LIVE_S = 0.5  # between two readings of a growing journal
MOST_TRIALS = 200_000  # of runs that are kept in memory, about a kilobyte each
MOST_PAST = 6  # whole runs that are kept in memory, for comparisons
MOST_MADE = 4  # of what was made of whole runs, such as a comparison, which takes seconds

Made = TypeVar("Made")
Signature = tuple[object, ...]


@dataclass(slots=True)
class _Known:
    """A run of the list, as its files were. `due` is when they may be read again."""

    signature: Signature
    entry: RunEntry
    due: float


@dataclass(slots=True)
class _Followed:
    """A run whose trials are in memory."""

    run: LiveRun
    lock: Lock = field(default_factory=Lock)
    used: float = 0.0
    due: float = 0.0


class Catalogue:
    """The runs of an output folder. Every method blocks and may be called from any thread."""

    def __init__(self, output_dir: Path) -> None:
        """Nothing is read yet."""
        self.output_dir = output_dir
        self._known: dict[str, _Known] = {}
        self._reading = Lock()
        self._followed: dict[str, _Followed] = {}
        self._lock = Lock()  # of those that are followed, held for moments only
        self._past = lru_cache(MOST_PAST)(lambda files, _: read_run(files))
        self._made = lru_cache(MOST_MADE)(lambda make, files, _: make([self.past(one) for one in files]))
        self._items = lru_cache(1)(_find_items)
        self._is_closed = False

    def close(self) -> None:
        """End a reading that goes on, after the run that it is at."""
        self._is_closed = True

    def find(self, name: str) -> RunFiles | None:
        """Find a run by its whole name among those of the folder: a name is never joined to a path."""
        return next((files for files in runs_of(self.output_dir) if files.name == name), None)

    def runs(self) -> tuple[RunFiles, ...]:
        """Return the runs of the folder, newest first by id."""
        return runs_of(self.output_dir)

    def experiments(self) -> tuple[ExperimentFiles, ...]:
        """Return the experiments of the folder, newest first by id."""
        found = [path.parent.name for path in self.output_dir.glob(f"*/{EXPERIMENT_JSON}")]
        found.sort(key=lambda name: name.rpartition("_")[2], reverse=True)
        return tuple(ExperimentFiles(output_dir=self.output_dir, name=name) for name in found)

    def entries(self) -> tuple[RunEntry | None, ...]:
        """Return the runs in brief as far as they are known, newest first; None for one that was not read yet."""
        return tuple(
            known.entry if (known := self._known.get(files.name)) is not None else None
            for files in runs_of(self.output_dir)
        )

    def refresh(self, wait_s: float) -> None:
        """Read the runs that are new or have changed, or wait so long for another thread that does."""
        if not self._reading.acquire(timeout=wait_s):
            return
        try:
            there = runs_of(self.output_dir)
            for files in there:
                if self._is_closed:
                    return
                self._refresh(files)
            for name in self._known.keys() - {files.name for files in there}:
                del self._known[name]
        finally:
            self._reading.release()

    def _refresh(self, files: RunFiles) -> None:
        signature, began = _signature(files), time.monotonic()
        known = self._known.get(files.name)
        if known is not None and (known.signature == signature or began < known.due):
            return
        entry = run_entry(files)
        due = time.monotonic() + (time.monotonic() - began) / SHARE if entry.state is State.RUNNING else 0.0
        self._known[files.name] = _Known(signature=signature, entry=entry, due=due)

    @contextmanager
    def follow(self, files: RunFiles) -> Iterator[LiveRun]:
        """Take a run, read up to now, or to half a second ago: it is read again for all its clients at once.

        Waits while another thread reads it. Raises ResultsError if it can't be read.
        """
        with self._lock:
            one = self._followed.get(files.name)
            if one is None:
                one = self._followed[files.name] = _Followed(run=LiveRun(files))
            one.used = time.monotonic()
            self._forget(one)
        with one.lock:
            began = time.monotonic()
            if began >= one.due:
                one.run.read()
                one.due = max(began + LIVE_S, time.monotonic() + (time.monotonic() - began) / SHARE)
            yield one.run

    def _forget(self, newest: _Followed) -> None:
        """Keep no more trials than fit, the last used first."""
        room = MOST_TRIALS
        for name, one in sorted(self._followed.items(), key=lambda item: -item[1].used):
            room -= len(one.run.facts.plan)
            if room < 0 and one is not newest:
                del self._followed[name]

    def past(self, files: RunFiles) -> PastRun:
        """Return a whole run, for comparisons. Raises ResultsError if it can't be read."""
        return self._past(files, _signature(files))

    def made_of(self, files: Sequence[RunFiles], make: Callable[[Sequence[PastRun]], Made]) -> Made:
        """Return what a function makes of whole runs, again only when their files have changed. Raises ResultsError."""
        made: Made = self._made(make, tuple(files), tuple(map(_signature, files)))
        return made

    def items(self) -> FoundItems:
        """Return the statistics of tasks, each in the version that the newest run has."""
        return self._items(self.output_dir, tuple(_stat(files.aggregate) for files in self.runs()))


def _signature(files: RunFiles) -> Signature:
    """Return what changes when the files of a run do, or when nobody writes them any more."""
    is_running = False
    with suppress(OSError, ResultsError):
        is_running = is_written(files.journal)
    return (*map(_stat, (files.provenance, files.journal, files.aggregate)), is_running)


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedItem:
    """A task of the page: its statistics, its title and its category."""

    item: Item
    title: str
    category: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundItems:
    """The statistics of all tasks over `subjects`; `excluded` are sentences about what is not used."""

    items: tuple[ListedItem, ...]
    subjects: int
    excluded: tuple[str, ...]


def _find_items(output_dir: Path, _signature: Signature) -> FoundItems:
    tasks = _newest_tasks(output_dir)
    found = find_subjects(output_dir, digests={task_id: task.digest for task_id, task in tasks.items()})
    items = tuple(
        ListedItem(item=item, title=tasks[item.task_id].title, category=tasks[item.task_id].category)
        for item in item_statistics(found.subjects)
    )
    return FoundItems(items=items, subjects=len(found.subjects), excluded=found.excluded)


def _newest_tasks(output_dir: Path) -> dict[str, TaskFacts]:
    tasks: dict[str, TaskFacts] = {}
    for files in reversed(runs_of(output_dir)):  # a newer run replaces what an older one says
        try:
            tasks |= read_facts(files.provenance).tasks
        except ResultsError:
            continue
    return tasks
