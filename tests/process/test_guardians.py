"""Guardians that go from one trial to the next: what is promised of one trial holds for each of many."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from anyio import create_task_group, fail_after, to_thread

from pinchbench.process.guardians import job, open_guardians
from pinchbench.process.leftovers import RUNNER, end_marked, find_marked, identity
from pinchbench.process.supervise import EndReason, Leave, Limits, ProcessEnd, contain_level, supervise
from processes import lives

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from process.conftest import Stage

pytestmark = pytest.mark.anyio
both_backends = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])

LONG_S = 300.0  # a limit that no test reaches
TELL = """
import json, os, resource, sys
mask = os.umask(0)
said = {
    "guardian": os.getppid(),
    "env": {name: value for name, value in os.environ.items() if name != "LC_CTYPE"},  # Python's own doing
    "cwd": os.getcwd(),
    "files": os.listdir("/proc/self/fd"),
    "umask": mask,
    "nice": os.nice(0),
    "session": os.getsid(0) == os.getpid(),
    "signals": [line for line in open("/proc/self/status") if line.startswith(("SigIgn", "SigBlk"))],
    "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
}
print(json.dumps(said))
"""


def opened(stage: Stage, count: int = 0) -> AbstractAsyncContextManager[None]:
    return open_guardians(count, level=contain_level(), marker=f"{stage.marker}/guardians")


def guardians() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


class Trials:
    """Runs one trial after another, each with files of its own."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._count = 0

    async def run(
        self, argv: list[str], *, leave: Leave | None = None, limits: Limits | None = None, name: str = ""
    ) -> ProcessEnd:
        name = name or self._next()
        log = self._stage.folder / f"{name}.log"
        marker = f"{self._stage.marker}/{name}"
        spec = self._stage.spec(argv, log=log, marker=marker)
        spec = replace(spec, limits=limits or spec.limits)
        with fail_after(30):
            return await supervise(spec, timeout_s=LONG_S, leave=leave)

    async def ask(self) -> Mapping[str, object]:
        """Run an agent that tells what it was given."""
        name = self._next()
        end = await self.run(self._stage.python(TELL), name=name)
        text = (self._stage.folder / f"{name}.log").read_text(encoding="utf-8")
        assert (end.reason, end.exit_code) == (EndReason.EXITED, 0), text
        said: Mapping[str, object] = json.loads(text)
        return said

    def _next(self) -> str:
        self._count += 1
        return str(self._count)


@pytest.fixture
def trials(stage: Stage) -> Trials:
    return Trials(stage)


@both_backends
async def test_one_after_another_is_one_guardian_and_side_by_side_are_as_many(stage: Stage, trials: Trials) -> None:
    async with opened(stage):
        first, second = await trials.ask(), await trials.ask()
        assert first["guardian"] == second["guardian"]
        async with create_task_group() as group:
            for _ in range(3):
                group.start_soon(trials.ask)
        assert len(guardians()) == 3
    assert guardians() == set()


async def test_those_that_are_started_beforehand_are_used(stage: Stage, trials: Trials) -> None:
    async with opened(stage, 2):
        there = guardians()
        assert len(there) == 2
        said = await trials.ask()
        assert said["guardian"] in there
        assert guardians() == there


async def test_without_open_ones_each_trial_has_its_own(trials: Trials) -> None:
    first, second = await trials.ask(), await trials.ask()
    assert first["guardian"] != second["guardian"]
    assert guardians() == set()


async def test_every_trial_is_given_the_same_as_the_first(stage: Stage, trials: Trials) -> None:
    before = os.umask(0o027)
    try:
        alone = await trials.ask()
        async with opened(stage):
            told = [await trials.ask() for _ in range(3)]
    finally:
        os.umask(before)
    for number, one in enumerate(told, 2):
        assert one["env"] == {
            **stage.spec([]).env,
            "PINCHBENCH_TRIAL": f"{stage.marker}/{number}",
            "PINCHBENCH_RUNNER": identity(),
        }
        assert {**one, "guardian": 0, "env": {}} == {**alone, "guardian": 0, "env": {}}
        assert one["umask"] == 0o027


