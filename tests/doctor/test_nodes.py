"""What `doctor` says of the nodes of a cluster."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace as replace_in

from fakes import fake_openclaw
from pinchbench.cluster.link import NodeInfo, NodeLostError
from pinchbench.cluster.node_facts import NodeFacts, read_facts
from pinchbench.doctor.nodes import ExaminedNode, examine_nodes, node_record, of_nodes, print_nodes
from pinchbench.model.finding import Level
from pinchbench.report.terminal.console import report_console
from pinchbench.sandbox.levels import Level as SandboxLevel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HERE = NodeFacts(
    release="3.0",
    openclaw="2026.9.6",
    openclaw_lacks="",
    node="v22.1.0",
    sandbox=SandboxLevel.NAMESPACES,
    sandbox_refused="",
    limits_network=True,
    cpus=8,
    load=1.0,
    available_bytes=12 * 1024**3,
    has_token=True,
    at=0.0,
)
INFO = NodeInfo(id="1", name="host1", cpus=8, memory_bytes=6 * 1024**3)


@dataclass
class FakeNodes:
    """Two nodes, one of which is lost when it is asked."""

    facts_of: NodeFacts
    asked: list[str | None] = field(default_factory=list)

    async def nodes(self) -> Sequence[NodeInfo]:
        return [INFO, replace(INFO, id="2", name="host2")]

    async def facts(self, node: NodeInfo, choice: str | None) -> NodeFacts:
        self.asked.append(choice)
        if node.id == "2":
            raise NodeLostError("the link is down")
        return replace_in(self.facts_of, at=self.facts_of.at + 60)


@pytest.mark.anyio
async def test_each_node_is_asked_and_one_that_is_lost_costs_no_other(tmp_path: Path) -> None:
    program = str(fake_openclaw(tmp_path))
    cluster = FakeNodes(replace_in(await read_facts(program), has_token=False))
    here, nodes = await examine_nodes(cluster, program)
    assert cluster.asked == [program, program]
    assert here.openclaw
    ahead, lost, is_open = of_nodes(here, nodes)
    assert is_open.said == "Ray runs without a token: whoever reaches its machines can run any code on them (host1)."
    assert "ray get-auth-token" in is_open.do
    assert ahead.level is Level.PROBLEM
    assert ahead.subject == "node host1"
    assert "its clock differs by 60 s" in ahead.said or "its clock differs by 59 s" in ahead.said
    assert lost.said == "It can't be examined: the link is down."
    assert node_record(nodes[1])["facts"] is None


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"release": "2.0"}, "it has pinchbench-async 2.0, and this machine 3.0"),
        ({"openclaw": "2026.1.1"}, "it has OpenClaw 2026.1.1, and this machine 2026.9.6"),
        ({"openclaw": "", "openclaw_lacks": "OpenClaw is missing."}, "OpenClaw is missing"),
        ({"node": "v20.0.0"}, "it has Node.js v20.0.0, and this machine v22.1.0"),
        ({"sandbox": SandboxLevel.LANDLOCK, "sandbox_refused": "Not allowed."}, "its sandbox is landlock at most"),
    ],
)
def test_a_node_that_a_run_would_refuse_is_a_problem_that_says_why(there: dict[str, object], said: str) -> None:
    [finding] = of_nodes(HERE, [ExaminedNode(info=INFO, facts=replace_in(HERE, **there))])
    assert finding.level is Level.PROBLEM
    assert said in finding.said
    assert finding.do


def test_a_node_that_is_alike_is_fine_and_one_that_is_busy_is_named() -> None:
    stronger = replace_in(HERE, sandbox=SandboxLevel.LANDLOCK)
    [fine] = of_nodes(stronger, [ExaminedNode(info=INFO, facts=HERE)])
    assert (fine.level, fine.said) == (Level.OK, "6 slots at most; it has what this machine has.")
    [busy] = of_nodes(HERE, [ExaminedNode(info=INFO, facts=replace_in(HERE, load=20.0))])
    assert busy.level is Level.WARNING
    assert "the load is 20, on 8 CPUs" in busy.said
    [small] = of_nodes(HERE, [ExaminedNode(info=replace(INFO, memory_bytes=5e8), facts=HERE)])
    assert small.level is Level.PROBLEM
    [nobody] = of_nodes(HERE, [])
    assert nobody.level is Level.PROBLEM


def test_the_table_has_a_row_for_this_machine_and_each_node() -> None:
    text = io.StringIO()
    silent = ExaminedNode(info=replace(INFO, name="host2"), why="It can't be examined.")
    late = ExaminedNode(info=INFO, facts=HERE, skew_s=9.0)
    print_nodes(report_console(text, is_terminal=False), HERE, [late, silent])
    head, here, first, second = text.getvalue().rstrip("\n").split("\n")
    assert (head.split()[0], head.split()[-1]) == ("node", "clock")
    assert here.startswith("(this machine)")
    assert "2026.9.6" in first
    assert "9 s off" in first
    assert second.split() == ["host2", "?"]
