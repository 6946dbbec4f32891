"""Limits of open files and processes: raised where that is possible, refused where it is not."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from pinchbench.process.capacity import lacking, most_slots, needed


def run_limited(soft: int, hard: int, slots: int) -> str:
    """What a run with so many slots says in a process with these limits of open files."""
    script = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from pinchbench.errors import ConfigError
from pinchbench.runner.set_up import require_capacity
try:
    require_capacity({slots})
except ConfigError as error:
    print(error)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_low_soft_limit_of_open_files_is_raised_to_the_hard_limit() -> None:
    assert run_limited(64, 1024, 1) == "1024\n"


def test_a_concurrency_that_the_limits_cannot_carry_is_refused_with_what_is_needed() -> None:
    said = run_limited(64, 128, 8)
    assert "--concurrency 8 needs 256 open files" in said
    assert "ulimit -n 4096" in said
    assert "use --concurrency 2" in said


@pytest.mark.parametrize("slots", [1, 7, 64])
def test_what_is_needed_for_some_slots_carries_exactly_these(slots: int) -> None:
    files, tasks = needed(slots)
    assert not lacking(files=files, tasks=tasks, slots=slots)
    assert lacking(files=files - 1, tasks=tasks, slots=slots)
    assert lacking(files=files, tasks=tasks - 1, slots=slots)
    assert most_slots(files=files, tasks=tasks) == slots
    assert most_slots(files=0, tasks=math.inf) == 0
