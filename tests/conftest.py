"""What every test gets: a backend, hypothesis settings, and a check that it left nothing behind."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from types import FrameType

import psutil
import pytest
from anyio import fail_after
from hypothesis import HealthCheck, settings

from pinchbench.process.supervise import supervise
from pinchbench.runner.plan import prepare
from pinchbench.runner.setup import sandboxing
from pinchbench.sandbox.levels import Support

# Whoever started the tests may have had signals ignored (`nohup`, a job in the background), and children inherit that.
USUAL_HANDLERS: dict[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
for _number, _usual in USUAL_HANDLERS.items():
    signal.signal(_number, _usual)

# The tests start some thousand Python programs. Where whoever started them keeps no bytecode, each of these would
# compile all that it imports, and so would pytest with its own modules: that doubles the time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What collection makes stays to the end. Python would look through all of it again and again: a seventh of the time.
gc.disable()

# What follows a run has tests of its own: elsewhere a page would cost seconds a run, and no test may reach the
# leaderboard or find the token of whoever started it.
os.environ["PINCHBENCH_NO_REPORT"] = "1"
os.environ["PINCHBENCH_NO_PREFLIGHT"] = "1"
os.environ["PINCHBENCH_SERVER_URL"] = "http://127.0.0.1:9"
os.environ["PINCHBENCH_CONFIG"] = "/nonexistent/pinchbench"
os.environ["PINCHBENCH_DATA"] = "/nonexistent/pinchbench"
for _name in ("PINCHBENCH_TOKEN", "PINCHBENCH_OFFICIAL_KEY"):
    os.environ.pop(_name, None)

# `make fuzz` tries many more; each session draws others, except in CI, where they are the same each time
_IS_CI = bool(os.environ.get("CI"))
settings.register_profile(
    "pinchbench",
    max_examples=25,
    deadline=None,
    derandomize=_IS_CI,
    suppress_health_check=[HealthCheck.too_slow],  # that is the machine, which does much else
)
settings.load_profile("pinchbench")

TEST_LIMIT_S = 900.0  # of an async test, far beyond what the slowest takes; pytest-timeout would end the whole worker
LEFT_OVER = "not begun: the time for tests was over"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests on real OpenClaw: two workers take minutes for them, while the others run the rest.

    Each worker begins with a part of the list: the first with the tests that share a run, the second with the others.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    groups: dict[tuple[bool, bool], list[pytest.Item]] = {(True, True): [], (True, False): [], (False, False): []}
    for item in items:
        on_openclaw = item.get_closest_marker("real_openclaw") is not None
        groups[on_openclaw, on_openclaw and "seen" in getattr(item, "fixturenames", ())].append(item)
    sharing, apart, others = groups.values()
    first = max(0, len(items) // workers - len(sharing)) if workers > 1 else 0
    items[:] = [*sharing, *others[:first], *apart, *others[first:]]


def pytest_collection_finish() -> None:
    """Look for garbage from now on, only among what the tests make."""
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no test after `TESTS_END_AT`, in seconds since the epoch; `stages.py` counts what is left."""
    del item
    if time.time() > float(os.environ.get("TESTS_END_AT", "inf")):
        pytest.skip(LEFT_OVER)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail an async test that waits for what never comes, so that it needs no limit of its own."""
    test = pyfuncitem.obj
    has_own = any(pyfuncitem.get_closest_marker(name) for name in ("real_openclaw", "virtual_clock"))
    if iscoroutinefunction(test) and not has_own:

        @wraps(test)
        async def limited(**arguments: object) -> None:
            with fail_after(TEST_LIMIT_S):
                await test(**arguments)

        pyfuncitem.obj = limited
    return (yield)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Let `stages.py` know how many tests were left out, which only the workers do."""
    output: dict[str, int] | None = getattr(items[0].config, "workeroutput", None)
    if output is not None:
        output["deselected"] = output.get("deselected", 0) + len(items)


