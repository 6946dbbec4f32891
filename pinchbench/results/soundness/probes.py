"""What the probes of a run tell of changes of its provider (pure)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from pinchbench.results.soundness.drift import Change, Measure, Observation, Renamed, renamed_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.results.probe_json import ProbeFacts
    from pinchbench.results.result_json import Aggregate
    from pinchbench.results.soundness.drift import Drift

Found = TypeVar("Found", Change, Renamed)
FEWEST_STATED = 3  # probes on either side of a change of the fingerprint: some providers answer from several at random


def observed(variant: str, probes: Sequence[ProbeFacts]) -> list[Observation]:
    """Return what the answered probes measured; all of a point are as of the start of the first of them.

    The value of `PROBE_ANSWER` is 1 if the answer is equal to the most frequent one of all, and 0 otherwise.
    """
    answered = sorted((one for one in probes if not one.error), key=attrgetter("point", "at"))
    answers = Counter(one.answer for one in answered if one.answer)
    usual = max(answers, key=lambda one: (answers[one], one), default="")
    return [
        Observation(
            variant=variant,
            task_id=str(number),
            at=own[0].at,
            values={
                Measure.PROBE_LATENCY: one.first_token_s,
                Measure.PROBE_TIME: one.duration_s,
                Measure.PROBE_ANSWER: float(one.answer == usual) if one.answer else None,
            },
        )
        for own in (list(point) for _, point in groupby(answered, key=attrgetter("point")))
        for number, one in enumerate(own)
    ]


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
