"""Run one process under a guardian, within a time limit; nothing it started survives."""

from __future__ import annotations

import errno
import math
import os
import sys
import time
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import (
    CancelScope,
    Event,
    create_task_group,
    fail_after,
    move_on_after,
    run_process,
    sleep_forever,
    to_thread,
)
from anyio.lowlevel import checkpoint_if_cancelled

from pinchbench.process.awake import AwakeTimer, Clocks
from pinchbench.process.guardian_link import GuardianLink, guardian_command, guardian_env
from pinchbench.process.leftovers import end_marked
from pinchbench.process.prepared_process import prepared_process

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from typing import BinaryIO, Literal

GRACE_S = 10.0  # OpenClaw needs about 5 s to end after SIGTERM (measured on 2026.9.6)
# When the runner is gone nobody waits for a tidy end; all must be dead within 1 s, of which 32 guardians on two busy
# cores need half to look through all processes and kill theirs (measured).
ORPHAN_GRACE_S = 0.3
SWEEP_S = 1.0  # for what the agent left running after its own end
OUTPUT_LIMIT_BYTES = 512 * 1024 * 1024  # stdout and stderr of one process together
START_LIMIT_S = 60.0  # a guardian starts in 20 ms; a machine in deep swap may take far longer
MARKED_LIMIT_S = 30.0  # to look through all processes of the machine for those with a marker, again and again
EXIT_LIMIT_S = 5.0  # a guardian exits milliseconds after its report, but on a machine in deep swap
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
    """How long and how much. Seconds and bytes; none negative.

    A tree of more than `max_processes` processes is ended at once, without grace; 0 is no limit. With `sweep_s` 0 what the
    agent left running gets SIGKILL at once, no SIGTERM.
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
    `PINCHBENCH_RUNNER`, who runs it. With `prepared`, the name of a module, no program is started: its `main` is called in
    a fork of the guardian, with the one argument that `argv` then has (see `process.prepared`).
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdout: Path
    stderr: Path
    marker: str
    stdin: Path = Path(os.devnull)
    limits: Limits = Limits()
    prepared: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessEnd:
    """How it ended.

    `exit_code` is negative for a signal, as in `subprocess`; None where none is known. `duration_s` runs from
    the spawn to the end of the last process of the tree, `ran_s` to the moment the end was decided (exit, limit
    or stop); neither counts time in which the machine was suspended or the guardian stopped. `asleep_s` is how long
    the machine was suspended meanwhile, or this process stopped, which need not have stopped the agent. `cpu_s` is the
    tree's CPU time, `peak_rss_bytes` its largest process. `error` says why it did not start. `level` is how it was
    contained: `guardian` (nothing escapes) or `session`. `answer` is what a prepared job sent before it ended by itself.
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


class Leave:
    """Words to a running process from outside: end it politely, or at once.

    `stop` asks for a proper end now; the process counts as `STOPPED`. `hurry` cuts every grace short.
    Both events may be shared by many processes.
    """

    def __init__(self, *, stop: Event | None = None, hurry: Event | None = None) -> None:
        """Create inside an event loop."""
        self.stop = stop or Event()
        self.hurry = hurry or Event()


def contain_level() -> str:
    """How trials are contained here: `guardian` on Linux, `session` elsewhere."""
    return "guardian" if sys.platform.startswith("linux") else "session"


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
    await checkpoint_if_cancelled()  # from here on there is something to end
    try:
        link = GuardianLink()
    except OSError as error:
        return ProcessEnd(reason=EndReason.NOT_STARTED, error=str(error))
    turn = _Turn(spec, link, leave or Leave(), level or contain_level(), clocks)
    swept_s = 0.0
    try:
        with link:
            # In tasks of their own, since no shield holds back the native cancellation of a task.
            async with create_task_group() as group:
                group.start_soon(partial(link.converse, spec, gap_s=clocks.gap_s))
                group.start_soon(turn.run, timeout_s)
    finally:
        if not link.proves_all_dead or turn.level == "session":
            # The guardian itself is gone, gave up, or could not see everybody: the marker finds who is left.
            began = anyio.current_time()
            with move_on_after(MARKED_LIMIT_S, shield=True):
                await to_thread.run_sync(end_marked, spec.marker, abandon_on_cancel=True)
            swept_s = anyio.current_time() - began
    return turn.end(swept_s=swept_s)


