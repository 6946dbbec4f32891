"""Agents in namespaces of their own under a guardian: what they start ends with them, however it hides."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import psutil
import pytest
from anyio import create_task_group, fail_after, to_thread

from pinchbench.defaults import Network
from pinchbench.process.spec import EndReason, Limits, ProcessEnd, ProcessSpec, StopSignal
from pinchbench.process.supervise import supervise
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.sandbox.sandbox_spec import make_spec

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
def alive(tmp_path: Path) -> Path:
    """Make the workspace and a pipe in it."""
    (tmp_path / "workspace").mkdir()
    os.mkfifo(tmp_path / "workspace" / "alive")
    return tmp_path / "workspace" / "alive"


async def _run(
    tmp_path: Path, script: str, *, stop_signal: StopSignal | None = None, env: Mapping[str, str] | None = None
) -> ProcessEnd:
    spec = make_spec(state=None, workspace=tmp_path / "workspace", network=Network.NONE)
    process = ProcessSpec(
        argv=["/bin/sh", "-c", script],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", **(env or {})},
        stdout=tmp_path / "stdout",
        stderr=tmp_path / "stderr",
        marker=f"task/{tmp_path.name}",
        limits=LIMITS,
        sandbox=spec.plan(),
    )
    return await supervise(process, timeout_s=600, stop_signal=stop_signal)


def _read(path: Path) -> list[bytes]:
    """Read the pipe until nobody has it open any more."""
    with path.open("rb") as pipe:
        return pipe.read().split()


async def test_an_agents_end_ends_all_that_it_started_and_names_it(tmp_path: Path, alive: Path) -> None:
    ends: list[ProcessEnd] = []

    async def run() -> None:
        ends.append(await _run(tmp_path, f"{HIDING}{ALL_HIDDEN}exit 3"))

    with fail_after(LIMIT_S):
        async with create_task_group() as group:
            group.start_soon(run)
            said = await to_thread.run_sync(partial(_read, alive))
    [end] = ends
    assert said == [b"ready"]
    assert (end.reason, end.exit_code, end.level) == (EndReason.EXITED, 3, "namespaces")
    assert sum("sleep 600" in one.command for one in end.leftovers) >= 3


async def test_a_killed_guardian_takes_everything_with_it(tmp_path: Path, alive: Path) -> None:
    ends: list[ProcessEnd] = []

    async def run() -> None:
        ends.append(await _run(tmp_path, f"{HIDING}\nsleep 600"))

    def kill_when_ready() -> bytes:
        with alive.open("rb") as pipe:
            first = pipe.readline()
            [guardian] = [
                one for one in psutil.Process().children() if "guardian/__main__.py" in " ".join(one.cmdline())
            ]
            guardian.kill()
            return first + pipe.read()

    with fail_after(LIMIT_S):
        async with create_task_group() as group:
            group.start_soon(run)
            said = await to_thread.run_sync(kill_when_ready)
    assert said == b"ready\n"
    assert [end.reason for end in ends] == [EndReason.GUARDIAN_LOST]


async def test_an_agent_that_is_stopped_gets_the_signal_and_its_grace(tmp_path: Path, alive: Path) -> None:
    stop = StopSignal()
    ends: list[ProcessEnd] = []

    async def run() -> None:
        script = "trap 'echo bye; exit 7' TERM; exec 9>/workspace/alive; echo ready >&9; sleep 600 & wait"
        ends.append(await _run(tmp_path, script, stop_signal=stop))

    def wait_until_ready() -> None:
        with alive.open("rb") as pipe:
            pipe.readline()

    with fail_after(LIMIT_S):
        async with create_task_group() as group:
            group.start_soon(run)
            await to_thread.run_sync(wait_until_ready)
            stop.stop.set()
    [end] = ends
    assert (end.reason, end.exit_code) == (EndReason.STOPPED, 7)
    assert (tmp_path / "stdout").read_text(encoding="utf-8") == "bye\n"


async def test_nothing_of_the_runner_can_be_seen(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    with fail_after(LIMIT_S):
        seen = "env; pwd; ls /proc | grep -c '^[0-9]'; ls -d /root/* /home/* 2>&1; ps ax 2>&1; readlink /proc/*/fd/*"
        end = await _run(tmp_path, f"{seen}; exit 0")
    said = (tmp_path / "stdout").read_text(encoding="utf-8")
    assert end.exit_code == 0
    assert "/workspace\n" in said
    assert "pinchbench" not in said.lower()
    assert str(tmp_path) not in said


async def test_a_sandbox_that_can_not_be_made_is_an_agent_that_did_not_start(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    spec = make_spec(state=tmp_path / "nowhere", workspace=tmp_path / "workspace", network=Network.NONE)
    process = ProcessSpec(
        argv=["/bin/true"],
        cwd=tmp_path,
        env={},
        stdout=tmp_path / "stdout",
        stderr=tmp_path / "stderr",
        marker="task/none",
        sandbox=spec.plan(),
    )
    with fail_after(LIMIT_S):
        end = await supervise(process, timeout_s=600)
    assert end.reason is EndReason.NOT_STARTED
    assert "sandbox could not be set up" in end.error
