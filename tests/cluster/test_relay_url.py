"""What a URL of this machine's loopback is on a node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fakes import fake_openclaw, run_config
from pinchbench.cluster.relay_url import endpoint_of, loopback_of, own_endpoint, url_on_node, with_endpoint
from pinchbench.config.replay import ReplaySettings

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.config.run import RunConfig

HERE, THERE, ELSEWHERE = "http://127.0.0.1:8000/v1", "http://127.0.0.1:5/v1", "http://10.0.0.7/v1"


@pytest.mark.parametrize(
    ("url", "endpoint", "there"),
    [
        (HERE, ("127.0.0.1", 8000), THERE),
        ("http://localhost/v1", ("localhost", 80), THERE),
        ("https://localhost/v1", ("localhost", 443), "https://localhost:5/v1"),
        ("http://[::1]:80/v1", ("::1", 80), "http://[::1]:5/v1"),
        ("http://me:pass@127.0.0.1:8000/v1?a=b", ("127.0.0.1", 8000), "http://me:pass@127.0.0.1:5/v1?a=b"),
    ],
)
def test_a_url_leads_to_a_port_of_the_node(url: str, endpoint: tuple[str, int], there: str) -> None:
    assert endpoint_of(url) == endpoint
    assert url_on_node(url, 5) == there
    assert loopback_of(url) == ("::1" if "[" in url else "127.0.0.1")


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    return run_config(tmp_path, fake_openclaw(tmp_path), {"task_a": "Do it."})


def test_the_endpoint_of_a_run_is_its_own_where_it_is_this_machine_s(config: RunConfig) -> None:
    assert own_endpoint(config) is None
    assert own_endpoint(replace(config, base_url=ELSEWHERE)) is None
    assert own_endpoint(run := replace(config, base_url=HERE)) == HERE
    assert with_endpoint(run, THERE) == replace(config, base_url=THERE)


def test_a_replay_has_an_endpoint_where_it_asks_a_model(config: RunConfig) -> None:
    recorded = replace(config, wire=True, base_url=HERE, replay=ReplaySettings(folder="somewhere"))
    assert own_endpoint(recorded) is None
    fork = ReplaySettings(folder="somewhere", fork_at=2)
    assert own_endpoint(replace(recorded, replay=fork)) == HERE
    other = replace(recorded, base_url=ELSEWHERE, replay=replace(fork, base_url=HERE))
    assert own_endpoint(other) == HERE
    assert own_endpoint(with_endpoint(other, THERE)) == THERE
    assert with_endpoint(other, THERE).base_url == ELSEWHERE