class _Turn:
    """One process under its guardian, from the start to the report."""

    def __init__(self, spec: ProcessSpec, link: GuardianLink, leave: Leave, level: str, clocks: Clocks) -> None:
        self.level = level
        self._spec = spec
        self._link = link
        self._leave = leave
        self._clocks = clocks
        self._timer = AwakeTimer(clocks)
        self._guarded = CancelScope(shield=True)
        self._timed_out = False
        self._ran_s = 0.0

    async def run(self, timeout_s: float) -> None:
        """Run the guardian, which runs the agent, within the time limit.

        Whatever ends the turn, the guardian is asked to end its tree and then exits by itself; it is killed only when it
        does not.
        """
        link, spec = self._link, self._spec
        try:
            with fail_after(math.inf) as limit:  # `_watch` sets its deadline: only awake time counts
                async with create_task_group() as group:
                    group.start_soon(self._watch, limit, timeout_s)
                    try:
                        # one that has ended can't be killed, and anyio tells so
                        with suppress(ProcessLookupError), self._guarded:
                            async with _open_files(spec) as (stdin, stdout, stderr):
                                if spec.prepared:
                                    await self._call(stdin, stdout, stderr)
                                else:
                                    await run_process(
                                        guardian_command(self.level, link.theirs.fileno()),
                                        stdin=stdin,
                                        stdout=stdout,
                                        stderr=stderr,
                                        cwd=spec.cwd,
                                        env=guardian_env(spec),
                                        pass_fds=(link.theirs.fileno(),),
                                        start_new_session=True,
                                        check=False,
                                    )
                    except (OSError, ValueError) as error:  # no room for another process, no such folder or file
                        link.failure = {"message": str(error)}
                    finally:
                        link.hang_up()
                await checkpoint_if_cancelled()  # the shield above has held this back
        except TimeoutError:
            self._timed_out = True

    async def _call(self, *standard: BinaryIO) -> None:
        """The same with a guardian that is forked from a process that is kept."""
        spec, link = self._spec, self._link
        async with prepared_process(spec.prepared, level=self.level, marker=spec.marker) as process:
            if not await process.call([link.theirs.fileno(), *(file.fileno() for file in standard)]):
                await process.end(kill=True)

    async def _watch(self, limit: CancelScope, timeout_s: float) -> None:
        """Let the deadline pass when the time is up, and have the tree ended whatever ends the turn."""
        try:
            await self._timer.wait(self._link.started, self._leave.stop, until_s=START_LIMIT_S)
            self._start_timer()
            if not await self._timer.wait(self._link.ended, self._leave.stop, until_s=timeout_s):
                # Not before: a deadline ahead would pass during a stop of this process, and nobody could move it.
                limit.deadline = anyio.current_time()
                await sleep_forever()
        finally:
            self._ran_s = self._timer.awake_s
            with CancelScope(shield=True):  # bounded by the timer: a limit of the event loop's is over on waking
                await self._end_tree()
            is_over = self._link.proves_all_dead  # then it exits by itself
            self._guarded.deadline = anyio.current_time() + (EXIT_LIMIT_S if is_over else 0)

    def _start_timer(self) -> None:
        """Count from the agent's start, of which the event loop may hear late where many start together."""
        passed_s = max(0.0, time.monotonic() - self._link.started_at)
        self._timer = AwakeTimer(self._clocks, passed_s=passed_s if passed_s <= self._clocks.gap_s else 0.0)

    async def _end_tree(self) -> None:
        """Have the guardian end its tree, if it still has one, and wait for its report: within the grace and a margin."""
        link, leave, limits = self._link, self._leave, self._spec.limits
        until_s = self._ran_s + limits.grace_s + limits.sweep_s + REPORT_MARGIN_S
        await self._timer.wait(link.given, until_s=until_s)
        if not link.ended.is_set() and not leave.hurry.is_set():
            link.say("stop")
            await self._timer.wait(link.ended, leave.hurry, until_s=until_s)
        link.say("kill")
        await self._timer.wait(link.ended, until_s=until_s)

    def end(self, *, swept_s: float) -> ProcessEnd:
        """How it ended. `swept_s` is how long those were looked for whom the guardian left."""
        link, timer = self._link, self._timer
        if link.failure is not None:
            return ProcessEnd(
                reason=EndReason.NOT_STARTED,
                error=str(link.failure["message"]),
                not_found=link.failure.get("errno") == errno.ENOENT,
                level=self.level,
            )
        told = link.report
        if told is None:
            return ProcessEnd(
                reason=EndReason.GUARDIAN_LOST,
                error="the guardian of this trial died",
                ran_s=self._ran_s,
                duration_s=timer.awake_s + swept_s,
                asleep_s=timer.asleep_s,
                level=self.level,
            )
        # What happened first is the guardian's to say: the agent may have ended just before the word to stop came.
        reason = EndReason(str(told["reason"]))
        if reason is EndReason.STOPPED and self._timed_out:
            reason = EndReason.TIMED_OUT
        names = ("exit_code", "ran_s", "duration_s", "killed", "cpu_s", "peak_rss_bytes", "level")
        fields = {name: told[name] for name in names}
        return ProcessEnd(
            reason=reason,
            asleep_s=max(timer.asleep_s, float(str(told["asleep_s"]))),
            leftovers=tuple(Leftover(**one) for one in told["leftovers"]),  # type: ignore[attr-defined]
            answer=str(told.get("answer", "")),
            **fields,  # type: ignore[arg-type]
        )


@asynccontextmanager
async def _open_files(spec: ProcessSpec) -> AsyncGenerator[tuple[BinaryIO, BinaryIO, BinaryIO]]:
    """The process's stdin, stdout and stderr. Raises OSError."""
    with ExitStack() as stack:
        yield await to_thread.run_sync(_open_now, spec, stack)


def _open_now(spec: ProcessSpec, stack: ExitStack) -> tuple[BinaryIO, BinaryIO, BinaryIO]:
    """Open them; `stack` closes them. An agent may have put a named pipe in the place of one: nobody waits at its other end."""

    def opener(path: str, flags: int) -> int:
        return os.open(path, flags | os.O_NONBLOCK, 0o600)

    def opened(path: Path, mode: Literal["rb", "ab"]) -> BinaryIO:
        return stack.enter_context(open(path, mode, buffering=0, opener=opener))

    return opened(spec.stdin, "rb"), opened(spec.stdout, "ab"), opened(spec.stderr, "ab")
