"""A comparison for the terminal: the verdict, then what it rests on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from pinchbench.report.text import amount, duration, many, plain
from pinchbench.results.comparison import Verdict
from pinchbench.results.difference import FEWEST_TASKS
from pinchbench.results.verdict import UNPAIRED, notes, outlook, ratio, signed, told, told_p, verdict, warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from pinchbench.results.comparison import Comparison, LeftOut, PairedSide, Side
    from pinchbench.results.difference import Difference
    from pinchbench.results.statistics import Estimate

MOST_DIFFERENCES = 10  # tasks in the terminal; all are in the HTML and JSON
MOST_NAMED = 12  # task ids in one line
NARROW = 90  # columns; below, names of tasks and categories are cut
STYLES = {Verdict.A_BETTER: "bold", Verdict.B_BETTER: "bold", Verdict.NOTHING_PAIRED: "bold yellow"}


def print_comparisons(console: Console, comparisons: Sequence[Comparison]) -> None:
    """Print each comparison, the verdict first. What can't be told is said, not left out."""
    for sentence in notes(comparisons):
        _say(console, sentence)
    for number, comparison in enumerate(comparisons):
        if number or len(comparisons) > 1:
            console.print()
        _print(console, comparison)


def _print(console: Console, comparison: Comparison) -> None:
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        _say(console, f"{name}  {side_told(side)}")
    console.print()
    _say(console, verdict(comparison), style=STYLES.get(comparison.verdict, "bold yellow"))
    for sentence in outlook(comparison):
        _say(console, sentence)
    for sentence in warnings(comparison):
        _say(console, f"Note: {sentence}", style="yellow")
    for sentence in unpaired_told(comparison):
        _say(console, sentence)
    if not comparison.tasks:
        return
    console.print()
    console.print(_scores_table(comparison))
    if multiple := many_categories(comparison):
        _say(console, multiple, style="dim")
    console.print()
    console.print(_spent_table(comparison))
    for sentence in flips_told(comparison):
        _say(console, sentence)
    differing = [task for task in comparison.tasks if task.difference]
    if not differing:
        _say(console, f"None of the {many(len(comparison.tasks), 'task')} has another mean score.")
        return
    console.print()
    console.print(_tasks_table(comparison, console.width))
    if len(differing) > MOST_DIFFERENCES:
        _say(
            console,
            f"{len(differing) - MOST_DIFFERENCES} more differ by less; --json and --html have all.",
            style="dim",
        )


def side_told(side: Side) -> str:
    """A side with its runs."""
    if len(side.runs) > 1:
        return f"{side.label}: {many(len(side.runs), 'run')} pooled ({', '.join(side.runs)})"
    return side.label if side.label == side.runs[0] else f"{side.label}: {side.runs[0]}"


def unpaired_told(comparison: Comparison) -> Iterator[str]:
    """The tasks without a part in any number, by why."""
    for why in dict.fromkeys(comparison.unpaired.values()):
        named = [task_id for task_id, reason in comparison.unpaired.items() if reason is why]
        yield f"Left out, {UNPAIRED[why]}: {_named(named)}."


def flips_told(comparison: Comparison) -> Iterator[str]:
    """Which tasks one side passes and the other fails, by the mean of their scores."""
    now_passed = [task.task_id for task in comparison.tasks if task.flipped > 0]
    now_failed = [task.task_id for task in comparison.tasks if task.flipped < 0]
    counts = Counter((task.passed_a, task.passed_b) for task in comparison.tasks)
    yield (
        f"Passed (mean score of {comparison.threshold:g} or more): A {comparison.paired_a.passed}, B"
        f" {comparison.paired_b.passed} of {many(len(comparison.tasks), 'task')};"
        f" both {counts[True, True]}, neither {counts[False, False]}."
    )
    if now_passed:
        yield f"Only B passes {len(now_passed)}: {_named(now_passed)}."
    if now_failed:
        yield f"Only A passes {len(now_failed)}: {_named(now_failed)}."


