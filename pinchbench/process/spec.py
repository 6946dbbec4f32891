"""What a supervised process is, what limits it, how it ended, and the events that stop it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import Event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.model.facts import LoadFacts

GRACE_S = 10.0  # OpenClaw needs about 5 s to exit after SIGTERM (measured on 2026.9.6)
# When the runner has died, a clean exit is of no use and all processes must be dead within 1 s. Of this, 32 guardians
# on two busy cores need half to scan all processes and kill their own (measured).
ORPHAN_GRACE_S = 0.3
SWEEP_S = 0.5  # for processes that the agent left running when it exited: none lives for a second after it
OUTPUT_LIMIT_BYTES = 512 * 1024 * 1024  # stdout and stderr of one process together


class EndReason(StrEnum):
    """The reason why a supervised process ended."""

    EXITED = "exited"
    STOPPED = "stopped"
    TIMED_OUT = "timed_out"
    OUTPUT_LIMIT = "output_limit"
    RESOURCE_LIMIT = "resource_limit"
    NOT_STARTED = "not_started"
    GUARDIAN_LOST = "guardian_lost"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of a process tree, in seconds and bytes; none is negative.

    Attributes:
        grace_s: the time between SIGTERM and SIGKILL.
        orphan_grace_s: the same if the runner has died.
        sweep_s: the same for processes that outlive the agent; if 0, they get SIGKILL without SIGTERM.
        output_limit_bytes: the maximum size of stdout and stderr together.
        max_processes: the maximum number of processes and threads. 0 means no limit, as below. A tree that exceeds
            this limit or one of those below is killed immediately.
        max_memory_bytes: the maximum memory of all processes together, in which shared pages count once.
        max_disk_bytes: the maximum size of the `measured` folders together, and of each file.
    """

    grace_s: float = GRACE_S
    orphan_grace_s: float = ORPHAN_GRACE_S
    sweep_s: float = SWEEP_S
    output_limit_bytes: int = OUTPUT_LIMIT_BYTES
    max_processes: int = 0
    max_memory_bytes: int = 0
    max_disk_bytes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftover:
    """A process that was still running when the process that was run had exited."""

    pid: int
    command: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessSpec:
    """The process to run.

    Attributes:
        env: the environment, to which the marker is added.
        stdout: the file that standard output is appended to; `stderr` likewise.
        marker: is inherited by every descendant in the environment variable `PINCHBENCH_TRIAL`, together with the
            runner's identity in `PINCHBENCH_RUNNER`.
        measured: the folders that `limits.max_disk_bytes` is about.
        input: if set, the process starts with a socket as stdin, from which `take_channel` reads this input, and on
            which it answers (see `process.guardian.answer`); `stdin` is ignored.
        keeps_output: whether other processes are kept from writing to stdout and stderr: these are sockets then, which
            nobody can open through `/proc` or as `/dev/stderr`, not pipes.
        sandbox: the plan of `SandboxSpec`, whose paths `argv` and `env` use; None to run it among the user's processes.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdout: Path
    stderr: Path
    marker: str
    stdin: Path = Path(os.devnull)
    limits: Limits = Limits()
    measured: tuple[Path, ...] = ()
    input: str | None = None
    keeps_output: bool = False
    sandbox: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessEnd:
    """How a supervised process ended.

    Times don't include periods in which the machine was suspended or the guardian was stopped.

    Attributes:
        exit_code: negative for a signal, as in `subprocess`; None if unknown.
        ran_s: from the start until the process exited, reached a limit or was stopped.
        duration_s: from the start until the last process of the tree ended.
        asleep_s: how long the machine was suspended or this process was stopped meanwhile. The agent need not have been
            stopped too.
        leftovers: the processes that outlived the agent; long lists are cut.
        killed: the number of processes that had to be killed.
        cpu_s: the CPU time of the tree.
        peak_rss_bytes: the peak memory of its largest process.
        level: how the tree was contained: `namespaces`, `guardian` (no process can escape), `landlock` (the same, with
            restrictions) or `session`.
        error: why the process did not start, that its guardian died, or what it used of what, and the limit of that.
        not_found: whether it did not start because the executable does not exist.
        answer: the answer that a process with an `input` sent before it exited by itself.
        lookups: the host names that were looked up in a sandbox without a network.
        refused: the names of other processes of the sandbox that tried to connect with the model.
        load: how long processes waited for the machine until it exited, reached a limit or was stopped.
    """

    reason: EndReason
    exit_code: int | None = None
    ran_s: float = 0.0
    duration_s: float = 0.0
    asleep_s: float = 0.0
    leftovers: tuple[Leftover, ...] = ()
    killed: int = 0
    cpu_s: float = 0.0
    peak_rss_bytes: int = 0
    level: str = "guardian"
    error: str = ""
    not_found: bool = False
    answer: str = ""
    lookups: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    load: LoadFacts | None = None


class StopSignal:
    """Events that ask running processes to end.

    `stop` ends a process with a grace; its end reason is `STOPPED`. `hurry` cuts every grace short. Both events may be
    shared by many processes.
    """

    def __init__(self, *, stop: Event | None = None, hurry: Event | None = None) -> None:
        """Create missing events; must be called inside an event loop."""
        self.stop = stop or Event()
        self.hurry = hurry or Event()

    async def pass_on(self, other: StopSignal) -> None:
        """Stop what another signal stops, once this one is set."""
        await self.stop.wait()
        other.stop.set()
