"""The terminal while a run goes on: a line a slot on a TTY, timestamped lines anywhere else."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from anyio import EndOfStream, move_on_after
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pinchbench.model import (
    Event,
    Grade,
    Notice,
    Outcome,
    OutputLine,
    PaceChanged,
    RegradeBegan,
    RunBegan,
    Status,
    TrialActivity,
    TrialBegan,
    TrialEnded,
    TrialGraded,
    TrialKey,
    Usage,
)
from pinchbench.report.text import amount, duration, many, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.streams.memory import MemoryObjectReceiveStream
    from rich.console import Console, RenderableType

REFRESH_S = 0.25
MAX_KEY_WIDTH = 32  # columns of a trial's name beside what it does
STYLES = {Status.SUCCESS: "green", Status.TIMEOUT: "yellow", Status.ERROR: "red"}


@dataclass(slots=True)
class _Slot:
    key: TrialKey
    timeout_s: float
    since: float
    text: str = "starting OpenClaw"
    usage: Usage = Usage()


@dataclass(slots=True)
class _Board:
    """What is known of the run."""

    trials: int = 0
    done_before: int = 0
    most: int = 0  # trials at once
    only_grades: bool = False
    pace: str = ""
    retries: int = 0
    usage: Usage = Usage()
    slots: dict[int, _Slot] = field(default_factory=dict)
    ended: dict[TrialKey, Outcome] = field(default_factory=dict)
    graded: dict[TrialKey, Grade] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """How many trials have ended and are yet to be graded."""
        return sum(outcome.reason.counts and outcome.key not in self.graded for outcome in self.ended.values())

    @property
    def done(self) -> int:
        """How many trials have ended for good, those of earlier runners included."""
        return self.done_before + len(self.ended)

    def take(self, event: TrialEnded) -> None:
        """Take the end of an attempt; one that is tried again has not ended its trial."""
        outcome = event.outcome
        self.slots.pop(outcome.slot, None)
        self.usage += outcome.usage
        self.retries += event.retried
        if not event.retried:
            self.ended[outcome.key] = outcome

    def totals(self) -> str:
        scores = [grade.score for grade in self.graded.values() if grade.score is not None]
        mean = f"mean score {sum(scores) / len(scores):.2f} of {len(scores)} graded" if scores else ""
        if self.only_grades:
            return ", ".join(filter(None, (f"{len(self.graded)} of {self.trials} graded again", mean)))
        ended = self.ended.values()
        good = sum(outcome.status is Status.SUCCESS for outcome in ended)
        left_out = sum(not outcome.reason.counts for outcome in ended)
        parts = [*filter(None, (self.pace,)), f"{self.done} of {self.trials} done"]
        if self.done_before:
            parts.append(f"{self.done_before} of them before")
        parts += [f"{good} completed", f"{len(ended) - good - left_out} failed"]
        if left_out:
            parts.append(f"{left_out} left out")
        if self.retries:
            parts.append(f"{self.retries} tried again")
        if self.waiting:
            parts.append(f"{self.waiting} being graded")
        if mean:
            parts.append(mean)
        usage = self.usage
        return f"{', '.join(parts)} · {amount(usage.total_tokens)} tokens · ${usage.cost_usd:.4f}"


def outcome_text(outcome: Outcome, *, retried: bool = False) -> Text:
    """One line on an attempt that has ended."""
    text = Text()
    text.append(f"{outcome.reason.value:>17}", style=STYLES[outcome.status])
    again = ", attempt " + str(outcome.attempt) if outcome.attempt > 1 else ""
    text.append(
        f"  {plain(str(outcome.key))}{again}  {duration(outcome.execution_time_s)}, {amount(outcome.usage.total_tokens)} tokens"
    )
    if retried:
        text.append(", to be tried again")
    if outcome.note:
        text.append(f"  {plain(outcome.note, width=160)}", style="dim")
    return text


def grade_text(grade: Grade) -> Text:
    """One line on a graded trial."""
    text = Text()
    if grade.score is not None:
        text.append(f"{'graded':>17}", style="bold")
        text.append(f"  {plain(str(grade.key))}  {grade.score:.2f}")
        return text
    text.append(f"{'ungraded':>17}", style="yellow")
    text.append(f"  {plain(str(grade.key))}  {grade.ungraded.value if grade.ungraded is not None else ''}")
    if (check := check_alone(grade)) is not None:
        text.append(f", its check alone gives {check:.2f}")
    elif grade.notes:
        text.append(f"  {plain(grade.notes[0], width=160)}", style="dim")
    return text


def _pace(event: PaceChanged) -> str:
    if event.limit:
        return f"{event.limit} at once"
    return "stopped" if event.is_end else "paused"


def check_alone(grade: Grade) -> float | None:
    """What the check of a task says whose judge has not said anything."""
    return grade.check.score if grade.score is None and grade.check is not None else None


class LiveView:
    """Shows the events of a run on `console`; give `watch` to `run_benchmark` as its observer."""

    def __init__(self, console: Console, *, is_full: Callable[[], bool] = lambda: False) -> None:
        """`console` writes to stderr: stdout belongs to the result. Nothing is shown while its file `is_full`."""
        self._console = console
        self._is_full = is_full
        self._left_out = 0
        self._board = _Board()

    async def watch(self, events: MemoryObjectReceiveStream[Event]) -> None:
        """Show events until there are no more. On a TTY the slots' lines are drawn again four times a second."""
        if not self._console.is_terminal:
            async for one in events:
                self._take(one)
            return
        with Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
            drawn = 0.0
            while True:
                event: Event | None = None
                try:
                    with move_on_after(REFRESH_S):
                        event = await events.receive()
                except EndOfStream:
                    break
                if event is not None:
                    self._take(event)
                if time.monotonic() - drawn >= REFRESH_S and not self._is_full():
                    drawn = time.monotonic()
                    live.update(self._render(), refresh=True)

    def _take(self, event: Event) -> None:  # noqa: C901 - one case an event
        board = self._board
        match event:
            case RunBegan() | RegradeBegan():
                self._begin(event)
            case TrialBegan():
                board.slots[event.slot] = _Slot(event.key, event.timeout_s, anyio.current_time())
                if not self._console.is_terminal:
                    self._line(Text(f"{'started':>17}  {plain(str(event.key))}"))
            case TrialActivity():
                slot = board.slots.get(event.slot)
                if slot is not None and slot.key == event.key:
                    slot.text, slot.usage = plain(event.text, width=200), event.usage
            case OutputLine():
                self._line(Text(f"{plain(str(event.key))} {event.stream}: {plain(event.text)}", style="dim"))
            case TrialEnded():
                self._ended(event)
            case TrialGraded():
                board.graded[event.grade.key] = event.grade
                self._line(grade_text(event.grade))
            case PaceChanged():
                board.pace = "" if event.limit >= board.most else _pace(event)
                label = _pace(event) if event.limit == 0 else "pace"
                self._line(Text(f"{label:>17}  {plain(event.why)}", style="yellow"))
            case Notice():
                self._line(Text(plain(event.text)))

    def _begin(self, event: RunBegan | RegradeBegan) -> None:
        self._board.trials = event.trials
        self._board.only_grades = isinstance(event, RegradeBegan)
        if isinstance(event, RunBegan):
            self._board.done_before, self._board.most = event.done, event.slots
        if isinstance(event, RegradeBegan):
            self._line(Text(f"{plain(event.run)}: grading {many(event.trials, 'trial')} again"))
            return
        trials, slots = many(event.trials, "trial"), many(event.slots, "slot")
        before = f", {event.done} of them done before" if event.done else ""
        self._line(Text(f"{plain(event.model)}: {trials} on {slots}, run {plain(event.run_id)}{before}"))

    def _ended(self, event: TrialEnded) -> None:
        board = self._board
        board.take(event)
        self._line(outcome_text(event.outcome, retried=event.retried))
        if board.done == board.trials and board.waiting > 1:
            self._line(Text(f"{'':>17}  all agents have ended; {board.waiting} trials are still being graded"))

    def say_left_out(self) -> None:
        """Say how many lines were not shown, if any."""
        if self._left_out and not self._is_full():
            self._console.print(Text(f"… {self._left_out} lines were not shown", style="dim"), highlight=False)
            self._left_out = 0

    def _line(self, text: Text) -> None:
        if self._is_full():  # asked before the line is made: a flood costs as little as it can
            self._left_out += 1
            return
        self.say_left_out()
        self._console.print(Text.assemble((time.strftime("%H:%M:%S  "), "dim"), text), soft_wrap=True, highlight=False)

    def _render(self) -> RenderableType:
        # the last row stands by itself: it is long, and would take the room of the slots' columns
        grid = Table.grid(padding=(0, 1), expand=True)
        for column in range(4):
            grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1 if column == 3 else None)  # noqa: PLR2004
        for number, slot in sorted(self._board.slots.items()):
            elapsed = anyio.current_time() - slot.since
            grid.add_row(
                Text(f"slot {number}", style="dim"),
                Text(plain(str(slot.key), width=MAX_KEY_WIDTH), style="bold"),
                Text(f"{elapsed:.0f} of {slot.timeout_s:.0f} s"),
                Text(f"{amount(slot.usage.total_tokens)} tokens · {slot.text}", style="cyan"),
            )
        totals = Text.assemble(("run ", "dim"), self._board.totals(), no_wrap=True, overflow="ellipsis")
        return Group(grid, totals)
