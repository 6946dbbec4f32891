"""Limits of memory, processes and disk: a trial that exceeds one is ended alone, at once, and it is said which one."""

import os
import re
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from anyio import fail_after, to_thread

from pinchbench.defaults import Network
from pinchbench.process.guardian.resource_usage import CHECK_S, LEAST_BYTES, DiskUse
from pinchbench.process.spec import EndReason, Limits, ProcessSpec
from pinchbench.process.supervise import supervise
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.sandbox.sandbox_spec import make_spec
from process.conftest import PlayFolders, supervised
from sampling import sampled

LINUX = sys.platform.startswith("linux")
pytestmark = [pytest.mark.skipif(not LINUX, reason="the kernel's figures are those of Linux")]

MIB = 1024**2
LIMIT_S = 60
LIMITS = Limits(  # a minute of grace, which nobody gets
    grace_s=60.0, sweep_s=60.0, max_processes=60, max_memory_bytes=256 * MIB, max_disk_bytes=16 * MIB
)
# Each ends by itself at some multiple of its limit, and after a minute: a test that fails must do no harm.
START = """
import mmap, os, signal, socket, sys, tempfile, threading, time
signal.alarm(60)

def wait_for_checks(number):
    with open("/proc/uptime") as file:
        begin = float(file.read().split()[0])
    while True:
        with open("/proc/uptime") as file:
            if float(file.read().split()[0]) > begin + number * CHECK_S:
                return
"""
BOMB = """
for _ in range(9):  # 512
    try:
        os.fork()
    except BlockingIOError:
        pass
time.sleep(600)
"""
SPLITTING_BOMB = """
for _ in range(9):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
    except BlockingIOError:
        pass
time.sleep(600)
"""
THREADS = """
for _ in range(200):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(600)
"""
HOG = """
kept = [b"x" * 8 * 1024**2 for _ in range(100)]
time.sleep(600)
"""
HOGS = """
for _ in range(8):
    if os.fork() == 0:
        kept = b"x" * 64 * 1024**2
        break
time.sleep(600)
"""
SHARED_HOG = """
kept = mmap.mmap(-1, 600 * 1024**2)
for _ in range(600):
    kept.write(b"x" * 1024**2)
time.sleep(600)
"""
FILLER = """
for number in range(64):
    with open(str(number), "wb") as file:
        file.write(b"x" * 1024**2)
time.sleep(600)
"""
ONE_FILE = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
open("other", "wb").write(b"x" * 1024**2)
try:
    with open("one", "wb") as file:
        for _ in range(64):
            file.write(b"x" * 1024**2)
except OSError:
    time.sleep(600)
"""
DELETED = """
files = [tempfile.TemporaryFile(dir=".") for _ in range(8)]
for file in files:
    file.write(b"x" * 8 * 1024**2)
    file.flush()
time.sleep(600)
"""
EMPTY_FILES = """
for number in range(8000):
    open(str(number), "wb").close()
