"""Agents whose children hide in every way, below a runner of their own, and who of them is still alive."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import psutil

import pinchbench
from pinchbench.defaults import Network
from pinchbench.sandbox.levels import Level
from pinchbench.sandbox.sandbox_spec import make_spec
from processes import lives
from sandbox_programs import SYSTEM

STAY_S = 60  # those who survive end by themselves
STAY = f"import sys, time; time.sleep({STAY_S})"
# What a process does before it executes the program STAY, with its own arguments.
HIDERS = {
    "child": "",
    "session": "os.setsid()",
    "daemon": "os.setsid(); os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0)",
    "cleared environment": "os.execve(sys.executable, [sys.executable, '-c', STAY, *sys.argv[1:]], {})",
    "ignored signals": "[signal.signal(n, signal.SIG_IGN) for n in signal.valid_signals() - {9, 17, 19}]",
    "no parent death signal": "import ctypes; ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)",
    "subreaper": "import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.fork()",
}
HIDERS["all at once"] = "; ".join(
    [HIDERS["daemon"], HIDERS["no parent death signal"], HIDERS["ignored signals"], HIDERS["cleared environment"]]
)
LIFE = "life"  # a named pipe that each of them inherits: the kernel closes it when the last one has ended
MAIN = f"import os, signal, sys, time\nSTAY = {STAY!r}\nos.set_inheritable(os.open({LIFE!r}, os.O_WRONLY), True)\n"
MAIN += "\n".join(
    f"if os.fork() == 0:\n    {hide or 'pass'}\n    exec(STAY)\n    os._exit(0)" for hide in HIDERS.values()
)
MAIN += f"\nprint('started', flush=True)\ntime.sleep({STAY_S})"
RUNNER = """
import json, sys
from pathlib import Path
import anyio
from pinchbench.process.supervise import supervise
from pinchbench.process.spec import Limits, ProcessSpec
job = json.loads(sys.argv[1])
folder = Path(job["folder"])
spec = ProcessSpec(argv=job["argv"], cwd=folder / "workspace", env={"PATH": "/usr/bin:/bin"}, stdout=folder / "stdout",
                   stderr=folder / "stderr", marker=job["marker"], limits=Limits(), sandbox=job["plan"])
print(anyio.run(lambda: supervise(spec, timeout_s=600)).reason, flush=True)
"""


class Victim(StrEnum):
    """Who is killed."""

    RUNNER = "runner"
    GUARDIAN = "guardian"
    PARENT = "guardian's parent"
    AGENT = "agent"


class Hidden:
    """A runner, its guardian and an agent with its children at one level, in a folder with an unused name."""

    def __init__(self, folder: Path, level: Level) -> None:
        self.folder = folder
        self.level = level
        self.tag = f"hidden-{folder.name}-{os.getpid()}"
        (folder / "workspace").mkdir(parents=True)
        os.mkfifo(folder / "workspace" / LIFE)
        life = folder / "workspace" / LIFE
        self._life = os.fdopen(os.open(life, os.O_RDONLY | os.O_NONBLOCK), "rb")
        self._own_life = life.open("wb", buffering=0)
        job = {
            "folder": str(folder),
            "argv": [sys.executable, "-c", MAIN, self.tag],
            "marker": f"hidden/{self.tag}",
            "plan": self._plan(),
        }
        self.runner = subprocess.Popen(
            [sys.executable, "-c", RUNNER, json.dumps(job)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )

    def _plan(self) -> dict[str, object] | None:
        workspace = self.folder / "workspace"
        python = [str(Path(one).resolve()) for one in (sys.prefix, sys.base_prefix)]
        match self.level:
            case Level.NAMESPACES:
                paths = [Path(one) for one in python]
                return make_spec(state=None, workspace=workspace, path_dirs=paths, network=Network.NONE).plan()
            case Level.LANDLOCK:
                return {
                    "level": "landlock",
                    "readable": [*SYSTEM, *python],
                    "writable": [str(workspace), "/dev/null"],
                    "network": "model",
                    "port": 1,
                    "cwd": str(workspace),
                }
            case Level.NONE:
                return None

    def alive(self) -> list[psutil.Process]:
        """Return the agent and its children, whatever they did, the oldest first."""
        return [one for one in _processes(lambda words: self.tag in words) if one.pid != self.runner.pid]

    def wait_until_gone(self, limit_s: float) -> float:
        """Return after how many seconds the agent and its children had ended; `limit_s` if one lives then. Blocks."""
        began = time.monotonic()
        life = select.poll()
        life.register(self._life, 0)
        self._own_life.close()
        while (passed_s := time.monotonic() - began) < limit_s:
            if life.poll((limit_s - passed_s) * 1000):
                gone_s = time.monotonic() - began
                if not self.alive():  # it may have started without having opened the pipe
                    return gone_s
        return limit_s

    def has_started(self) -> bool:
        """Whether all children have been made. They may not have hidden yet."""
        with suppress(FileNotFoundError):
            return (self.folder / "stdout").read_bytes() == b"started\n"
        return False

    def pid(self, victim: Victim) -> int | None:
        """Return the process to kill; None before it exists."""
        match victim:
            case Victim.RUNNER:
                return self.runner.pid
            case Victim.GUARDIAN:
                return next(iter(self._guardians()[::-1]), None)
            case Victim.PARENT:
                return next(iter(self._guardians()[:-1]), None)
            case Victim.AGENT:
                return next((one.pid for one in self.alive()), None)

    def _guardians(self) -> list[int]:
        """Return the guardian, and before it its parent if that is not the runner."""
        program = str(Path(pinchbench.__file__).parent / "process" / "guardian")
        below = {one.pid for one in psutil.Process(self.runner.pid).children(recursive=True)}
        return [one.pid for one in _processes(lambda words: program in " ".join(words)) if one.pid in below]

    def close(self) -> None:
        """End all of it."""
        self._life.close()
        self._own_life.close()
        self.runner.kill()
        self.runner.communicate()
        for process in self.alive():
            with suppress(psutil.Error):
                process.kill()


def _processes(is_wanted: Callable[[list[str]], bool]) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if is_wanted(process.cmdline()) and lives(process):
                found.append((process.create_time(), process.pid, process))
    return [process for _, _, process in sorted(found, key=lambda one: one[:2])]
