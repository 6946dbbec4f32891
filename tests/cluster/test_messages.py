"""Messages and their frames."""

from hypothesis import given
from hypothesis import strategies as st

from pinchbench.cluster.messages import (
    Ended,
    FrameReader,
    NodeInfo,
    Told,
    decode_from_node,
    encode,
    frame,
    name_nodes,
)
from pinchbench.model.ending import Reason
from pinchbench.model.facts import SandboxFacts
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage

KEY = TrialKey(task_id="task_a", repetition=2)


@given(st.lists(st.builds(Told, text=st.text(max_size=50)), max_size=8), st.integers(1, 9))
def test_frames_arrive_whole_however_the_stream_is_cut(messages: list[Told], piece: int) -> None:
    stream = b"".join(map(frame, messages))
    reader = FrameReader()
    seen = [
        decode_from_node(one) for at in range(0, len(stream), piece) for one in reader.feed(stream[at : at + piece])
    ]
    assert seen == messages


def test_an_outcome_arrives_as_it_was_sent() -> None:
    outcome = Outcome(
        key=KEY,
        reason=Reason.COMPLETED,
        digest="d",
        usage=Usage(requests=3, cost_usd=0.25),
        sandbox=SandboxFacts(network="model"),
        files={"stdout.log": "abc"},
        session_ids=("one", "two"),
    )
    assert decode_from_node(encode(Ended(slot=3, outcome=outcome))) == Ended(slot=3, outcome=outcome)


def node(node_id: str, host: str) -> NodeInfo:
    return NodeInfo(id=node_id, name=host, cpus=1, memory_bytes=1)


def named(known: dict[str, str], *nodes: NodeInfo) -> dict[str, str]:
    """Return the names of nodes by id."""
    return {one.id: one.name for one in name_nodes(nodes, known)}


def test_a_node_keeps_its_name_and_one_that_comes_later_to_that_host_gets_another() -> None:
    first, later = node("aaaaaaaa1", "one"), node("bbbbbbbb2", "one")
    assert named({"one": first.id}, first, later) == {first.id: "one", later.id: "one-bbbbbb"}
    assert named({"one": first.id}, later) == {later.id: "one-bbbbbb"}, "the first is gone, and its trials are not"
    assert named({"one": ""}, first) == {first.id: "one-aaaaaa"}, "nobody knows which node that was"


@given(
    st.lists(
        st.tuples(st.text("ab", min_size=1, max_size=8), st.sampled_from(["h", "h-aaaaaa", "h-b"])),
        unique_by=lambda one: one[0],
    ),
    st.integers(0, 5),
)
def test_every_node_has_a_name_of_its_own_and_keeps_it(hosts: list[tuple[str, str]], before: int) -> None:
    nodes = [node(node_id, host) for node_id, host in hosts]
    known = {one.name: one.id for one in name_nodes(nodes[:before], {})}
    names = named(known, *nodes)
    assert len(set(names.values())) == len(nodes)
    assert {name: names[node_id] for name, node_id in known.items()} == {name: name for name in known}
