"""The nodes of a cluster, examined at once and compared with this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from anyio import create_task_group, fail_after
from rich.table import Table

from pinchbench.cluster.admission import MAX_SKEW_S
from pinchbench.cluster.link import NodeLostError
from pinchbench.cluster.node_facts import NodeFacts, read_facts
from pinchbench.cluster.node_names import name_nodes
from pinchbench.cluster.pool import HOW_TO_CLOSE, OPEN_TO_ALL, SLOT_BYTES
from pinchbench.doctor.machine import size
from pinchbench.model.finding import Finding, Level
from pinchbench.report.text import many, plain
from pinchbench.sandbox.levels import Level as SandboxLevel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from pinchbench.cluster.link import NodeInfo

NODE_LIMIT_S = 180.0  # a worker of Ray starts in seconds, and `openclaw --version` takes up to 9 CPU-seconds
LEVELS = tuple(SandboxLevel)  # the strongest first


class Examinable(Protocol):
    """A cluster whose nodes can be asked what they have."""

    async def nodes(self) -> Sequence[NodeInfo]:
        """Return the nodes that live, named by their hosts. Raises ClusterError."""

    async def facts(self, node: NodeInfo, choice: str | None) -> NodeFacts:
        """Ask a node what it has. Raises NodeLostError."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExaminedNode:
    """What a node says of itself; None, with the reason as a sentence, if it says nothing.

    Its clock differs from this machine's by `skew_s` at least.
    """

    info: NodeInfo
    facts: NodeFacts | None = None
    why: str = ""
    skew_s: float = 0.0


async def examine_nodes(cluster: Examinable, choice: str | None) -> tuple[NodeFacts, Sequence[ExaminedNode]]:
    """Ask this machine and each node what it has, all at once; `choice` is which OpenClaw. Raises ClusterError."""
    nodes = name_nodes(await cluster.nodes(), {})
    examined: dict[str, ExaminedNode] = {}

    async def examine(info: NodeInfo) -> None:
        asked_at = time.time()
        try:
            with fail_after(NODE_LIMIT_S):
                facts = await cluster.facts(info, choice)
        except NodeLostError as error:
            examined[info.id] = ExaminedNode(info=info, why=f"It can't be examined: {error}.")
        except TimeoutError:
            examined[info.id] = ExaminedNode(info=info, why=f"It did not answer within {NODE_LIMIT_S:.0f} s.")
        else:
            skew_s = max(asked_at - facts.at, facts.at - time.time(), 0.0)
            examined[info.id] = ExaminedNode(info=info, facts=facts, skew_s=skew_s)

    async with create_task_group() as group:
        for info in nodes:
            group.start_soon(examine, info)
        here = await read_facts(choice)
    return here, [examined[info.id] for info in nodes]


def of_nodes(here: NodeFacts, nodes: Sequence[ExaminedNode]) -> list[Finding]:
    """Say of each node whether a run that is started here can use it (pure)."""
    if not nodes:
        said = "The cluster has no node with a CPU."
        return [Finding(subject="cluster", level=Level.PROBLEM, said=said, do="Join one: `ray start --address=HEAD`.")]
    found = [_of_node(here, node) for node in nodes]
    if open_ones := [node.info.name for node in nodes if node.facts is not None and not node.facts.has_token]:
        said = f"{OPEN_TO_ALL} ({', '.join(open_ones)})"
        found.append(Finding(subject="cluster", level=Level.WARNING, said=f"{said}.", do=HOW_TO_CLOSE))
    return found


