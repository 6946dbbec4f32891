"""Carry out commands: on a run that works, and on one that nobody works on until it is resumed. And how it stands."""

from __future__ import annotations

import os
import time
from enum import StrEnum
from math import fsum
from typing import TYPE_CHECKING

import msgspec
from anyio import Event, Lock, current_time

from pinchbench.model.ending import Reason
from pinchbench.model.trial import Attempt, TrialKey
from pinchbench.redaction import known_secrets
from pinchbench.results.finished_run import derive_result
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.manifest import read_facts
from pinchbench.results.records import Control, NoteAdded, Record, TrialFinished, TrialRequeued, TrialStopped
from pinchbench.results.run_state import RunState
from pinchbench.runner.ctl.commands import Command, Reply, Status, serve_commands
from pinchbench.runner.ctl.decide import RunView, decide, said
from pinchbench.runner.run_context import Redactor, RunContext
from pinchbench.runner.scheduling.meter import COST, TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.run_control import RunControl


class Standing(StrEnum):
    """What a run does."""

    WORKING = "working"
    PAUSED = "paused"  # by the user
    WAITING = "waiting"  # it has paused itself, and tries again
    ENDING = "ending"  # no trial starts any more
    ENDED = "ended"  # nobody works on it


class RunningTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that runs, and for how long, in seconds."""

    trial: str
    for_s: float


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What the runner of a run does."""

    standing: Standing
    why: str = ""
    running: tuple[RunningTrial, ...] = ()
    waiting: int = 0
    limit: int = 0  # how many trials may run at once now
    slots: int = 0
    used_usd: float = 0.0  # running agents, as far as they report it, and the judge included
    max_usd: float | None = None
    used_tokens: float = 0.0  # likewise
    max_tokens: int | None = None


class RunStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands. `score` is the mean over tasks of what is graded so far, in 0-1; None if nothing is."""

    work: Work
    planned: int
    done: int
    passed: int
    failed: int
    ungraded: int
    skipped: int
    requeued: int
    notes: int
    score: float | None = None

    @property
    def text(self) -> str:
        """Return sentences for a user."""
        work = self.work
        score = "no score yet" if self.score is None else f"score so far {self.score:.3f}"
        passed = f"{self.passed} passed, {self.failed} failed, {self.ungraded} ungraded"
        lines = [
            f"{work.standing.value.capitalize()}{': ' if work.why else ''}{work.why}",
            f"Done: {self.done} of {self.planned} trial{'s' * (self.planned != 1)}; {passed}; {score}",
        ]
        if work.slots:
            lines.append(f"At once: {work.limit} of {work.slots}; {work.waiting} wait")
        lines += [f"Running: {one.trial}, for {one.for_s:.0f} s" for one in work.running]
        if work.max_usd is not None:
            lines.append(f"Used: ${work.used_usd:.4f} of ${work.max_usd:g}")
        if work.max_tokens is not None:
            lines.append(f"Used: {work.used_tokens:,.0f} of {work.max_tokens:,} tokens")
        asked = [(self.skipped, "skipped"), (self.requeued, "requeued"), (self.notes, "notes")]
        if any(count for count, _ in asked):
            lines.append(f"Asked for: {', '.join(f'{count} {what}' for count, what in asked if count)}")
        return "\n".join(lines)


def status_of(
    state: RunState, plan: Iterable[TrialKey], work: Work, *, threshold: float, has_mean: bool = True
) -> RunStatus:
    """Return how a run stands; `threshold` is the score from which a trial passes, `has_mean` whether it has a mean."""
    keys = tuple(plan)
    tally = state.tally(keys, threshold=threshold)
    means = [fsum(scores) / len(scores) for scores in tally.scores.values()] if has_mean else []
    return RunStatus(
        work=work,
        planned=len(keys),
        done=sum(state.is_done(key) for key in keys),
        passed=tally.passed,
        failed=tally.failed,
        ungraded=tally.ungraded,
        skipped=len(state.skipped),
        requeued=len(state.control.requeued),
        notes=len(state.control.notes),
        score=fsum(means) / len(means) if means else None,
    )


ENDED_BY_ITSELF = "{key} had ended by itself ({reason}) before it was stopped."


class RunCommands:
    """What users ask of a run that works. Create inside an event loop."""

    def __init__(self, run: RunContext, control: RunControl, *, slots: int, record: Callable[[Record], None]) -> None:
        """`slots` is how many trials can run at once; `record` hands over what is to be written, and never waits."""
        self._run = run
        self._state = run.prepared.state or RunState()  # as the journal has it when the run begins; follows it
        self._trials = {trial.key: trial for trial in run.prepared.trials}
        self._tell = run.observer.tell
        self._control = control
        self._slots = slots
        self._record = record
        self._turn = Lock()  # one after another: each is decided on the state that the one before has left
        self._recorded: tuple[Control, Event] | None = None
        self._ends: dict[TrialKey, Event] = {}

    async def serve(self) -> None:
        """Take commands until cancelled."""
        await serve_commands(self._run.files.control_socket, self.carry_out, self._tell)

    async def carry_out(self, command: Command) -> Reply:
        """Do what is asked, and say what was done. Raises CommandRefusedError.

        What is recorded is done, even if the call is cancelled.
        """
        if isinstance(command, Status):
            status = status_of(
                self._state,
                self._trials,
                self._work(),
                threshold=self._run.prepared.config.pass_threshold,
                has_mean=self._run.prepared.has_mean,
            )
            return Reply(ok=True, text=status.text, data=msgspec.to_builtins(status))
        async with self._turn:
            view = self._view()
            record = decide(command, view, at=time.time())
            ended = Event()
            if isinstance(record, TrialStopped):
                ended = self._ends.setdefault(record.key, ended)
            done = Event()
            self._recorded = record, done
            self._record(record)
            await done.wait()
        text = said(record, view)
        if isinstance(record, TrialStopped):
            await ended.wait()
            last = self._state.trials[record.key].outcomes[-1]
            if last.reason is not Reason.INTERRUPTED:
                text = ENDED_BY_ITSELF.format(key=record.key, reason=last.reason.value)
        return Reply(ok=True, text=text)

    def written(self, record: Record) -> None:
        """Take a record that is in the journal: what a user has asked for is done now."""
        self._state.apply(record)
        if isinstance(record, TrialFinished) and record.outcome.key in self._ends:
            self._ends.pop(record.outcome.key).set()
        if not isinstance(record, Control):
            return
        self._control.apply(record, self._asked_for(record))
        if isinstance(record, NoteAdded):
            self._tell(f"Note: {' '.join(filter(None, (record.text, *record.tags)))}")
        elif isinstance(record, TrialRequeued):
            reason = f" {record.why}" if record.why else ""
            self._tell(f"{record.key} gets another attempt, as you have asked.{reason}")
        if self._recorded is not None and self._recorded[0] is record:
            self._recorded[1].set()

    def _asked_for(self, record: Control) -> Attempt | None:
        if not isinstance(record, TrialRequeued):
            return None
        return Attempt(trial=self._trials[record.key], number=self._state.next_attempt(record.key))

    def _view(self) -> RunView:
        dispatcher = self._control.dispatcher
        return RunView(
            run=self._run.files.argument,
            state=self._state,
            plan=tuple(self._trials),
            waiting=dispatcher.waiting,
            running=dispatcher.running,
            is_working=True,
            has_workers=bool(dispatcher.running) or not self._control.over.is_set(),
            slots=self._slots,
            is_shared=self._run.share is not None,
            ending=self._control.ending,
        )

    def _work(self) -> Work:
        dispatcher, now = self._control.dispatcher, current_time()
        used, limits = dispatcher.budget.used, dispatcher.budget.limits
        standing, why = Standing.WORKING, ""
        if self._control.ending:
            standing, why = Standing.ENDING, self._control.ending
        elif self._state.control.is_paused:
            standing = Standing.PAUSED
        elif not dispatcher.limit:
            standing, why = Standing.WAITING, dispatcher.why_waiting
        return Work(
            standing=standing,
            why=why,
            running=tuple(
                RunningTrial(trial=str(key), for_s=round(now - since, 1)) for key, since in dispatcher.running.items()
            ),
            waiting=len(dispatcher.waiting),
            limit=dispatcher.limit,
            slots=self._slots,
            used_usd=used(COST),
            max_usd=limits.max_cost,
            used_tokens=used(TOKENS),
            max_tokens=limits.max_tokens,
        )


DIED = "its runner has died"
TAKES_NO_COMMANDS = "it is being set up, graded again or ended, and takes no commands"


def carry_out_offline(files: RunFiles, command: Command, *, is_working: bool = False) -> Reply:
    """Do what is asked of a run that nobody works on, and say what was done. Blocks.

    A record without the environment's keys is added to the journal, whose lock is held meanwhile, and the result is
    written anew. `is_working` says that a runner works on it all the same, of which only the status can be had.

    Raises CommandRefusedError, and ResultsError if a runner works on the run or its files can't be used.
    """
    first = read_facts(files.provenance)
    if isinstance(command, Status):
        state = read_journal(files.journal, created_at=first.created_at).state
        why = state.finished.stopped if state.finished is not None else DIED
        work = Work(standing=Standing.ENDED, why=why)
        if is_working:
            work = Work(standing=Standing.WORKING, why=TAKES_NO_COMMANDS)
        status = status_of(state, first.keys, work, threshold=first.pass_threshold, has_mean=first.has_mean)
        return Reply(ok=True, text=status.text, data=msgspec.to_builtins(status))
    with JournalWriter(files.journal, go_on=True) as journal:
        state = read_journal(files.journal, created_at=first.created_at).state
        view = RunView(run=files.argument, state=state, plan=first.keys, waiting=state.left(first.keys).keys)
        record = decide(command, view, at=time.time())
        journal.append([Redactor(known_secrets(os.environ)).record(record)])
        derive_result(files)
    return Reply(ok=True, text=said(record, view))