def many_categories(comparison: Comparison) -> str:
    """What has to be kept in mind of the tests of several categories; empty for one or none."""
    tested = sum(one.difference.p is not None for one in comparison.categories)
    if tested < 2:  # noqa: PLR2004 - a single one is not picked from others
        return ""
    return f"The p of the {tested} categories are not adjusted: where nothing differs, one in 20 is below 0.05 all the same."


def tested_told(difference: Difference) -> str:
    """The p of a category's test, or why there is none."""
    if difference.p is None:
        return f"fewer than {FEWEST_TASKS} tasks: no test"
    return told_p(difference.p)


def left_out_told(left_out: LeftOut) -> str:
    """The trials without a part in a mean; empty for none."""
    parts = (
        (left_out.ungraded, "ungraded"),
        (left_out.infrastructure, "infrastructure"),
        (left_out.not_run, "not run"),
    )
    return ", ".join(f"{number} {name}" for number, name in parts if number)


def _say(console: Console, sentence: str, *, style: str = "") -> None:
    console.print(Text(plain(sentence), style=style), soft_wrap=True, highlight=False)


def _named(task_ids: Sequence[str]) -> str:
    more = len(task_ids) - MOST_NAMED
    return ", ".join(task_ids[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _table(*columns: tuple[str, bool], first_width: int = 40) -> Table:
    """A table of a name, and of columns that are numbers or not."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    (name, _), *others = columns
    table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=first_width)
    for name, is_number in others:
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    return table


def _scores_table(comparison: Comparison) -> Table:
    table = _table(("", False), ("tasks", True), ("A", True), ("B", True), ("B − A (95 %)", False), ("test", False),
                   ("left out of A; B", False))  # fmt: skip
    whole = comparison.difference
    table.add_row("all", str(whole.tasks), *_means(comparison.paired_a, comparison.paired_b), told(whole),
                  told_p(comparison.p), _both_left_out(comparison.paired_a, comparison.paired_b), style="bold")  # fmt: skip
    for one in comparison.categories:
        table.add_row(plain(one.category), str(one.difference.tasks), *_means(one.a, one.b), told(one.difference),
                      tested_told(one.difference), _both_left_out(one.a, one.b))  # fmt: skip
    return table


def _means(a: PairedSide, b: PairedSide) -> tuple[str, str]:
    return _mean(a.score), _mean(b.score)


def _mean(score: Estimate) -> str:
    return "–" if score.mean is None else f"{score.mean:.3f}"


def _both_left_out(a: PairedSide, b: PairedSide) -> str:
    if not a.left_out and not b.left_out:
        return "–"
    return "; ".join(left_out_told(side.left_out) or "none" for side in (a, b))


def _spent_table(comparison: Comparison) -> Table:
    a, b = comparison.paired_a.spent, comparison.paired_b.spent
    table = _table(("on these tasks", False), ("A", True), ("B", True), ("A a trial", True), ("B a trial", True),
                   ("B / A a trial", True))  # fmt: skip
    table.add_row("trials", str(a.trials), str(b.trials), "", "", "")
    rows = (
        ("agents' time", a.time_s, b.time_s, duration),
        ("tokens", a.tokens, b.tokens, lambda value: amount(round(value))),
        ("cost", a.cost_usd, b.cost_usd, lambda value: f"${value:.4f}"),
    )
    for name, of_a, of_b, tell in rows:
        each_a, each_b = of_a / max(1, a.trials), of_b / max(1, b.trials)
        table.add_row(name, tell(of_a), tell(of_b), tell(each_a), tell(each_b), ratio(each_b, each_a))
    return table


def _tasks_table(comparison: Comparison, width: int) -> Table:
    table = _table(("biggest differences", False), ("category", False), ("A", True), ("B", True), ("B − A", True),
                   ("trials", True), ("passed", False), first_width=40 if width >= NARROW else 24)  # fmt: skip
    for task in [one for one in comparison.tasks if one.difference][:MOST_DIFFERENCES]:
        passed = {1: "only B", -1: "only A"}.get(task.flipped, "both" if task.passed_a else "neither")
        table.add_row(
            plain(task.task_id),
            plain(task.category),
            f"{task.a.mean:.2f}",
            f"{task.b.mean:.2f}",
            signed(task.difference),
            f"{len(task.a.scores)}, {len(task.b.scores)}",
            passed,
        )
    return table
