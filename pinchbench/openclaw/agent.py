"""OpenClawAgent: one task in one workspace, from the first turn to the authoritative transcript."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import create_task_group, move_on_after, to_thread

from pinchbench.model import Reason, Usage
from pinchbench.openclaw.command import TurnCommand, is_long, preloaded, turn_argv
from pinchbench.openclaw.complaints import ComplaintReader
from pinchbench.openclaw.disk import find_full, is_disk_full
from pinchbench.openclaw.sessions import AnyStore
from pinchbench.openclaw.task_result import Evidence, LastTurn, TaskResult, decide
from pinchbench.openclaw.transcript import TranscriptFacts, TranscriptReader, describe
from pinchbench.process.follow import Follower
from pinchbench.process.lines import LineSplitter
from pinchbench.process.supervise import EndReason, Leave, Limits, ProcessEnd, ProcessSpec, supervise
from pinchbench.results.transcript_lines import written_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.model import Task, Turn
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.home import Home
    from pinchbench.process.supervise import Leftover

POLL_S = 0.1  # how often a transcript and the output files are looked at: well under what a person notices
LINGER_S = 15.0  # OpenClaw ends 1 to 2 s after its answer (measured); one that has not after this never will
MUCH_BYTES = 32 * 1024  # of a transcript in one look: there may be more to read at once
SHOWN_LINE_BYTES = 4096
SHOWN_BYTES = 32 * 1024  # of one look at a file that grows: 40 ms of work if every line is empty
LAST_LOOKS = 8  # at a file whose trial is over, 256 KiB each
CLOSE_LIMIT_S = 1.0  # closing a file takes a thread's turn, no more
RELEASE_LIMIT_S = 30.0  # to end what a trial has left running in a gateway
LONG_MESSAGE = Path(__file__).with_name("long_message.mjs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """Who wants to know while a trial runs. Calls are made on the event loop and must return at once.

    `activity` gets one line on what the agent does, and the usage of the trial so far; `output` gets the name
    of the stream (`stdout`, `stderr`) and a line. `rate_limited` is called for each model call that the provider
    refused as too many, also while OpenClaw tries again by itself.
    """

    activity: Callable[[str, Usage], None] | None = None
    output: Callable[[str, str], None] | None = None
    rate_limited: Callable[[], None] | None = None


@dataclass(slots=True)
class _Session:
    """One session of the trial, followed live across its turns."""

    id: str
    store: AnyStore
    reader: TranscriptReader = field(default_factory=TranscriptReader)


@dataclass(slots=True)
class _Output:
    """One of a trial's output files, followed live across its turns. Each line goes to `take`."""

    path: Path
    follower: Follower
    take: Callable[[str], None]
    splitter: LineSplitter = field(default_factory=lambda: LineSplitter(max_line_bytes=SHOWN_LINE_BYTES))

    async def read_on(self) -> bool:
        """Take what is new. False when nothing is.

        Of a flood only the head of each look is taken, and its end by the next: nobody could read more, and the agents need
        the disk and the event loop.
        """
        data = await self.follower.read()
        for line in self.splitter.feed(data[:SHOWN_BYTES]):
            self.take(line.data.decode("utf-8", "replace"))
        if len(data) > SHOWN_BYTES:
            left_out = len(data) - SHOWN_BYTES + self.follower.skip(SHOWN_BYTES)
            self.take(f"… {left_out} bytes are not shown; {self.path} has them all")
        return bool(data)

    async def follow(self) -> None:
        """Read on until cancelled."""
        while True:
            await self.read_on()
            await anyio.sleep(POLL_S)

    async def finish(self) -> None:
        """Take what a process that is gone wrote last."""
        for _ in range(LAST_LOOKS):
            if not await self.read_on():
                break
        if (rest := self.splitter.finish()) is not None:
            self.take(rest.data.decode("utf-8", "replace"))


