"""A place to run real processes in, and a roll call that shows when the last of them is gone."""

import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import anyio
import psutil
import pytest
from anyio import CancelScope, create_task_group, fail_after

from fakes import LIMIT_S
from pinchbench.process.awake import Clocks
from pinchbench.process.spec import Limits, ProcessEnd, ProcessSpec, StopSignal
from pinchbench.process.supervise import supervise
from processes import lives

# Connects, says its name and its process id, and stays. Whoever it forks shares the connection.
PRESENT = """
import os, socket, sys

def present(name="anybody"):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect({address!r})
    connection.sendall(f"{{name}} {{os.getpid()}}\\n".encode())
    return connection
"""

STAY = """
import sys, time
from present import present
connection = present(sys.argv[1])
time.sleep(600)
"""

# It ignores SIGTERM.
DEAF = """
import signal, sys, time
from present import present
signal.signal(signal.SIGTERM, signal.SIG_IGN)
connection = present(*sys.argv[1:])
time.sleep(600)
"""
# It waits for the signal: one that comes right before a sleep would be handled after it only.
POLITE = """
import signal, sys
from present import present
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
connection = present()
signal.sigwait({signal.SIGTERM})
print("last words", flush=True)
sys.exit(5)
"""

RUNNER = """
import signal, sys
from pathlib import Path

import anyio

from pinchbench.process.awake import Clocks
from pinchbench.process.supervise import supervise
from pinchbench.process.spec import ProcessSpec, StopSignal

folder, marker, count, timeout_s, gap_s, *argv = sys.argv[1:]


async def main():
    stop_signal = StopSignal()

    async def run(number):
        log = Path(folder) / f"{number}.log"
        spec = ProcessSpec(argv=[*argv, str(number)], cwd=Path(folder), env={"PATH": "/usr/bin:/bin"},
                           stdout=log, stderr=log, marker=f"{marker}/{number}")
        clocks = Clocks(gap_s=float(gap_s))
        end = await supervise(spec, timeout_s=float(timeout_s), stop_signal=stop_signal, clocks=clocks)
        print(end.reason, end.exit_code, *["asleep"] * (end.asleep_s > 0.5), flush=True)

    async with anyio.create_task_group() as group:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGCONT) as signals:
            for number in range(int(count)):
                group.start_soon(run, number)
            print("ready", flush=True)
            async for number in signals:
                if number == signal.SIGINT:
                    print("interrupted", flush=True)
                    stop_signal.stop.set()
                    break
                for _ in range(10):  # whatever is due on waking has its turn
                    await anyio.lowlevel.checkpoint()
                print("awake", flush=True)


anyio.run(main)
"""

QUICK_LIMITS = Limits(grace_s=0.3, orphan_grace_s=0.2, sweep_s=0.2)
# For those who go when they are asked to: they need a turn for that, and nobody is waited for when they have gone.
PATIENT_LIMITS = Limits(grace_s=90.0, sweep_s=90.0)
LONG_S = 300.0  # a limit that no test reaches: what needs that long hangs


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """A supervised process that runs next to a test, who has answered the roll call, and how it ended."""

    scope: CancelScope
    stop_signal: StopSignal = field(default_factory=StopSignal)
    came: dict[str, int] = field(default_factory=dict)
    ends: list[ProcessEnd] = field(default_factory=list)

    @property
    def end(self) -> ProcessEnd:
        [end] = self.ends
        return end


@asynccontextmanager
async def supervised(
    spec: ProcessSpec, *, timeout_s: float = LONG_S, level: str = "", clocks: Clocks | None = None
) -> AsyncIterator[Running]:
    """Supervise a process next to the block, which its end outlasts."""
    with fail_after(LIMIT_S):
        async with create_task_group() as group:
            process = Running(scope=group.cancel_scope)

            async def run() -> None:
                process.ends.append(
                    await supervise(
                        spec,
                        timeout_s=timeout_s,
                        stop_signal=process.stop_signal,
                        level=level,
                        clocks=clocks or Clocks(),
                    )
                )

            group.start_soon(run)
            yield process


Start = Callable[..., subprocess.Popen[bytes]]  # which a fixture ends


