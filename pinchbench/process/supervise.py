"""Run one process under a guardian, within a time limit; nothing it started survives."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope, Event, create_task_group, move_on_after, to_thread

from pinchbench.process.awake import Clocks, Wakefulness
from pinchbench.process.leftovers import MARKER, RUNNER, end_marked, identity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

GUARDIAN = Path(__file__).with_name("guardian.py")
GRACE_S = 10.0  # OpenClaw needs about 5 s to end after SIGTERM (measured on 2026.9.6)
# When the runner is gone nobody waits for a tidy end; all must be dead within 1 s, of which 32 guardians on two busy
# cores need half to look through all processes and kill theirs (measured).
ORPHAN_GRACE_S = 0.3
SWEEP_S = 1.0  # for what the agent left running after its own end
OUTPUT_LIMIT_BYTES = 512 * 1024 * 1024  # stdout and stderr of one process together
START_LIMIT_S = 60.0  # a guardian starts in 20 ms; a machine in deep swap may take far longer
MARKED_LIMIT_S = 30.0  # to look through all processes of the machine for those with a marker, again and again
REPORT_MARGIN_S = 8.0  # SIGKILL rounds (at most 5 s) and the report, after the grace
SYSTEM_CLOCKS = Clocks()


class EndReason(StrEnum):
    """Why a supervised process ended."""

    EXITED = "exited"
    STOPPED = "stopped"
    TIMED_OUT = "timed_out"
    OUTPUT_LIMIT = "output_limit"
    PROCESS_LIMIT = "process_limit"
    NOT_STARTED = "not_started"
    GUARDIAN_LOST = "guardian_lost"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How long and how much. Seconds and bytes; all positive.

    A tree of more than `max_processes` processes is ended at once, without grace; 0 is no limit.
    """

    grace_s: float = GRACE_S
    orphan_grace_s: float = ORPHAN_GRACE_S
    sweep_s: float = SWEEP_S
    output_limit_bytes: int = OUTPUT_LIMIT_BYTES
    max_processes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftover:
    """A process that was still there when the one that was run had ended."""

    pid: int
    command: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessSpec:
    """What to run. `stdout` and `stderr` are files that are appended to; stdin is read from a file, or empty.

    `marker` is put into the environment as `PINCHBENCH_TRIAL` and reaches every descendant, and with it, as
    `PINCHBENCH_RUNNER`, who runs it.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdout: Path
    stderr: Path
    marker: str
    stdin: Path = Path(os.devnull)
    limits: Limits = Limits()


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessEnd:
    """How it ended.

    `exit_code` is negative for a signal, as in `subprocess`; None where none is known. `duration_s` runs from
    the spawn to the end of the last process of the tree, `ran_s` to the moment the end was decided (exit, limit
    or stop); neither counts time in which the machine was suspended or the guardian stopped. `asleep_s` is how long
    the machine was suspended meanwhile, or this process stopped, which need not have stopped the agent. `cpu_s` is the
    tree's CPU time, `peak_rss_bytes` its largest process. `error` says why it did not start. `level` is how it was
    contained: `guardian` (nothing escapes) or `session`.
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


class Leave:
    """Words to a running process from outside: end it politely, or at once.

    `stop` asks for a proper end now; the process counts as `STOPPED`. `hurry` cuts every grace short.
    Both events may be shared by many processes.
    """

    def __init__(self, *, stop: Event | None = None, hurry: Event | None = None) -> None:
        """Create inside an event loop."""
        self.stop = stop or Event()
        self.hurry = hurry or Event()


