"""Compare two sides paired by task (pure)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from pinchbench.results.compare.paired_difference import (
    ALPHA,
    Difference,
    Pair,
    RequiredSamples,
    difference_of,
    holm,
    needed,
)
from pinchbench.results.compare.samples import NONE_LEFT_OUT, LeftOut, Sample, Spent, TaskTrials
from pinchbench.results.statistics import ROUNDING, Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Unpaired(StrEnum):
    """Why a task is excluded from a comparison."""

    ONLY_A = "only_a"
    ONLY_B = "only_b"
    OTHER_FORM = "other_form"
    CHANGED = "changed"
    GRADED_DIFFERENTLY = "graded_differently"
    NO_SCORE_A = "no_score_a"
    NO_SCORE_B = "no_score_b"
    NO_SCORE = "no_score"


class Conclusion(StrEnum):
    """The conclusion that the data support."""

    A_BETTER = "a_better"
    B_BETTER = "b_better"
    CANT_TELL = "cant_tell"
    TOO_FEW_TASKS = "too_few_tasks"
    NOTHING_PAIRED = "nothing_paired"


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedSample:
    """One side's numbers on the paired tasks alone."""

    score: Estimate
    passed: int
    left_out: LeftOut
    spent: Spent


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedTask:
    """One task as both sides ran it."""

    task_id: str
    category: str
    a: TaskTrials
    b: TaskTrials
    difference: float
    passed_a: bool
    passed_b: bool

    @property
    def flipped(self) -> int:
        """1 if only B passed, -1 if only A passed, else 0."""
        return int(self.passed_b) - int(self.passed_a)


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedCategory:
    """The tasks of one category."""

    category: str
    difference: Difference
    a: PairedSample
    b: PairedSample


@dataclass(frozen=True, kw_only=True, slots=True)
class DifferingSetting:
    """A setting that affects the numbers and differs between the sides."""

    setting: str
    a: str
    b: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """B compared with A, the baseline.

    `p` is the p-value of the test, adjusted by Holm's method if several sides were compared. `tasks` are sorted by the
    size of the difference, largest first. `unpaired` lists the tasks that are excluded from every number. A task is
    passed from a mean score of `threshold` on. `suite` is the one that is compared, if a side has several.
    """

    a: Sample
    b: Sample
    verdict: Conclusion
    difference: Difference
    p: float | None
    needed: RequiredSamples
    paired_a: PairedSample
    paired_b: PairedSample
    categories: tuple[PairedCategory, ...]
    tasks: tuple[PairedTask, ...]
    unpaired: Mapping[str, Unpaired]
    unlike: tuple[DifferingSetting, ...]
    threshold: float
    suite: str = ""


def compare(sides: Sequence[Sample]) -> tuple[Comparison, ...]:
    """Compare each further side with the first. The same sides give the same result.

    Where a side has several suites, each of them is compared on its own.
    """
    named = [(suite, a, b) for suite, (a, *others) in split_by_suite(sides).items() for b in others]
    paired = [pair_tasks(a, b) for _, a, b in named]
    differences = [difference_of(_scores(tasks)) for tasks, _ in paired]
    adjusted = holm([one.p for one in differences])
    return tuple(
        replace(_comparison(a, b, tasks=tasks, unpaired=unpaired, difference=found, p=p), suite=suite)
        for (suite, a, b), (tasks, unpaired), found, p in zip(named, paired, differences, adjusted, strict=True)
    )


def split_by_suite(sides: Sequence[Sample]) -> dict[str, tuple[Sample, ...]]:
    """Return the sides with the tasks of one suite each, by its name; all under an empty name if none has several.

    A task of a side with one suite belongs to the suite that the task has on another side.
    """
    suite_of: dict[str, str] = {}
    for side in sides:
        suite_of |= {task_id: task.suite for task_id, task in side.tasks.items() if task.suite}
    if not suite_of:
        return {"": tuple(sides)}
    names = dict.fromkeys(suite_of.get(task_id, "") for side in sides for task_id in side.tasks)
    return {
        name: tuple(
            replace(side, tasks={key: task for key, task in side.tasks.items() if suite_of.get(key, "") == name})
            for side in sides
        )
        for name in names
        if name
    }


