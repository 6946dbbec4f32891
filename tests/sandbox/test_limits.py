"""What a trial uses is measured, and the limit it exceeds is named."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pinchbench.sandbox.limits import (
    ControlGroup,
    Resource,
    ResourceLimit,
    ResourceLimits,
    ResourceUse,
    delegated_group,
    exceeded,
    measure_disk,
    measure_tree,
)

if TYPE_CHECKING:
    from pathlib import Path

USE = ResourceUse(memory_bytes=10, processes=3, disk_bytes=7)


def test_nothing_is_exceeded_without_limits_or_at_them() -> None:
    assert exceeded(USE, ResourceLimits()) is None
    assert exceeded(USE, ResourceLimits(memory_bytes=10, processes=3, disk_bytes=7)) is None


@pytest.mark.parametrize(
    ("limits", "finding"),
    [
        (ResourceLimits(memory_bytes=9), ResourceLimit(resource=Resource.MEMORY, used=10, allowed=9)),
        (ResourceLimits(processes=2), ResourceLimit(resource=Resource.PROCESSES, used=3, allowed=2)),
        (ResourceLimits(disk_bytes=0), ResourceLimit(resource=Resource.DISK, used=7, allowed=0)),
    ],
)
def test_the_exceeded_limit_is_named(limits: ResourceLimits, finding: ResourceLimit) -> None:
    assert exceeded(USE, limits) == finding


def test_a_tree_is_measured_with_its_descendants() -> None:
    program = "import subprocess, sys; x = bytearray(30_000_000); subprocess.run([sys.executable, '-c', sys.argv[1]])"
    inner = "print('ready', flush=True); input()"
    argv = [sys.executable, "-c", program, inner]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        use = measure_tree(process.pid)
        process.communicate(b"\n")
    assert use.processes == 2
    assert use.memory_bytes > 30_000_000
    assert measure_tree(process.pid) == ResourceUse()


def test_disk_counts_blocks_of_files_in_all_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(bytes([1]) * 50_000)
    (tmp_path / "link").symlink_to("/usr")
    assert 50_000 <= measure_disk([tmp_path]) < 200_000


def test_a_machine_without_version_2_has_no_delegated_group(tmp_path: Path) -> None:
    assert delegated_group(tmp_path) is None


def test_a_control_group_gets_its_limits(tmp_path: Path) -> None:
    group = ControlGroup(tmp_path, "trial", ResourceLimits(memory_bytes=1000, processes=5))
    group.add(1)
    written = {file.name: file.read_text(encoding="ascii") for file in group.path.iterdir()}
    assert written == {"memory.max": "1000", "memory.swap.max": "0", "pids.max": "5", "cgroup.procs": "1"}
    assert group.peak() == ResourceUse()
