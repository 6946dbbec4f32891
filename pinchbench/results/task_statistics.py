"""Item statistics over past runs: how hard each task is, how well it separates models, how noisy its scores are."""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, fsum, sqrt, tanh
from typing import TYPE_CHECKING

from pinchbench.defaults import DEMO_MODELS
from pinchbench.errors import ResultsError
from pinchbench.results.compare.samples import Origin, settings_of, side_of
from pinchbench.results.finished_run import read_run
from pinchbench.results.manifest import read_facts
from pinchbench.results.paths import runs_of
from pinchbench.results.statistics import ROUNDING, Z, estimate, mean_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    ScoresByTask = Mapping[str, Sequence[float]]  # the scores of one subject's trials


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundSubjects:
    """The scores by task of each model with all settings that could change a score, its runs pooled.

    They are in the order of the newest runs; `excluded` are sentences on runs and scores that are not used.
    """

    subjects: tuple[ScoresByTask, ...] = ()
    excluded: tuple[str, ...] = ()


def find_subjects(output_dir: Path, *, digests: Mapping[str, str]) -> FoundSubjects:
    """Read all runs of an output folder but those of built-in models. Blocks, 50 microseconds a trial.

    Only scores of the tasks in `digests`, by id, are used, and of trials that were run and graded with that digest.
    Replays are not used: their replies were given in other runs.
    """
    pooled: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, tuple[float, ...]]] = {}
    excluded: list[str] = []
    seen: set[Origin] = set()
    built_in = 0
    for files in runs_of(output_dir):
        try:
            config = read_facts(files.provenance).config
            if config.get("model") in DEMO_MODELS:
                built_in += 1
                continue
            run = read_run(files)
        except ResultsError as error:
            excluded.append(f"{files.name} can't be read: {error}")
            continue
        if config.get("replay") is not None:
            excluded.append(f"{files.name} is not used: it is a replay.")
            continue
        side = side_of([run], seen=seen)
        excluded += side.left_aside
        tasks = [task for task in side.tasks.values() if task.scores and task.task_id in digests]
        others = [task.task_id for task in tasks if task.version != ((digests[task.task_id],),) * 2]
        if others:
            excluded.append(f"{files.name} had other versions of {', '.join(others)}, which are not used.")
        settings = tuple((name, value) for name, value in settings_of(run).items() if name != "suite")
        for task in tasks:
            if task.task_id not in others:
                own = pooled.setdefault((run.model, settings), {})
                own[task.task_id] = own.get(task.task_id, ()) + task.scores
    if built_in:
        excluded.append(f"Built-in models say nothing about others; their runs ({built_in}) are not used.")
    return FoundSubjects(subjects=tuple(pooled.values()), excluded=tuple(excluded))


FEWEST_SUBJECTS = 4  # with three, the interval of a correlation is undefined
FEWEST_TASKS = 3  # the rest of a task is the mean of at least two others

