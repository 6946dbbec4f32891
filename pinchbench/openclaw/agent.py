"""OpenClawAgent: runs one task in one workspace, from the first turn to the final transcript."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio import create_task_group, move_on_after, to_thread

from pinchbench.model.ending import Reason
from pinchbench.model.facts import LoadFacts
from pinchbench.model.task import GradingType, Task, Turn
from pinchbench.model.trial import TrialEvents
from pinchbench.openclaw.agent_processes import TaskExecution
from pinchbench.openclaw.agent_progress import Export, Progress, export_sessions
from pinchbench.openclaw.gateway_trial import run_in_gateway
from pinchbench.openclaw.sessions import TranscriptLimitError
from pinchbench.openclaw.task_result import TaskResult, decide
from pinchbench.openclaw.transcript import TranscriptFacts
from pinchbench.process.capacity import find_full, is_disk_full
from pinchbench.process.follow import Follower, Output, next_look_s
from pinchbench.process.spec import EndReason, Limits, ProcessSpec, StopSignal
from pinchbench.process.supervise import never_held, supervise
from pinchbench.results.evidence_files import Evidence

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from pinchbench.openclaw.homes.private import Home
    from pinchbench.openclaw.trial_clock import TrialClock
    from pinchbench.process.spec import ProcessEnd
    from pinchbench.sandbox.sandbox_spec import Forward


LINGER_S = 15.0  # OpenClaw exits 1 to 2 s after its answer (measured); after this time it never will
MUCH_BYTES = 32 * 1024  # after a larger transcript read, the next one follows immediately
CLOSE_LIMIT_S = 1.0  # closing a file only needs a worker thread


@dataclass(frozen=True, kw_only=True, slots=True)
class UserReply:
    """What the user says next; nothing, if the conversation is over.

    `failed` is the reason with which the attempt fails where nobody knows what the user would say, and `note` says why.
    """

    message: str = ""
    failed: Reason | None = None
    note: str = ""


class ConversationUser(Protocol):
    """The user of one attempt."""

    async def reply_to(self, answer: str) -> UserReply:
        """Return what the user says to the agent's last answer; a failure is part of what is returned.

        A cancellation ends what it waits for.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenClawAgent:
    """The agent `home.agent_id` of an installed OpenClaw.

    One agent runs one task at a time; agents with separate homes can run concurrently.
    """

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
        stop_signal: StopSignal | None = None,
        events: TrialEvents | None = None,
        before_turn: Callable[[int], Awaitable[None]] | None = None,
        held_s: Callable[[], float] = never_held,
        services: tuple[Forward, ...] = (),
        user: ConversationUser | None = None,
        clock: TrialClock | None = None,
        socket: Path | None = None,
    ) -> TaskResult:
        """Run every turn of `task` and read its transcript.

        Args:
            task: the task to run.
            workspace: an existing folder with the task's files; it is never deleted.
            evidence: an existing folder for output and transcript.
            timeout_s: the time limit for all turns together, in seconds; by default the task's own.
            marker: the name of the trial, which is in the environment of every process it starts.
            stop_signal: its `stop` ends the task with the reason `interrupted`.
            events: receives what is seen of the task while it runs.
            clock: the simulated one of the trial; None for the real one.
            socket: the Unix socket with which the trial's gateway connects, where the task needs one.
            before_turn: awaited with the index of each turn before its process starts.
            held_s: returns for how many seconds the task has waited for others so far, which is not its own time.
            services: what the agent can connect to besides the model, for a home that allows it.
            user: answers the agent after the task's turns, in the last session, for as long as it has something to
                say. It takes none of the time limit.

        Failures such as a missing program, a timeout or a missing transcript are reported as the result's `reason`, not
        as exceptions. Raises OSError if the home or the evidence folder can't be written, or if a file of OpenClaw
        can't be read because of the machine (no descriptors, no memory, a failing disk), and OpenClawError if the home
        can't be prepared.

        On return and on cancellation, every process it started is dead; a cancellation ends them first and then
        propagates.
        """
        files = Evidence(folder=evidence)
        # the model reads it, and in a sandbox nothing reveals which task this is
        name = task.task_id if self.home.sandbox is None else "session"
        began = anyio.current_time()
        await self.home.prepare(workspace)
        setup_s = anyio.current_time() - began
        now = None if clock is None else partial(clock.shown, task.timezone)
        progress = Progress(events=events or TrialEvents(), held_s=held_s, now=now)
        # stderr always: many failures are reported only there
        shown = (files.stdout, files.stderr) if progress.events.wants_output else (files.stderr,)
        said = UserReply()
        run = TaskExecution(
            home=self.home,
            task=task,
            workspace=workspace,
            files=files,
            progress=progress,
            marker=marker or f"{task.task_id}/{time.time_ns()}",
            timeout_s=task.timeout_s if timeout_s is None else timeout_s,
            stop_signal=stop_signal or StopSignal(),
            before_turn=before_turn,
            services=services,
            clock=clock,
            thinking=self.thinking,
            limits=self.limits,
        )
        try:
            async with AsyncExitStack() as stack:
                for path in shown:
                    follower = await stack.enter_async_context(aclosing(Follower(path)))
                    run.outputs.append(Output(path, follower, partial(progress.output, path)))
                if socket is not None and task.needs_gateway:
                    await run_in_gateway(run, run.of_gateway(socket), socket)
                    progress.changed += await self.home.restore(workspace)
                else:
                    said = await self._run_turns(run, user, f"{name}_{time.time_ns() // 1_000_000}")
        finally:
            with move_on_after(CLOSE_LIMIT_S, shield=True):
                await _close(progress)
        exported, full = await _collect(run)
        result = replace(_result(run, exported, full), setup_s=setup_s)
        if said.failed is None or not result.reason.is_valid:
            return result
        return replace(result, reason=said.failed, note=said.note, is_ours=True)

    async def execute_prompt(
        self,
        prompt: str,
        folder: Path,
        *,
        name: str,
        timeout_s: float,
        marker: str,
        before_turn: Callable[[int], Awaitable[None]] | None = None,
    ) -> TaskResult:
        """Run a task that is one prompt, in folders for its workspace and evidence that are made in `folder`.

        `name` is the task's id; the rest is as in `execute_task`.
        """
        task = Task(
            task_id=name,
            name=name,
            category="",
            grading_type=GradingType.AUTOMATED,
            prompt=prompt,
            turns=(Turn(prompt=prompt),),
            timeout_s=timeout_s,
        )
        workspace, evidence = folder / "workspace", folder / "evidence"
        for one in (workspace, evidence):
            await to_thread.run_sync(partial(one.mkdir, mode=0o700, exist_ok=True))
        return await self.execute_task(
            task, workspace=workspace, evidence=evidence, marker=marker, before_turn=before_turn
        )

    async def _run_turns(self, run: TaskExecution, user: ConversationUser | None, base: str) -> UserReply:
        """Run each turn in a process of its own; return what the user said last. `base` begins the sessions' ids."""
        progress = run.progress
        turns, said, is_over = list(run.task.turns), UserReply(), False
        for index, turn in enumerate(turns):  # to which the user adds while they are sent
            is_over = index > 0 and (not progress.expects(turn) or (is_over and not turn.new_session))
            if is_over:
                continue
            if index == 0 or turn.new_session:
                await _begin_session(run, base if index == 0 else f"{base}_{index + 1}")
            left_s = run.timeout_s - progress.ran_s
            spec = await run.of_turn(turn, progress.sessions[-1].id, left_s)
            if run.before_turn is not None:
                await run.before_turn(index)
            await self._turn(run, spec, left_s)
            progress.changed += await self.home.restore(run.workspace)
            if not progress.goes_on():
                break
            if index + 1 == len(turns):
                said = await ask_user(user, progress, run.stop_signal)
                turns += [Turn(prompt=said.message)] if said.message else []
        return said

    async def _turn(self, run: TaskExecution, spec: ProcessSpec, left_s: float) -> None:
        """Run one turn's process, and follow its session and its output meanwhile."""
        progress, stop_signal, outputs = run.progress, run.stop_signal, run.outputs
        own = StopSignal(hurry=stop_signal.hurry)
        session = progress.sessions[-1]
        progress.begin_turn()
        began = anyio.current_time()
        waited_before_s = progress.waited_s()

        def held_s() -> float:
            return progress.waited_s() - waited_before_s

        async with create_task_group() as group:
            group.start_soon(stop_signal.pass_on, own)
            group.start_soon(self._follow_session, progress, own)
            for output in outputs:
                group.start_soon(output.follow)
            end = await supervise(spec, timeout_s=left_s, held_s=held_s, stop_signal=own)
            group.cancel_scope.cancel()
        progress.note(end, began, held_s=held_s())
        # Read the rest now: an answer that is read later would count as the next turn's.
        while await progress.read_on(session):
            pass
        for output in outputs:
            await output.finish()

    async def _follow_session(self, progress: Progress, own: StopSignal) -> None:
        """Follow the transcript live, and stop an agent that does not exit within `linger_s` of its answer."""
        session = progress.sessions[-1]
        while True:
            if read_bytes := await progress.read_on(session):
                answered = progress.answered(session.reader.facts)
                progress.answered_at = anyio.current_time() if answered else None
            elif progress.answered_at is not None and anyio.current_time() - progress.answered_at > self.linger_s:
                progress.lingered = True
                own.stop.set()
                return
            await anyio.sleep(0 if read_bytes > MUCH_BYTES else next_look_s())