def _of_node(here: NodeFacts, node: ExaminedNode) -> Finding:
    subject, slots = f"node {node.info.name}", int(node.info.memory_bytes // SLOT_BYTES)
    if node.facts is None:
        do = "Install the same release of pinchbench-async in the environment of its Ray."
        return Finding(subject=subject, level=Level.PROBLEM, said=node.why, do=do)
    problems = _problems(here, node.facts)
    if node.skew_s > MAX_SKEW_S:
        problems.append((f"its clock differs by {node.skew_s:.0f} s", "Set its clock, with NTP for example."))
    if not slots:
        problems.append(("Ray has less than 1 GiB of memory for a slot there", "Give it more: `ray start --memory=…`."))
    if problems:
        said = f"A run from here does not use it: {'; '.join(said for said, _ in problems)}."
        return Finding(subject=subject, level=Level.PROBLEM, said=said, do=" ".join(do for _, do in problems))
    room = f"{many(slots, 'slot')} at most"
    if node.info.is_draining:
        return Finding(subject=subject, level=Level.WARNING, said="It is being drained, and gets no trials.")
    if node.facts.load > node.facts.cpus:
        said = f"{room}; other work has its CPUs: the load is {node.facts.load:.0f}, on {node.facts.cpus} CPUs."
        do = "Its trials take longer, and may reach their limits: let that work end first."
        return Finding(subject=subject, level=Level.WARNING, said=said, do=do)
    return Finding(subject=subject, said=f"{room}; it has what this machine has.")


def _problems(here: NodeFacts, there: NodeFacts) -> list[tuple[str, str]]:
    """Return what is other than here, and what to do about it."""
    found = []
    if there.release != here.release:
        said = f"it has pinchbench-async {there.release}, and this machine {here.release}"
        found.append((said, f"Install there: pip install 'pinchbench-async[ray]=={here.release}'."))
    if not there.openclaw:
        found.append((there.openclaw_lacks.rstrip("."), "Install there: `pinchbench-async openclaw install`."))
    elif there.openclaw != here.openclaw:
        said = f"it has OpenClaw {there.openclaw}, and this machine {here.openclaw or 'none'}"
        found.append((said, "Install the same there, or name one with --openclaw."))
    if there.node and here.node and there.node != here.node:
        found.append((f"it has Node.js {there.node}, and this machine {here.node}", "Install the same."))
    if LEVELS.index(there.sandbox) > LEVELS.index(here.sandbox):
        said = f"its sandbox is {there.sandbox} at most, and here {here.sandbox}: {there.sandbox_refused.rstrip('.')}"
        found.append((said, f"Allow it there, or run with --sandbox {there.sandbox}."))
    return found


def print_nodes(console: Console, here: NodeFacts, nodes: Sequence[ExaminedNode]) -> None:
    """Print what this machine and the nodes have, as a table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("node", "release", "OpenClaw", "Node.js", "sandbox", "network", "CPUs", "load", "memory", "clock"):
        table.add_column(head, justify="right" if head in ("CPUs", "load", "memory", "clock") else "left")
    table.add_row("(this machine)", *_cells(here), "")
    for node in nodes:
        name = plain(node.info.name)
        if node.facts is None:
            table.add_row(name, "?")
        else:
            late = f"{node.skew_s:.0f} s off" if node.skew_s > MAX_SKEW_S else "ok"
            table.add_row(name, *_cells(node.facts), late)
    console.print(table)


def _cells(facts: NodeFacts) -> list[str]:
    return [
        plain(facts.release),
        plain(facts.openclaw) or "none",
        plain(facts.node) or "none",
        facts.sandbox.value,
        "model" if facts.limits_network else "open",
        str(facts.cpus),
        f"{facts.load:.1f}",
        f"{size(facts.available_bytes)} free",
    ]


def node_record(node: ExaminedNode) -> dict[str, object]:
    """Return what a node has as a JSON object; `facts` is null for one that says nothing."""
    facts = node.facts
    return {
        "name": node.info.name,
        "ray_cpus": node.info.cpus,
        "ray_memory_bytes": int(node.info.memory_bytes),
        "is_draining": node.info.is_draining,
        "clock_skew_s": round(node.skew_s, 3),
        "facts": None
        if facts is None
        else {name: getattr(facts, name) for name in facts.__struct_fields__ if name != "at"},
    }
