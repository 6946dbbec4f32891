"""Agents in namespaces of their own under a guardian: what they start ends with them, however it hides."""

import os
from functools import partial
from pathlib import Path

import pytest
from anyio import fail_after, to_thread

from pinchbench.defaults import Network
from pinchbench.process.spec import EndReason, Limits, ProcessSpec
from pinchbench.process.supervise import supervise
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.sandbox.sandbox_spec import make_spec
from process.conftest import supervised

REFUSED = find_support().reason(Level.NAMESPACES)
pytestmark = [pytest.mark.skipif(bool(REFUSED), reason=f"needs namespaces: {REFUSED}")]

LIMIT_S = 60
LIMITS = Limits(grace_s=1.0, orphan_grace_s=0.5, sweep_s=0.5)
# Each descendant has the pipe open, so that its end tells that none is left.
HIDING = """
exec 9>/workspace/alive
(setsid sleep 600 &)
(env -i sh -c 'trap "" TERM HUP INT; sleep 600; sleep 600' &)
(sh -c '(sleep 600 &) &' &)
echo ready >&9
"""
# Until all are there: while a program takes a shell's place, it has no command line for a moment.
ALL_HIDDEN = r"""
hidden() {
    found=0
    for one in /proc/[0-9]*; do
        [ "$(cat $one/comm)" = sleep ] && [ -n "$(tr -d '\0' < $one/cmdline)" ] && found=$((found + 1))
    done
    [ $found -ge 3 ]
}
until hidden 2> /dev/null; do :; done
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def alive(workspace: Path) -> Path:
    """A pipe in the workspace."""
    os.mkfifo(workspace / "alive")
    return workspace / "alive"


def _spec(workspace: Path, script: str, *, state: Path | None = None) -> ProcessSpec:
    return ProcessSpec(
        argv=["/bin/sh", "-c", script],
        cwd=workspace.parent,
        env={"PATH": "/usr/bin:/bin"},
        stdout=workspace.with_name("stdout"),
        stderr=workspace.with_name("stderr"),
        marker=f"task/{workspace.parent.name}",
        limits=LIMITS,
        sandbox=make_spec(state=state, workspace=workspace, network=Network.NONE).plan(),
    )


def _read(path: Path) -> list[bytes]:
    """Read the pipe until nobody has it open any more."""
    with path.open("rb") as pipe:
        return pipe.read().split()


async def test_an_agents_end_ends_all_that_it_started_and_names_it(workspace: Path, alive: Path) -> None:
    async with supervised(_spec(workspace, f"{HIDING}{ALL_HIDDEN}exit 3")) as agent:
        said = await to_thread.run_sync(partial(_read, alive))
    assert said == [b"ready"]
    assert (agent.end.reason, agent.end.exit_code, agent.end.level) == (EndReason.EXITED, 3, "namespaces")
    assert sum("sleep 600" in one.command for one in agent.end.leftovers) >= 3


async def test_an_agent_that_is_stopped_gets_the_signal_and_its_grace(workspace: Path, alive: Path) -> None:
    def wait_until_ready() -> None:
        with alive.open("rb") as pipe:
            pipe.readline()

    script = "trap 'echo bye; exit 7' TERM; exec 9>/workspace/alive; echo ready >&9; sleep 600 & wait"
    spec = _spec(workspace, script)
    async with supervised(spec) as agent:
        await to_thread.run_sync(wait_until_ready)
        agent.stop_signal.stop.set()
    assert (agent.end.reason, agent.end.exit_code) == (EndReason.STOPPED, 7)
    assert spec.stdout.read_text(encoding="utf-8") == "bye\n"


async def test_nothing_of_the_runner_can_be_seen(tmp_path: Path, workspace: Path) -> None:
    seen = "env; pwd; ls /proc | grep -c '^[0-9]'; ls -d /root/* /home/* 2>&1; ps ax 2>&1; readlink /proc/*/fd/*"
    spec = _spec(workspace, f"{seen}; exit 0")
    with fail_after(LIMIT_S):
        end = await supervise(spec, timeout_s=600)
    said = spec.stdout.read_text(encoding="utf-8")
    assert end.exit_code == 0
    assert "/workspace\n" in said
    assert "pinchbench" not in said.lower()
    assert str(tmp_path) not in said


async def test_a_sandbox_that_can_not_be_made_is_an_agent_that_did_not_start(tmp_path: Path, workspace: Path) -> None:
    with fail_after(LIMIT_S):
        end = await supervise(_spec(workspace, "true", state=tmp_path / "nowhere"), timeout_s=600)
    assert end.reason is EndReason.NOT_STARTED
    assert "sandbox could not be set up" in end.error
