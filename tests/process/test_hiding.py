"""Whoever is killed, the children of an agent are soon gone, in whatever way they hide."""

import itertools
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio import fail_after

from fakes import poll
from hiding import Hidden, Victim
from pinchbench.sandbox.levels import Level, find_support
from sampling import sampled

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere no process finds all its descendants")
]

LIMIT_S = 60
KILLED = [one for one in itertools.product(Level, Victim) if one != (Level.NAMESPACES, Victim.PARENT)]


@pytest.fixture(
    params=sampled(KILLED, [one for one in KILLED if one[0] is not Level.LANDLOCK]),
    ids=lambda one: f"{one[0]}-{one[1].name.lower()}",
)
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Hidden, Victim]]:
    level, victim = request.param
    if reason := find_support().reason(level):
        pytest.skip(reason)
    hidden = Hidden(tmp_path / "hidden", level)
    yield hidden, victim
    hidden.close()


async def test_when_a_process_is_killed_nobody_outlives_it_for_long(killed: tuple[Hidden, Victim]) -> None:
    hidden, victim = killed
    with fail_after(LIMIT_S):
        await poll(hidden.has_started)
        pid = hidden.pid(victim)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await poll(lambda: not hidden.alive())
