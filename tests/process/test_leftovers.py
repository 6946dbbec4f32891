"""Finding and ending processes by their marker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psutil
import pytest
from anyio import to_thread

from fakes import until
from pinchbench.process import leftovers
from pinchbench.process.leftovers import (
    MARKER,
    RUNNER,
    end_marked,
    end_orphaned,
    find_marked,
    identity,
    is_alive,
    is_elsewhere,
)
from process.conftest import PlayFolders, Start
from processes import lives


@pytest.fixture
def start(stage: PlayFolders) -> Iterator[Start]:
    """A call that starts a marked child of this test; all are waited for at its end."""
    with ExitStack() as stack:

        def call(argv: list[str], marker: str, **env: str) -> subprocess.Popen[bytes]:
            child = subprocess.Popen(argv, cwd=stage.folder, env={**os.environ, MARKER: marker, **env})
            stack.callback(child.wait)
            stack.callback(child.kill)
            return child

        yield call


async def test_finds_the_marker_and_what_is_below_it(stage: PlayFolders, start: Start) -> None:
    mine, stay = stage.marker, stage.stay.split()
    children = {name: start([*stay, name], name) for name in (mine, f"{mine}/1", f"{mine}0", "another")}
    await stage.roll.present(4)
    assert {process.pid for process in find_marked(mine)} == {children[mine].pid, children[f"{mine}/1"].pid}
    assert {process.pid for process in find_marked(f"{mine}/1")} == {children[f"{mine}/1"].pid}
    assert find_marked(f"{mine}/1/2") == []


async def test_the_dead_are_not_found(stage: PlayFolders, start: Start) -> None:
    child = start([*stage.stay.split(), "one"], stage.marker)
    await stage.roll.present()
    child.kill()
    await until(lambda: not lives(child.pid))
    assert find_marked(stage.marker) == []


async def test_one_that_is_just_becoming_another_program_is_found(
    stage: PlayFolders, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "EXEC_S", 60.0)
    script = stage.script(
        "restless",
        """
        import os, sys
        from present import present
        connection = present() if len(sys.argv) == 1 else None
        os.execv(sys.executable, [sys.executable, "-S", sys.argv[0], "again"])
        """,
    )
    child = start([sys.executable, "-S", str(script)], stage.marker)
    await stage.roll.present()
    for _ in range(100):
        assert [process.pid for process in find_marked(stage.marker)] == [child.pid]


async def test_ends_them_and_counts(stage: PlayFolders, start: Start) -> None:
    start(stage.bash("{stay} one & setsid {stay} two & exec {stay} three"), f"{stage.marker}/a")
    start([*stage.stay.split(), "four"], f"{stage.marker}/b")
    await stage.roll.present(4)
    assert await to_thread.run_sync(end_marked, stage.marker) == 4
    await stage.roll.all_gone()
    assert await to_thread.run_sync(end_marked, stage.marker) == 0


async def test_ends_those_who_start_each_other_anew(stage: PlayFolders, start: Start) -> None:
    script = stage.script(
        "respawn",
        """
        import os, signal, time
        from present import present
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        deadline = time.monotonic() + 90
        connection = present()
        def live(depth):
            while time.monotonic() < deadline:
                if os.fork() == 0:
                    live(depth - 1) if depth else time.sleep(90)
                    os._exit(0)
                os.wait()
        live(3)
        """,
    )
    start([sys.executable, str(script)], stage.marker)
    await stage.roll.present()
    assert await to_thread.run_sync(end_marked, stage.marker) >= 1
    await stage.roll.all_gone()


IDENTITY = "from pinchbench.process.leftovers import identity; print(identity(), flush=True)"
on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere psutil's start time is used")


@pytest.fixture
def dead() -> str:
    """The identity of a process that is gone."""
    return subprocess.run([sys.executable, "-c", IDENTITY], capture_output=True, text=True, check=True).stdout.strip()


def test_who_lives_is_alive_and_who_is_gone_is_not(dead: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", f"{IDENTITY}; input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        living = child.stdout.readline()
        assert is_alive(living)
        assert is_alive(identity())
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(living), "a zombie does not live"
    assert not is_alive(living)
    assert not is_alive(dead)


def test_a_forked_child_is_another_process() -> None:
    mine = identity()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, identity().encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        its = pipe.read()
    os.waitpid(child, 0)
    assert its.split()[0] == str(child)
    assert identity() == mine != its


@on_linux
def test_a_clock_that_was_set_back_kills_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = identity()
    psutil.Process().create_time()
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: 12.5)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert is_alive(mine)
    leftovers._identity.cache_clear()
    assert identity() == mine


@on_linux
def test_a_pid_that_was_given_to_another_process_is_not_the_one(dead: str) -> None:
    _, started, boot, namespace = dead.split()
    assert not is_alive(f"{os.getpid()} {started} {boot} {namespace}")


@on_linux
def test_of_another_boot_nobody_lives_and_of_another_container_nobody_is_judged(dead: str) -> None:
    pid, started, boot, _ = dead.split()
    assert is_alive(f"{pid} {started} {boot} 1")
    assert is_elsewhere(f"{pid} {started} {boot} 1")
    assert not is_alive(f"{pid} {started} another-boot 1")
    assert not is_elsewhere(f"{pid} {started} another-boot 1")
    assert not is_elsewhere(identity())
    mine = identity().split()
    assert not is_alive(f"{mine[0]} {mine[1]} another-boot {mine[3]}")


def test_an_identity_of_an_older_release_is_still_understood() -> None:
    process = psutil.Process()
    assert is_alive(f"{process.pid} {process.create_time()}")
    assert not is_alive(f"{process.pid} {process.create_time() + 1}")


GARBLED = ["", "x", "1 2 3", "17 soon", "-1 5", f"{2**70} 5", "0 0 a b", "1 2 3 4 5", "\udcff 1 \udcff"]


class TestOrphans:
    """What the next start of any run finds of runners that are dead.

    Other tests start runs at the same time, and these may find its orphans first: what counts is that they are gone.
    """

    async def test_when_runner_and_guardian_were_killed_their_agent_is_ended(
        self, stage: PlayFolders, runner: Start
    ) -> None:
        child = runner(stage.bash("{stay} one & setsid {stay} two & exec {stay} three"))
        await stage.roll.present(3)
        (parent,) = psutil.Process(child.pid).children()
        (guardian,) = parent.children()
        child.send_signal(signal.SIGSTOP)  # or it would look after the guardian's tree itself
        parent.kill()
        guardian.kill()
        child.kill()
        child.wait()
        await until(lambda: not lives(guardian))
        await to_thread.run_sync(end_orphaned)
        await stage.roll.all_gone()
        assert find_marked(stage.marker) == []

    @pytest.mark.parametrize("end", [lambda _: end_orphaned(), end_marked], ids=["orphaned", "marked"])
    async def test_a_guardian_that_hangs_is_ended_with_all_it_holds(
        self, end: Callable[[str], int], stage: PlayFolders, runner: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(leftovers, "GUARDIANS_S", 0.2)
        child = runner(stage.bash("setsid env -i {stay} one & exec {stay} two"))
        await stage.roll.present(2)
        (parent,) = psutil.Process(child.pid).children()
        for guardian in (parent, *parent.children()):
            guardian.suspend()
        child.kill()
        child.wait()
        await to_thread.run_sync(end, stage.marker)
        await stage.roll.all_gone()
        assert find_marked(stage.marker) == []

    async def test_nothing_of_a_living_runner_is_touched(self, stage: PlayFolders, runner: Start) -> None:
        runner(stage.bash("{stay} one & exec {stay} two"))
        await stage.roll.present(2)
        before = {process.pid for process in find_marked(stage.marker)}
        await to_thread.run_sync(end_orphaned)
        assert {process.pid for process in find_marked(stage.marker)} == before
        assert len(before) == 4  # two of them are the guardian and its parent

    @pytest.mark.parametrize("written", [None, *(text for text in GARBLED if "\udcff" not in text)])
    async def test_without_a_runner_that_is_certainly_gone_nobody_is_touched(
        self, stage: PlayFolders, start: Start, written: str | None
    ) -> None:
        child = start([*stage.stay.split(), "one"], stage.marker, **({} if written is None else {RUNNER: written}))
        await stage.roll.present()
        await to_thread.run_sync(end_orphaned)
        assert child.poll() is None
        assert [process.pid for process in find_marked(stage.marker)] == [child.pid]

    async def test_a_runner_without_a_trials_marker_is_nobodys_orphan(
        self, stage: PlayFolders, start: Start, dead: str
    ) -> None:
        argv = ["env", "-u", MARKER, *stage.stay.split(), "one"]
        child = start(argv, stage.marker, **{RUNNER: dead})
        await stage.roll.present()
        await to_thread.run_sync(end_orphaned)
        assert child.poll() is None

    async def test_who_looks_is_spared_though_it_runs_below_an_orphan(self, stage: PlayFolders, start: Start) -> None:
        gone = f"gone-{stage.marker}"
        script = stage.script(
            "look",
            f"""
            from pinchbench.process import leftovers
            from present import present
            leftovers._is_gone = lambda written: written == {gone!r}
            connection = present()
            leftovers.end_orphaned()
            """,
        )
        other = start([*stage.stay.split(), "other"], stage.marker, **{RUNNER: gone})
        await stage.roll.present()
        # by way of a shell that waits, which is spared as well
        looking = start(["bash", "-c", f"{sys.executable} {script}; exit 7"], stage.marker, **{RUNNER: gone})
        await stage.roll.present()
        await stage.roll.all_gone()
        assert await to_thread.run_sync(looking.wait) == 7
        assert await to_thread.run_sync(other.wait) == -signal.SIGKILL
