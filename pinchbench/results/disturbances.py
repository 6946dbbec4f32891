"""Find what may have distorted the scores of runs: trials that waited for the machine, and replaced models (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinchbench.results.result_json import Aggregate, TrialEntry


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedTrial:
    """A valid trial that waited for the machine for much of its time.

    `waited_for` is `cpu`, `memory` or `io`, whichever it waited for longest, and `share` the part of its time, in 0-1.
    """

    variant: str
    task_id: str
    repetition: int
    waited_for: str
    share: float
    timed_out: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Renamed:
    """Other models answered than before, for good: `at` is the start of the first such trial, in seconds (UTC)."""

    variant: str
    at: float
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Disturbances:
    """The valid trials whose load was high, as far as it was measured, and the changes of the models that answered."""

    waited: tuple[LoadedTrial, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    is_serial: bool = False  # all trials were run by one slot


def disturbances_of(runs: Mapping[str, Aggregate]) -> Disturbances:
    """Examine runs, by the names of their variants."""
    valid = {name: [trial for trial in _in_time(data) if trial[1].counts] for name, data in runs.items()}
    return Disturbances(
        waited=tuple(one for name, own in valid.items() for one in _waited(name, own)),
        renamed=tuple(one for name, own in valid.items() for one in _renamed(name, [trial for _, trial in own])),
        is_serial=len({trial.slot for own in valid.values() for _, trial in own}) == 1,
    )


def _in_time(data: Aggregate) -> list[tuple[str, TrialEntry]]:
    trials = [(task.task_id, trial) for task in data.tasks for trial in task.runs]
    return sorted(trials, key=lambda one: (one[1].started_at, one[0]))


def _waited(variant: str, trials: Sequence[tuple[str, TrialEntry]]) -> Iterator[LoadedTrial]:
    for task_id, trial in trials:
        if trial.load and trial.load.is_high:
            waited_for, share = max(trial.load.shares.items(), key=lambda item: item[1])
            yield LoadedTrial(
                variant=variant,
                task_id=task_id,
                repetition=trial.repetition,
                waited_for=waited_for,
                share=share,
                timed_out=trial.timed_out,
            )


def _renamed(variant: str, trials: Sequence[TrialEntry]) -> Iterator[Renamed]:
    """Yield where models answered that never did before, and none of those before ever did again."""
    named = [(one.started_at, one.wire.models) for one in trials if one.wire and one.wire.models]
    last = {model: place for place, (_, models) in enumerate(named) for model in models}
    reach = 0  # the last trial that a model answered which has answered so far
    for place in range(1, len(named)):
        (_, before), (at, after) = named[place - 1 : place + 1]
        reach = max(reach, *(last[model] for model in before))
        if reach < place:
            yield Renamed(variant=variant, at=at, before=before, after=after)
