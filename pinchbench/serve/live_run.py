"""A run read from its files as they grow: the rows of its trials, and the same numbers as on the terminal."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import quote

from pinchbench.errors import ResultsError
from pinchbench.events import RunEnded, TrialBegan, TrialEnded, TrialGraded
from pinchbench.report.html.safe_text import safe_line
from pinchbench.report.html.task_rows import stage_now, trial_row
from pinchbench.report.model_calls import statuses_text
from pinchbench.report.terminal.run_progress import RunProgress
from pinchbench.report.terminal.screen import totals_parts
from pinchbench.report.text import many
from pinchbench.results.agent_caused import possibly_caused_by_agent
from pinchbench.results.aggregate import attempted, ending_of
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.journal.journal import collector_paused, is_written, refuse_ways_out
from pinchbench.results.journal.tail import FollowedRun
from pinchbench.results.overview import trial_score
from pinchbench.results.run_list import state_of
from pinchbench.results.statistics import Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pinchbench.events import Event
    from pinchbench.model.grade import Grade
    from pinchbench.model.trial import TrialKey
    from pinchbench.report.html.task_rows import TrialRow
    from pinchbench.report.terminal.run_progress import Slot
    from pinchbench.results.manifest import RunFacts
    from pinchbench.results.paths import RunFiles
    from pinchbench.results.run_state import RunState, TrialState

SHOWN_S = 0.5  # a state is shown to all clients for so long
SHOWN_FAILURES = 8
NO_SCORE = Estimate(mean=None, low=None, high=None, tasks=0, trials=0)

Json = dict[str, object]


@dataclass(kw_only=True, eq=False)
class ListedTrial:
    """A trial in a list: its task, and a function that makes its row from its outcome so far.

    The row is made when it is first read, in any thread: a page shows some hundreds of tens of thousands of trials.
    """

    key: TrialKey
    title: str
    category: str
    make_row: Callable[[], TrialRow]

    @cached_property
    def row(self) -> TrialRow:
        """The trial's row."""
        return self.make_row()