time.sleep(600)
"""
EXCEEDING = {
    "processes": ("processes and threads; the limit is 60", (BOMB, SPLITTING_BOMB, THREADS)),
    "memory": ("of memory; the limit is 0.25 GiB", (HOG, HOGS, SHARED_HOG)),
    "disk": ("of disk space; the limit is 0.0156 GiB", (FILLER, ONE_FILE, DELETED, EMPTY_FILES)),
}
WITHIN = {
    "shared memory counts once": """
        kept = mmap.mmap(-1, 100 * 1024**2)
        for _ in range(100):
            kept.write(b"x" * 1024**2)
        children = [os.fork() for _ in range(4) if os.getpid() == PARENT]
        total = sum(kept[::4096])
        wait_for_checks(3)
        if os.getpid() == PARENT:
            for _ in children:
                os.wait()
    """,
    "links count once": """
        with open("first", "wb") as file:
            file.write(b"x" * 8 * 1024**2)
        for number in range(20):
            os.link("first", str(number))
        os.symlink("/usr", "system")
        wait_for_checks(12)
    """,
    "files elsewhere are not the trial's": """
        with tempfile.TemporaryFile(dir="..") as file:
            wait_for_checks(3)
    """,
}


def _spec(stage: PlayFolders, name: str, script: str, *, is_sandboxed: bool = False) -> ProcessSpec:
    workspace = stage.folder / name
    workspace.mkdir()
    start = START.replace("CHECK_S", str(CHECK_S))
    argv = [sys.executable, "-I", "-S", "-c", f"{start}\nPARENT = os.getpid()\n{script}"]
    sandbox = None
    if is_sandboxed:
        argv[0] = str(Path(sys.executable).resolve())
        prefix = Path(sys.base_prefix)
        spec = make_spec(state=None, workspace=workspace, path_dirs=[prefix], network=Network.NONE)
        sandbox = spec.plan()
    return ProcessSpec(
        argv=argv,
        cwd=workspace,
        env={"PATH": "/usr/bin:/bin"},
        stdout=stage.folder / f"{name}.out",
        stderr=stage.folder / f"{name}.err",
        marker=f"{stage.marker}/{name}",
        limits=LIMITS,
        measured=(workspace,),
        sandbox=sandbox,
    )


@pytest.mark.parametrize(
    ("said", "script"), [(said, script) for said, scripts in EXCEEDING.values() for script in scripts]
)
@pytest.mark.parametrize("is_sandboxed", sampled([False, True], {True}), ids=["bare", "sandboxed"])
async def test_a_trial_that_exceeds_a_limit_is_ended_alone_and_at_once(
    stage: PlayFolders, said: str, script: str, *, is_sandboxed: bool
) -> None:
    if is_sandboxed and (refused := find_support().reason(Level.NAMESPACES)):
        pytest.skip(f"needs namespaces: {refused}")

    pipe = stage.folder / "pipe"
    os.mkfifo(pipe)
    async with supervised(_spec(stage, "neighbour", f"open({str(pipe)!r}).read(); sys.exit(7)")) as neighbour:
        end = await supervise(_spec(stage, "hog", script, is_sandboxed=is_sandboxed), timeout_s=600)
        await to_thread.run_sync(lambda: pipe.open("w", encoding="utf-8").close())

    assert end.reason is EndReason.RESOURCE_LIMIT, (stage.folder / "hog.err").read_text(encoding="utf-8")
    assert end.error.endswith(said)
    assert re.match(r"[\d.]+ ", end.error)
    assert end.level == ("namespaces" if is_sandboxed else "guardian")
    assert (neighbour.end.reason, neighbour.end.exit_code, neighbour.end.error) == (EndReason.EXITED, 7, "")


@pytest.mark.parametrize("script", WITHIN.values(), ids=WITHIN)
async def test_a_trial_within_the_limits_is_left_alone(stage: PlayFolders, script: str) -> None:
    with fail_after(LIMIT_S):
        end = await supervise(_spec(stage, "good", dedent(script)), timeout_s=600)
    assert (end.reason, end.exit_code, end.error) == (EndReason.EXITED, 0, ""), (stage.folder / "good.err").read_text(
        encoding="utf-8"
    )


class _NoTree:
    """A tree without processes."""

    def tasks(self) -> dict[int, int]:
        return {}


def test_a_measurement_of_many_files_is_made_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinchbench.process.guardian.resource_usage.SLICE_S", 0.0)
    monkeypatch.setattr("pinchbench.process.guardian.resource_usage.DISK_CHECK_S", 0.0)
    for number in range(3):
        (tmp_path / str(number)).touch()
    disk = DiskUse([str(tmp_path), str(tmp_path / "missing")], 1000 * LEAST_BYTES)

    found = [disk.measure(_NoTree()) for _ in range(4)]  # type: ignore[arg-type]

    assert found == [LEAST_BYTES, 2 * LEAST_BYTES, 3 * LEAST_BYTES, 3 * LEAST_BYTES]
    assert not disk.is_measuring
