"""What the probes of a run tell of changes of its provider (pure)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from pinchbench.results.soundness.drift import Change, Measure, Observation, Renamed, renamed_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.results.probe_json import ProbeFacts
    from pinchbench.results.result_json import Aggregate
    from pinchbench.results.soundness.drift import Drift

Found = TypeVar("Found", Change, Renamed)
FEWEST_STATED = 3  # probes on either side of a change of the fingerprint: some providers answer from several at random


def points_of(variant: str, probes: Sequence[ProbeFacts]) -> list[Observation]:
    """Return the points at which probes were answered, each with the median of its times.

    The value of `PROBE_ANSWER` is the share of answers that are equal to the most frequent one of all.
    """
    answered = sorted((one for one in probes if not one.error), key=attrgetter("point"))
    answers = Counter(one.answer for one in answered if one.answer)
    usual = max(answers, key=lambda one: (answers[one], one), default="")
    return [_point(variant, tuple(own), usual) for _, own in groupby(answered, key=attrgetter("point"))]


def _point(variant: str, own: Sequence[ProbeFacts], usual: str) -> Observation:
    first_tokens = [one.first_token_s for one in own if one.first_token_s is not None]
    answers = [one.answer == usual for one in own if one.answer]
    return Observation(
        variant=variant,
        task_id="",
        at=own[0].at,
        values={
            Measure.PROBE_LATENCY: median(first_tokens) if first_tokens else None,
            Measure.PROBE_TIME: median(one.duration_s for one in own),
            Measure.PROBE_ANSWER: sum(answers) / len(answers) if answers else None,
        },
    )


def stated_changes(variant: str, probes: Sequence[ProbeFacts]) -> list[Renamed]:
    """Return where the provider began to state another model, or another fingerprint of its configuration, for good."""
    models = _stated(variant, [(one.at, one.model) for one in probes if one.model])
    stated = [(one.at, one.fingerprint) for one in probes if one.fingerprint]
    times = [at for at, _ in stated]
    fingerprints = [
        replace(one, is_fingerprint=True)
        for one in _stated(variant, stated)
        if FEWEST_STATED <= bisect_left(times, one.at) <= len(times) - FEWEST_STATED
    ]
    # where each answer has a fingerprint of its own, or nearly so, it states nothing about the configuration
    if 2 * len({fingerprint for _, fingerprint in stated}) > len(stated):
        fingerprints = []
    named = {one.at for one in models}
    return [*models, *(one for one in fingerprints if one.at not in named)]


def _stated(variant: str, stated: Sequence[tuple[float, str]]) -> list[Renamed]:
    seen = [Observation(variant=variant, task_id="", at=at, values={}, models=(name,)) for at, name in sorted(stated)]
    times = [one.at for one in seen]
    return [replace(one, last_at=times[bisect_left(times, one.at) - 1]) for one in renamed_in(seen)]


def with_probes(drift: Drift, stated: Sequence[Renamed], runs: Mapping[str, Aggregate]) -> Drift:
    """Return the drift with what providers stated to probes, and between which trials of a run probes saw a change.

    Where probes were told of another model, what trials were told of it is left out.
    """
    told = {one.variant for one in stated if not one.is_fingerprint}
    renamed = [*stated, *(one for one in drift.renamed if one.variant not in told)]
    return replace(
        drift,
        changes=tuple(_located(one, runs) for one in drift.changes),
        renamed=tuple(_located(one, runs) for one in sorted(renamed, key=attrgetter("at"))),
    )


def _located(one: Found, runs: Mapping[str, Aggregate]) -> Found:
    if one.last_at is None:
        return one
    trials = sorted(
        (trial.started_at, f"{task.task_id}@{trial.repetition}")
        for task in runs[one.variant].tasks
        for trial in task.runs
        if trial.started_at
    )
    times = [at for at, _ in trials]
    before, after = bisect_right(times, one.last_at) - 1, bisect_left(times, one.at)
    names = trials[before][1] if before >= 0 else "", trials[after][1] if after < len(trials) else ""
    return replace(one, between=names)
