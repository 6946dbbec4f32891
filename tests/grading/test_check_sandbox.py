"""Checks in namespaces of their own: what exists for them and their programs, and that grades are the same."""

import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import fail_after

from grading.conftest import IN_NAMESPACES, Desk
from grading.test_checks import LOOK_AROUND
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.grading.check_sandbox import CheckSandbox, open_place
from pinchbench.grading.checks import run_check
from pinchbench.sandbox.sandbox_spec import Mount

in_namespaces = pytest.mark.parametrize("desk", [IN_NAMESPACES], indirect=True)
RUN = """
import subprocess, sys
def grade(t, w):
    done = subprocess.run([sys.executable, "mine.py"], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    return {"done": done.returncode == 0}
"""


async def exits_well(desk: Desk, program: str, **changes: object) -> bool:
    """Let a check run a program of the agent's, as tasks do."""
    (desk.workspace / "mine.py").write_text(program, encoding="utf-8")
    grade = await desk.check(RUN, **changes)
    assert grade.score is not None
    return grade.score == 1.0


@in_namespaces
async def test_its_programs_find_neither_results_nor_suites_nor_other_checks_nor_other_processes(
    desk: Desk, tmp_path: Path
) -> None:
    (desk.scratch / "neighbour").mkdir(parents=True)
    (tmp_path / "results").mkdir()
    absent = [tmp_path / "results", desk.scratch / "neighbour", desk.log, Path.home() / ".ssh", bundled_tasks_dir()]
    program = f"""
import os
numbers = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
assert numbers == [1, 2, os.getpid()], numbers
found = [path for path in {[*map(str, absent)]!r} if os.path.exists(path) and os.listdir(path)]
assert not found, found
"""
    assert await exits_well(desk, program), desk.said()


@in_namespaces
async def test_its_programs_have_no_network(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as neighbour:
        program = f"""
import socket
for address in (("127.0.0.1", {neighbour.getsockname()[1]}), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, 5)
    except OSError:
        continue
    raise SystemExit(f"reached {{address}}")
"""
        assert await exits_well(desk, program), desk.said()


@in_namespaces
async def test_programs_that_name_the_workspace_by_its_path_find_the_copy(desk: Desk) -> None:
    path = desk.workspace / "out.txt"
    path.write_text("theirs", encoding="utf-8")
    program = "import sys\nassert open(sys.argv[1]).read() == 'theirs'\nopen(sys.argv[1], 'w').write('spoilt')"
    assert await exits_well(desk, program.replace("sys.argv[1]", repr(str(path)))), desk.said()
    assert path.read_text("utf-8") == "theirs"


@in_namespaces
async def test_allowed_paths_can_be_read_and_not_written(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("here", encoding="utf-8")
    program = f"assert open({str(tmp_path / 'tool')!r}).read() == 'here'\nopen({str(tmp_path / 'tool')!r}, 'w')"
    allowed = Mount(source=str(tmp_path / "tool"), target=str(tmp_path / "tool"), writable=True)
    assert not await exits_well(desk, program, sandbox=CheckSandbox(allowed=(allowed,)))
    assert "Read-only file system" in desk.said()


@in_namespaces
async def test_what_a_check_looks_at_is_the_same_without_a_sandbox(desk: Desk) -> None:
    (desk.workspace / "a").write_text("a", encoding="utf-8")
    seen = []
    for sandbox in (CheckSandbox(), None):
        with fail_after(60):
            grade = await run_check(desk.job(LOOK_AROUND, timezone="Asia/Tokyo", sandbox=sandbox))
        seen.append((replace(grade, cpu_s=0, duration_s=0), desk.said()))
    assert seen[0] == seen[1]
    assert seen[0][0].ungraded is None


RUNNERS = 4
CHECKS = 150  # of each runner: without the care that is tested, about one in two hundred failed
SWITCH_S = 1e-6


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Let Python switch between threads as often as it can, so that steps of different runners alternate."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("eager_threads")
def test_a_place_can_be_opened_while_other_runners_remove_theirs_and_the_folder_that_all_are_in(
    tmp_path: Path,
) -> None:
    root = tmp_path / "checks"
    names = [f"task_{number}" for number in range(RUNNERS - 1)]  # fewer than runners, so that some have to wait

    async def check(runner: int) -> None:
        for number in range(CHECKS):
            async with open_place(root, names[(runner + number) % len(names)], wait_s=60) as place:
                place.copy.mkdir()

    with ThreadPoolExecutor(RUNNERS) as runners:
        for ended in [runners.submit(anyio.run, check, number) for number in range(RUNNERS)]:
            ended.result()
    assert not root.exists()
