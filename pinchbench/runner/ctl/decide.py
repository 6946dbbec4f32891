"""Which record a command comes to, or why it is refused (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from msgspec import UNSET

from pinchbench.errors import CommandRefusedError
from pinchbench.model.trial import TrialKey
from pinchbench.results import records
from pinchbench.results.run_state import NEW_TRIAL, RunState
from pinchbench.runner.ctl import commands

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


MAX_TEXT = 4000  # characters of a note or a reason
MAX_TAGS = 20  # of a note
MAX_TAG = 60  # characters of a tag
MAX_NAME = 500  # characters of a trial's name
SHOWN = 10  # trials that a sentence names
COMPLETE = "The run is complete: nothing waits. `pinchbench-async ctl {run} requeue TRIAL` makes another attempt."
RUNNING_ONLY = "The run is not running, so there is nothing to {verb}; `pinchbench-async resume {run}` goes on."


@dataclass(frozen=True, kw_only=True, slots=True)
class RunView:
    """What a decision on a command depends on."""

    run: str  # the run's name on a command line
    state: RunState  # what its journal says
    plan: Sequence[TrialKey]  # its trials
    waiting: Collection[TrialKey] = ()  # those that wait for an attempt
    running: Collection[TrialKey] = field(default=())  # those that run; empty in a run that does not work
    is_working: bool = False  # whether a runner works on the run
    has_workers: bool = False  # whether it may start trials; without, it only grades what has ended
    slots: int = 0  # how many trials can run at once; 0 in a run that does not work
    is_shared: bool = False  # whether the run shares its slots with other variants of an experiment
    ending: str = ""  # why the run starts nothing more; empty while it may

    @property
    def is_complete(self) -> bool:
        """Whether nobody works on the run, and a resumption would have nothing to run or to grade."""
        left = self.state.left(self.plan)
        return not (self.is_working or left.keys or left.ungraded)


def decide(change: commands.Change, view: RunView, *, at: float) -> records.Control:  # noqa: PLR0911 - one for each
    """Return the record of a change, given `at`. Raises CommandRefusedError with what to do instead."""
    if not isinstance(change, commands.Note | commands.Override):
        _require_able(change, view)
    match change:
        case commands.Pause() | commands.Continue():
            _require_working(view, "pause" if isinstance(change, commands.Pause) else "continue")
            return records.RunPaused(at=at) if isinstance(change, commands.Pause) else records.RunContinued(at=at)
        case commands.Concurrency(trials=trials):
            return _concurrency(trials, view, at=at)
        case commands.Budget():
            return _budget(change, at=at)
        case commands.StopTrial(trial=name):
            return _stop(name, view, at=at)
        case commands.Skip(what=name):
            return _skip(name, view, at=at)
        case commands.Requeue(trial=name, reason=reason):
            return _requeue(name, reason, view, at=at)
        case commands.Note():
            return _note(change, view, at=at)
        case commands.Override(trial=name, score=score, reason=reason):
            return _override(name, score, reason, view, at=at)
        case _:
            assert_never(change)


def _require_able(change: commands.Change, view: RunView) -> None:
    if view.ending:
        raise CommandRefusedError(
            f"The run starts nothing more: {view.ending} Once it has ended, `pinchbench-async resume {view.run}` goes"
            " on, and options such as --max-cost replace its own."
        )
    if view.is_complete and not isinstance(change, commands.Requeue | commands.Skip | commands.StopTrial):
        raise CommandRefusedError(COMPLETE.format(run=view.run))


def _require_working(view: RunView, verb: str) -> None:
    if not view.is_working:
        raise CommandRefusedError(RUNNING_ONLY.format(verb=verb, run=view.run))


def _require_short(text: str) -> None:
    if len(text) > MAX_TEXT:
        raise CommandRefusedError(f"A text has at most {MAX_TEXT} characters; this one has {len(text)}.")


def _budget(budget: commands.Budget, *, at: float) -> records.BudgetSet:
    max_cost, max_tokens = budget.max_cost, budget.max_tokens
    if max_cost is None and max_tokens is None:
        raise CommandRefusedError("A budget is a number of US dollars, or of tokens: name one of them, or both.")
    if max_cost is not None and not (math.isfinite(max_cost) and max_cost > 0):
        raise CommandRefusedError("A budget is a number of US dollars above 0.")
    if max_tokens is not None and max_tokens < 1:
        raise CommandRefusedError("A budget of tokens is a whole number above 0.")
    return records.BudgetSet(
        at=at, max_cost=UNSET if max_cost is None else max_cost, max_tokens=UNSET if max_tokens is None else max_tokens
    )


def _note(note: commands.Note, view: RunView, *, at: float) -> records.NoteAdded:
    if not note.text.strip() and not note.tags:
        raise CommandRefusedError("A note needs a text or a tag.")
    _require_short(note.text)
    if len(note.tags) > MAX_TAGS or not all(0 < len(tag) <= MAX_TAG and tag.isprintable() for tag in note.tags):
        raise CommandRefusedError(f"A note has at most {MAX_TAGS} tags of 1 to {MAX_TAG} printable characters.")
    key = _trial(note.trial, view.plan) if note.trial else None
    return records.NoteAdded(at=at, text=note.text, key=key, tags=note.tags)


def _override(name: str, score: float, reason: str, view: RunView, *, at: float) -> records.GradeOverridden:
    if not 0 <= score <= 1:
        raise CommandRefusedError("A score is a number from 0 to 1.")
    if not reason.strip():
        raise CommandRefusedError("A score of your own needs a reason, which the result shows with it.")
    _require_short(reason)
    key = _trial(name, view.plan)
    trial = view.state.trials.get(key, NEW_TRIAL)
    if not trial.outcomes or not trial.counting.reason.is_valid:
        raise CommandRefusedError(
            f"{key} has no attempt that measures the model, so there is nothing to grade; `pinchbench-async ctl"
            f" {view.run} requeue {key}` makes one."
        )
    return records.GradeOverridden(at=at, key=key, attempt=trial.counting.attempt, score=score, why=reason)


def _concurrency(trials: int, view: RunView, *, at: float) -> records.ConcurrencySet:
    if not view.is_working:
        raise CommandRefusedError(
            f"The run is not running; `pinchbench-async resume {view.run} --concurrency {trials}` goes on so."
        )
    if view.is_shared:
        raise CommandRefusedError("The variants of an experiment share its slots: `pause` one of them instead.")
    if not 1 <= trials <= view.slots:
        raise CommandRefusedError(
            f"This session has {view.slots} slots: name a number from 1 to {view.slots}. More are set up when the run"
            f" is resumed: end it with Ctrl-C, then `pinchbench-async resume {view.run} --concurrency N`."
        )
    return records.ConcurrencySet(at=at, concurrency=trials)


def _stop(name: str, view: RunView, *, at: float) -> records.TrialStopped:
    _require_working(view, "stop")
    key = _trial(name, view.plan)
    if key in view.running:
        return records.TrialStopped(at=at, key=key)
    instead = f"`pinchbench-async ctl {view.run} skip {name}` skips it." if key in view.waiting else ""
    raise CommandRefusedError(f"{key} does not run. Running: {_listed(view.running)}. {instead}".rstrip())


def _skip(name: str, view: RunView, *, at: float) -> records.TrialsSkipped:
    keys = tuple(key for key in view.plan if key.task_id == name) or (_trial(name, view.plan),)
    waiting = tuple(key for key in keys if key in view.waiting)
    if waiting:
        return records.TrialsSkipped(at=at, keys=waiting)
    running = [key for key in keys if key in view.running]
    how = f"`pinchbench-async ctl {view.run} skip {running[0]} --stop` ends it." if running else "It has ended."
    raise CommandRefusedError(f"Nothing of {name} waits, so there is nothing to skip. {how}")


def _requeue(name: str, reason: str, view: RunView, *, at: float) -> records.TrialRequeued:
    _require_short(reason)
    key = _trial(name, view.plan)
    if key in view.running:
        raise CommandRefusedError(
            f"{key} runs; to begin it again, end it first: `pinchbench-async ctl {view.run} skip {key} --stop`."
        )
    if key in view.waiting:
        raise CommandRefusedError(f"{key} waits for its turn already.")
    return records.TrialRequeued(at=at, key=key, why=reason)


def _trial(name: str, plan: Sequence[TrialKey]) -> TrialKey:
    """Return the trial of a name such as `task_01` (its first repetition) or `task_01@2`."""
    task_id, _, number = name.rpartition("@")
    if not task_id:
        task_id, number = name, "1"
    key = TrialKey(task_id=task_id, repetition=int(number) if number.isdecimal() and len(number) < MAX_NAME else 0)
    if key not in plan:
        same = [one for one in plan if one.task_id == task_id] or plan
        raise CommandRefusedError(f"The run has no trial {name[:MAX_NAME]!r}. It has: {_listed(same)}.")
    return key


def _listed(keys: Collection[TrialKey]) -> str:
    shown = ", ".join(map(str, list(keys)[:SHOWN]))
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return f"{shown}{more}" or "none"


def said(record: records.Control, view: RunView) -> str:  # noqa: PLR0911 - one for each
    """Say what a change has come to."""
    later = "" if view.has_workers else f" `pinchbench-async resume {view.run}` goes on so."
    match record:
        case records.RunPaused():
            running = len(view.running)
            return f"Paused: no trial starts; {running} that run go on." if running else "Paused: no trial starts."
        case records.RunContinued():
            return "Trials start again."
        case records.ConcurrencySet(concurrency=concurrency):
            return f"At most {concurrency} at once."
        case records.BudgetSet(max_cost=max_cost, max_tokens=max_tokens):
            limits = (
                "" if max_cost is UNSET else f"${max_cost:g}",
                "" if max_tokens is UNSET else f"{max_tokens:,} tokens",
            )
            return f"The run may use {' and '.join(filter(None, limits))} in all.{later}"
        case records.TrialStopped(key=key):
            return f"{key} has been stopped; it is skipped, and in no score."
        case records.TrialsSkipped(keys=keys):
            return f"Skipped, and in no score: {_listed(keys)}.{later}"
        case records.TrialRequeued(key=key):
            return f"{key} gets another attempt.{later}"
        case records.NoteAdded():
            return "Noted."
        case records.GradeOverridden(key=key, attempt=attempt, score=score):
            grade = view.state.attempt_grades.get((key, attempt))
            measured = (
                "it has no measured score" if grade is None or grade.score is None else f"measured {grade.score:g}"
            )
            return f"{key}: {score:g}, as you say; {measured}. The result shows both."
        case _:
            assert_never(record)
