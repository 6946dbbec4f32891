"""The terminal during an experiment, and its summary: the variants side by side."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from pinchbench.events import Event, Notice, RunBegan, TrialEnded, TrialGraded
from pinchbench.report.choice_text import answers, reading, tables
from pinchbench.report.terminal.compare_table import print_choice
from pinchbench.report.terminal.line_format import Cell, Column, aligned, grade_text, outcome_text
from pinchbench.report.terminal.run_progress import Counts, RunProgress
from pinchbench.report.text import amount, many, plain, price
from pinchbench.results.compare.paired_difference import Pair, untested_difference
from pinchbench.results.compare.verdict import SequentialComparison, SequentialVerdict, sentence
from pinchbench.results.statistics import Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.results.compare.choice import Choice

REFRESH_S = 0.5
TABLE_S = 60.0  # between two tables where nothing is redrawn
NAME_WIDTH = 12  # columns of a variant's name where the terminal is narrow
COLUMNS = (
    Column("variant", least=NAME_WIDTH),
    Column("done", is_right=True),
    Column("score (95%)", rank=1),
    Column("difference (95%)"),
    Column("excl.", is_right=True),
    Column("cost", is_right=True, rank=2),
    Column("running", is_right=True, rank=3),
    Column("tokens", is_right=True, rank=4),
    Column("", least=0, rank=5),
)
LEGEND = "?: undecided so far, 0 is in the interval. excl.: trials that are in no score."


@dataclass(slots=True)
class _Row:
    """A variant while it runs."""

    progress: RunProgress = field(default_factory=RunProgress)
    has_left: bool = False
    known: Estimate | None = None  # of the scores at `counts`
    counts: Counts | None = None

    def score(self) -> Estimate:
        """Estimate the mean of what is graded by now, anew only if that has changed."""
        if self.known is None or self.counts is not self.progress.counts:
            self.counts = self.progress.counts
            self.known = estimate(self.counts.scores, resampled=False)
        return self.known


class ExperimentView:
    """Shows the runs of an experiment; `observe` returns what `run_experiment` calls for each of them."""

    def __init__(self, console: Console, names: Sequence[str], *, draws: bool, is_full: Callable[[], bool]) -> None:
        """`names` begins with the baseline's.

        `draws`: redraw a table of the variants; else each event is a line, and so is each row of the table, once a
        minute. Nothing is shown while `is_full`.
        """
        self._console = console
        self._draws = draws
        self._is_full = is_full
        self._rows = {name: _Row() for name in names}
        self._compared: Mapping[str, SequentialComparison] = {}
        self._width = max(map(len, names))

    def observe(self, name: str) -> Callable[[MemoryObjectReceiveStream[Event]], Coroutine[Any, Any, None]]:
        """Return the observer of the run of this variant."""
        return partial(self._watch, name)

    def say(self, text: str) -> None:
        """Write a line for the user."""
        self._line(Text(plain(text)))

    def decided(self, comparisons: Sequence[SequentialComparison]) -> None:
        """Show what is decided so far, and write a line for each variant of which it has just been."""
        before, self._compared = self._compared, {one.variant: one for one in comparisons}
        for name, one in self._compared.items():
            if name in before and before[name].verdict is not one.verdict:
                self._name(name, Text(plain(sentence(one, baseline=next(iter(self._rows)))), style="bold"))

    async def draw(self) -> None:
        """Redraw the table of the variants until cancelled; without a terminal, write it once a minute."""
        if not self._draws:
            await self._repeat(TABLE_S, self._write)
        with Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
            try:
                await self._repeat(REFRESH_S, lambda table: live.update(Group(*table), refresh=True))
            finally:
                live.update(Text(""), refresh=True)

    async def _repeat(self, every_s: float, show: Callable[[list[Text]], None]) -> None:
        """Show the table when it has changed and the output can take it, until cancelled."""
        shown: list[Text] = []
        while True:
            await anyio.sleep(every_s)
            table = self._table()
            if table != shown and not self._is_full():
                shown = table
                show(table)

    def _write(self, table: list[Text]) -> None:
        for line in table:
            self._console.print(Text(line.plain.rstrip()), soft_wrap=True, highlight=False)

    async def _watch(self, name: str, events: MemoryObjectReceiveStream[Event]) -> None:
        row = self._rows[name]
        async for event in events:
            row.progress.take(event, anyio.current_time())
            match event:
                case RunBegan():
                    self._name(name, Text(f"{many(event.trials, 'trial')}, run {plain(event.run_id)}"))
                case TrialEnded() if not event.outcome.reused_from:
                    self._name(name, outcome_text(event.outcome, retried=event.retried))
                case TrialGraded() if not row.progress.is_reused(event.grade.key):
                    self._name(name, grade_text(event.grade))
                case Notice():
                    self._name(name, Text(plain(event.text)))
                case _:
                    pass
        row.has_left = True

    def _name(self, name: str, text: Text) -> None:
        self._line(Text.assemble((f"{plain(name):<{self._width}}  ", "bold"), text))

    def _line(self, text: Text) -> None:
        if self._is_full():
            return
        line = Text.assemble((time.strftime("%H:%M:%S  "), "dim"), text)
        self._console.print(line if self._draws else Text(line.plain), soft_wrap=True, highlight=False)

    def _table(self) -> list[Text]:
        baseline, *_ = self._rows.values()
        rows = [
            _live_row(name, row, None if row is baseline else baseline, self._compared.get(name))
            for name, row in self._rows.items()
        ]
        legend = Text(LEGEND, style="dim", no_wrap=True, overflow="ellipsis")
        return [*aligned(COLUMNS, rows, width=self._console.width), legend]


def _live_row(name: str, row: _Row, baseline: _Row | None, compared: SequentialComparison | None) -> list[Cell]:
    progress, counts, known = row.progress, row.progress.counts, row.score()
    usage = progress.agents_usage
    state = progress.step if progress.began is None else progress.pace
    excluded = counts.ungraded + counts.infrastructure + counts.untrusted + counts.missing + counts.skipped
    interval = "" if known.low is None else f" ({known.low:.2f}, {known.high:.2f})"
    decided = "" if compared is None or compared.verdict is SequentialVerdict.OPEN else compared.verdict.value
    return [
        (plain(name), "bold"),
        f"{counts.done}/{progress.trials}" if progress.trials else "–",
        "–" if known.mean is None else f"{known.mean:.2f}{interval}",
        _difference(counts, baseline) if compared is None else _weighed_cell(compared),
        str(excluded),
        "–" if usage.known_cost_usd is None else price(usage.known_cost_usd),
        str(len(progress.slots)),
        amount(usage.total_tokens),
        (decided or ("ended" if row.has_left else plain(state)), "dim"),
    ]


def _difference(counts: Counts, baseline: _Row | None) -> Cell:
    """Return the difference to the baseline on the tasks that both have a score for by now."""
    if baseline is None:
        return "baseline", "dim"
    others = baseline.progress.counts.scores
    both = [Pair(a=tuple(others[task]), b=tuple(own)) for task, own in counts.scores.items() if task in others]
    one = untested_difference(both)
    if one.mean is None:
        return "–"
    if one.low is None or one.high is None:
        return f"? {_two_digits(one.mean)}", "yellow"
    return _interval(one.mean, one.low, one.high, is_open=one.low <= 0.0 <= one.high)


def _weighed_cell(compared: SequentialComparison) -> Cell:
    is_open = compared.verdict is SequentialVerdict.OPEN
    if compared.mean is None:
        return "–"
    return _interval(compared.mean, compared.low, compared.high, is_open=is_open)


def _interval(mean: float, low: float, high: float, *, is_open: bool) -> Cell:
    text = f"{_two_digits(mean)} ({_two_digits(low)}, {_two_digits(high)})"
    return f"{'?' if is_open else ' '} {text}", "yellow" if is_open else "bold"


def _two_digits(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def print_experiment(
    console: Console,
    choice: Choice | None,
    verdicts: Mapping[str, str],
    failed: Mapping[str, str],
    *,
    soundness: Sequence[str] = (),
) -> None:
    """Print the variants to choose from, the verdict about each, why others have no run, and how sound that is.

    `choice` is None if no variant has a run.
    """
    console.print()
    if choice is not None:
        print_choice(console, answers(choice), tables(choice), reading(choice)[:1])
    for name, said in verdicts.items():
        console.print(Text(plain(f"{name}: {said}")), soft_wrap=True, highlight=False)
    for name, why in failed.items():
        console.print(Text(f"{plain(name)} could not be run: {plain(why)}", style="red"), soft_wrap=True)
    for said in soundness:
        console.print(Text(plain(said)), soft_wrap=True, highlight=False)
