"""Which runs and which nodes take part, and what is refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace as replace_in

from cluster.fake_cluster import VERSIONS, ready
from cluster.fake_link import FakeLink
from fakes import fake_openclaw, nobody_listening, run_config
from pinchbench.cluster.admission import check_alike, check_program, require_endpoint, settle
from pinchbench.config.replay import ReplaySettings
from pinchbench.defaults import Isolation
from pinchbench.errors import ClusterError, ConfigError
from pinchbench.runner.prepare import prepare

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.config.run import RunConfig


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    return run_config(tmp_path, fake_openclaw(tmp_path), {"task_a": "Do it.", "task_b": "Do it."})


@pytest.mark.anyio
@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]:80/v1"])
async def test_an_endpoint_that_only_this_machine_reaches_is_refused(config: RunConfig, url: str) -> None:
    with pytest.raises(ConfigError, match="add --relay"):
        await settle(replace(config, base_url=url))


@pytest.mark.anyio
async def test_an_endpoint_to_which_nodes_are_led_is_accepted_and_has_to_be_there(config: RunConfig) -> None:
    with nobody_listening() as port:
        url = f"http://127.0.0.1:{port}/v1"
        assert (await settle(replace(config, base_url=url), relays=True)).base_url == url
        with pytest.raises(ConfigError, match="Nobody listens at http"):
            await require_endpoint(url)
    with pytest.raises(ConfigError, match="Nobody listens at http"):
        await require_endpoint("http://127.0.0.1:99999/v1")


@pytest.mark.anyio
async def test_the_users_own_openclaw_is_not_shared_with_a_cluster(config: RunConfig) -> None:
    with pytest.raises(ConfigError, match="--isolation shared"):
        await settle(replace(config, isolation=Isolation.SHARED))


@pytest.mark.anyio
async def test_the_recorded_endpoint_of_a_replay_is_asked_by_nobody(config: RunConfig) -> None:
    url = "http://127.0.0.1:8000/v1"
    replay = ReplaySettings(folder="results/somewhere")
    replayed = replace(config, wire=True, base_url=url, replay=replay)
    assert (await settle(replayed)).replay == replay


@pytest.mark.anyio
async def test_homes_are_private_where_nothing_was_asked_for(config: RunConfig) -> None:
    settled = await settle(replace(config, isolation=Isolation.AUTO, base_url="http://10.0.0.7/v1"))
    assert settled.isolation is Isolation.PRIVATE


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


def test_a_node_may_have_another_python(config: RunConfig) -> None:
    prepared = prepare(config)
    check_alike("host1", replace_in(ready(prepared), versions={**VERSIONS, "python": "9"}), prepared, VERSIONS)


@pytest.mark.anyio
async def test_a_node_with_the_same_program_and_time_takes_part() -> None:
    await check_program("host1", FakeLink())


@pytest.mark.anyio
@pytest.mark.parametrize("ahead_s", [60.0, -60.0])
async def test_a_node_with_another_time_is_refused_by_name(ahead_s: float) -> None:
    with pytest.raises(ClusterError, match=r"The clock of the node host1 differs by [56][09] s"):
        await check_program("host1", FakeLink(ahead_s=ahead_s))


@pytest.mark.anyio
async def test_a_node_with_another_release_is_refused_before_it_is_sent_anything() -> None:
    with pytest.raises(ClusterError, match=r"The node host1 has pinchbench-async 0\.0, and this machine "):
        await check_program("host1", FakeLink(release="0.0"))