def _comparison(
    a: Sample,
    b: Sample,
    *,
    tasks: Sequence[PairedTask],
    unpaired: Mapping[str, Unpaired],
    difference: Difference,
    p: float | None,
) -> Comparison:
    names = dict.fromkeys(task.category for task in tasks)
    return Comparison(
        a=a,
        b=b,
        verdict=verdict_of(difference, p),
        difference=difference,
        p=p,
        needed=needed(_scores(tasks)),
        paired_a=_told([task.a for task in tasks], a.threshold),
        paired_b=_told([task.b for task in tasks], a.threshold),
        categories=tuple(_category(name, tasks, a.threshold) for name in names),
        tasks=tuple(sorted(tasks, key=lambda task: (-abs(task.difference), task.task_id))),
        unpaired=unpaired,
        unlike=unlike_settings(a, b),
        threshold=a.threshold,
    )


def verdict_of(difference: Difference, p: float | None) -> Conclusion:
    """Return the conclusion: a difference only if the interval excludes 0 and the test agrees."""
    if difference.mean is None:
        return Conclusion.NOTHING_PAIRED
    if p is None or difference.low is None or difference.high is None:
        return Conclusion.TOO_FEW_TASKS
    if p > ALPHA or difference.low <= 0.0 <= difference.high:
        return Conclusion.CANT_TELL
    return Conclusion.B_BETTER if difference.mean > 0 else Conclusion.A_BETTER


def pair_tasks(a: Sample, b: Sample) -> tuple[list[PairedTask], dict[str, Unpaired]]:
    """Return the tasks that have scores on both sides in the same version, and why the others are excluded."""
    paired: list[PairedTask] = []
    unpaired: dict[str, Unpaired] = {}
    needed_score = a.threshold - ROUNDING
    for task_id in dict.fromkeys((*a.tasks, *b.tasks)):
        of_a, of_b = a.tasks.get(task_id), b.tasks.get(task_id)
        if of_a is None:
            unpaired[task_id] = Unpaired.ONLY_B
        elif of_b is None:
            unpaired[task_id] = Unpaired.ONLY_A
        elif a.form != b.form:
            unpaired[task_id] = Unpaired.OTHER_FORM
        elif (why := _why_unpaired(of_a, of_b)) is not None:
            unpaired[task_id] = why
        else:
            paired.append(
                PairedTask(
                    task_id=task_id,
                    category=of_a.category,
                    a=of_a,
                    b=of_b,
                    difference=Pair(a=of_a.scores, b=of_b.scores).difference,
                    passed_a=of_a.mean >= needed_score,
                    passed_b=of_b.mean >= needed_score,
                )
            )
    return paired, unpaired


def _why_unpaired(a: TaskTrials, b: TaskTrials) -> Unpaired | None:
    if a.version[0] != b.version[0]:
        return Unpaired.CHANGED
    match bool(a.scores), bool(b.scores):
        case False, False:
            return Unpaired.NO_SCORE
        case False, True:
            return Unpaired.NO_SCORE_A
        case True, False:
            return Unpaired.NO_SCORE_B
        case _:
            return None if a.version == b.version else Unpaired.GRADED_DIFFERENTLY


def _scores(tasks: Iterable[PairedTask]) -> list[Pair]:
    return [Pair(a=task.a.scores, b=task.b.scores) for task in tasks]


def _told(tasks: Sequence[TaskTrials], threshold: float) -> PairedSample:
    return PairedSample(
        score=estimate([task.scores for task in tasks]),
        passed=sum(task.mean >= threshold - ROUNDING for task in tasks),
        left_out=sum((task.left_out for task in tasks), NONE_LEFT_OUT),
        spent=Spent.of([outcome for task in tasks for outcome in task.valid]),
    )


def _category(name: str, tasks: Iterable[PairedTask], threshold: float) -> PairedCategory:
    own = [task for task in tasks if task.category == name]
    return PairedCategory(
        category=name,
        difference=difference_of(_scores(own)),
        a=_told([task.a for task in own], threshold),
        b=_told([task.b for task in own], threshold),
    )


def unlike_settings(a: Sample, b: Sample) -> tuple[DifferingSetting, ...]:
    """Return the settings that differ, except those that one side does not know, as in runs of earlier releases."""
    return tuple(
        DifferingSetting(setting=name, a=a.settings[name], b=b.settings[name])
        for name in a.settings
        if name in b.settings and a.settings[name] != b.settings[name]
    )