@dataclass(slots=True)
class _Progress:
    """What the turns of a trial have come to so far.

    `before` is what the transcript of the running turn's session said before it; `answered_at` the clock time of its
    final answer, while that is the last word. `complaints` are those of the running turn; `refused` counts the calls that
    earlier turns complained of as too many, `told` those that the watcher has heard of.
    """

    watch: Watch
    complaints: ComplaintReader = field(default_factory=ComplaintReader)
    refused: int = 0
    told: int = 0
    ends: list[ProcessEnd] = field(default_factory=list)
    ran: list[float] = field(default_factory=list)
    sessions: list[_Session] = field(default_factory=list)
    before: TranscriptFacts = TranscriptFacts()
    answered_at: float | None = None
    lingered: bool = False

    def begin_turn(self) -> None:
        """Forget what only the turn before is about."""
        self.before, self.answered_at, self.lingered = self.sessions[-1].reader.facts, None, False
        self.refused += self.complaints.rate_limits
        self.complaints = ComplaintReader()

    def output(self, path: Path, line: str) -> None:
        """Take a line of stdout or stderr."""
        if path.stem == "stderr":
            refused = self.complaints.rate_limits
            self.complaints.feed(line, time.time())
            if self.complaints.rate_limits > refused:
                self._tell()
        if self.watch.output is not None:
            self.watch.output(path.stem, line)

    def event(self, session: _Session, line: bytes) -> None:
        """Take a line of the transcript."""
        calls = session.reader.usage.requests
        events = session.reader.feed(line)
        if session.reader.usage.requests > calls:
            self.complaints.answered(written_at(events[-1]))
        for event in events:
            if self.watch.activity is not None and (what := describe(event)):
                self.watch.activity(what, self.usage())
        self._tell()

    def usage(self) -> Usage:
        """What all sessions have used so far."""
        first, *others = (session.reader.usage for session in self.sessions)
        return sum(others, first)

    def rate_limits(self) -> int:
        """How many calls were refused as too many.

        Of one that OpenClaw gave up on, transcript and stderr both tell; of one that it tried again, only stderr does, and
        nobody but the transcript where a gateway makes the calls.
        """
        written = sum(session.reader.rate_limits for session in self.sessions)
        return max(written, self.refused + self.complaints.rate_limits)

    def _tell(self) -> None:
        count = self.rate_limits()
        for _ in range(count - self.told):
            if self.watch.rate_limited is not None:
                self.watch.rate_limited()
        self.told = max(self.told, count)

    def note(self, end: ProcessEnd, began: float) -> None:
        """Take the end of a turn that began at this clock time."""
        # an agent that was waited for after its answer has not worked meanwhile
        waited = self.answered_at is not None and end.reason in (EndReason.STOPPED, EndReason.TIMED_OUT)
        self.ran.append((self.answered_at or began) - began if waited else end.ran_s)
        self.ends.append(end)

    def ran_s(self) -> float:
        return sum(self.ran)

    def answered(self, facts: TranscriptFacts) -> bool:
        """Whether the running turn, and not an earlier one, ends in an answer."""
        return facts.answered and facts.user_messages > self.before.user_messages

    def last_turn(self, facts: TranscriptFacts | None) -> LastTurn:
        """What `facts`, those of the last session, say about its last turn; None: it has no transcript."""
        if facts is None:
            return LastTurn(found=False)
        return LastTurn(
            found=True,
            asked=facts.user_messages - self.before.user_messages,
            calls=facts.usage.requests - self.before.usage.requests,
            answered=self.answered(facts),
        )

    def tools(self) -> frozenset[str]:
        """The names of all tools that were called."""
        return frozenset().union(*(session.reader.facts.tools for session in self.sessions))

    def finished(self) -> bool:
        """Whether the last turn's process has come to its end by itself, and well, and all it did could be read."""
        read = all(one.reader.facts.events and not one.reader.facts.damaged for one in self.sessions)
        ended = bool(self.ends) and self.ends[-1].reason is EndReason.EXITED and self.ends[-1].exit_code == 0
        return ended and read

    def goes_on(self) -> bool:
        """Whether the last turn ended so that the next one makes sense."""
        last = self.ends[-1]
        return self.lingered or (last.reason is EndReason.EXITED and last.exit_code == 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenClawAgent:
    """The agent `home.agent_id` of an installed OpenClaw.

    One agent runs one task at a time; agents with homes of their own run side by side.
    """

    openclaw: OpenClaw
    home: Home
    thinking: str | None = None
    limits: Limits = Limits()
    linger_s: float = LINGER_S

    async def execute_task(
        self,
        task: Task,
        *,
        workspace: Path,
        evidence: Path,
        timeout_s: float | None = None,
        marker: str | None = None,
        leave: Leave | None = None,
        watch: Watch | None = None,
        before_turn: Callable[[int], None] | None = None,
    ) -> TaskResult:
        """Run every turn of `task` and read its transcript.

        `workspace` exists and holds the task's files; it is never deleted. `evidence` is an existing folder for
        output and transcript. `timeout_s` is the budget of all turns together (default: the task's own). `marker`
        names the trial in the environment of everything it starts. `before_turn` is called with each turn's
        index before its process starts.

        What goes wrong is in the result's `reason`, never an exception: a missing program, a timeout, no transcript.
        Raises OSError when the home or the evidence folder can't be written. `leave.stop` ends the task as `interrupted`. On return and on cancellation every process it
        started is dead; a cancel raises after that.
        """
        files = Evidence(folder=evidence)
        budget_s = task.timeout_s if timeout_s is None else timeout_s
        marker = marker or f"{task.task_id}/{time.time_ns()}"
        base = f"{task.task_id}_{time.time_ns() // 1_000_000}"
        leave = leave or Leave()
        began = anyio.current_time()
        await self.home.prepare(workspace)
        setup_s = anyio.current_time() - began
        agent_id = self.home.agent_id
        left: tuple[Leftover, ...] = ()
        progress = _Progress(watch=watch or Watch())
        # stderr always: much of what goes wrong is told nowhere else
        shown = (files.stdout, files.stderr) if progress.watch.output is not None else (files.stderr,)
        try:
            async with AsyncExitStack() as stack:
                outputs: list[_Output] = []
                for path in shown:
                    follower = await stack.enter_async_context(Follower(path))
                    outputs.append(_Output(path, follower, partial(progress.output, path)))
                for index, turn in enumerate(task.turns):
                    if index == 0 or turn.new_session:
                        session_id = base if index == 0 else f"{base}_{index + 1}"
                        store = AnyStore(self.home.state_dir, self.home.agent_id, session_id)
                        progress.sessions.append(_Session(session_id, store))
                    left_s = budget_s - progress.ran_s()
                    spec = await self._spec(
                        turn,
                        session_id=progress.sessions[-1].id,
                        left_s=left_s,
                        files=files,
                        workspace=workspace,
                        marker=marker,
                    )
                    if before_turn is not None:
                        before_turn(index)
                    await self._turn(spec, left_s, progress, leave, outputs)
                    if not progress.goes_on():
                        break
        finally:
            with move_on_after(CLOSE_LIMIT_S, shield=True):
                for session in progress.sessions:
                    await session.store.close()
            with move_on_after(RELEASE_LIMIT_S, shield=True):
                left = await self.home.release(workspace, tools=progress.tools(), finished=progress.finished())
        folders = (workspace, self.home.state_dir, evidence)
        exported, full = await to_thread.run_sync(_take_stock, progress.sessions, files, folders)
        result = self._result(task, progress, exported, full, workspace=workspace, files=files)
        leftovers = (*result.leftovers, *(one.command for one in left))
        return replace(result, agent_id=agent_id, leftovers=leftovers, setup_s=setup_s)

    async def _spec(
        self, turn: Turn, *, session_id: str, left_s: float, files: Evidence, workspace: Path, marker: str
    ) -> ProcessSpec:
        command = TurnCommand(
            agent_id=self.home.agent_id,
            session_id=session_id,
            message=turn.prompt,
            timeout_s=left_s,
            local=self.home.local,
            thinking=self.thinking,
        )
        env = dict(self.home.env)
        argv = turn_argv(self.openclaw.program, command)
        if is_long(turn.prompt):
            file = files.folder / f"message-{session_id}.txt"
            await to_thread.run_sync(partial(file.write_text, turn.prompt, encoding="utf-8", newline=""))
            if self.openclaw.message_file:
                argv = turn_argv(self.openclaw.program, command, message_file=file)
            else:
                argv[-1] = "--message="
                env = preloaded(env, LONG_MESSAGE, file)
        return ProcessSpec(
            argv=argv,
            cwd=workspace,
            env=env,
            stdout=files.stdout,
            stderr=files.stderr,
            marker=marker,
            limits=self.limits,
        )

    async def _turn(
        self, spec: ProcessSpec, left_s: float, progress: _Progress, leave: Leave, outputs: list[_Output]
    ) -> None:
        """Run one turn's process, with its followers beside it."""
        own = Leave(hurry=leave.hurry)
        session = progress.sessions[-1]
        progress.begin_turn()
        began = anyio.current_time()
        async with create_task_group() as group:
            group.start_soon(_pass_on, leave, own)
            group.start_soon(self._follow_session, progress, own)
            for output in outputs:
                group.start_soon(output.follow)
            end = await supervise(spec, timeout_s=left_s, leave=own)
            group.cancel_scope.cancel()
        progress.note(end, began)
        # what it wrote last: an answer that is read later would be taken for the next turn's
        while await _read_on(session, progress):
            pass
        for output in outputs:
            await output.finish()

    async def _follow_session(self, progress: _Progress, own: Leave) -> None:
        """Follow the transcript live, and end an agent that has answered and does not exit."""
        session = progress.sessions[-1]
        while True:
            if read_bytes := await _read_on(session, progress):
                answered = progress.answered(session.reader.facts)
                progress.answered_at = anyio.current_time() if answered else None
            elif progress.answered_at is not None and anyio.current_time() - progress.answered_at > self.linger_s:
                progress.lingered = True
                own.stop.set()
                return
            await anyio.sleep(0 if read_bytes > MUCH_BYTES else POLL_S)

    def _result(
        self,
        task: Task,
        progress: _Progress,
        exported: _Export | OSError,
        full: str,
        *,
        workspace: Path,
        files: Evidence,
    ) -> TaskResult:
        last = progress.ends[-1]
        if isinstance(exported, OSError):
            # what the live view has read is all there is
            reason = Reason.DISK_FULL if full or is_disk_full(exported) else Reason.EVIDENCE_LOST
            note = f"the transcript could not be kept: {exported}"
            exported = _Export(facts=TranscriptFacts(usage=progress.usage()))
        else:
            turn = progress.last_turn(exported.last_session)
            complaints = progress.complaints.complaints
            if self.home.local:
                complaints = replace(complaints, gateway="")  # it has none to lose
            reason, note = decide(last, exported.facts, turn, complaints, lingered=progress.lingered, full_disk=full)
            if reason.counts and exported.elsewhere:
                reason, note = Reason.WORKSPACE_FAILED, f"OpenClaw worked in {exported.elsewhere}, not in the workspace"
        return TaskResult(
            agent_id=self.home.agent_id,
            task_id=task.task_id,
            reason=reason,
            timed_out=last.reason is EndReason.TIMED_OUT,
            exit_code=last.exit_code,
            execution_time_s=round(progress.ran_s(), 3),
            workspace=workspace,
            evidence=files,
            session_ids=tuple(session.id for session in progress.sessions),
            store=exported.store,
            facts=exported.facts,
            note=note,
            rate_limits=max(exported.facts.rate_limits, progress.rate_limits()),
            asleep_s=round(sum(end.asleep_s for end in progress.ends), 3),
            cpu_s=round(sum(end.cpu_s for end in progress.ends), 3),
            peak_rss_bytes=max(end.peak_rss_bytes for end in progress.ends),
            leftovers=tuple(one.command for end in progress.ends for one in end.leftovers),
            level=last.level,
        )


def _elsewhere(cwds: tuple[str, ...], workspace: Path) -> str:
    """Where a session worked, if it says so and that is not the workspace."""
    place = workspace.resolve()
    return next((cwd for cwd in cwds if Path(cwd).resolve() != place), "")


async def _read_on(session: _Session, progress: _Progress) -> int:
    """Take what is new in a session. Return how many bytes that was, newlines included."""
    lines = await session.store.poll()
    for line in lines:
        progress.event(session, line)
    return sum(map(len, lines)) + len(lines)


async def _pass_on(leave: Leave, own: Leave) -> None:
    await leave.stop.wait()
    own.stop.set()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Export:
    """What the authoritative read has found.

    `last_session` is None when that session has no transcript. `elsewhere` is where OpenClaw worked, if not in the
    workspace.
    """

    facts: TranscriptFacts
    last_session: TranscriptFacts | None = None
    store: str = ""
    elsewhere: str = ""


def _take_stock(sessions: list[_Session], files: Evidence, folders: tuple[Path, ...]) -> tuple[_Export | OSError, str]:
    """The transcript, and which of these folders, of which the workspace comes first, is on a full disk."""
    exported = _export(sessions, files)
    if isinstance(exported, _Export):
        exported = replace(exported, elsewhere=_elsewhere(exported.facts.cwds, folders[0]))
    return exported, find_full(folders)


def _export(sessions: list[_Session], files: Evidence) -> _Export | OSError:
    """Write the transcript of all sessions to one file, line by line as OpenClaw stored it, and count it.

    An error is a value: the trial has run, and what else is known of it must not be lost.
    """
    whole, last, kind = TranscriptReader(), None, ""
    try:
        with files.transcript.open("wb") as file:
            for session in sessions:
                last = None
                if (lines := session.store.lines(copy=file)) is None:
                    continue
                kind = session.store.kind()
                last = TranscriptReader()
                for line in lines:
                    whole.feed(line)
                    last.feed(line)
        if not kind:
            files.transcript.unlink()
    except OSError as error:
        return error
    return _Export(facts=whole.facts, last_session=last.facts if last is not None else None, store=kind)
