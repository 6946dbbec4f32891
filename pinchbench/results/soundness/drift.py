"""Detect when a provider changed during an experiment, from what its trials and the probes of it measure (pure)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from msgspec import UNSET

from pinchbench.results.compare.paired_test import holm
from pinchbench.results.soundness.residuals import PERMUTATIONS, codes, permuted_within, ranks, residuals
from pinchbench.results.statistics import SEED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy import float64, intp
    from numpy.typing import NDArray

    from pinchbench.results.result_json import TrialEntry

FEWEST_TRIALS = 20  # fewer detect only changes that are as large as the scatter
FEWEST_POINTS = 8  # at which probes were sent: the permutations of fewer give no p that is small enough
MOST_POINTS = 24  # or means of them: more hardly find more, and take slow ups and downs for changes more often
EDGE = 10  # a tenth of the bins on either side is no place for a change: it would be one of very few trials

# Of p. A provider's slow ups and downs make false alarms more frequent than p says, more so between trials, which
# follow each other closely, than between points with probes. With these levels, they are at most 5 % of
# experiments with one variant, up to a correlation of 0.8 between successive trials.
LEVEL = 0.02
PROBE_LEVEL = 0.025

# METHOD: the self-normalised CUSUM of Shao and Zhang (Journal of the American Statistical Association, 2010) on ranks,
# with a permutation test. A plain CUSUM assumes independent trials and takes a provider's slow ups and downs for a
# change: at a correlation of 0.4 between successive trials it gives a false alarm in 34 to 39 % of series. This one
# looks at means of consecutive trials, which resemble each other less the more trials they are of; so there are fewer
# of them where the provider alone determines the measure (tests/bench/soundness.py prints what comes of it).


class Measure(StrEnum):
    """What may drift: measures of trials, and of points at which probes were sent."""

    SCORE = "score"
    LATENCY = "first_token_s"
    SPEED = "output_tokens_per_s"
    OUTPUT = "output_tokens"
    PROBE_LATENCY = "probe_first_token_s"
    PROBE_TIME = "probe_s"
    PROBE_ANSWER = "probe_answer"

    @property
    def most_bins(self) -> int:
        """How many means of consecutive trials, or of points at which probes were sent, are looked at."""
        match self:
            case Measure.SCORE | Measure.OUTPUT:
                return 30
            case Measure.LATENCY | Measure.SPEED:
                return 8
            case Measure.PROBE_LATENCY | Measure.PROBE_TIME | Measure.PROBE_ANSWER:
                return MOST_POINTS

    @property
    def fewest(self) -> int:
        """How many trials, or points at which probes were sent, are needed."""
        return FEWEST_POINTS if self in OF_PROBES else FEWEST_TRIALS

    @property
    def level(self) -> float:
        """The largest p, adjusted for all series, with which a change is named."""
        return PROBE_LEVEL if self in OF_PROBES else LEVEL


OF_TRIALS = (Measure.SCORE, Measure.LATENCY, Measure.SPEED, Measure.OUTPUT)
OF_PROBES = (Measure.PROBE_LATENCY, Measure.PROBE_TIME, Measure.PROBE_ANSWER)


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """One valid trial of a variant, or a point at which probes were sent, which has no task.

    `at` is its start in seconds since the epoch, and a value is None if unknown.
    """

    variant: str
    task_id: str
    at: float
    values: Mapping[Measure, float | None]
    models: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A change of one measure of one variant: `at` is the start of the first trial after it, in seconds (UTC).

    `before` and `after` are means, after subtracting what is typical of each task if tasks were repeated. `p` is
    adjusted for all series of the experiment. If probes have found it, `at` and `last_at` are the first point after it
    and the last one before it, and `between` the names of the trials that started last before and first after these.
    """

    variant: str
    measure: Measure
    at: float
    before: float
    after: float
    p: float
    last_at: float | None = None
    between: tuple[str, str] = ("", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Renamed:
    """The models that answered were others than before: `at` is the start of the first such trial.

    `is_fingerprint`: it is the fingerprints of the provider's configuration that were others. `last_at` and `between`
    are those of `Change`.
    """

    variant: str
    at: float
    before: tuple[str, ...]
    after: tuple[str, ...]
    is_fingerprint: bool = False
    last_at: float | None = None
    between: tuple[str, str] = ("", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """The changes found, and how many series were `examined` of those there are; `unexamined` have too few trials.

    `has_probes`: whether those of probes are among the examined ones.
    """

    changes: tuple[Change, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    examined: int = 0
    unexamined: int = 0
    has_probes: bool = False


def observation(variant: str, task_id: str, trial: TrialEntry) -> Observation:
    """Take the measures of a valid trial."""
    wire = None if trial.wire is UNSET else trial.wire
    return Observation(
        variant=variant,
        task_id=task_id,
        at=trial.started_at,
        values={
            Measure.SCORE: trial.score,
            Measure.LATENCY: None if wire is None else wire.first_token_s,
            Measure.SPEED: None if wire is None else wire.output_tokens_per_s,
            Measure.OUTPUT: float(trial.usage.output_tokens) or None,
        },
        models=() if wire is None else wire.models,
    )


def drift_of(
    observations: Sequence[Observation],
    *,
    probes: Sequence[Observation] = (),
    is_shuffled: bool = True,
    seed: int = SEED,
    permutations: int = PERMUTATIONS,
) -> Drift:
    """Look for a change in each measure of each variant; at most 5 % of experiments without one have a false alarm.

    `is_shuffled`: tasks came in random order in time. If not, only series in which tasks were repeated are examined:
    hard tasks that come late would look like a change. `probes` are the points at which probes were sent.
    """
    by_variant, points = _by_variant(observations), _by_variant(probes)
    examined = []
    unexamined = 0
    for variant in sorted(by_variant.keys() | points.keys()):
        own_points = points.get(variant, [])
        for measure in (*OF_TRIALS, *(OF_PROBES if own_points else ())):
            own = own_points if measure in OF_PROBES else by_variant.get(variant, [])
            known = [one for one in own if one.values[measure] is not None]
            groups = _groups(known, is_shuffled=is_shuffled)
            if len(known) < measure.fewest or groups is None:
                unexamined += 1
            else:
                examined.append((variant, measure, known, groups))
    # the smallest p that so many permutations can give has to be below the level after Holm's adjustment
    count = max(permutations, ceil(2 * len(examined) / LEVEL))
    found = [_change(*one, seed=seed, permutations=count) for one in examined]
    adjusted = holm([None if one is None else one.p for one in found])
    return Drift(
        changes=tuple(
            replace(one, p=p)
            for one, p in zip(found, adjusted, strict=True)
            if one is not None and p is not None and p <= one.measure.level
        ),
        renamed=tuple(sorted((one for own in by_variant.values() for one in renamed_in(own)), key=lambda one: one.at)),
        examined=len(found),
        unexamined=unexamined,
        has_probes=any(measure in OF_PROBES for _, measure, _, _ in examined),
    )


def _by_variant(observations: Sequence[Observation]) -> dict[str, list[Observation]]:
    found: dict[str, list[Observation]] = defaultdict(list)
    for one in sorted(observations, key=lambda one: (one.at, one.task_id)):
        found[one.variant].append(one)
    return found


def _change(
    variant: str,
    measure: Measure,
    own: Sequence[Observation],
    groups: NDArray[intp],
    *,
    seed: int,
    permutations: int,
) -> Change | None:
    values = np.array([one.values[measure] for one in own], dtype=np.float64)
    level = residuals(values, groups)
    if np.ptp(level) == 0.0:
        return None
    ranked = ranks(level)
    drawn = permuted_within(np.random.default_rng(seed), ranked, groups, count=permutations)
    statistics = _self_normalised(_binned(np.vstack((ranked, drawn)), measure.most_bins))
    p = float((statistics >= statistics[0] * (1 - 1e-12)).mean())
    place = _place(ranked)
    mean = values.mean()
    return Change(
        variant=variant,
        measure=measure,
        at=own[place].at,
        before=float(mean + level[:place].mean()),
        after=float(mean + level[place:].mean()),
        p=p,
        last_at=own[place - 1].at if measure in OF_PROBES else None,
    )


def _groups(own: Sequence[Observation], *, is_shuffled: bool) -> NDArray[intp] | None:
    """Group the trials of a task if most tasks were repeated; otherwise all trials, if tasks are in random order."""
    tasks = codes([one.task_id for one in own])
    if 2 * len(set(tasks.tolist())) <= len(tasks):
        return tasks
    return np.zeros(len(tasks), dtype=np.intp) if is_shuffled else None


def _binned(rows: NDArray[float64], bins: int) -> NDArray[float64]:
    length = rows.shape[1]
    edges = np.linspace(0, length, min(bins, length) + 1).round().astype(np.intp)
    means: NDArray[float64] = np.add.reduceat(rows, edges[:-1], axis=1) / np.diff(edges)
    return means


def _self_normalised(rows: NDArray[float64]) -> NDArray[float64]:
    """Return the statistic of each row: the largest CUSUM relative to the scatter on both sides of its place."""
    count, length = rows.shape
    sums = np.concatenate((np.zeros((count, 1)), np.cumsum(rows, axis=1)), axis=1)
    total = sums[:, [length]]
    edge = max(2, length // EDGE)
    largest = np.zeros(count)
    for place in range(edge, length - edge + 1):
        at = sums[:, [place]]
        before = sums[:, 1 : place + 1] - np.arange(1, place + 1) / place * at
        left = np.arange(length - place, 0, -1) / (length - place)
        after = total - sums[:, place:length] - left * (total - at)
        scatter = (before**2).sum(axis=1) + (after**2).sum(axis=1)
        shift = (at - place / length * total)[:, 0] ** 2
        # without any scatter on both sides, whatever shift there is is a change
        largest = np.maximum(largest, shift * length / np.maximum(scatter, 1e-9))
    return largest


def _place(values: NDArray[float64]) -> int:
    """Return the place of the first value after the change: where the weighted CUSUM is largest."""
    length = len(values)
    places = np.arange(1, length)
    shift = np.abs(np.cumsum(values - values.mean())[:-1]) / np.sqrt(places * (length - places))
    edge = max(1, length // EDGE)
    return edge + int(np.argmax(shift[edge - 1 : length - edge]))


def renamed_in(own: Sequence[Observation]) -> list[Renamed]:
    """Return where models answered that never did before, and none of those before ever did again."""
    named = [one for one in own if one.models]
    return [
        Renamed(variant=later.variant, at=later.at, before=earlier.models, after=later.models)
        for place, (earlier, later) in enumerate(pairwise(named), 1)
        if set(earlier.models).isdisjoint(later.models) and _models(named[:place]).isdisjoint(_models(named[place:]))
    ]


def _models(trials: Sequence[Observation]) -> set[str]:
    return {model for one in trials for model in one.models}