class RollCall:
    """A listening socket that children connect to. A connection ends when its last holder is dead."""

    def __init__(self) -> None:
        """The address lives in a directory of its own: those of tests are too long for a socket."""
        self.folder = Path(tempfile.mkdtemp(prefix="pb-"))
        self.address = str(self.folder / "roll")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen(512)
        self._listener.setblocking(False)
        self._connections: list[socket.socket] = []

    async def present(self, count: int = 1) -> dict[str, int]:
        """Wait for so many more; return name → process id."""
        came = {}
        with fail_after(LIMIT_S):
            for _ in range(count):
                connection = await self._accept()
                said = b""
                while not said.endswith(b"\n"):
                    await anyio.wait_readable(connection)
                    if not (data := connection.recv(1)):
                        break
                    said += data
                name, _, pid = said.decode().partition(" ")
                came[name] = int(pid)
        return came

    async def all_gone(self) -> None:
        """Wait until nobody holds a connection any more; those who came unasked count too."""
        while connection := self._accept_now():
            self._connections.append(connection)
        with fail_after(LIMIT_S):
            for connection in self._connections:
                data = b"?"
                while data:
                    await anyio.wait_readable(connection)
                    try:
                        data = connection.recv(4096)
                    except ConnectionResetError:
                        break

    def close(self) -> None:
        """Close every socket."""
        for connection in [self._listener, *self._connections]:
            connection.close()
        shutil.rmtree(self.folder)

    async def _accept(self) -> socket.socket:
        while (connection := self._accept_now()) is None:
            await anyio.wait_readable(self._listener)
        self._connections.append(connection)
        return connection

    def _accept_now(self) -> socket.socket | None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return None
        connection.setblocking(False)
        return connection


class PlayFolders:
    """A directory with scripts for children, the files they write to, and the roll call they answer."""

    def __init__(self, folder: Path, roll: RollCall, marker: str) -> None:
        """Scripts may `from present import present`."""
        self.folder = folder
        self.roll = roll
        self.marker = marker
        self.stdout = folder / "stdout.log"
        self.stderr = folder / "stderr.log"
        self.script("present", PRESENT.format(address=roll.address))
        self.stay = f"{sys.executable} -S {self.script('stay', STAY)}"

    def script(self, name: str, text: str) -> Path:
        """Write a Python script, whole at once: another process may be reading an older one of that name."""
        path = self.folder / f"{name}.py"
        written = path.with_suffix(".new")
        written.write_text(dedent(text), encoding="utf-8")
        return written.replace(path)

    def python(self, text: str, *words: str, name: str = "agent") -> list[str]:
        """Return a command that runs a Python script."""
        return [sys.executable, "-S", str(self.script(name, text)), *words]

    def bash(self, text: str) -> list[str]:
        """Return a command that runs a shell script, in which `{stay} NAME` answers the roll and stays."""
        return ["bash", "-c", dedent(text).replace("{stay}", self.stay)]

    def spec(
        self,
        argv: Sequence[str],
        *,
        limits: Limits = QUICK_LIMITS,
        cwd: Path | None = None,
        marker: str = "",
        log: Path | None = None,
    ) -> ProcessSpec:
        """Return a specification that writes to this stage's files, or both streams to `log`."""
        return ProcessSpec(
            argv=argv,
            cwd=cwd or self.folder,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=log or self.stdout,
            stderr=log or self.stderr,
            marker=marker or self.marker,
            limits=limits,
        )

    def out(self) -> str:
        """Return what was written to stdout so far."""
        return self.stdout.read_text(encoding="utf-8")

    def err(self) -> str:
        """Return what was written to stderr so far."""
        return self.stderr.read_text(encoding="utf-8")

    def tree(self) -> int:
        """How many live below the one guardian that runs for this test."""
        return sum(map(lives, self.guardian().children(recursive=True)))

    def guardian(self) -> psutil.Process:
        """Return the one guardian that runs for this test, not its parent, which has the same command line."""
        (child,) = psutil.Process().children()
        return next((one for one in child.children() if lives(one) and one.cmdline() == child.cmdline()), child)


@pytest.fixture
def roll() -> Iterator[RollCall]:
    call = RollCall()
    yield call
    call.close()


@pytest.fixture
def stage(tmp_path: Path, roll: RollCall) -> Iterator[PlayFolders]:
    here = PlayFolders(tmp_path, roll, marker=f"test/{uuid4().hex}")
    yield here
    # A test that fails must not leave its children to the next one.
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("PINCHBENCH_TRIAL", "").startswith(here.marker):
                process.kill()


@pytest.fixture
def runner(stage: PlayFolders) -> Iterator[Start]:
    """A call that starts a process which supervises so many agents."""
    started = []

    def start(
        argv: list[str], count: int = 1, timeout_s: float = LONG_S, gap_s: float = LONG_S
    ) -> subprocess.Popen[bytes]:
        numbers = [str(count), str(timeout_s), str(gap_s)]
        words = [sys.executable, str(stage.script("runner", RUNNER)), str(stage.folder), stage.marker, *numbers]
        child = subprocess.Popen([*words, *argv], stdout=subprocess.PIPE, start_new_session=True)
        started.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()
