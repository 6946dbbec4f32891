"""Print a comparison to the terminal: the verdict, then the numbers behind it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from pinchbench.report.model_calls import why_dearer
from pinchbench.report.sentences import left_out_text, memorisation_sentences, significance_sentences
from pinchbench.report.terminal.line_format import Cell, Column, print_table
from pinchbench.report.text import amount, duration, exact_price, many, mean_text, plain, short_names, some
from pinchbench.report.what_went_wrong import sheet_table
from pinchbench.results.compare.comparison import Comparison, Conclusion, PairedSample
from pinchbench.results.compare.paired_difference import FEWEST_TASKS, Difference
from pinchbench.results.compare.verdict import (
    UNPAIRED,
    describe_difference,
    describe_p,
    notes,
    outlook,
    ratio,
    signed,
    verdict,
    warnings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from pinchbench.results.compare.memorisation import Memorisation
    from pinchbench.results.compare.samples import Sample

    Names = tuple[str, str]  # of the sides, the first the baseline
    Lines = tuple[tuple[Column, ...], Sequence[Sequence[Cell]]]

MOST_DIFFERENCES = 10  # tasks in the terminal; all are in the HTML and JSON
SMALL = f"no test: a category of fewer than {FEWEST_TASKS} tasks is too small for one, and for an interval."
MOST_NAMED = 12  # task ids in one sentence
MIN_NAME = 8  # columns of a name on a narrow terminal
SCORE, MOST_NAME = 5, 16  # columns of the name of a side, above its scores
WIDE_SCORES = 66  # columns of the table of scores, without those of the sides
STYLES = {Conclusion.A_BETTER: "bold", Conclusion.B_BETTER: "bold", Conclusion.NOTHING_PAIRED: "bold yellow"}


def print_comparisons(
    console: Console, comparisons: Sequence[Comparison], memorisation: Sequence[Memorisation] = ()
) -> None:
    """Print the estimates of memorisation and each comparison, the verdict first. Unknown values are stated."""
    for found in memorisation:
        first, *others = memorisation_sentences(found)
        _say(console, first, style="bold")
        for sentence in others:
            _say(console, sentence)
    if memorisation:
        console.print()
    for sentence in notes(comparisons):
        _say(console, sentence)
    for number, comparison in enumerate(comparisons):
        if number or len(comparisons) > 1:
            console.print()
        _print(console, comparison)


def _print(console: Console, comparison: Comparison) -> None:
    if comparison.suite:
        _say(console, f"Suite {comparison.suite}", style="bold")
    names = _names(console, comparison)
    for name, side in zip(names, (comparison.a, comparison.b), strict=True):
        _say(console, side_text(side) if name == side.label else f"{name} is {side_text(side)}")
    console.print()
    _say(console, verdict(comparison), style=STYLES.get(comparison.verdict, "bold yellow"))
    for sentence in outlook(comparison):
        _say(console, sentence)
    for sentence in warnings(comparison):
        _say(console, f"Note: {sentence}", style="yellow")
    for sentence in _unpaired(comparison):
        _say(console, sentence)
    if not comparison.tasks:
        return
    console.print()
    a, b = plain(comparison.a.label), plain(comparison.b.label)
    print_table(console, *_scores_table(comparison, names))
    for sentence in (
        f"Above 0, a difference means that {b} scores higher than {a}; a ratio above ×1, that it takes more.",
        *_excluded(comparison, names),
        *([SMALL] if any(one.difference.p is None for one in comparison.categories) else []),
        *significance_sentences(comparison),
    ):
        _say(console, sentence, style="dim")
    console.print()
    print_table(console, *_spent_table(comparison, names))
    _print_reasons(console, comparison, names)
    console.print()
    for sentence in _passed(comparison):
        _say(console, sentence)
    _print_differences(console, comparison, names)


def _names(console: Console, comparison: Comparison) -> tuple[str, str]:
    """Return names of the sides that fit above a score: the models' without the provider, if those differ."""
    whole = plain(comparison.a.label), plain(comparison.b.label)
    a, b = (name.rpartition("/")[2] for name in whole)
    a, b = (a, b) if a != b else whole
    short = short_names([a, b], min(MOST_NAME, max(SCORE, (console.width - WIDE_SCORES) // 2)))
    return short[a], short[b]


def _print_reasons(console: Console, comparison: Comparison, names: Names) -> None:
    """Print why one side is dearer, and what went wrong on both, as far as they are known."""
    sides = [
        replace(side, tasks={task.task_id: side.tasks[task.task_id] for task in comparison.tasks})
        for side in (comparison.a, comparison.b)
    ]
    if reason := why_dearer(sides):
        _say(console, reason)
    if sheet := sheet_table([replace(side, label=name) for side, name in zip(sides, names, strict=True)]):
        head, *rows = sheet
        console.print()
        print_table(console, [Column(name) for name in head], rows)


def _print_differences(console: Console, comparison: Comparison, names: Names) -> None:
    differing = sum(bool(task.difference) for task in comparison.tasks)
    if not differing:
        _say(console, f"None of the {many(len(comparison.tasks), 'task')} has another mean score.")
        return
    console.print()
    print_table(console, *_tasks_table(comparison, names))
    if more := max(0, differing - MOST_DIFFERENCES):
        differ = "differs" if more == 1 else "differ"
        _say(console, f"{more} more {differ} by less; --json and --html have all.", style="dim")


def side_text(side: Sample) -> str:
    """Describe a side and its runs."""
    if len(side.runs) > 1:
        return f"{side.label}: {many(len(side.runs), 'run')} pooled ({', '.join(side.runs)})"
    return side.label if side.label == side.runs[0] else f"{side.label}: {side.runs[0]}"


def _unpaired(comparison: Comparison) -> Iterator[str]:
    """Yield the tasks that are excluded from every number, by reason."""
    for why in dict.fromkeys(comparison.unpaired.values()):
        named = [task_id for task_id, reason in comparison.unpaired.items() if reason is why]
        phrase = UNPAIRED[why].format(a=comparison.a.label, b=comparison.b.label)
        yield f"Not compared, {phrase}: {some(named, MOST_NAMED)}."


def _passed(comparison: Comparison) -> Iterator[str]:
    """Yield which tasks one side passes and the other fails, by the mean of their scores."""
    a, b = comparison.a.label, comparison.b.label
    counts = Counter((task.passed_a, task.passed_b) for task in comparison.tasks)
    yield (
        f"Passed (mean score of {comparison.threshold:g} or more): {a} {comparison.paired_a.passed}, {b}"
        f" {comparison.paired_b.passed} of {many(len(comparison.tasks), 'task')};"
        f" both {counts[True, True]}, neither {counts[False, False]}."
    )
    for name, sign in ((b, 1), (a, -1)):
        if only := [task.task_id for task in comparison.tasks if task.flipped * sign > 0]:
            yield f"Only {name} passes {len(only)}: {some(only, MOST_NAMED)}."


def _excluded(comparison: Comparison, names: Names) -> Iterator[str]:
    """Explain the counts next to the scores, for all tasks together."""
    sides = zip(names, (comparison.paired_a.left_out, comparison.paired_b.left_out), strict=True)
    if described := [f"{name} {text}" for name, left_out in sides if (text := left_out_text(left_out))]:
        yield f"excluded: trials without a score, of {names[0]}; {names[1]}. In all: {'; '.join(described)}."


def print_choice(
    console: Console, answers: Sequence[str], tables: Sequence[Sequence[Sequence[str]]], notes: Sequence[str]
) -> None:
    """Print what a model is chosen by: the answers, tables whose first row is the head, and how to read them."""
    for sentence in answers:
        _say(console, sentence, style="bold")
    for head, *rows in tables:
        console.print()
        names = [
            Column(
                name=name, is_right=name not in ("model", "worst failure"), least=MIN_NAME if name == "model" else None
            )
            for name in head
        ]
        print_table(console, names, [list(map(plain, row)) for row in rows])
    console.print()
    for sentence in notes:
        _say(console, sentence, style="dim")


def _say(console: Console, sentence: str, *, style: str = "") -> None:
    # a terminal would break lines within words; in other output, each sentence is one line
    console.print(Text(plain(sentence), style=style), soft_wrap=not console.is_terminal, highlight=False)


def _scores_table(comparison: Comparison, names: Names) -> Lines:
    columns = (
        Column("category", least=MIN_NAME),
        Column("tasks", is_right=True),
        *(Column(name, is_right=True) for name in names),
        Column("difference (95%)"),
        Column("test"),
        Column("excluded"),
    )
    a, b = comparison.paired_a, comparison.paired_b
    whole = ("all", *_means(comparison.difference, a, b), describe_p(comparison.p), _numbers_left_out(a, b))
    rows = [
        (
            plain(one.category),
            *_means(one.difference, one.a, one.b),
            describe_p(one.difference.p),
            _numbers_left_out(one.a, one.b),
        )
        for one in comparison.categories
    ]
    return columns, [[(text, "bold") for text in whole], *rows]


def _means(difference: Difference, a: PairedSample, b: PairedSample) -> tuple[str, str, str, str]:
    is_small = difference.p is None and difference.mean is not None
    size = signed(difference.mean or 0.0) if is_small else describe_difference(difference)
    return str(difference.tasks), mean_text(a.score.mean), mean_text(b.score.mean), size


def _numbers_left_out(a: PairedSample, b: PairedSample) -> str:
    if not a.left_out and not b.left_out:
        return "–"
    return "; ".join(str(side.left_out.total) for side in (a, b))


def _spent_table(comparison: Comparison, names: Names) -> Lines:
    a, b = comparison.paired_a.spent, comparison.paired_b.spent
    columns = (
        Column("on these tasks"),
        *(Column(name, is_right=True) for name in names),
        Column("ratio", is_right=True),
    )
    rows = (
        ("cost", a.cost_usd, b.cost_usd, lambda value: exact_price(value or None)),
        ("agents' time", a.time_s, b.time_s, duration),
        ("tokens", a.tokens, b.tokens, lambda value: amount(round(value))),
    )
    lines = [("trials", str(a.trials), str(b.trials), "")]
    for name, of_a, of_b, text in rows:
        each_a, each_b = of_a / max(1, a.trials), of_b / max(1, b.trials)
        lines.append((name, text(of_a), text(of_b), ""))
        lines.append(("  a trial", text(each_a), text(each_b), ratio(each_b, each_a)))
    return columns, lines


def _tasks_table(comparison: Comparison, names: Names) -> Lines:
    columns = (
        Column("biggest differences", least=MIN_NAME),
        Column("category", least=MIN_NAME, rank=2),
        *(Column(name, is_right=True) for name in names),
        Column("difference", is_right=True),
        Column("trials", is_right=True, rank=1),
    )
    rows = [
        (
            plain(task.task_id),
            plain(task.category),
            f"{task.a.mean:.2f}",
            f"{task.b.mean:.2f}",
            signed(task.difference),
            f"{len(task.a.scores)}, {len(task.b.scores)}",
        )
        for task in [one for one in comparison.tasks if one.difference][:MOST_DIFFERENCES]
    ]
    return columns, rows