async def _begin_session(run: TaskExecution, session_id: str) -> None:
    """Begin a session from which the agent can't reach the one before, where the home allows that."""
    sessions = run.progress.sessions
    if sessions and (state := await run.home.renew(run.workspace)) is not None:
        await sessions[-1].store.close()
        sessions[-1].store = run.store(sessions[-1].id, state)
    run.progress.begin_session(session_id, run.store(session_id))


async def _collect(run: TaskExecution) -> tuple[Export | OSError, str]:
    """Export what all sessions have, and describe the first folder on a full disk; empty if none is."""
    try:
        exported = await to_thread.run_sync(export_sessions, run.progress.sessions, run.files, run.seen_workspace)
        places = (run.workspace, run.home.state_dir, run.files.folder)
        return exported, await to_thread.run_sync(find_full, places)
    finally:
        with move_on_after(CLOSE_LIMIT_S, shield=True):
            await _close(run.progress)  # reading has opened them again


def _result(run: TaskExecution, exported: Export | OSError, full: str) -> TaskResult:
    home, progress = run.home, run.progress
    last = progress.ends[-1]
    no_room = isinstance(exported, OSError) and is_disk_full(exported)
    if isinstance(exported, OSError):
        # only what was read live is available
        reason = Reason.DISK_FULL if full or no_room else Reason.EVIDENCE_LOST
        if isinstance(exported, TranscriptLimitError):
            reason = Reason.RESOURCE_LIMIT
        note = f"the transcript could not be kept: {exported}"
        exported = Export(facts=TranscriptFacts(usage=progress.usage()))
    else:
        turn = progress.last_turn(exported.last_session)
        if run.task.needs_gateway:
            exported, turn = replace(exported, facts=progress.together(exported.facts)), progress.whole(last)
        complaints = progress.complaints.complaints
        if home.local:
            complaints = replace(complaints, gateway="")  # it has no gateway to lose
        reason, note = decide(
            last, exported.facts, turn, complaints, lingered=progress.lingered, full_disk=full, has_log=home.local
        )
        if reason.is_valid and exported.elsewhere:
            reason, note = Reason.WORKSPACE_FAILED, f"OpenClaw worked in {exported.elsewhere}, not in the workspace"
    return TaskResult(
        agent_id=home.agent_id,
        task_id=run.task.task_id,
        reason=reason,
        timed_out=last.reason is EndReason.TIMED_OUT,
        exit_code=last.exit_code,
        execution_time_s=round(progress.ran_s, 3),
        workspace=run.workspace,
        evidence=run.files,
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
        lookups=tuple(dict.fromkeys(name for end in progress.ends for name in end.lookups)),
        refused=tuple(dict.fromkeys(name for end in progress.ends for name in end.refused)),
        is_ours=bool(full) or no_room,
        is_concurrent=run.task.needs_gateway,
        changed=tuple(dict.fromkeys(progress.changed)),
        load=_load(progress.ends, is_local=home.local),
    )


def _load(ends: Sequence[ProcessEnd], *, is_local: bool) -> LoadFacts | None:
    """Add up the load during the turns; None if it was not measured in each. In the user's gateway, no turn is one."""
    loads = [end.load for end in ends if end.load is not None]
    if not loads or len(loads) < len(ends):
        return None
    load = reduce(LoadFacts.__add__, loads)
    return load if is_local else replace(load, cpu_wait_s=None)


async def _close(progress: Progress) -> None:
    """Close the stores of all sessions, and remove the links to their databases."""
    for session in progress.sessions:
        await session.store.close()


async def ask_user(user: ConversationUser | None, progress: Progress, stop_signal: StopSignal) -> UserReply:
    """Return what the user, if there is one, says to an answer; `interrupted` if the attempt is stopped meanwhile."""
    if user is None or not progress.has_answer():
        return UserReply()
    said = UserReply(failed=Reason.INTERRUPTED, note="stopped while waiting for the user's message")
    async with create_task_group() as group:

        async def stop() -> None:
            await stop_signal.stop.wait()
            group.cancel_scope.cancel()

        group.start_soon(stop)
        said = await user.reply_to(progress.last_answer())
        group.cancel_scope.cancel()
    return said
