"""Describe the result of a comparison in sentences, at once or of a sequential experiment (pure)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from pinchbench.defaults import MAX_RUNS
from pinchbench.results.compare.comparison import Comparison, Conclusion, Unpaired
from pinchbench.results.compare.paired_difference import ALPHA, FEWEST_TASKS, Difference, RequiredSamples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinchbench.results.compare.samples import Sample

PRIVATE = "Private: its tasks are made of your own conversations, and its evidence holds what they hold."
SMALLEST_P = 0.001
WORDS = {  # about B, where A is the baseline
    Conclusion.A_BETTER: "worse",
    Conclusion.B_BETTER: "better",
    Conclusion.CANT_TELL: "undecided",
    Conclusion.TOO_FEW_TASKS: "too few tasks",
    Conclusion.NOTHING_PAIRED: "nothing to compare",
}
UNPAIRED = {  # with the names of the sides as `a` and `b`
    Unpaired.ONLY_A: "only in {a}",
    Unpaired.ONLY_B: "only in {b}",
    Unpaired.OTHER_FORM: "not the same form on both sides: other data, other answers",
    Unpaired.CHANGED: "not the same task on both sides: it was changed in between",
    Unpaired.GRADED_DIFFERENTLY: "graded with different versions of the task; grade both anew with `regrade`",
    Unpaired.NO_SCORE_A: "no score in {a}",
    Unpaired.NO_SCORE_B: "no score in {b}",
    Unpaired.NO_SCORE: "no score on either side",
}


def verdict(comparison: Comparison, *, a: str = "", b: str = "") -> str:
    """Return one sentence that says whether the data show a difference between the sides.

    They are named `a` and `b`, by default by their labels.
    """
    a, b = a or comparison.a.label, b or comparison.b.label
    size = describe_difference(comparison.difference)
    match comparison.verdict:
        case Conclusion.NOTHING_PAIRED if comparison.a.form != comparison.b.form:
            return f"Nothing can be compared task by task: {a} and {b} are different forms of the tasks."
        case Conclusion.NOTHING_PAIRED:
            return "Nothing can be compared: no task has a score on both sides in the same version."
        case Conclusion.A_BETTER:
            return f"{b} is worse than {a}: {size}, {describe_p(comparison.p)}."
        case Conclusion.B_BETTER:
            return f"{b} is better than {a}: {size}, {describe_p(comparison.p)}."
        case Conclusion.TOO_FEW_TASKS:
            few = "one task is" if comparison.difference.tasks == 1 else f"{comparison.difference.tasks} tasks are"
            return (
                f"The data can't tell {a} from {b}: {few} too few for a test, which needs {FEWEST_TASKS}."
                f" {compared_scores(b, comparison.difference, a)}."
            )
        case Conclusion.CANT_TELL:
            scores = compared_scores(b, comparison.difference, a)
            return f"The data can't tell {a} from {b}: {scores}, {describe_p(comparison.p)}."


def compared_scores(b: str, difference: Difference, a: str) -> str:
    """Say by how much `b` scores more or less than `a`, with the interval of the difference b − a."""
    size = signed(difference.mean or 0.0)
    more = f"{size[1:]} {'more' if size[0] == '+' else 'less'} than" if size[0] in "+−" else "as much as"
    return f"{b} scores {more} {a}{_interval(difference)}"


def describe_difference(difference: Difference) -> str:
    """Format a difference with its interval."""
    if difference.mean is None:
        return "–"
    number = signed if difference.low is None else _number
    return f"{number(difference.mean)}{_interval(difference)}"


def _interval(difference: Difference) -> str:
    low, high = difference.low, difference.high
    return ", no interval" if low is None or high is None else f" ({_number(low)} to {_number(high)})"


def signed(value: float) -> str:
    """Format a difference with its sign: `+0.080`, `−0.080`, `0.000`."""
    return f"+{value:.3f}" if round(value, 3) > 0 else _number(value)


def describe_p(p: float | None) -> str:
    """Format the p of a test: `p = 0.012`, `p < 0.001`."""
    if p is None:
        return "no test"
    return f"p < {SMALLEST_P}" if p < SMALLEST_P else f"p = {p:.3f}"


def _number(value: float) -> str:
    text = f"{value:.3f}".replace("-", "−")
    return text if float(f"{value:.3f}") else "0.000"


def outlook(comparison: Comparison) -> Iterator[str]:
    """Say what would be needed to detect a difference of the observed size, and what the present data could detect."""
    needed, difference = comparison.needed, comparison.difference
    if difference.mean is None or comparison.verdict in (Conclusion.A_BETTER, Conclusion.B_BETTER):
        return
    yield from _disagreement(comparison)
    if needed.detectable is not None:
        yield (
            f"With these tasks and repetitions, a difference of {needed.detectable:.2f} would be detected 4 times in 5"
            f" (power 80%, α 5%); this one is {abs(difference.mean):.3f}."
        )
    if difference.mean and difference.tasks > 1:
        yield what_would_decide(comparison.needed, difference)


def _disagreement(comparison: Comparison) -> Iterator[str]:
    """Explain why a small p alone, or an interval without 0 alone, shows no difference: both are needed."""
    low, high = comparison.difference.low, comparison.difference.high
    if comparison.p is None or low is None or high is None:
        return
    if comparison.p <= ALPHA:
        yield (
            "Although p is small, the interval holds 0: too few of these tasks differ, or they differ too evenly, to"
            " show what others would do."
        )
    elif not low <= 0.0 <= high:
        adjusted = ", adjusted for the number of comparisons," if comparison.p != comparison.difference.p else ""
        yield (
            f"Although the interval leaves out 0, p{adjusted} is above {ALPHA}; a difference is shown where both agree."
        )


def what_would_decide(needed: RequiredSamples, difference: Difference) -> str:
    """Say how many repetitions or tasks would show a difference of this size."""
    if needed.tasks is None:
        return "A difference so small is out of reach: for any practical purpose both score the same."
    if needed.tasks <= difference.tasks:
        return (
            "Data like these show a difference of this size about 4 times in 5, but did not this time: run both again"
            " with more repetitions before you take it for none."
        )
    ways = [f"{needed.tasks:,} tasks like these (now {difference.tasks})"]
    if needed.repetitions is not None and round(needed.at_repetitions) < needed.repetitions <= MAX_RUNS:
        ways.insert(0, f"{needed.repetitions} repetitions of each task (now {needed.at_repetitions:.2g})")
    unknown = "" if needed.is_scatter_known else " What more repetitions would show is known after --runs 2 of both."
    return f"About {' or '.join(ways)} would show a difference of this size.{unknown}"


def notes(comparisons: Sequence[Comparison], *, a: str = "") -> Iterator[str]:
    """Yield the notes that apply to all comparisons with one baseline, which is called `a`, by default by its label."""
    if len(comparisons) > 1:
        tested = sum(one.p is not None for one in comparisons)
        yield (
            f"Each is compared with {a or comparisons[0].a.label}. The p of the {tested} tests are adjusted for their"
            " number by Holm's method; the intervals are not adjusted."
        )


def warnings(comparison: Comparison) -> Iterator[str]:
    """Yield warnings about sides that are private, differ in settings or are incomplete."""
    if comparison.a.is_private or comparison.b.is_private:
        yield PRIVATE
    for one in comparison.unlike:
        yield f"Different {one.setting}: {comparison.a.label} {one.a}, {comparison.b.label} {one.b}."
    for name, side in ((side.label, side) for side in (comparison.a, comparison.b)):
        if side.unfinished:
            yield (
                f"{name} lacks the scores of {side.unfinished} of its trials; `pinchbench-async resume` runs "
                f"or grades them."
            )
        yield from side_warnings(side, name)
    if shared := _on_both_sides(comparison.a, comparison.b):
        yield f"{shared} trials are on both sides, as a run reuses them: they can show no difference."
    if comparison.a.threshold != comparison.b.threshold:
        yield (
            f"{comparison.a.label} was run with a pass threshold of {comparison.a.threshold:g}, {comparison.b.label}"
            f" with {comparison.b.threshold:g}; here a task is passed from {comparison.threshold:g} on."
        )


def _on_both_sides(a: Sample, b: Sample) -> int:
    shared = sum(number for name, number in a.reused.items() if name in (*b.runs, *b.reused))
    return shared + sum(number for name, number in b.reused.items() if name in a.runs)


def side_warnings(side: Sample, name: str) -> Iterator[str]:
    """Yield warnings about one side: missing scores that its agent may have caused, and runs not included."""
    if caused := side.left_out.possibly_caused_by_agent:
        yield (
            f"{caused} of {name}'s trials have no score, which the agent may have caused: evidence that can't be"
            f" trusted, or failures in every attempt while others worked. Counted as 0, they would make {name}'s"
            f" mean over all its tasks {side.mean_if_zero:.3f}."
        )
    if side.reused:
        yield f"{name} counts trials of earlier runs: {', '.join(f'{n} of {run}' for run, n in side.reused.items())}."
    for sentence in side.left_aside:
        yield f"{name}: {sentence}"


def ratio(b: float, a: float) -> str:
    """Format B as a multiple of A: `×1.25`; `–` if A is 0."""
    return f"×{b / a:.2f}" if a > 0 else "–"


MANY, HUGE = 10, 1_000_000  # e-values from which on decimals, and the number itself, tell nothing


class SequentialVerdict(StrEnum):
    """What is decided of a variant against the baseline."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    UNDECIDABLE = "undecidable"
    BUDGET = "budget reached"
    STOPPED = "stopped"
    OPEN = "open"

    @property
    def is_final(self) -> bool:
        """Whether further trials would not change it."""
        return self not in (SequentialVerdict.BUDGET, SequentialVerdict.STOPPED, SequentialVerdict.OPEN)


class SequentialComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A variant against the baseline: the verdict, and what it rests on.

    `mean`, `low` and `high` are differences in -1 to 1 over the tasks of the experiment, positive where the variant is
    better; `low` and `high` hold at any time, for all comparisons together.
    """

    variant: str
    verdict: SequentialVerdict
    blocks: Annotated[int, Meta(ge=0, description="trials with a score of both")]
    mean: Annotated[float | None, Meta(description="null without a block")] = None
    low: float
    high: float
    e_value: Annotated[float, Meta(ge=0, description="the evidence against identical variants")]
    decided_at: Annotated[float, Meta(gt=0, description="the e-value from which on a difference is decided")]

    @property
    def difference(self) -> Difference:
        """The difference with its interval."""
        return Difference(mean=self.mean, low=self.low, high=self.high)


def describe_e_value(value: float) -> str:
    """Format an e-value: `0.83`, `57`, `> 1000000`."""
    if value > HUGE:
        return f"> {HUGE}"
    return f"{value:.2g}" if value < MANY else f"{value:.0f}"


def sentence(comparison: SequentialComparison, *, baseline: str) -> str:
    """Say what is decided of a variant."""
    verdict = comparison.verdict
    match verdict:
        case SequentialVerdict.BETTER | SequentialVerdict.WORSE:
            said = f"Decided: {verdict.value} than {baseline}"
        case SequentialVerdict.EQUAL:
            said = f"Decided: equal to {baseline} within the margin"
        case SequentialVerdict.UNDECIDABLE:
            said = f"Undecidable: the trials that are left can hardly tell it from {baseline}"
        case SequentialVerdict.BUDGET:
            said = "Not decided: the budget is used up"
        case SequentialVerdict.STOPPED:
            said = f"Not decided: its run, or that of {baseline}, ended early"
        case SequentialVerdict.OPEN:
            said = "Not decided yet"
    size = describe_difference(comparison.difference)
    return f"{said}. The difference is {size}, after {comparison.blocks} paired trials."
