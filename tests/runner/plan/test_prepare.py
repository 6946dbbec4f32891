"""Which options of a run exclude tasks that need a sandbox with a file system and a 127.0.0.1 of its own."""

from dataclasses import replace

import pytest

from fakes import make_task
from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Isolation, Network
from pinchbench.model.task_programs import Service
from pinchbench.model.trial import Attempt
from pinchbench.runner.plan import prepare
from pinchbench.runner.plan.trial_plan import plan_trials
from pinchbench.sandbox.levels import Support


@pytest.mark.parametrize(
    ("isolation", "network", "refused"),
    [
        (Isolation.PRIVATE, Network.AUTO, []),
        (Isolation.PRIVATE, Network.MODEL, []),
        (Isolation.PRIVATE, Network.NONE, []),
        (Isolation.PRIVATE, Network.OPEN, [prepare.NEEDS_OWN_LOOPBACK]),
        (Isolation.SHARED, Network.AUTO, [prepare.NEEDS_OWN_LOOPBACK, prepare.NEEDS_OWN_ROOT]),
    ],
)
def test_services_take_namespaces_and_a_network_that_is_not_open(
    monkeypatch: pytest.MonkeyPatch, isolation: Isolation, network: Network, refused: list[str]
) -> None:
    monkeypatch.setattr(prepare, "find_support", Support)
    serving = make_task(task_id="a", services=(Service(name="s", command=("s",), port=9),))
    boxed = replace(serving, task_id="b", services=(), workspace_path="/work")
    trials = plan_trials([serving, boxed], runs=1, timeout_multiplier=1.0)
    _, unmet = prepare.split_unmet(
        RunConfig(model="x/y", isolation=isolation, network=network), [Attempt(trial=one) for one in trials]
    )
    assert [sentence for _, sentence in unmet] == refused
