"""Whether the measurement of a run or an experiment is sound: load of the machine, changes of the provider (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import UNSET

from pinchbench.results.soundness.drift import Drift, drift_of, observation
from pinchbench.results.soundness.interference import Interference, interference_of, loaded_trial
from pinchbench.results.soundness.probes import points_of, stated_changes, with_probes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.results.probe_json import ProbeTotals
    from pinchbench.results.result_json import Aggregate


@dataclass(frozen=True, kw_only=True, slots=True)
class Soundness:
    """What was found. `loaded` is the number of valid trials during which the load was measured.

    `probes` are those of the runs that have some, by the names of their variants.
    """

    interference: Interference
    drift: Drift
    loaded: int
    probes: Mapping[str, ProbeTotals] = field(default_factory=dict)


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
    probes = {name: data.probes for name, data in runs.items() if data.probes is not UNSET}
    drift = drift_of(
        [observation(*trial) for trial in trials],
        probes=[point for name, own in probes.items() for point in points_of(name, own.probes)],
        is_shuffled=is_shuffled,
    )
    stated = [change for name, own in probes.items() for change in stated_changes(name, own.probes)]
    loaded = [one for trial in trials if (one := loaded_trial(*trial)) is not None]
    return Soundness(
        interference=interference_of(loaded),
        drift=with_probes(drift, stated, runs),
        loaded=len(loaded),
        probes=probes,
    )
