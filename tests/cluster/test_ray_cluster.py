"""Runs on a real Ray cluster of three nodes, which is alone in its namespaces."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.alone import play_alone, why_not

PLAYER = Path(__file__).with_name("three_nodes.py")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the player has seen: a plain run, one whose runner is killed, one that loses a node."""
    return play_alone(PLAYER, tmp_path_factory.mktemp("ray"), PINCHBENCH_SANDBOX="none")


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What was seen of a head without a token, and of one that has one."""
    return play_alone(PLAYER.with_name("with_token.py"), tmp_path_factory.mktemp("tokens"), PINCHBENCH_SANDBOX="none")


def on_cluster(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that needs a cluster."""
    has_none = pytest.mark.skipif(bool(why_not()), reason=f"a cluster needs namespaces of its own: {why_not()}")
    marked: Callable[..., None] = pytest.mark.long(has_none(test))
    return marked


@pytest.mark.parametrize(
    ("address", "said"),
    [
        pytest.param("127.0.0.1:1", "Nobody answers at ", marks=pytest.mark.long),
        ("ray://127.0.0.1:10001", "--cluster ray://127.0.0.1:6379"),
        pytest.param("local", "names no Ray cluster", marks=pytest.mark.long),
    ],
)
def test_a_cluster_that_is_not_there_is_named_at_once(tmp_path: Path, address: str, said: str) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("pinchbench-async"), "--model=demo/oracle", "--cluster=ray"],
        env={**os.environ, "RAY_ADDRESS": address, "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,  # Ray by itself waits for more than two minutes, and says something else
    )
    assert done.returncode == 4
    assert said in done.stderr
    assert not (tmp_path / "results").exists(), "nothing has begun"


@on_cluster
def test_a_run_on_three_nodes_has_the_result_of_one_machine(seen: Any) -> None:
    cluster, machine = seen["plain"]["cluster"], seen["plain"]["machine"]
    nodes = {trial.pop("node") for trial in cluster["trials"].values()}
    assert len(nodes) == 3
    assert {trial.pop("node") for trial in machine["trials"].values()} == {None}
    assert len(cluster["trials"]) == 20
    for name in ("trials", "attempts", "files", "code"):
        assert cluster[name] == machine[name]


@on_cluster
def test_each_node_asks_a_model_on_its_loopback_before_the_first_trial(seen: Any) -> None:
    run = seen["asked first"]
    assert {trial["reason"] for trial in run["trials"].values()} == {"completed"}, run["log"]
    assert run["asked"] == 3
    assert "Ray runs without a token" in run["log"]


@on_cluster
def test_a_model_that_plays_users_is_asked_where_the_run_is_and_says_the_same(seen: Any) -> None:
    cluster, machine = seen["conversations"]["cluster"], seen["conversations"]["machine"]
    assert len({trial.pop("node") for trial in cluster["trials"].values()}) == 3, cluster["log"]
    assert {trial.pop("node") for trial in machine["trials"].values()} == {None}
    for name in ("trials", "attempts", "files", "code", "users", "keys"):
        assert cluster[name] == machine[name], cluster["log"]
    assert "user.jsonl" in cluster["files"]
    assert cluster["users"]["said"] == [""] * 6 + ["It is for Friday."] * 6
    assert cluster["users"]["totals"]["calls"] == 12
    assert set(cluster["keys"]) == {"Bearer sk-of-the-user"}


@on_cluster
def test_a_run_on_a_cluster_can_be_ended_while_its_users_think(seen: Any) -> None:
    run = seen["conversations"]["stopped"]
    assert run["attempts"] == ["interrupted"] * 6, run["log"]


@on_cluster
def test_an_experiment_shares_the_nodes_and_is_resumed_there(seen: Any) -> None:
    run = seen["experiment"]
    assert run["reasons"] == ["completed"] * 12, run["log"]
    assert [len(nodes) for nodes in run["nodes"]] == [3, 3]
    assert run["code"] == 0, run["log"]


@on_cluster
def test_a_run_outlives_a_lost_node_a_new_one_and_its_runner(seen: Any) -> None:
    run = seen["disturbed"]
    assert run["attempts"] == ["completed"] * 6 + ["node_lost"] * 2, "nothing is lost, and nothing run twice"
    assert {trial["reason"] for trial in run["trials"].values()} == {"completed"}
    assert "Trials are retried elsewhere: the node " in run["log"]
    assert " has joined: slots: 2." in run["log"]
    assert run["code"] == seen["plain"]["cluster"]["code"]
    assert run["out"].count("\n") <= 1, "Ray prints what becomes of nodes where a script looks for the result"


@on_cluster
def test_a_cluster_that_obeys_everybody_is_warned_of_and_used(tokens: Any) -> None:
    assert "Ray runs without a token" in tokens["open"]["log"]
    assert tokens["open"]["attempts"] == ["completed"] * 3, tokens["open"]["log"]


@on_cluster
def test_a_cluster_with_a_token_is_used_by_those_who_have_it(tokens: Any) -> None:
    assert "Ray runs without a token" not in tokens["right"]["log"]
    assert tokens["right"]["trials"] == tokens["open"]["trials"]
    assert tokens["told"] == [], "the token is in no log and in no result"


@on_cluster
@pytest.mark.parametrize("token", ["wrong", "none"])
def test_those_who_do_not_have_the_token_are_reported_what_to_do(tokens: Any, token: str) -> None:
    run = tokens[token]
    assert run["code"] == 4
    assert "It has to be part of one, by `ray start`, with the same token (`ray get-auth-token`)." in run["log"]
    assert "Traceback" not in run["log"]
    assert "trials" not in run, "nothing has begun"


@on_cluster
def test_slots_without_room_wait_for_nodes_that_join(tokens: Any) -> None:
    assert "There is no room for 1 more: nodes that join are used for them." in tokens["open"]["log"]
