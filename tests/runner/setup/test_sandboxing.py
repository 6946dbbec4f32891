"""Whether trials are sandboxed, and what they reach: as asked, as possible, and said."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from fakes import make_task
from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Isolation, Network, Sandbox
from pinchbench.errors import ConfigError
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import Task
from pinchbench.model.timeline import Ability
from pinchbench.model.trial import TrialKey
from pinchbench.results.paths import RunFiles
from pinchbench.runner.plan import prepare
from pinchbench.runner.setup import sandboxing
from pinchbench.runner.setup.sandboxing import check_sandbox, choose_sandboxing
from pinchbench.runner.trial.task_setup import missing_for
from pinchbench.runner.worker import grade_job
from pinchbench.sandbox.levels import Level, Support
from refused_namespaces import NAMED, without_namespaces

OWN, NATIVE = False, True  # whether the wire stands in for a provider


@pytest.fixture(autouse=True)
def _supported(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sandboxing, prepare):
        monkeypatch.setattr(module, "find_support", Support)


def _config(
    *, sandbox: Sandbox = Sandbox.AUTO, network: Network = Network.AUTO, isolation: Isolation = Isolation.PRIVATE
) -> RunConfig:
    return RunConfig(model="mock/m1", isolation=isolation, sandbox=sandbox, network=network)


@pytest.mark.parametrize(
    ("wire", "asked", "network"),
    [
        (OWN, Network.AUTO, Network.MODEL),
        (NATIVE, Network.AUTO, Network.MODEL),
        (None, Network.AUTO, Network.OPEN),
        (OWN, Network.OPEN, Network.OPEN),
        (OWN, Network.MODEL, Network.MODEL),
        (OWN, Network.NONE, Network.MODEL),
    ],
)
async def test_the_model_alone_is_reached_where_the_wire_leads_to_it(
    wire: bool | None, asked: Network, network: Network
) -> None:
    assert (await choose_sandboxing(_config(network=asked), is_native=wire)).network is network


REFUSED = Support(namespaces_refused="The kernel refused it.", landlock_refused="It is too old.")
LANDLOCK, SHARED = Sandbox.LANDLOCK, Isolation.SHARED
ONLY_MODEL, ALONE = _config(network=Network.MODEL), _config(network=Network.NONE)


@pytest.mark.parametrize(
    ("config", "is_native", "support", "said"),
    [
        (ONLY_MODEL, None, Support(), "--network model needs the wire.*--network open"),
        (ALONE, None, Support(), "--network none needs the wire.*--network open"),
        (
            replace(ONLY_MODEL, sandbox=Sandbox.NONE),
            OWN,
            Support(),
            "--network model is not possible: --sandbox none.*--network auto",
        ),
        (_config(isolation=SHARED, sandbox=Sandbox.NAMESPACES), OWN, Support(), "not possible: --isolation shared"),
        (_config(sandbox=Sandbox.NAMESPACES), OWN, REFUSED, "The kernel refused it"),
        (replace(ONLY_MODEL, sandbox=LANDLOCK), OWN, Support(landlock_abi=3), "Linux 6"),
    ],
)
async def test_what_the_machine_or_another_option_rules_out_is_refused(
    monkeypatch: pytest.MonkeyPatch, config: RunConfig, support: Support, said: str, *, is_native: bool | None
) -> None:
    monkeypatch.setattr(sandboxing, "find_support", lambda: support)
    with pytest.raises(ConfigError, match=said):
        await choose_sandboxing(config, is_native=is_native)


async def test_landlock_is_refused_where_it_can_not_hide_the_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxing, "find_support", lambda: Support(landlock_abi=7))
    monkeypatch.setattr(sandboxing, "bundled_tasks_dir", lambda: Path("/usr/lib/python3/dist-packages/pinchbench"))
    with pytest.raises(ConfigError, match="can't hide /usr/lib"):
        await choose_sandboxing(_config(sandbox=LANDLOCK), is_native=OWN)


@pytest.mark.parametrize(
    ("isolation", "support", "why"),
    [
        (Isolation.SHARED, Support(), "use --isolation private for one"),
        (Isolation.PRIVATE, REFUSED, "The kernel refused it."),
    ],
)
async def test_a_run_without_a_sandbox_says_why(
    monkeypatch: pytest.MonkeyPatch, isolation: Isolation, support: Support, why: str
) -> None:
    monkeypatch.setattr(sandboxing, "find_support", lambda: support)
    chosen = await choose_sandboxing(_config(isolation=isolation), is_native=OWN)

    assert chosen.network is None
    assert why in chosen.why


@pytest.mark.parametrize(
    ("abi", "network", "reach"), [(7, Network.MODEL, "the model alone"), (3, Network.OPEN, "the network")]
)
async def test_landlock_is_taken_where_namespaces_are_refused(
    monkeypatch: pytest.MonkeyPatch, abi: int, network: Network, reach: str
) -> None:
    support = Support(namespaces_refused="The kernel refused it.", landlock_abi=abi)
    monkeypatch.setattr(sandboxing, "find_support", lambda: support)

    chosen = await choose_sandboxing(_config(), is_native=OWN)

    assert (chosen.level, chosen.network) == (Level.LANDLOCK, network)
    assert (
        f"programs and {reach}; it sees which processes run. It has no namespaces: The kernel refused it." in chosen.why
    )


def test_checks_have_a_sandbox_where_the_machine_has_namespaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = check_sandbox((f"{tmp_path}:rw", "/nowhere/at/all"))

    assert found is not None
    assert [one.source for one in found.allowed] == [str(tmp_path)]
    monkeypatch.setattr(sandboxing, "find_support", lambda: Support(namespaces_refused="The kernel refused it."))
    assert check_sandbox() is None


@pytest.mark.parametrize(("level", "seen"), [("namespaces", "/workspace"), ("guardian", "/runs/task")])
def test_a_check_is_given_the_workspace_by_the_path_that_the_agent_saw(tmp_path: Path, level: str, seen: str) -> None:
    key = TrialKey(task_id="task", repetition=1)
    outcome = Outcome(key=key, reason=Reason.COMPLETED, digest="d", level=level, workspace="/runs/task")
    files = RunFiles(output_dir=tmp_path, name="run")

    assert grade_job("run", files, cast("Task", None), outcome, timezone="").workspace == seen


def test_auto_takes_landlock_where_the_kernel_refuses_namespaces_and_says_why() -> None:
    program = """
import asyncio
from pinchbench import Isolation, RunConfig
from pinchbench.runner.setup.sandboxing import choose_sandboxing
chosen = asyncio.run(choose_sandboxing(RunConfig(model="demo/oracle", isolation=Isolation.PRIVATE), is_native=None))
print(chosen.level, chosen.why)
"""
    argv = without_namespaces(Path(sys.executable), [sys.executable, "-c", program])
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.startswith("landlock Each trial is restricted by Landlock")
    assert NAMED in done.stdout


def test_a_task_with_an_ability_that_no_agent_of_the_run_can_have_is_not_run() -> None:
    plain, showing = make_task(), make_task(abilities=(Ability.MEMORY, Ability.IMAGES))

    assert missing_for(plain, None, {Ability.IMAGES: "no images"}) == ""
    assert missing_for(showing, None, {Ability.BROWSER: "no browser"}) == ""
    assert missing_for(showing, None, {Ability.IMAGES: "no images"}) == "no images"
