"""Runs a process under a guardian with a time limit, and ends every process that it started."""

from __future__ import annotations

import errno
import math
import os
import sys
import time
from contextlib import ExitStack, closing, suppress
from functools import partial
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope, create_task_group, fail_after, move_on_after, run_process, sleep_forever, to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from pinchbench.model.facts import LoadFacts
from pinchbench.process.awake import AwakeTimer, Clocks
from pinchbench.process.guardian_link import GuardianLink, guardian_command, guardian_env
from pinchbench.process.leftovers import end_marked
from pinchbench.process.spec import EndReason, Leftover, ProcessEnd, ProcessSpec, StopSignal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import BinaryIO, Literal


START_LIMIT_S = 60.0  # a guardian starts in 20 ms, but far more slowly on a heavily swapping machine
MARKED_LIMIT_S = 30.0  # to scan all processes of the machine repeatedly for a marker
EXIT_LIMIT_S = 5.0  # a guardian exits milliseconds after its report, unless the machine is swapping heavily
REPORT_MARGIN_S = 8.0  # SIGKILL rounds (at most 5 s) and the report, after the grace
SYSTEM_CLOCKS = Clocks()


def contain_level() -> str:
    """Return how trials are contained on this system: `guardian` on Linux, `session` elsewhere."""
    return "guardian" if sys.platform.startswith("linux") else "session"


def never_held() -> float:
    """Return 0: no time is excluded from a time limit."""
    return 0.0


async def supervise(
    spec: ProcessSpec,
    *,
    timeout_s: float,
    held_s: Callable[[], float] = never_held,
    stop_signal: StopSignal | None = None,
    level: str = "",
    clocks: Clocks = SYSTEM_CLOCKS,
) -> ProcessEnd:
    """Run `spec` until it exits, `timeout_s` seconds have passed since its start, or `stop_signal.stop` is set.

    Time in which the machine was suspended or this process was stopped does not count, nor do the seconds that `held_s`
    returns; it is called at least once per tick.

    On return and on cancellation, every process it started is dead. Ending them takes the grace plus at most
    `REPORT_MARGIN_S`. A cancellation first ends the tree, shielded and bounded, and then propagates. If the process
    can't be started, the end reason is `NOT_STARTED`; no exception is raised.
    """
    await checkpoint_if_cancelled()  # after this point, there are processes to end
    try:
        link = GuardianLink()
    except OSError as error:
        return ProcessEnd(reason=EndReason.NOT_STARTED, error=str(error))
    turn = _Turn(spec, link, stop_signal or StopSignal(), level or contain_level(), clocks)
    swept_s = 0.0
    try:
        with closing(link):
            # In separate tasks, because a shield does not protect from native cancellation of the calling task.
            async with create_task_group() as group:
                group.start_soon(partial(link.converse, spec, gap_s=clocks.gap_s))
                group.start_soon(turn.run, timeout_s, held_s)
    finally:
        if not link.proves_all_dead or turn.level == "session":
            # The guardian died, gave up, or can't see all processes: find the remaining ones by their marker.
            began = anyio.current_time()
            with move_on_after(MARKED_LIMIT_S, shield=True):
                await to_thread.run_sync(end_marked, spec.marker, abandon_on_cancel=True)
            swept_s = anyio.current_time() - began
    return turn.end(swept_s=swept_s)


