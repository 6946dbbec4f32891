"""The nodes of a cluster: their hardware, and how long trials took there and elsewhere (pure)."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET

from pinchbench.decoding import Maybe, doc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pinchbench.model.outcome import Outcome

MIN_COMPARED = 5  # trials, for their median to say something of a node: single ones differ by a factor of two
SLOW = 1.25  # times as long: below, other trials on the same machine explain it


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """What a node of a cluster is made of, as it says itself."""

    processor: Annotated[str, doc("the model of its processor; its architecture where that is not known")]
    cpus: Annotated[int, doc("how many its programs can use")]
    memory_bytes: Annotated[int, doc("all of its memory")]
    kernel: Annotated[str, doc("its name and release")]


class NodeTimes(msgspec.Struct, frozen=True, kw_only=True):
    """What a node of a cluster did."""

    trials: Annotated[int, doc("that ended by themselves there, and count")]
    execution_time_median: Annotated[float, doc("of their agents, in seconds")]
    compared: Annotated[int, doc("of these trials: those of tasks of which others ended elsewhere")]
    pace: Annotated[
        float | None, doc("how many times as long they took as the others of their tasks, the median; null for none")
    ]
    waited: Annotated[
        Maybe[dict[str, float]],
        doc(
            "the share of the time, in 0-1, in which its trials waited for `cpu`, `memory` and `io`, the"
            " median; missing where it was not measured"
        ),
    ] = UNSET
    hardware: Annotated[Maybe[Hardware], doc("of the node; missing in runs of releases that did not record it")] = UNSET

    @property
    def is_slow(self) -> bool:
        """Whether trials took clearly longer there than elsewhere."""
        return self.pace is not None and self.compared >= MIN_COMPARED and self.pace >= SLOW


def node_times(outcomes: Iterable[Outcome], hardware: Mapping[str, Hardware]) -> dict[str, NodeTimes]:
    """Return the times of each node, by name; nothing for a run of one machine.

    `outcomes` are those that count, `hardware` is that of nodes, by name. Trials of one task differ in what their
    agents did, so that only the median of many compares nodes.
    """
    ended = [one for one in outcomes if one.node and one.reason.is_valid]
    of_task: dict[str, list[Outcome]] = defaultdict(list)
    of_node: dict[str, list[Outcome]] = defaultdict(list)
    for one in ended:
        of_task[one.key.task_id].append(one)
        of_node[one.node].append(one)
    return {name: _times(name, of_node[name], of_task, hardware.get(name, UNSET)) for name in sorted(of_node)}


def _waited(own: Sequence[Outcome]) -> Maybe[dict[str, float]]:
    shares: dict[str, list[float]] = defaultdict(list)
    for one in own:
        for name, share in (one.load.shares if one.load is not None else {}).items():
            shares[name].append(share)
    return {name: round(median(of_trials), 3) for name, of_trials in shares.items()} or UNSET


def _times(
    name: str, own: Sequence[Outcome], of_task: Mapping[str, Sequence[Outcome]], hardware: Maybe[Hardware]
) -> NodeTimes:
    ratios = []
    for one in own:
        elsewhere = [other.execution_time_s for other in of_task[one.key.task_id] if other.node != name]
        if elsewhere and (usual_s := median(elsewhere)) > 0:
            ratios.append(one.execution_time_s / usual_s)
    return NodeTimes(
        trials=len(own),
        execution_time_median=round(median(one.execution_time_s for one in own), 3),
        compared=len(ratios),
        pace=round(median(ratios), 3) if ratios else None,
        waited=_waited(own),
        hardware=hardware,
    )
