"""A node is compared with the others by the same tasks."""

from dataclasses import replace

import msgspec
from msgspec import UNSET

from pinchbench.model.ending import Reason
from pinchbench.model.facts import LoadFacts
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.results.node_times import MIN_COMPARED, Hardware, node_times
from pinchbench.results.records import NodeUsed, TrialFinished, decode, encode
from pinchbench.results.run_state import RunState


def made(task: int, node: str, took_s: float, *, repetition: int = 1, reason: Reason = Reason.COMPLETED) -> Outcome:
    key = TrialKey(task_id=f"task_{task}", repetition=repetition)
    return Outcome(key=key, reason=reason, digest="d", execution_time_s=took_s, node=node)


def test_a_node_with_the_long_tasks_is_not_slow() -> None:
    tasks = range(MIN_COMPARED)
    outcomes = [made(task, node, 10.0 * (task + 1)) for task in tasks for node in ("a", "b")]
    outcomes += [made(100 + task, "b", 900.0) for task in tasks]
    times = node_times(outcomes, {})
    assert list(times) == ["a", "b"]
    short, long = times.values()
    assert long.execution_time_median > 2 * short.execution_time_median
    assert (short.pace, long.pace) == (1.0, 1.0)
    assert not long.is_slow


def test_a_node_where_the_same_tasks_take_longer_is_slow_if_enough_are_compared() -> None:
    def outcomes(tasks: int) -> list[Outcome]:
        usual = [made(task, node, 10.0, repetition=2) for task in range(tasks) for node in ("a", "b")]
        return [made(task, "c", 16.0) for task in range(tasks)] + usual

    few, enough = (node_times(outcomes(number), {})["c"] for number in (MIN_COMPARED - 1, MIN_COMPARED))
    assert (few.pace, few.is_slow) == (1.6, False)
    assert (enough.pace, enough.is_slow) == (1.6, True)


def test_a_node_has_the_hardware_that_it_last_had_and_the_median_of_what_its_trials_waited() -> None:
    old, new = (Hardware(processor="CPU", cpus=number, memory_bytes=2**34, kernel="Linux 6.1") for number in (4, 8))
    records = [decode(encode(NodeUsed(at=at, name="a", hardware=one))) for at, one in ((1.0, old), (2.0, new))]
    trials = [
        replace(made(task, "a", 10.0), load=LoadFacts(measured_s=10.0, cpu_stalled_s=stalled_s, io_stalled_s=1.0))
        for task, stalled_s in enumerate((1.0, 2.0, 9.0))
    ]
    nodes = node_times([*trials, made(4, "b", 10.0)], RunState.of(records).hardware)
    assert nodes["a"].hardware == new
    assert nodes["a"].waited == {"cpu": 0.2, "io": 0.1}
    assert (nodes["b"].hardware, nodes["b"].waited) == (UNSET, UNSET)


def test_nodes_of_one_host_are_compared_with_each_other_and_those_of_older_journals_are_read() -> None:
    hardware = Hardware(processor="CPU", cpus=4, memory_bytes=2**34, kernel="Linux 6.1")
    older = b'{"type":"node_used","at":1.0,"name":"a","hardware":' + msgspec.json.encode(hardware) + b"}"
    records = [
        decode(older),
        TrialFinished(outcome=made(1, "c", 1.0)),
        decode(encode(NodeUsed(at=1.0, name="b-1", hardware=hardware, id="1"))),
        decode(encode(NodeUsed(at=1.0, name="b-2", hardware=hardware, id="2"))),
    ]
    assert encode(decode(older)).rstrip() == older
    state = RunState.of(records)
    assert state.node_ids == {"a": "", "b-1": "1", "b-2": "2", "c": ""}
    nodes = node_times([made(1, "b-1", 10.0), made(1, "b-2", 20.0)], state.hardware)
    assert {name: (one.pace, one.hardware) for name, one in nodes.items()} == {
        "b-1": (0.5, hardware),
        "b-2": (2.0, hardware),
    }