class _Turn:
    """One process under its guardian, from the start to the report."""

    def __init__(
        self, spec: ProcessSpec, link: GuardianLink, stop_signal: StopSignal, level: str, clocks: Clocks
    ) -> None:
        self.level = level
        self._spec = spec
        self._link = link
        self._leave = stop_signal
        self._clocks = clocks
        self._timer = AwakeTimer(clocks)
        self._guarded = CancelScope(shield=True)
        self._timed_out = False
        self._ran_s = 0.0

    async def run(self, timeout_s: float, held_s: Callable[[], float]) -> None:
        """Run the guardian, which runs the agent, within the time limit.

        However the turn ends, the guardian is asked to end its tree and then exits by itself. It is killed only if it
        does not exit.
        """
        link, spec = self._link, self._spec
        try:
            with fail_after(math.inf) as limit:  # `_watch` sets its deadline: only awake time counts
                async with create_task_group() as group:
                    group.start_soon(self._watch, limit, timeout_s, held_s)
                    try:
                        # raised by anyio if the guardian exits just before it is killed
                        with suppress(ProcessLookupError), self._guarded, ExitStack() as stack:
                            stdin, stdout, stderr = await to_thread.run_sync(_open_files, spec, stack)
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
                    except (OSError, ValueError) as error:  # too many processes, or a missing folder or file
                        link.failure = {"message": str(error)}
                    finally:
                        link.hang_up()
                await checkpoint_if_cancelled()  # a cancellation that the shield above has delayed
        except TimeoutError:
            self._timed_out = True

    async def _watch(self, limit: CancelScope, timeout_s: float, held_s: Callable[[], float]) -> None:
        """Make `limit` expire when the time is up, and end the tree however the turn ends."""
        try:
            await self._timer.wait(self._link.started, self._leave.stop, until_s=START_LIMIT_S)
            self._start_timer()
            if not await self._timer.wait(self._link.ended, self._leave.stop, until_s=timeout_s, held_s=held_s):
                # Not set in advance: a future deadline could expire while this process is stopped and can't move it.
                limit.deadline = anyio.current_time()
                await sleep_forever()
        finally:
            self._ran_s = self._timer.awake_s
            with CancelScope(shield=True):  # bounded by the timer, as a deadline may have expired during a suspension
                await self._end_tree()
            is_over = self._link.proves_all_dead  # then the guardian exits by itself
            self._guarded.deadline = anyio.current_time() + (EXIT_LIMIT_S if is_over else 0)

    def _start_timer(self) -> None:
        """Count from the agent's actual start, which may be reported late if many agents start at the same time."""
        passed_s = max(0.0, time.monotonic() - self._link.started_at)
        self._timer = AwakeTimer(self._clocks, passed_s=passed_s if passed_s <= self._clocks.gap_s else 0.0)

    async def _end_tree(self) -> None:
        """Ask the guardian to end its tree if necessary, and wait for its report, within the grace and a margin."""
        link, stop_signal, limits = self._link, self._leave, self._spec.limits
        until_s = self._ran_s + limits.grace_s + limits.sweep_s + REPORT_MARGIN_S
        await self._timer.wait(link.given, until_s=until_s)
        if not link.ended.is_set() and not stop_signal.hurry.is_set():
            link.say("stop")
            await self._timer.wait(link.ended, stop_signal.hurry, until_s=until_s)
        link.say("kill")
        await self._timer.wait(link.ended, until_s=until_s)

    def end(self, *, swept_s: float) -> ProcessEnd:
        """Return how the process ended. `swept_s` is how long the search for processes left by the guardian took."""
        link, timer = self._link, self._timer
        if link.failure is not None:
            return ProcessEnd(
                reason=EndReason.NOT_STARTED,
                error=str(link.failure["message"]),
                not_found=link.failure.get("errno") == errno.ENOENT,
                level=self.level,
            )
        report = link.report
        if report is None:
            return ProcessEnd(
                reason=EndReason.GUARDIAN_LOST,
                error="the guardian of this trial died",
                ran_s=self._ran_s,
                duration_s=timer.awake_s + swept_s,
                asleep_s=timer.asleep_s,
                level=self.level,
            )
        # The guardian decides what happened first: the agent may have exited just before the request to stop arrived.
        reason = EndReason(str(report["reason"]))
        if reason is EndReason.STOPPED and self._timed_out:
            reason = EndReason.TIMED_OUT
        names = ("exit_code", "ran_s", "duration_s", "killed", "cpu_s", "peak_rss_bytes", "level", "error")
        fields = {name: report[name] for name in names}
        return ProcessEnd(
            reason=reason,
            asleep_s=max(timer.asleep_s, float(str(report["asleep_s"]))),
            leftovers=tuple(Leftover(**one) for one in report["leftovers"]),  # type: ignore[attr-defined]
            answer=str(report.get("answer", "")),
            lookups=_texts(report, "lookups"),
            refused=_texts(report, "refused"),
            load=_load(report),
            **fields,  # type: ignore[arg-type]
        )


def _texts(report: Mapping[str, object], name: str) -> tuple[str, ...]:
    texts = report.get(name)
    return tuple(map(str, texts)) if isinstance(texts, list) else ()


def _load(report: Mapping[str, object]) -> LoadFacts | None:
    times = report["load"]
    is_measured = isinstance(times, dict) and any(value is not None for value in times.values())
    return LoadFacts(measured_s=float(str(report["ran_s"])), **times) if is_measured else None  # type: ignore[arg-type]


def _open_files(spec: ProcessSpec, stack: ExitStack) -> tuple[BinaryIO, BinaryIO, BinaryIO]:
    """Open the process's stdin, stdout and stderr, which `stack` closes. Blocks. Raises OSError if one can't be opened.

    An agent may have replaced a file with a named pipe, whose opening must not wait for a process at its other end, or
    with a link, which is not followed.
    """

    def opener(path: str, flags: int) -> int:
        return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o600)

    def opened(path: Path, mode: Literal["rb", "ab"]) -> BinaryIO:
        return stack.enter_context(open(path, mode, buffering=0, opener=opener))

    if spec.input is None:
        stdin = opened(spec.stdin, "rb")
    else:  # without a name: it may hold what a check expects
        stdin = stack.enter_context(TemporaryFile(buffering=0))  # noqa: SIM115 - the stack closes it
        stdin.write(spec.input.encode())
        stdin.seek(0)
    return stdin, opened(spec.stdout, "ab"), opened(spec.stderr, "ab")
