"""Finding and ending processes by their marker."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import psutil
import pytest
from anyio import fail_after, to_thread

from pinchbench.process.leftovers import MARKER, end_marked, find_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from process.conftest import RollCall, Stage

pytestmark = pytest.mark.anyio


@pytest.fixture
def start(stage: Stage) -> Iterator[Callable[[list[str], str], subprocess.Popen[bytes]]]:
    """A call that starts a marked child of this test; all are waited for at its end."""
    with ExitStack() as stack:

        def call(argv: list[str], marker: str) -> subprocess.Popen[bytes]:
            child = subprocess.Popen(argv, cwd=stage.folder, env={**os.environ, MARKER: marker})
            stack.callback(child.wait)
            stack.callback(child.kill)
            return child

        yield call


async def test_finds_the_marker_and_what_is_below_it(
    stage: Stage, roll: RollCall, start: Callable[[list[str], str], subprocess.Popen[bytes]]
) -> None:
    mine, stay = stage.marker, stage.stay.split()
    children = {name: start([*stay, name], name) for name in (mine, f"{mine}/1", f"{mine}0", "another")}
    with fail_after(10):
        await roll.present(4)
    assert {process.pid for process in find_marked(mine)} == {children[mine].pid, children[f"{mine}/1"].pid}
    assert {process.pid for process in find_marked(f"{mine}/1")} == {children[f"{mine}/1"].pid}
    assert find_marked(f"{mine}/1/2") == []


async def test_the_dead_are_not_found(
    stage: Stage, roll: RollCall, start: Callable[[list[str], str], subprocess.Popen[bytes]]
) -> None:
    child = start([*stage.stay.split(), "one"], stage.marker)
    with fail_after(10):
        await roll.present()
        child.kill()
        await stage.until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
    assert find_marked(stage.marker) == []


async def test_ends_them_and_counts(
    stage: Stage, roll: RollCall, start: Callable[[list[str], str], subprocess.Popen[bytes]]
) -> None:
    start(stage.bash("{stay} one & setsid {stay} two & exec {stay} three"), f"{stage.marker}/a")
    start([*stage.stay.split(), "four"], f"{stage.marker}/b")
    with fail_after(10):
        await roll.present(4)
        assert await to_thread.run_sync(end_marked, stage.marker) == 4
        await roll.all_gone()
        assert await to_thread.run_sync(end_marked, stage.marker) == 0


async def test_ends_those_who_start_each_other_anew(
    stage: Stage, roll: RollCall, start: Callable[[list[str], str], subprocess.Popen[bytes]]
) -> None:
    script = stage.script(
        "respawn",
        """
        import os, signal, time
        from present import present
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        deadline = time.monotonic() + 10
        connection = present()
        def live(depth):
            while time.monotonic() < deadline:
                if os.fork() == 0:
                    live(depth - 1) if depth else time.sleep(10)
                    os._exit(0)
                os.wait()
        live(3)
        """,
    )
    start([sys.executable, str(script)], stage.marker)
    with fail_after(15):
        await roll.present()
        assert await to_thread.run_sync(end_marked, stage.marker) >= 1
        await roll.all_gone()
