"""Whether the measurement of a run or an experiment is sound: load of the machine, changes of the provider (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.results.soundness.drift import Drift, drift_of, observation
from pinchbench.results.soundness.interference import Interference, interference_of, loaded_trial

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.results.result_json import Aggregate


@dataclass(frozen=True, kw_only=True, slots=True)
class Soundness:
    """What was found. `loaded` is the number of valid trials during which the load was measured."""

    interference: Interference
    drift: Drift
    loaded: int


def soundness_of(runs: Mapping[str, Aggregate], *, is_shuffled: bool) -> Soundness:
    """Examine runs, by the names of their variants; takes up to a second for hundreds of trials.

    `is_shuffled`: the tasks of each came in random order in time, as in an experiment.
    """
    trials = [
        (name, task.task_id, trial)
        for name, data in runs.items()
        for task in data.tasks
        for trial in task.runs
        if trial.counts
    ]
    loaded = [one for trial in trials if (one := loaded_trial(*trial)) is not None]
    return Soundness(
        interference=interference_of(loaded),
        drift=drift_of([observation(*trial) for trial in trials], is_shuffled=is_shuffled),
        loaded=len(loaded),
    )