class _Guard:
    """The runner's end of the conversation with one guardian."""

    def __init__(self, ours: socket.socket) -> None:
        self._ours = ours
        self.started = Event()  # or failed
        self.ended = Event()  # the report is here, or never will be
        self.report: dict[str, object] | None = None
        self.failure: dict[str, object] | None = None

    def say(self, word: str) -> None:
        with suppress(OSError):  # it may have ended meanwhile, and said so
            self._ours.send(word.encode() + b"\n")

    async def listen(self) -> None:
        held = b""
        while True:
            try:
                data = self._ours.recv(65536)
            except BlockingIOError:
                await anyio.wait_readable(self._ours)
                continue
            except OSError:
                data = b""
            if not data:
                break
            *lines, held = (held + data).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
        self.started.set()
        self.ended.set()

    def _take(self, message: dict[str, object]) -> None:
        match message["event"]:
            case "started":
                self.started.set()
            case "failed":
                self.failure = message
            case _:
                self.report = message


def contain_level() -> str:
    """How trials are contained here: `guardian` on Linux, `session` elsewhere."""
    return "guardian" if sys.platform.startswith("linux") else "session"


class _Timer:
    """Waits for events within limits that count only the time in which this process is awake."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self._wakefulness = Wakefulness(clocks.read(), gap_s=clocks.gap_s)

    @property
    def awake_s(self) -> float:
        return self._wakefulness.awake_s

    @property
    def asleep_s(self) -> float:
        return self._wakefulness.asleep_s

    async def wait(self, *events: Event, until_s: float) -> bool:
        """Wait for one of the events. False when `awake_s` has reached `until_s` before any was set.

        On waking there is time left: what happened in the meantime is heard before the limit is.
        """
        while not any(event.is_set() for event in events):
            left_s = until_s - self.awake_s
            if left_s <= 0:
                return False
            with move_on_after(min(left_s, self._clocks.tick_s)):
                await _first(*events)
            self._wakefulness.feed(self._clocks.read())
        return True


async def supervise(
    spec: ProcessSpec,
    *,
    timeout_s: float,
    leave: Leave | None = None,
    level: str = "",
    clocks: Clocks = SYSTEM_CLOCKS,
) -> ProcessEnd:
    """Run `spec` until it exits, `timeout_s` seconds have passed since its start, or `leave.stop` is set.

    Seconds in which the machine was suspended or this process stopped do not count.
    On return, and also when this call is cancelled, every process it started is dead: within the grace
    (plus `REPORT_MARGIN_S` at the very most). A cancel ends the tree first, shielded and bounded, and then goes on.
    An executable that can't be started is a value (`NOT_STARTED`), never an exception.
    """
    leave = leave or Leave()
    level = level or contain_level()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    guard = _Guard(ours)
    settings = {
        **asdict(spec.limits),
        "gap_s": clocks.gap_s,
        "subreaper": level == "guardian",
        "drop_lc_ctype": "LC_CTYPE" not in spec.env,
    }
    timer = _Timer(clocks)
    timed_out = False
    ran_s = swept_s = 0.0
    try:
        async with create_task_group() as group:
            lifeline = CancelScope(shield=True)
            group.start_soon(_run_guardian, spec, settings, theirs, lifeline, guard)
            listener = CancelScope(shield=True)
            group.start_soon(_in_scope, listener, guard.listen)
            try:
                await timer.wait(guard.started, until_s=START_LIMIT_S)
                timer = _Timer(clocks)
                timed_out = not await timer.wait(guard.ended, leave.stop, until_s=timeout_s)
            finally:
                ran_s = timer.awake_s
                limit_s = spec.limits.grace_s + spec.limits.sweep_s + REPORT_MARGIN_S
                with CancelScope(shield=True):  # bounded by the timer: a limit of the event loop's is over on waking
                    await _end(guard, leave, timer, until_s=ran_s + limit_s)
                lifeline.cancel()
                listener.cancel()
    finally:
        ours.close()
        theirs.close()
        if _may_have_left_some(guard) or level == "session":
            # The guardian itself is gone, gave up, or could not see everybody: the marker finds who is left.
            began = anyio.current_time()
            with move_on_after(MARKED_LIMIT_S, shield=True):
                await to_thread.run_sync(end_marked, spec.marker, abandon_on_cancel=True)
            swept_s = anyio.current_time() - began
    duration_s = timer.awake_s + swept_s
    return _outcome(guard, timer, timed_out=timed_out, level=level, ran_s=ran_s, duration_s=duration_s)


async def _run_guardian(
    spec: ProcessSpec, settings: dict[str, object], theirs: socket.socket, lifeline: CancelScope, guard: _Guard
) -> None:
    # psutil, which the weaker level needs, lives in site-packages
    python = [sys.executable, "-I", "-S"] if settings["subreaper"] else [sys.executable, "-I"]
    argv = [*python, str(GUARDIAN), str(theirs.fileno()), json.dumps(settings), *spec.argv]
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    files = ExitStack()
    try:
        with files, lifeline:
            out = os.open(spec.stdout, flags, 0o600)
            files.callback(os.close, out)
            err = os.open(spec.stderr, flags, 0o600)
            files.callback(os.close, err)
            given = os.open(spec.stdin, os.O_RDONLY | os.O_CLOEXEC)
            files.callback(os.close, given)
            await anyio.run_process(
                argv,
                stdin=given,
                stdout=out,
                stderr=err,
                cwd=spec.cwd,
                env={**spec.env, MARKER: spec.marker, RUNNER: identity()},
                check=False,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )
    except (OSError, ValueError) as error:  # no such directory, an argument too long, one with a NUL in it
        guard.failure = {"message": str(error)}
    finally:
        theirs.close()  # the last one outside the guardian: now its end is seen as end of file


async def _in_scope(scope: CancelScope, call: Callable[[], Awaitable[None]]) -> None:
    with scope:
        await call()


async def _first(*events: Event) -> None:
    async with create_task_group() as group:

        async def wait(event: Event) -> None:
            await event.wait()
            group.cancel_scope.cancel()

        for event in events:
            group.start_soon(wait, event)


async def _end(guard: _Guard, leave: Leave, timer: _Timer, *, until_s: float) -> None:
    """Make the guardian end its tree, if it still has one, before `timer` shows `until_s`."""
    if not guard.ended.is_set():
        guard.say("kill" if leave.hurry.is_set() else "stop")
        if not leave.hurry.is_set():
            await timer.wait(guard.ended, leave.hurry, until_s=until_s)
            guard.say("kill")
    await timer.wait(guard.ended, until_s=until_s)


def _may_have_left_some(guard: _Guard) -> bool:
    return guard.failure is None and (guard.report is None or bool(guard.report["survivors"]))


def _outcome(
    guard: _Guard, timer: _Timer, *, timed_out: bool, level: str, ran_s: float, duration_s: float
) -> ProcessEnd:
    if guard.failure is not None:
        return ProcessEnd(
            reason=EndReason.NOT_STARTED,
            error=str(guard.failure["message"]),
            not_found=guard.failure.get("errno") == errno.ENOENT,
            level=level,
        )
    report = guard.report
    if report is None:
        return ProcessEnd(
            reason=EndReason.GUARDIAN_LOST,
            error="the guardian of this trial died",
            ran_s=ran_s,
            duration_s=duration_s,
            asleep_s=timer.asleep_s,
            level=level,
        )
    # What happened first is the guardian's to say: the agent may have ended just before the word to stop came.
    reason = EndReason(str(report["reason"]))
    if reason is EndReason.STOPPED and timed_out:
        reason = EndReason.TIMED_OUT
    names = ("exit_code", "ran_s", "duration_s", "killed", "cpu_s", "peak_rss_bytes", "level")
    fields = {name: report[name] for name in names}
    asleep_s = max(timer.asleep_s, float(str(report["asleep_s"])))
    leftovers = tuple(Leftover(**one) for one in report["leftovers"])  # type: ignore[attr-defined]
    return ProcessEnd(reason=reason, asleep_s=asleep_s, leftovers=leftovers, **fields)  # type: ignore[arg-type]
