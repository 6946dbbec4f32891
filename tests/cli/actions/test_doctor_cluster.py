"""`doctor --cluster` where no cluster answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.cli.actions.cluster import ChosenCluster
from pinchbench.cli.actions.doctor_cluster import examine_cluster
from pinchbench.model.finding import Finding, Level

if TYPE_CHECKING:
    import pytest


def test_a_cluster_that_does_not_answer_is_a_finding_beside_those_of_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://127.0.0.1:10001")
    here, shown = Finding(subject="clock", said="It is late."), list[Finding]()

    async def look() -> list[Finding]:
        return [here]

    findings, nodes = examine_cluster(look, None, ChosenCluster(), show=shown.append, as_json=True)
    assert findings == [here, *shown]
    [cluster] = shown
    assert (cluster.subject, cluster.level) == ("cluster", Level.PROBLEM)
    assert "is the port of Ray Client" in cluster.said
    assert nodes == []
