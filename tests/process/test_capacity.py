"""Open files, processes, memory and disk space: limits are raised where that is possible, or else named."""

import errno
import math
import subprocess
import sys
from pathlib import Path

import pytest

from pinchbench.process import capacity
from pinchbench.process.capacity import (
    GIB,
    available_bytes,
    find_full,
    is_disk_full,
    most_slots,
    needed,
    oom_kills,
    slots_refusal,
    slots_warning,
)


def run_limited(soft: int, hard: int, slots: int) -> str:
    """What a run with so many slots says in a process with these limits of open files."""
    script = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from pinchbench.errors import ConfigError
from pinchbench.runner.setup.set_up import require_capacity
try:
    require_capacity({slots})
except ConfigError as error:
    print(error)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_concurrency_that_the_limits_cannot_carry_is_refused_with_what_is_needed() -> None:
    said = run_limited(64, 128, 8)
    assert "--concurrency 8 needs 256 open files" in said
    assert "ulimit -n 4096" in said
    assert "use --concurrency 2" in said


@pytest.mark.parametrize("slots", [1, 7, 64])
def test_what_is_needed_for_some_slots_carries_exactly_these(slots: int) -> None:
    files, tasks = needed(slots)
    assert not slots_refusal(slots, files=files, tasks=tasks)
    assert "ulimit -n" in slots_refusal(slots, files=files - 1, tasks=tasks)
    assert "ulimit -u" in slots_refusal(slots, files=files, tasks=tasks - 1)
    assert most_slots(files=files, tasks=tasks) == slots
    assert most_slots(files=0, tasks=math.inf) == 0


@pytest.mark.parametrize(
    ("slots", "free_gib", "cpus", "said"),
    [
        (4, 64, 2, ""),
        (5, 64, 2, "about 6.5 GiB of memory (64.0 GiB are free), and this machine has 2 CPUs: --concurrency 4"),
        (8, 4, 8, "--concurrency 3 suits it"),
        (
            1,
            0,
            1,
            "1 slot needs about 1.3 GiB of memory (0.0 GiB are free), and this machine has 1 CPU: free some memory",
        ),
    ],
)
def test_more_slots_than_memory_or_cpus_suffice_for_are_warned_of(
    monkeypatch: pytest.MonkeyPatch, slots: int, free_gib: int, cpus: int, said: str
) -> None:
    monkeypatch.setattr(capacity, "available_bytes", lambda: free_gib * GIB)
    monkeypatch.setattr(capacity, "usable_cpus", lambda: cpus)
    assert said in slots_warning(slots)
    assert bool(said) == bool(slots_warning(slots))


def test_the_limit_of_a_container_counts_but_for_its_page_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "CGROUP", tmp_path)
    assert available_bytes() > 700

    stat = "anon 200\nfile 700\ninactive_file 600\nactive_file 100\n"
    for name, text in (("max", "1000\n"), ("current", "900\n"), ("stat", stat)):
        (tmp_path / f"memory.{name}").write_text(text, encoding="ascii")
    assert available_bytes() == 700


def test_processes_that_the_kernel_killed_in_this_cgroup_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = oom_kills()
    own = Path("/proc/self/cgroup").read_text(encoding="utf-8").rpartition("::")[2].strip().lstrip("/")
    (tmp_path / own).mkdir(parents=True, exist_ok=True)
    (tmp_path / own / "memory.events").write_text("low 0\noom 9\noom_kill 3000000\n", encoding="ascii")
    monkeypatch.setattr(capacity, "CGROUP", tmp_path)
    assert oom_kills() - before > 2_000_000


HUGE = 2**62


def test_the_folder_whose_file_system_has_no_bytes_left_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "MIN_FREE_BYTES", HUGE)
    assert find_full([tmp_path / "gone", tmp_path]).startswith(f"{tmp_path} is on a file system with ")


def test_a_file_system_that_takes_no_more_files_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "MIN_FREE_BYTES", 0)
    monkeypatch.setattr(capacity, "MIN_FREE_INODES", HUGE)
    assert "more files" in find_full([Path("/proc/self"), Path("/dev/shm"), Path("/")])  # one of them counts inodes


def test_the_systems_own_words_for_a_full_disk_are_known() -> None:
    assert is_disk_full(OSError(errno.ENOSPC, "no space"))
    assert is_disk_full(OSError(errno.EDQUOT, "quota"))
    assert not is_disk_full(FileNotFoundError(errno.ENOENT, "gone"))
