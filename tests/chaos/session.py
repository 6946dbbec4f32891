"""One runner in a process of its own: what it shows, what it is hit with, and who outlives it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from pinchbench.process.leftovers import MARKER, RUNNER
from processes import lives

LOOK_S = 0.002  # how often a runner is looked at: finer than anything it does
LIMIT_S = 400.0  # a session of a few hundred short trials, on a machine with other work
GONE_S = 60.0  # after this, whatever outlives a runner is reported; long enough for a busy machine
COMMAND = (sys.executable, "-m", "pinchbench")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The folders of one run, all below `folder`, and how to begin it: `options` go to the first runner.

    `cache` is where releases of OpenClaw are installed, if not in the run's own home.
    """

    folder: Path
    options: tuple[str, ...]
    cache: Path | None = None

    @property
    def output_dir(self) -> Path:
        return self.folder / "results"

    @property
    def run_root(self) -> Path:
        return self.folder / "runs"

    @property
    def run(self) -> Path | None:
        """The folder of the run; None while it has nothing that could be resumed."""
        return next((path.parent for path in sorted(self.output_dir.glob("*/run.json"))), None)

    @property
    def journal(self) -> Path | None:
        """Its journal; None while there is none."""
        path = self.run / "journal.jsonl" if self.run is not None else None
        return path if path is not None and path.exists() else None

    @property
    def calls(self) -> Path:
        """Where a fake OpenClaw notes its calls."""
        return self.folder / "bin" / "calls.log"

    def next_argv(self) -> list[str]:
        """What goes on with the run, or begins it."""
        if self.run is not None:
            return ["resume", str(self.run)]
        return [*self.options, f"--output-dir={self.output_dir}", f"--run-root={self.run_root}"]

    def environment(self) -> dict[str, str]:
        """That of a user who has set nothing, with a home here."""
        home = self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PINCHBENCH_", "OPENCLAW_"))}
        cache = {} if self.cache is None else {"PINCHBENCH_CACHE": str(self.cache)}
        return {**kept, **cache, "HOME": str(home)}


class Session:
    """A runner from its start to its death: a context manager that owns the process."""

    def __init__(self, place: Place, number: int, *, command: Sequence[str] = COMMAND) -> None:
        """Start what is next; what it prints goes to files named after `number`."""
        self._place = place
        self._logs = place.folder / "logs"
        self._logs.mkdir(exist_ok=True)
        self._stderr = self._logs / f"{number:04}.stderr"
        self.began = time.monotonic()
        with self._stderr.open("wb") as err, (self._logs / f"{number:04}.stdout").open("wb") as out:
            self._process = subprocess.Popen(
                [*command, *place.next_argv()],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=place.environment(),
                cwd=place.folder,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def shown(self) -> list[str]:
        """The whole lines on stderr so far."""
        return self._stderr.read_bytes().decode("utf-8").split("\n")[:-1]

    def wait(
        self, condition: Callable[[], bool] = lambda: False, *, limit_s: float = LIMIT_S, look_s: float = LOOK_S
    ) -> bool:
        """Wait until the condition holds or the runner is dead; false when neither comes in time."""
        due = time.monotonic() + limit_s
        while time.monotonic() < due:
            if self.code is not None or condition():
                return True
            time.sleep(look_s)
        return False

    def hit(self, number: signal.Signals) -> bool:
        """Send a signal; false when the runner was dead already."""
        if self.code is not None:
            return False
        self._process.send_signal(number)
        return True

    def survivors(self) -> list[psutil.Process]:
        """The living processes of this runner, whatever they call themselves."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.pid not in (self.pid, os.getpid()) and self._is_ours(process) and lives(process):
                    found.append(process)
        return found

    def _is_ours(self, process: psutil.Process) -> bool:
        """By the mark of its runner, by what it was started with, or by where it works."""
        with suppress(psutil.Error, OSError):
            environment = process.environ()
            if MARKER in environment and environment.get(RUNNER, "").startswith(f"{self.pid} "):
                return True
        with suppress(psutil.Error, OSError):
            if any(str(self._place.folder) in word for word in process.cmdline()[1:]):
                return True
        return Path(process.cwd()).is_relative_to(self._place.folder)


def wait_until_gone(find: Callable[[], list[psutil.Process]]) -> list[str]:
    """Wait until nobody is found; return the command lines of those who stay."""
    due = time.monotonic() + GONE_S
    while found := find():
        if time.monotonic() > due:
            return [describe(process) for process in found]
        time.sleep(LOOK_S)
    return []


def describe(process: psutil.Process) -> str:
    """Its number and command line."""
    with suppress(psutil.Error):
        return f"{process.pid} {' '.join(process.cmdline())[:300]}"
    return str(process.pid)