async def test_a_guardian_holds_nothing_of_a_trial_that_is_over(stage: Stage, trials: Trials) -> None:
    def held(pid: int) -> list[str]:
        process = psutil.Process(pid)
        files = sorted(Path(f"/proc/{pid}/fd").iterdir())
        named = {str(path.readlink()) for path in files if path.name in {"0", "1", "2"}}
        return [process.cwd(), *sorted(named), *map(str, files)]

    async with opened(stage):
        await trials.ask()
        (pid,) = guardians()
        before = held(pid)
        for argv in (["true"], ["/nowhere/agent"], stage.bash("{stay} left & exit 0")):
            await trials.run(argv)
        assert held(pid) == before
        assert before[:2] == ["/", os.devnull]
        assert RUNNER in psutil.Process(pid).environ()
        assert "PATH" not in psutil.Process(pid).environ()


async def test_a_trial_is_charged_for_itself_only(stage: Stage, trials: Trials) -> None:
    async with opened(stage):
        hungry = await trials.run(stage.python("bytearray(200 * 1024 * 1024)\nfor _ in range(10**7): pass"))
        modest = await trials.run(["true"])
    assert hungry.cpu_s > modest.cpu_s
    assert hungry.peak_rss_bytes > 200_000_000 > modest.peak_rss_bytes


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.getuid() != 0, reason="only root goes first, on Linux")
async def test_it_goes_first_for_a_limited_tree_only(stage: Stage, trials: Trials) -> None:
    async with opened(stage):
        await trials.run(["true"], limits=Limits(max_processes=20))
        (pid,) = guardians()
        assert os.sched_getscheduler(pid) == os.SCHED_OTHER
        crowd = stage.bash("for _ in 1 2 3 4 5 6; do sleep 0.01 & done; wait; exit 3")
        assert (await trials.run(crowd)).exit_code == 3
        assert guardians() == {pid}


@pytest.mark.parametrize("argv", [["/nowhere/agent"], ["echo", "x" * 1024 * 1024], ["echo", "a\0b"]])
async def test_one_that_could_not_start_costs_no_guardian(stage: Stage, trials: Trials, argv: list[str]) -> None:
    async with opened(stage):
        first = await trials.ask()
        assert (await trials.run(argv)).reason is EndReason.NOT_STARTED
        assert (await trials.ask())["guardian"] == first["guardian"]


async def test_one_that_was_stopped_leaves_its_guardian_to_the_next(stage: Stage, trials: Trials) -> None:
    leave = Leave()
    ends = []

    async def run() -> None:
        ends.append(await trials.run(stage.bash("{stay} one & setsid {stay} two & exec {stay} three"), leave=leave))

    async with opened(stage):
        first = await trials.ask()
        async with create_task_group() as group:
            group.start_soon(run)
            await stage.roll.present(3)
            leave.stop.set()
        with fail_after(20):
            await stage.roll.all_gone()
        assert ends[0].reason is EndReason.STOPPED
        assert (await trials.ask())["guardian"] == first["guardian"]


@both_backends
async def test_a_cancelled_trial_is_over_before_another_begins(stage: Stage, trials: Trials) -> None:
    async with opened(stage):
        with fail_after(20):
            async with create_task_group() as group:
                group.start_soon(trials.run, stage.bash("setsid {stay} one & exec {stay} two"))
                await stage.roll.present(2)
                group.cancel_scope.cancel()
            await stage.roll.all_gone()
        await trials.ask()
        assert len(guardians()) == 1