class LiveRun:
    """A run, read on from where the last reading ended. Every method blocks; not thread-safe."""

    def __init__(self, files: RunFiles) -> None:
        """Read the facts of the run. Raises ResultsError if there is no such run."""
        self.files = files
        refuse_ways_out(files.folder)
        self.progress = RunProgress()
        self.is_running = True
        self.version = 0  # changes with what was read
        self._followed = FollowedRun(files)
        self.model = safe_line(self.facts.config.get("model"))
        self._rows: dict[TrialKey, ListedTrial] = {}
        self.keys = self.facts.keys  # of the plan, which no resumption changes
        self._changed: set[TrialKey] = set(self.keys)
        self._all_changed = False
        self._attempts: Mapping[TrialKey, TrialState] = {}
        self._grades: Mapping[TrialKey, Grade] = {}
        self._caused: frozenset[TrialKey] = frozenset()
        self._derived = -1  # the version of the three above
        self._score: tuple[int, Estimate] = (-1, NO_SCORE)
        self._shown: Json = {}
        self.snapshot_at = -SHOWN_S  # when that was made, on the monotonic clock

    @property
    def facts(self) -> RunFacts:
        """The facts of the run, including resumptions read so far."""
        return self._followed.facts

    @property
    def state(self) -> RunState:
        """The state of the run after the records read so far."""
        return self._followed.state

    @property
    def attempts(self) -> Mapping[TrialKey, TrialState]:
        """The trials that have ended at least once."""
        self._derive()
        return self._attempts

    @property
    def grades(self) -> Mapping[TrialKey, Grade]:
        """The grade that counts for each trial that has one."""
        self._derive()
        return self._grades

    @property
    def caused_by_agent(self) -> frozenset[TrialKey]:
        """The trials without a score, which the agent may have caused."""
        self._derive()
        return self._caused

    @property
    def pass_threshold(self) -> float:
        """The score from which a trial counts as passed, in 0-1."""
        return self.facts.pass_threshold

    @property
    def score_so_far(self) -> Estimate:
        """The mean over tasks with its interval, of the trials graded so far: as in the result file at the end."""
        if not self.facts.has_mean:
            return NO_SCORE
        if self._score[0] != self.version:
            found = NO_SCORE
            with suppress(ValueError):  # a score outside 0-1
                found = estimate(list(self.progress.counts.scores.values()))
            self._score = self.version, found
        return self._score[1]

    def score(self, key: TrialKey) -> float | None:
        """Return a trial's score for means, in 0-1; None if it has none or failed for infrastructure reasons."""
        trial = self.attempts.get(key)
        return None if trial is None else trial_score(trial.counting, self.grades.get(key))

    def read(self) -> None:
        """Take what was written since the last call. Raises ResultsError if it can't be read."""
        with collector_paused(stays=not self.version):
            self._read()

    def _read(self) -> None:
        try:
            is_running = is_written(self.files.journal)
        except OSError as error:
            raise ResultsError(f"The run {self.files.folder} can't be read: {error.strerror}.") from error
        before = self._followed.records
        events = self._followed.read()  # after asking who writes: what a runner writes before it ends is still read
        for event in events:
            self.take(event)
        if self._followed.records - before > len(events):  # some are no events, and may still be about any trial
            self.version += 1
            self._all_changed = True
        if self.is_running and not is_running:
            self.take(RunEnded())
        self.is_running = is_running

    def take(self, event: Event) -> None:
        """Apply an event."""
        self.version += 1
        self.progress.take(event, time.monotonic())
        match event:
            case TrialBegan(key=key):
                self._changed.add(key)
            case TrialEnded(outcome=outcome):
                self._changed.add(outcome.key)
            case TrialGraded(grade=grade):
                self._changed.add(grade.key)
            case _:
                self._all_changed = True

    def trials(self) -> list[ListedTrial]:
        """Return a row for each planned trial, in the plan's order."""
        self._derive()
        skipped, ahead = self.state.skipped, self.progress.ahead
        for key in self.keys if self._all_changed else self._changed:
            task = self.facts.tasks.get(key.task_id)
            self._rows[key] = ListedTrial(
                key=key,
                title=safe_line(self.facts.title_of(key.task_id)),
                category=safe_line(task.category) if task is not None else "",
                make_row=partial(
                    trial_row,
                    key,
                    self._attempts.get(key),
                    self._grades.get(key),
                    url=trial_url(self.files.name, key),
                    pass_threshold=self.pass_threshold,
                    is_caused_by_agent=key in self._caused,
                    is_skipped=key in skipped,
                    now=stage_now(self.state, key, is_ahead=key in ahead) if self.is_running else None,
                ),
            )
        self._changed.clear()
        self._all_changed = False
        return [self._rows[key] for key in self.keys]

    def slot(self, key: TrialKey) -> tuple[int, Slot | None]:
        """Return the number and the slot that a trial runs in; 0 and None if it does not."""
        return next(((number, slot) for number, slot in self.progress.slots.items() if slot.key == key), (0, None))

    def row(self, key: TrialKey) -> TrialRow:
        """Return the row of a planned trial."""
        self.trials()
        return self._rows[key].row

    def is_over(self, key: TrialKey) -> bool:
        """Whether a trial needs no further attempt and no grade."""
        return not self.state.unfinished([key])

    def snapshot(self) -> Json:
        """Return what a page shows of the run as it goes on, made anew when it has changed or is half a second old."""
        now = time.monotonic()
        if self._shown.get("version") != self.version or (self.is_running and now - self.snapshot_at >= SHOWN_S):
            self._shown, self.snapshot_at = self._snapshot(now), now
        return self._shown

    def _snapshot(self, now: float) -> Json:
        progress, score = self.progress, self.score_so_far
        return {
            "state": state_of(
                ending_of(self.facts, self.state),
                unfinished=self.state.unfinished(self.keys),
                is_running=self.is_running,
            ),
            "version": self.version,
            "totals": [safe_line(part) for part in totals_parts(progress, self._ended_at(now))],
            "score": {"mean": score.mean, "low": score.low, "high": score.high, "tasks": score.tasks},
            "ended": progress.counts.done,
            "slots": [self._slot(number, slot, now) for number, slot in sorted(progress.slots.items())],
            "failures": [
                {
                    "trial": self.name_of(one.key),
                    "href": trial_url(self.files.name, one.key),
                    "label": safe_line(one.label, 100),
                    "text": safe_line(one.text, 400),
                    "ours": one.is_ours,
                }
                for one in reversed(list(progress.failures.values())[-SHOWN_FAILURES:])
            ],
            "wire": list(self._wire()),
        }

    def _ended_at(self, now: float) -> float:
        """Return when the last session ended, on the monotonic clock; `now` while it goes on."""
        if self.is_running or self.progress.began is None or not self.state.sessions:
            return now
        start, end = self.state.sessions[-1]
        return self.progress.began + end - start

    def _derive(self) -> None:
        if self._derived == self.version:
            return
        before = self._caused
        self._derived = self.version
        self._attempts = attempted(self.state)
        self._grades = self.state.grades
        self._caused = possibly_caused_by_agent(self._attempts).intersection(self.keys)
        self._changed |= before ^ self._caused  # how other trials ended decides it too

    def _slot(self, number: int, slot: Slot, now: float) -> Json:
        recording = Evidence(folder=self.files.trial(slot.key, slot.attempt)).wire
        again = f", attempt {slot.attempt}" if slot.attempt > 1 else ""
        return {
            "slot": number,
            "trial": f"{self.name_of(slot.key)}{again}",
            "href": trial_url(self.files.name, slot.key),
            "elapsed_s": max(0.0, now - slot.since),
            "node": safe_line(slot.node),
            "timeout_s": slot.timeout_s,
            "call_s": _age_s(recording),
        }

    def name_of(self, key: TrialKey) -> str:
        """Return a trial's name for people: its task's title if it has one."""
        title = self.facts.title_of(key.task_id)
        return safe_line(f"{title}, repetition {key.repetition}" if title and key.repetition > 1 else title or key)

    def _wire(self) -> Iterator[str]:
        facts = [one.wire for one in self.state.attempts if one.wire is not None and one.wire.calls]
        if not facts:
            return
        yield f"{many(sum(one.calls for one in facts), 'model call')} in {many(len(facts), 'ended attempt')}"
        failed = [status for one in facts for status in (*one.failed, *one.wire_retries)]
        yield f"{len(failed)} failed{f' ({statuses_text(failed)})' if failed else ''}"
        if firsts := [one.first_token_s for one in facts if one.first_token_s is not None]:
            yield f"first token after {median(firsts):.2f} s (median)"


def trial_url(run: str, key: TrialKey) -> str:
    """Return the address of a trial's page."""
    return f"{run_url(run)}/trial/{quote(str(key), safe='@')}"


def run_url(run: str) -> str:
    """Return the address of a run's page."""
    return f"/run/{quote(run, safe='')}"


def _age_s(path: Path) -> float | None:
    """Return how long ago a file was written to, in seconds; None if there is none."""
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return None
