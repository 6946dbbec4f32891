"""Which runs and which nodes take part, and what is refused by name."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_in

from cluster.fake_cluster import VERSIONS, ready
from cluster.fake_link import READY, FakeLink
from pinchbench.cluster.admission import MAX_ROW, Row, check_alike, check_program, common_served, settle
from pinchbench.config.run_config import ReplaySettings, RunConfig
from pinchbench.config.served import ServedModel
from pinchbench.defaults import Isolation
from pinchbench.errors import ClusterError, ConfigError
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.runner.plan.prepare import prepare


async def test_the_users_own_openclaw_is_not_shared_with_a_cluster(config: RunConfig) -> None:
    with pytest.raises(ConfigError, match="--isolation shared"):
        await settle(replace(config, isolation=Isolation.SHARED))


async def test_the_recorded_endpoint_of_a_replay_is_asked_by_nobody(config: RunConfig) -> None:
    url = "http://127.0.0.1:8000/v1"
    replay = ReplaySettings(folder="results/somewhere")
    replayed = replace(config, wire=True, base_url=url, replay=replay)
    assert (await settle(replayed)).replay == replay


def test_a_node_that_differs_is_refused_by_name(config: RunConfig) -> None:
    prepared = prepare(config)
    alike = ready(prepared)

    def refusal(**changed: dict[str, str]) -> str:
        with pytest.raises(ClusterError) as caught:
            check_alike("host1", replace_in(alike, **changed), prepared, VERSIONS)
        return str(caught.value)

    assert refusal(versions={**VERSIONS, "openclaw": "9"}) == (
        "The node host1 has OpenClaw 9, and this machine 2: install the same."
    )
    assert "has another task_a than" in refusal(digests={**alike.digests, "task_a": "other"})
    assert refusal(unmet={"task_b": "git is missing"}) == "The node host1 can't run task_b: git is missing."


@pytest.mark.parametrize("ahead_s", [60.0, -60.0])
async def test_a_node_with_another_time_is_refused_by_name(ahead_s: float) -> None:
    with pytest.raises(ClusterError, match=r"The clock of the node host1 differs by [56][09] s"):
        await check_program("host1", FakeLink(ahead_s=ahead_s))


async def test_a_node_with_another_release_is_refused_before_it_is_sent_anything() -> None:
    with pytest.raises(ClusterError, match=r"The node host1 has pinchbench-async 0\.0, and this machine "):
        await check_program("host1", FakeLink(release="0.0"))


def row_of(*reasons: Reason) -> Row:
    row, key = Row(), TrialKey(task_id="task_a", repetition=1)
    for reason in reasons:
        row.take(Outcome(key=key, reason=reason, digest="d", note="no space left"))
    return row


def test_trials_that_keep_failing_alike_for_a_reason_of_the_machine_are_named() -> None:
    assert not row_of(*[Reason.DISK_FULL] * (MAX_ROW - 1)).why
    assert row_of(*[Reason.DISK_FULL] * 4).why == "3 trials in a row ended there as disk_full: no space left."


def test_a_trial_that_ends_otherwise_begins_a_new_row_and_one_that_was_interrupted_does_not() -> None:
    full = Reason.DISK_FULL
    assert not row_of(full, full, Reason.COMPLETED, full).why
    assert not row_of(full, full, Reason.WIRE_LOST, full).why
    assert row_of(full, full, Reason.INTERRUPTED, full).why


def test_nodes_whose_servers_have_other_windows_do_not_take_part_in_one_run() -> None:
    small = replace_in(READY, served=ServedModel(context_window=4096))
    assert common_served([small, small]).context_window == 4096
    with pytest.raises(ClusterError, match=r"describe it under `endpoints` in pinchbench\.yaml"):
        common_served([small, READY])
