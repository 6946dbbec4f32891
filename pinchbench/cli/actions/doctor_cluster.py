"""What `doctor --cluster` does beyond this machine."""

from __future__ import annotations

import io
import sys
from functools import partial
from typing import TYPE_CHECKING

import anyio

from pinchbench.cli.actions.cluster import require_ray
from pinchbench.cli.output import print_result, say
from pinchbench.doctor.nodes import examine_nodes, node_record, of_nodes, print_nodes
from pinchbench.errors import ClusterError
from pinchbench.model.finding import Finding, Level
from pinchbench.report.terminal.console import report_console

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pinchbench.cli.actions.cluster import ChosenCluster
    from pinchbench.cluster.node_facts import NodeFacts
    from pinchbench.doctor.nodes import ExaminedNode


def examine_cluster(
    look: Callable[[], Awaitable[Sequence[Finding]]],
    choice: str | None,
    cluster: ChosenCluster,
    *,
    show: Callable[[Finding], None],
    as_json: bool,
) -> tuple[Sequence[Finding], list[dict[str, object]]]:
    """Look at this machine, then at the nodes of its cluster; return all findings, and what each node has.

    `choice` is which OpenClaw, and `cluster` which cluster. A cluster that can't be asked is a finding.
    """
    findings = list(anyio.run(look))
    records: list[dict[str, object]] = []
    try:
        require_ray()
        here, nodes = anyio.run(partial(_ask, choice, cluster.head))
    except ClusterError as error:
        found = [Finding(subject="cluster", level=Level.PROBLEM, said=str(error))]
    else:
        found = of_nodes(here, nodes)
        records = [node_record(node) for node in nodes]
        if not as_json:
            _print(here, nodes)
    for one in found:
        show(one)
    return [*findings, *found], records


async def _ask(choice: str | None, head: str) -> tuple[NodeFacts, Sequence[ExaminedNode]]:
    from pinchbench.cluster.ray_cluster import connect  # noqa: PLC0415 - Ray takes 0.3 s and 69 MB

    say("Asking each node of the cluster what it has; this takes some seconds.")
    async with connect(head) as cluster:
        return await examine_nodes(cluster, choice)


def _print(here: NodeFacts, nodes: Sequence[ExaminedNode]) -> None:
    text = io.StringIO()
    print_nodes(report_console(text, is_terminal=sys.stdout is not None and sys.stdout.isatty()), here, nodes)
    print_result(text.getvalue().rstrip("\n"))
