"""Real OpenClaw on two nodes of a Ray cluster: what one machine comes to, and a replay of that."""

from pathlib import Path
from typing import Any

import pytest

from cluster.alone import play_alone, why_not
from fakes import NEW_RELEASE
from pinchbench.files.user_data import cache_dir
from pinchbench.openclaw.install import install

PLAYER = Path(__file__).with_name("two_nodes.py")

pytestmark = [
    pytest.mark.real_openclaw,
    pytest.mark.long,
    pytest.mark.skipif(bool(why_not()), reason=f"a cluster needs namespaces of its own: {why_not()}"),
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the player has seen."""
    install(NEW_RELEASE)
    return play_alone(PLAYER, tmp_path_factory.mktemp("ray"), NEW_RELEASE, PINCHBENCH_CACHE=str(cache_dir()))


def test_two_nodes_come_to_the_result_of_one_machine_and_replay_it(seen: Any) -> None:
    cluster, machine, replayed = seen["cluster"], seen["machine"], seen["replayed"]
    for one in (cluster, replayed):
        assert len({trial.pop("node") for trial in one["trials"].values()}) == 2
    assert {trial.pop("node") for trial in machine["trials"].values()} == {None}
    assert cluster == machine == replayed
    assert cluster["scores"] == {"task_a": 1.0, "task_b": 1.0}


def test_a_model_on_the_loopback_of_each_node_has_the_same_conversation(seen: Any) -> None:
    on_nodes, here = seen["own model on nodes"], seen["own model here"]
    [trial] = on_nodes["trials"].values()
    assert trial.pop("node"), "it ran on a node"
    assert [one.pop("node") for one in here["trials"].values()] == [None]
    assert on_nodes == here
    assert on_nodes["scores"] == {"task_a": 1.0}
    assert on_nodes["asked"] > 1