@pytest.fixture(autouse=True)
def no_sandbox_for_the_fake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs of the fake OpenClaw have no sandbox, in which its Python and its gate do not exist."""
    if request.node.get_closest_marker("real_openclaw") is None:
        refused = Support(namespaces_refused="This is a test.", landlock_refused="This is a test.")
        for module in (sandboxing, prepare):
            monkeypatch.setattr(module, "find_support", lambda: refused)
        monkeypatch.setenv("PINCHBENCH_SANDBOX", "none")  # for programs that the test starts


@pytest.fixture(autouse=True)
def usual_signals() -> None:
    """Reset signal handlers: a command called in this process ignores Ctrl-C after its run."""
    for number, handler in USUAL_HANDLERS.items():
        signal.signal(number, handler)


OPEN_FILES = Path("/dev/fd")  # Linux and macOS
THREAD_END_S = 20.0  # a thread that was told to end may still be on its way out, and a busy machine gives it no turn
CHILD_WATCHER = "waitpid-"  # asyncio's daemon threads before Python 3.12: one per child, they end with it


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> str | tuple[str, dict[str, object]]:
    """The program runs on asyncio; a test of code that is neutral parametrises over trio itself."""
    if request.node.get_closest_marker("virtual_clock") is None:
        return "asyncio"
    from trio.testing import MockClock  # noqa: PLC0415 - few tests need it

    return "trio", {"clock": MockClock(autojump_threshold=0)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Belongings:
    """What this process holds: children and theirs (zombies too), threads, open files by number and identity."""

    children: frozenset[psutil.Process]
    threads: frozenset[threading.Thread]
    files: dict[int, tuple[int, int]]

    @classmethod
    def now(cls) -> Belongings:
        return cls(
            children=frozenset(psutil.Process().children(recursive=True) if _has_children() else ()),
            threads=frozenset(threading.enumerate()),
            files=_open_files(),
        )


def _has_children() -> bool:
    """Whether to look for descendants at all: that reads every process of the machine, twice a test."""
    if sys.platform == "darwin":  # has `waitid` only since Python 3.13
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _open_files() -> dict[int, tuple[int, int]]:
    files = {}
    for name in os.listdir(OPEN_FILES):  # noqa: PTH208 - numbers are wanted
        with suppress(OSError):  # the listing's own
            info = os.fstat(int(name))
            files[int(name)] = (info.st_dev, info.st_ino)
    return files


def _wait_for_threads(before: Belongings) -> list[str]:
    """Give new threads a moment to end; name those that do not. Idle daemons are their library's own matter."""
    due = time.monotonic() + THREAD_END_S
    left = []
    for thread in threading.enumerate():
        if thread in before.threads or (thread.daemon and not thread.name.startswith(CHILD_WATCHER)):
            continue
        thread.join(max(0.0, due - time.monotonic()))
        if thread.is_alive():
            left.append(f"thread {thread.name}")
    return left


def _describe_child(child: psutil.Process) -> str:
    with suppress(psutil.Error):
        return f"process {child.pid} ({child.status()}) {' '.join(child.cmdline())}"
    return f"process {child.pid}"


def _describe_file(number: int) -> str:
    with suppress(OSError):
        return f"file {number} {(OPEN_FILES / str(number)).readlink()}"
    return f"file {number}"


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a process, a thread or an open file behind.

    Only threads are waited for: a child that this process started is gone when, and only when, it has been
    waited for, and nobody but the test could still do that. What was left is ended, so that one test's fault
    is not every test's.
    """
    before = Belongings.now()
    yield
    left = _wait_for_threads(before)
    after = Belongings.now()
    left += [_describe_child(child) for child in after.children - before.children]
    left += [_describe_file(number) for number, file in after.files.items() if before.files.get(number) != file]
    for child in after.children - before.children:
        with suppress(psutil.Error):
            child.kill()
    psutil.wait_procs(after.children - before.children, timeout=THREAD_END_S)
    if left:
        pytest.fail("the test left behind: " + "; ".join(left), pytrace=False)


@pytest.fixture
def marked_processes() -> Callable[[str], list[psutil.Process]]:
    """A call that finds the processes, zombies included, whose `PINCHBENCH_TRIAL` starts with a marker."""

    def find(marker: str) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("PINCHBENCH_TRIAL", "").startswith(marker):
                    found.append(process)
        return found

    return find


@pytest.fixture(scope="module")
def checks_in_process() -> Iterator[None]:
    """Run the checks of a module's tests in the process of the tests; see `checks_here`."""
    from checks_here import checks_here  # noqa: PLC0415 - few tests need it

    with checks_here():
        yield


@pytest.fixture
def checks_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run checks in processes of their own, in a module that uses `checks_in_process`."""
    monkeypatch.setattr("pinchbench.grading.checks.supervise", supervise)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home folder of a user who has never used OpenClaw: home, cache, no OpenClaw settings."""
    home = tmp_path / "home"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(("OPENCLAW_", "PINCHBENCH_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PINCHBENCH_NO_PREFLIGHT", "1")
    monkeypatch.setenv("PINCHBENCH_NO_WIRE", "1")
    monkeypatch.setenv("PINCHBENCH_SANDBOX", "none")
    monkeypatch.setenv("PINCHBENCH_CACHE", str(tmp_path / "cache"))
    return home