# tests/bench/items.py prints how often the nominal 95% intervals contain the true value, by simulation: Fisher's z is
# not exact, since scores are in 0-1 and few subjects were seen.


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """An estimated value with its 95% interval, `low <= value <= high`; no interval if it can't be estimated."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """The statistics of one task over `subjects`.

    Attributes:
        mean: the mean score, each subject with the same weight; the interval is for all subjects that these might have
            been drawn from.
        discrimination: the correlation over subjects, in -1 to 1, of the task's mean with the mean of the other tasks;
            None if it can't be estimated.
        noise_share: the share of the variance of a trial's score, in 0-1, that is between trials of the same subject:
            1 if subjects differ by less than chance alone would make them, None if it can't be estimated.
        trials: the number of scores.
        unknown: why values are None, one sentence each.
    """

    task_id: str
    mean: Value
    discrimination: Value | None
    noise_share: float | None
    subjects: int
    trials: int
    unknown: tuple[str, ...] = ()


def item_statistics(subjects: Sequence[ScoresByTask]) -> tuple[Item, ...]:
    """Compute the statistics of each task that has a score, in the order of the task ids.

    All subjects must have run the same version of a task. The order of subjects makes no difference.
    """
    tasks = sorted({task_id for subject in subjects for task_id, scores in subject.items() if scores})
    means = [{task_id: mean_of(scores) for task_id, scores in one.items() if scores} for one in subjects]
    centres = {task_id: mean_of([own[task_id] for own in means if task_id in own]) for task_id in tasks}
    items = []
    for task_id in tasks:
        groups = sorted(tuple(sorted(one[task_id])) for one in subjects if one.get(task_id))
        found = estimate(groups)
        assert found.mean is not None  # noqa: S101 - there is a score
        discrimination, too_few = _discrimination(task_id, means, centres)
        noise, no_noise = _noise_share(groups)
        items.append(
            Item(
                task_id=task_id,
                mean=Value(value=found.mean, low=found.low, high=found.high),
                discrimination=discrimination,
                noise_share=noise,
                subjects=len(groups),
                trials=sum(map(len, groups)),
                unknown=tuple(sentence for sentence in (too_few, no_noise) if sentence),
            )
        )
    return tuple(items)


def _discrimination(
    task_id: str, means: Sequence[Mapping[str, float]], centres: Mapping[str, float]
) -> tuple[Value | None, str]:
    """Correlate a task with the rest. Each score is taken relative to its task's mean: a subject may lack tasks."""
    pairs = []
    for own in means:
        rest = [score - centres[other] for other, score in own.items() if other != task_id]
        if task_id in own and len(rest) >= FEWEST_TASKS - 1:
            pairs.append((own[task_id] - centres[task_id], mean_of(rest)))
    if len(pairs) < FEWEST_SUBJECTS:
        return None, (
            f"Discrimination needs {FEWEST_SUBJECTS} variants with a score on it and on {FEWEST_TASKS - 1} other tasks;"
            f" there are {len(pairs)}."
        )
    value = _correlation(pairs)
    if value is None:
        return None, "Discrimination is undefined: all variants have the same mean score on it, or on the other tasks."
    half = Z / sqrt(len(pairs) - 3)  # Fisher's z
    bounded = max(-1 + ROUNDING, min(1 - ROUNDING, value))
    return Value(value=value, low=min(value, tanh(atanh(bounded) - half)),
                 high=max(value, tanh(atanh(bounded) + half))), ""  # fmt: skip


def _correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    a_mean, b_mean = (mean_of([pair[side] for pair in pairs]) for side in (0, 1))
    both = fsum((a - a_mean) * (b - b_mean) for a, b in pairs)
    of_a, of_b = fsum((a - a_mean) ** 2 for a, _ in pairs), fsum((b - b_mean) ** 2 for _, b in pairs)
    least = ROUNDING**2 * len(pairs)
    return None if of_a < least or of_b < least else max(-1.0, min(1.0, both / sqrt(of_a * of_b)))


def _variances(groups: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Estimate the variance within subjects and that between them, which may be negative, by analysis of variance."""
    count, trials = len(groups), sum(map(len, groups))
    if count < 2 or trials == count:  # noqa: PLR2004 - a variance
        return None
    overall = fsum(map(fsum, groups)) / trials
    within = fsum((score - mean_of(group)) ** 2 for group in groups for score in group) / (trials - count)
    among = fsum(len(group) * (mean_of(group) - overall) ** 2 for group in groups) / (count - 1)
    per_subject = (trials - fsum(len(group) ** 2 for group in groups) / trials) / (count - 1)
    return within, (among - within) / per_subject


def _noise_share(groups: Sequence[Sequence[float]]) -> tuple[float | None, str]:
    if len(groups) < 2:  # noqa: PLR2004 - a variance
        return None, "The noise share needs two variants with a score on it."
    if (found := _variances(groups)) is None:
        return None, "The noise share needs repetitions: no variant has more than one score on it."
    within, between = found
    if within <= ROUNDING**2 and abs(between) <= ROUNDING**2:
        return None, "The noise share is undefined: all scores are equal."
    return (1.0 if between <= 0 else within / (within + between)), ""
