"""The terminal during a run: a line per slot on a TTY, timestamped lines anywhere else."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from anyio import EndOfStream, WouldBlock, move_on_after
from rich.console import Console, Group
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType
from rich.text import Text

from pinchbench.events import (
    Event,
    Notice,
    OutputLine,
    PaceChanged,
    RegradeBegan,
    RunBegan,
    SetUpStep,
    SkipAsked,
    TrialBegan,
    TrialEnded,
    TrialGraded,
    TrialWaits,
)
from pinchbench.report.terminal.line_format import grade_text, labelled, outcome_text
from pinchbench.report.terminal.run_progress import RunProgress, pace_text
from pinchbench.report.terminal.screen import BETWEEN, screen_rows, totals_parts
from pinchbench.report.text import duration, many, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.model.trial import TrialKey

REFRESH_S = 0.25
GATHER_S = 0.05  # too short to notice; agents' output comes in many lines
TOGETHER = 100  # events, which take the event loop some milliseconds
TOTALS_S = 60.0  # between two lines of totals without a TTY: keeps a log of hours readable
LEAST_TOLD_S = 0.1  # a shorter set-up step is not reported


def can_draw(console: Console, environ: Mapping[str, str]) -> bool:
    """Whether lines may be redrawn: on a capable terminal, unless a CI asks for plain lines."""
    is_plain = environ.get("CI", "").lower() not in ("", "0", "false")
    is_able = console.file.isatty() and console.is_terminal and not console.is_dumb_terminal
    return is_able and not is_plain and not console.options.ascii_only


def _slot_text(event: TrialBegan | TrialWaits) -> Text:
    if isinstance(event, TrialWaits):
        if not event.next_s:  # the wire knows that a call has failed, OpenClaw when it tries again
            return labelled("call failed", f"{event.key}: {event.text}")
        return labelled("waiting", f"{event.key}: {event.text}, next in {math.ceil(event.next_s)} s")
    again = f", attempt {event.attempt}" if event.attempt > 1 else ""
    where = f" on {plain(event.node)}" if event.node else ""
    return labelled("started", f"{event.key}{again}{where}")


class LiveView:
    """Shows the events of a run on `console`; pass `watch` to `run_benchmark` as its observer."""

    def __init__(
        self,
        console: Console,
        *,
        is_full: Callable[[], bool] = lambda: False,
        draws: bool | None = None,
    ) -> None:
        """`console` writes to stderr: stdout belongs to the result. Nothing is shown while its file `is_full`.

        Without `draws`, each event is a plain line with its time (default: whether `console` is a terminal).
        """
        self._console = console
        self._is_full = is_full
        self._draws = console.is_terminal if draws is None else draws
        self._left_out = 0
        self._early: dict[TrialKey, TrialBegan] = {}  # starts, by the trial before in their slots
        self._board = RunProgress()
        self._live: Live | None = None
        self._drawn: list[Text] = []  # the rows on the screen
        self._drawn_width = 0
        self._held: list[Text] | None = None  # lines to write together; None: write each at once

    async def watch(self, events: MemoryObjectReceiveStream[Event]) -> None:
        """Show events until the stream ends; on a TTY, redraw the slots' lines four times a second.

        On cancellation, the terminal is restored.
        """
        if not self._draws:
            await self._write(events)
            return
        with Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
            self._live = live
            try:
                await self._draw(events)
            finally:
                self._follow_size(live)
                live.update(Text(""), refresh=True)  # one row is cleared correctly, whatever the terminal's state
                self._live = None

    def say(self, sentence: str) -> None:
        """Write a line for the user."""
        self._line(Text(plain(sentence)))

    async def _write(self, events: MemoryObjectReceiveStream[Event]) -> None:
        """Write a line for each event, and the totals at intervals while the run continues."""
        due = anyio.current_time() + TOTALS_S
        heard = False
        while True:
            event: Event | None = None
            try:
                with move_on_after(max(0.0, due - anyio.current_time())):
                    event = await events.receive()
            except EndOfStream:
                return
            if event is not None:
                heard = True
                self._take(event)
            if anyio.current_time() >= due:
                is_set_up = self._board.began is None and self._board.step
                if heard or self._board.slots or is_set_up:
                    parts = totals_parts(self._board, anyio.current_time())
                    self._line(labelled("so far", BETWEEN.join(map(plain, parts))))
                heard = False
                due = anyio.current_time() + TOTALS_S

    async def _draw(self, events: MemoryObjectReceiveStream[Event]) -> None:
        drawn = -math.inf
        while True:
            event: Event | None = None
            try:
                with move_on_after(REFRESH_S):
                    event = await events.receive()
            except EndOfStream:
                return
            if event is not None:
                self._take_together(event, events)
            if time.monotonic() - drawn >= REFRESH_S and not self._is_full() and self._live is not None:
                drawn = time.monotonic()
                self._follow_size(self._live)
                self._redraw(self._live, always=False)
            if event is not None and not events.statistics().current_buffer_used:
                await anyio.sleep(GATHER_S)  # more may arrive, to be written together

    def _take_together(self, event: Event, events: MemoryObjectReceiveStream[Event]) -> None:
        """Apply this event and some that are queued, so that the rows are redrawn once per batch, not per line."""
        lines: list[Text] = []
        self._held = lines
        with suppress(WouldBlock, EndOfStream):
            self._take(event)
            for _ in range(TOGETHER - 1):
                self._take(events.receive_nowait())
        self._held = None
        if lines:
            self._print(Text("\n").join(lines))

    def _redraw(self, live: Live, *, always: bool = True) -> None:
        rows = self._rows()
        if always or rows != self._drawn:
            self._drawn, self._drawn_width = rows, self._console.width
            live.update(Group(*rows), refresh=True)

    def _follow_size(self, live: Live) -> None:
        """Clear the drawn rows if the terminal has become narrower: it may have folded them."""
        size = self._console.size
        if size.width == self._drawn_width:
            return
        if self._drawn and size.width < self._drawn_width:
            folded = sum(max(1, math.ceil(row.cell_len / max(1, size.width))) for row in self._drawn)
            beyond = min(folded, size.height) - len(self._drawn)
            up = [(ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)]
            if beyond > 0:
                self._console.control(Control(*up * beyond))
        self._redraw(live)

    def _take(self, event: Event) -> None:
        run_progress = self._board
        before = run_progress.slots.get(event.slot) if isinstance(event, TrialBegan) else None
        run_progress.take(event, anyio.current_time())
        match event:
            case RunBegan() | RegradeBegan():
                self._begin(event)
            case TrialBegan() if before is not None:  # an end is reported once it is on the disk, a start at once
                self._early[before.key] = event
            case SetUpStep() | TrialBegan() | TrialWaits():
                self._say_begun(event)
            case OutputLine():
                self._line(Text(f"{plain(str(event.key))} {event.stream}: {plain(event.text)}", style="dim"))
            case TrialEnded() if not event.outcome.reused_from:
                self._say_ended(event)
            case TrialGraded() if not self._board.is_reused(event.grade.key):
                self._line(grade_text(event.grade))
            case SkipAsked() | PaceChanged():
                self._say_control(event)
            case Notice():
                self._line(Text(plain(event.text)))
            case _:
                pass

    def _say_ended(self, event: TrialEnded) -> None:
        """Write a line on an attempt that has ended, then on the next one in its slot if that has started already."""
        board = self._board
        self._line(outcome_text(event.outcome, retried=event.retried))
        if (early := self._early.pop(event.outcome.key, None)) is not None:
            self._say_begun(early)
        waiting = board.counts.waiting if not board.slots and not board.ahead else 0
        if waiting > 1:
            self._line(labelled("", f"all agents have ended; {waiting} trials are still being graded"))

    def _say_control(self, event: SkipAsked | PaceChanged) -> None:
        if isinstance(event, SkipAsked):
            for key in event.keys:
                self._line(labelled("skipped", str(key), style="yellow"))
        else:
            label = pace_text(event) if event.limit == 0 else "pace"
            self._line(labelled(label, event.why, style="yellow"))

    def _say_begun(self, event: SetUpStep | TrialBegan | TrialWaits) -> None:
        """Write a line on what has started, unless it is drawn while it lasts."""
        if self._draws:
            return
        if not isinstance(event, SetUpStep):
            self._line(_slot_text(event))
            return
        took_s = anyio.current_time() - (self._board.set_up_since or 0.0)
        so_far = f" ({duration(took_s)} so far)" if took_s >= LEAST_TOLD_S else ""
        self._line(labelled("set-up", f"{event.text}{so_far}"))

    def _begin(self, event: RunBegan | RegradeBegan) -> None:
        if isinstance(event, RegradeBegan):
            self._line(Text(f"{plain(event.run)}: grading {many(event.trials, 'trial')} again"))
            return
        trials, slots = many(event.trials, "trial"), many(event.slots, "slot")
        before = f", {event.done} of them done before" if event.done else ""
        since = self._board.set_up_since
        took = f", set up in {duration(anyio.current_time() - since)}" if since is not None else ""
        self._line(Text(f"{plain(event.model)}: {trials} on {slots}, run {plain(event.run_id)}{before}{took}"))

    def say_left_out(self) -> None:
        """Report how many lines were dropped, if any."""
        if self._left_out and not self._is_full():
            self._print(Text(f"… {self._left_out} lines were not shown", style="dim"))
            self._left_out = 0

    def _line(self, text: Text) -> None:
        if self._is_full():  # checked before formatting: keeps a flood of events cheap
            self._left_out += 1
            return
        self.say_left_out()
        self._print(Text.assemble((time.strftime("%H:%M:%S  "), "dim"), text))

    def _print(self, text: Text) -> None:
        if self._held is not None:
            self._held.append(text)
            return
        if self._live is not None:
            self._follow_size(self._live)
        self._console.print(text if self._draws else Text(text.plain), soft_wrap=True, highlight=False)

    def _rows(self) -> list[Text]:
        console = self._console
        return screen_rows(self._board, anyio.current_time(), columns=console.width, rows=console.height)
