import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pinchbench.process.guardian import resource_usage
from pinchbench.process.guardian.process_tree import Tree
from pinchbench.process.guardian.resource_usage import LoadMeter

SPIN = "import os; os.sched_setaffinity(0, {%d}); print(flush=True)\nwhile True: pass"
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not measure it")


@pytest.fixture
def three_for_one_processor() -> Iterator[list[int]]:
    """Three processes that all need the same processor all the time."""
    processor = min(os.sched_getaffinity(0))
    with ExitStack() as stack:
        pids = []
        for _ in range(3):
            process = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", SPIN % processor], stdout=subprocess.PIPE)
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
            pids.append(process.pid)
        yield pids


class _Pids(Tree):
    """A tree of given processes."""

    def __init__(self, pids: list[int]) -> None:
        super().__init__(pids[0], subreaper=False)
        self._pids = pids

    def tasks(self) -> dict[int, int]:
        return dict.fromkeys(self._pids, 1)


def test_processes_that_share_a_processor_wait_for_it_and_never_longer_than_the_time_that_passes(
    three_for_one_processor: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource_usage, "LOOK_S", 0.0)
    meter, tree = LoadMeter(), _Pids(three_for_one_processor)
    waited_s, began = 0.0, time.monotonic()

    while waited_s < 0.1:  # the time limit of all tests bounds it
        meter.measure(tree)
        waited_s = meter.report()["cpu_wait_s"] or 0.0

    assert 0.1 <= waited_s <= time.monotonic() - began


def test_a_process_that_has_ended_keeps_what_it_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_usage, "LOOK_S", 0.0)
    meter = LoadMeter()
    meter.measure(_Pids([os.getpid()]))
    before = meter.report()["cpu_wait_s"]

    meter.measure(_Pids([2**22 + 1]))  # above any pid

    assert before is not None
    assert meter.report()["cpu_wait_s"] == before


def test_pressure_is_what_has_passed_since_the_creation_and_none_where_the_kernel_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = iter([{"cpu": 1_000_000, "io": 5}, {"cpu": 3_500_000, "memory": 7}])
    monkeypatch.setattr(resource_usage, "_pressure_us", lambda: next(told))

    assert LoadMeter().report() == {
        "cpu_stalled_s": 2.5,
        "memory_stalled_s": None,
        "io_stalled_s": None,
        "cpu_wait_s": None,
    }