async def test_an_idle_one_that_was_killed_costs_no_trial(stage: Stage, trials: Trials) -> None:
    async with opened(stage, 2):
        for pid in guardians():
            os.kill(pid, signal.SIGKILL)
            await to_thread.run_sync(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        await trials.ask()
        assert len(guardians()) == 1


async def test_one_that_is_killed_at_work_costs_its_own_trial_only(stage: Stage, trials: Trials) -> None:
    ends = []

    async def lose() -> None:
        ends.append(await trials.run(stage.bash("{stay} child & kill -9 $PPID; exec {stay} agent")))

    async with opened(stage):
        async with create_task_group() as group:
            group.start_soon(lose)
            told = [await trials.ask() for _ in range(3)]
        assert len({one["guardian"] for one in told}) == 1
        with fail_after(20):
            await stage.roll.all_gone()
        assert [end.reason for end in ends] == [EndReason.GUARDIAN_LOST]
        await trials.ask()
    assert find_marked(stage.marker) == []


async def test_ending_what_a_trial_left_spares_the_guardians(stage: Stage, trials: Trials) -> None:
    async with opened(stage):
        first = await trials.ask()
        assert await to_thread.run_sync(end_marked, f"{stage.marker}/1") == 0
        assert (await trials.ask())["guardian"] == first["guardian"]


async def test_a_trial_that_outlasts_the_block_ends_its_guardian_itself(stage: Stage, trials: Trials) -> None:
    leave = Leave()
    with fail_after(20):
        async with create_task_group() as group:
            async with opened(stage):
                group.start_soon(lambda: trials.run(stage.bash("exec {stay} agent"), leave=leave))
                await stage.roll.present()
            assert len(guardians()) == 1
            leave.stop.set()
        await stage.roll.all_gone()
    assert guardians() == set()


RUNNER_SCRIPT = """
import sys
from pathlib import Path

import anyio

from pinchbench.process.guardians import open_guardians
from pinchbench.process.supervise import ProcessSpec, contain_level, supervise

folder, marker, *argv = sys.argv[1:]


async def run(number, argv):
    log = Path(folder) / f"{number}.log"
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    spec = ProcessSpec(argv=argv, cwd=Path(folder), env=env, stdout=log, stderr=log, marker=f"{marker}/{number}")
    await supervise(spec, timeout_s=300)


async def main():
    async with open_guardians(6, level=contain_level(), marker=f"{marker}/guardians"):
        async with anyio.create_task_group() as group:
            for number in range(3):
                await run(number, ["true"])
                group.start_soon(run, number, argv)


anyio.run(main)
"""


@pytest.fixture
def runner(stage: Stage) -> Iterator[subprocess.Popen[bytes]]:
    """A runner with three guardians at work and some that have nothing to do."""
    argv = stage.bash("setsid env -i {stay} one & exec {stay} two")
    with ExitStack() as stack:
        script = stage.script("runner", RUNNER_SCRIPT)
        child = subprocess.Popen([sys.executable, str(script), str(stage.folder), stage.marker, *argv])
        stack.callback(child.wait)
        stack.callback(child.kill)
        yield child


async def test_a_killed_runner_takes_the_busy_and_the_idle_with_it(
    stage: Stage, runner: subprocess.Popen[bytes]
) -> None:
    with fail_after(30):
        await stage.roll.present(6)
        there = psutil.Process(runner.pid).children()
        assert len(there) == 6
        runner.kill()
        await stage.roll.all_gone()
        for guardian in there:
            await stage.until(lambda one=guardian: not lives(one))  # type: ignore[misc]
    assert find_marked(stage.marker) == []


async def test_a_killed_guardian_takes_nobody_elses_trial_with_it(
    stage: Stage, runner: subprocess.Popen[bytes]
) -> None:
    with fail_after(30):
        came = await stage.roll.present(6)
        assert came
        busy = [one for one in psutil.Process(runner.pid).children() if one.children()]
        assert len(busy) == 3
        busy[0].kill()
        await stage.until(lambda: not lives(busy[0]))
        for other in busy[1:]:
            assert len(other.children(recursive=True)) == 2


def test_a_job_that_no_system_takes_is_refused(stage: Stage) -> None:
    for env in ({"": "x"}, {"a=b": "x"}, {"a": "x\0y"}):
        with pytest.raises(ValueError, match=r"environment|null byte"):
            job(["true"], env, cwd=stage.folder, files=[stage.stdout] * 3, settings={})
