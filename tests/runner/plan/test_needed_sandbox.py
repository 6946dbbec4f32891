"""Which options of a run exclude tasks that need a sandbox with a file system and a 127.0.0.1 of its own."""

import pytest

from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Isolation, Network
from pinchbench.runner.plan import needed_sandbox
from pinchbench.runner.plan.needed_sandbox import services_refused
from pinchbench.sandbox.levels import Support


@pytest.mark.parametrize(
    ("isolation", "network", "is_possible"),
    [
        (Isolation.PRIVATE, Network.AUTO, True),
        (Isolation.PRIVATE, Network.MODEL, True),
        (Isolation.PRIVATE, Network.NONE, True),
        (Isolation.PRIVATE, Network.OPEN, False),
        (Isolation.SHARED, Network.AUTO, False),
    ],
)
def test_services_take_namespaces_and_a_network_that_is_not_open(
    monkeypatch: pytest.MonkeyPatch, *, isolation: Isolation, network: Network, is_possible: bool
) -> None:
    monkeypatch.setattr(needed_sandbox, "find_support", Support)
    refused = services_refused(RunConfig(model="x/y", isolation=isolation, network=network))
    assert bool(refused) is not is_possible
