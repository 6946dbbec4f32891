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
from pinchbench.results.soundness.change_point import change_in
from pinchbench.results.soundness.residuals import PERMUTATIONS, codes, residuals
from pinchbench.results.statistics import SEED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy import intp
    from numpy.typing import NDArray

    from pinchbench.results.result_json import TrialEntry

FEWEST_TRIALS = 20  # fewer detect only changes that are as large as the scatter
FEWEST_POINTS = 8  # at which probes were sent: fewer leave hardly any place for a change
LEVEL = 0.05  # the largest p, adjusted for all series, with which a change is named


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
    def fewest(self) -> int:
        """How many trials, or points at which probes were sent, are needed."""
        return FEWEST_POINTS if self in OF_PROBES else FEWEST_TRIALS

    @property
    def wanders(self) -> bool:
        """Whether the state of the provider determines it, so that values resemble those before them."""
        return self not in {Measure.SCORE, Measure.OUTPUT, Measure.PROBE_ANSWER}


OF_TRIALS = (Measure.SCORE, Measure.LATENCY, Measure.SPEED, Measure.OUTPUT)
OF_PROBES = (Measure.PROBE_LATENCY, Measure.PROBE_TIME, Measure.PROBE_ANSWER)


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """One valid trial of a variant, or one probe, whose `task_id` is its number at the point at which it was sent.

    `at` is the start of the trial or of the point, in seconds since the epoch, and a value is None if unknown.
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
    draws: int = PERMUTATIONS,
) -> Drift:
    """Look for a change in each measure of each variant; about 5 % of experiments without one have a false alarm.

    `is_shuffled`: tasks came in random order in time. If not, only series in which tasks were repeated are examined:
    hard tasks that come late would look like a change. `draws` is how many series without a change each is compared
    with at least.
    """
    by_variant, probes_of = _by_variant(observations), _by_variant(probes)
    examined = []
    unexamined = 0
    for variant in sorted(by_variant.keys() | probes_of.keys()):
        own_probes = probes_of.get(variant, [])
        for measure in (*OF_TRIALS, *(OF_PROBES if own_probes else ())):
            own = own_probes if measure in OF_PROBES else by_variant.get(variant, [])
            known = [one for one in own if one.values[measure] is not None]
            places = codes([one.at for one in known] if measure in OF_PROBES else range(len(known)))
            groups = _groups(known, is_shuffled=is_shuffled)
            if len(set(places.tolist())) < measure.fewest or groups is None:
                unexamined += 1
            else:
                examined.append((variant, measure, known, places, groups))
    # the smallest p that so many draws can give has to be below the level after Holm's adjustment
    count = max(draws, ceil(2 * len(examined) / LEVEL))
    found = [_change(*one, seed=seed, draws=count) for one in examined]
    adjusted = holm([None if one is None else one.p for one in found])
    return Drift(
        changes=tuple(
            replace(one, p=p)
            for one, p in zip(found, adjusted, strict=True)
            if one is not None and p is not None and p <= LEVEL
        ),
        renamed=tuple(sorted((one for own in by_variant.values() for one in renamed_in(own)), key=lambda one: one.at)),
        examined=len(found),
        unexamined=unexamined,
        has_probes=any(measure in OF_PROBES for _, measure, *_ in examined),
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
    places: NDArray[intp],
    groups: NDArray[intp],
    *,
    seed: int,
    draws: int,
) -> Change | None:
    values = np.array([one.values[measure] for one in own], dtype=np.float64)
    found = change_in(
        values, places=places, groups=groups, wanders=measure.wanders, source=np.random.default_rng(seed), draws=draws
    )
    if found is None:
        return None
    first = int(np.searchsorted(places, found.place))
    level = values.mean() + residuals(values, groups)
    return Change(
        variant=variant,
        measure=measure,
        at=own[first].at,
        before=float(level[:first].mean()),
        after=float(level[first:].mean()),
        p=found.p,
        last_at=own[first - 1].at if measure in OF_PROBES else None,
    )


def _groups(own: Sequence[Observation], *, is_shuffled: bool) -> NDArray[intp] | None:
    """Group the trials of a task if most tasks were repeated; otherwise all trials, if tasks are in random order."""
    tasks = codes([one.task_id for one in own])
    if 2 * len(set(tasks.tolist())) <= len(tasks):
        return tasks
    return np.zeros(len(tasks), dtype=np.intp) if is_shuffled else None


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
