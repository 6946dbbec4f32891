"""OpenClawAgent: runs one task in one workspace, from the first turn to the final transcript."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import create_task_group, move_on_after, to_thread

from pinchbench.model.ending import Reason
from pinchbench.model.facts import LoadFacts
from pinchbench.model.task import HOME_FOLDERS, Turn
from pinchbench.openclaw.command import TurnCommand, is_long, preloaded, turn_argv
from pinchbench.openclaw.conversation import UserReply
from pinchbench.openclaw.export import Export, collect_sessions
from pinchbench.openclaw.progress import Progress, ProgressCallbacks
from pinchbench.openclaw.sessions import AnyStore
from pinchbench.openclaw.task_result import TaskResult, decide
from pinchbench.openclaw.transcript import TranscriptFacts
from pinchbench.process.disk import is_disk_full
from pinchbench.process.follow import Follower, next_look_s
from pinchbench.process.output import Output
from pinchbench.process.supervise import EndReason, Limits, ProcessSpec, StopSignal, never_held, supervise
from pinchbench.results.evidence import Evidence
from pinchbench.sandbox.spec import HOME, Mount

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pinchbench.model.task import Task
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.conversation import ConversationUser
    from pinchbench.openclaw.homes.gateway_log import GatewayLog
    from pinchbench.openclaw.homes.private import Home
    from pinchbench.process.supervise import Leftover, ProcessEnd
    from pinchbench.sandbox.spec import Forward

LINGER_S = 15.0  # OpenClaw exits 1 to 2 s after its answer (measured); after this time it never will
MUCH_BYTES = 32 * 1024  # after a larger transcript read, the next one follows immediately
CLOSE_LIMIT_S = 1.0  # closing a file only needs a worker thread
RELEASE_LIMIT_S = 30.0  # to end the processes that a trial left running in a gateway
LONG_MESSAGE = Path(__file__).with_name("long_message.mjs")


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenClawAgent:
    """The agent `home.agent_id` of an installed OpenClaw.

    One agent runs one task at a time; agents with separate homes can run concurrently.
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
        stop_signal: StopSignal | None = None,
        callbacks: ProgressCallbacks | None = None,
        before_turn: Callable[[int], Awaitable[None]] | None = None,
        held_s: Callable[[], float] = never_held,
        services: tuple[Forward, ...] = (),
        user: ConversationUser | None = None,
    ) -> TaskResult:
        """Run every turn of `task` and read its transcript.

        Args:
            task: the task to run.
            workspace: an existing folder with the task's files; it is never deleted.
            evidence: an existing folder for output and transcript.
            timeout_s: the time limit for all turns together, in seconds; by default the task's own.
            marker: the name of the trial, which is in the environment of every process it starts.
            stop_signal: its `stop` ends the task with the reason `interrupted`.
            callbacks: receives events while the task runs.
            before_turn: awaited with the index of each turn before its process starts.
            held_s: returns for how many seconds the task has waited for others so far, which is not its own time.
            services: what the agent can connect to beside the model, for a home that allows it.
            user: answers the agent after the task's turns, in the last session, for as long as it has something to
                say. It takes none of the time limit.

        Failures such as a missing program, a timeout or a missing transcript are reported as the result's `reason`, not
        as exceptions. Raises OSError if the home or the evidence folder can't be written, or if a file of OpenClaw
        can't
        be read because of the machine (no descriptors, no memory, a failing disk), and OpenClawError if the home can't
        be prepared.

        On return and on cancellation, every process it started is dead; a cancellation ends them first and then
        propagates.
        """
        files = Evidence(folder=evidence)
        budget_s = task.timeout_s if timeout_s is None else timeout_s
        marker = marker or f"{task.task_id}/{time.time_ns()}"
        # the model reads it, and in a sandbox nothing tells it which task this is
        name = task.task_id if self.home.sandbox is None else "session"
        base = f"{name}_{time.time_ns() // 1_000_000}"
        stop_signal = stop_signal or StopSignal()
        began = anyio.current_time()
        await self.home.prepare(workspace)
        setup_s = anyio.current_time() - began
        agent_id = self.home.agent_id  # another comes next, if this one's home can't be used again
        left: tuple[Leftover, ...] = ()
        said = UserReply()
        progress = Progress(callbacks=callbacks or ProgressCallbacks(), held_s=held_s)
        # stderr always: many failures are reported only there
        shown = (files.stdout, files.stderr) if progress.callbacks.output is not None else (files.stderr,)
        try:
            async with AsyncExitStack() as stack:
                if (log := self.home.log) is not None:
                    progress.listener = await stack.enter_async_context(log.listening(progress.logged))
                outputs: list[Output] = []
                for path in shown:
                    follower = await stack.enter_async_context(Follower(path))
                    outputs.append(Output(path, follower, partial(progress.output, path)))
                is_over = False
                turns = list(task.turns)
                for index, turn in enumerate(turns):  # to which the user adds while they are sent
                    is_over = index > 0 and (not progress.expects(turn) or (is_over and not turn.new_session))
                    if is_over:
                        continue
                    if index == 0 or turn.new_session:
                        session_id = base if index == 0 else f"{base}_{index + 1}"
                        store = AnyStore(self.home.state_dir, self.home.agent_id, session_id)
                        progress.begin_session(session_id, store)
                    left_s = budget_s - progress.ran_s()
                    spec = await self._spec(
                        turn,
                        task=task,
                        session_id=progress.sessions[-1].id,
                        left_s=left_s,
                        files=files,
                        workspace=workspace,
                        marker=marker,
                        services=services,
                    )
                    if before_turn is not None:
                        await before_turn(index)
                    await self._turn(spec, left_s, progress, stop_signal, outputs)
                    if not progress.goes_on():
                        break
                    if index + 1 == len(turns):
                        said = await _reply(user, progress, stop_signal)
                        turns += [Turn(prompt=said.message)] if said.message else []
        finally:
            with move_on_after(CLOSE_LIMIT_S, shield=True):
                for session in progress.sessions:
                    await session.store.close()
            with move_on_after(RELEASE_LIMIT_S, shield=True):
                left = await self.home.release(workspace, tools=progress.tools(), finished=progress.finished())
        seen_as = workspace if self.home.sandbox is None else self.home.sandbox.seen_workspace(workspace)
        exported, full = await to_thread.run_sync(
            collect_sessions,
            progress.sessions,
            files,
            (workspace, self.home.state_dir, evidence),
            seen_as,
            progress.log.text,
        )
        result = self._result(task, progress, exported, full, workspace=workspace, files=files)
        return replace(
            _after(said, result),
            agent_id=agent_id,
            leftovers=(*result.leftovers, *(one.command for one in left)),
            setup_s=setup_s,
        )

    async def _spec(
        self,
        turn: Turn,
        *,
        task: Task,
        session_id: str,
        left_s: float,
        files: Evidence,
        workspace: Path,
        marker: str,
        services: tuple[Forward, ...],
    ) -> ProcessSpec:
        sandbox = self.home.sandbox
        message = turn.prompt_in(workspace if sandbox is None else sandbox.seen_workspace(workspace))
        command = TurnCommand(
            agent_id=self.home.agent_id,
            session_id=session_id,
            message=message,
            timeout_s=left_s,
            local=self.home.local,
            thinking=self.thinking,
        )
        env = {**self.home.env, **task.env}
        argv = turn_argv(self.openclaw.program, command)
        if is_long(message):
            folder = files.folder if sandbox is None else self.home.state_dir
            file = folder / f"message-{session_id}.txt"
            await to_thread.run_sync(partial(file.write_text, message, encoding="utf-8", newline=""))
            if self.openclaw.message_file:
                argv = turn_argv(self.openclaw.program, command, message_file=file)
            else:
                argv[-1] = "--message="
                env = preloaded(env, LONG_MESSAGE, file)
        # the state and the temporary files of a private home, which lie side by side
        own = (self.home.state_dir.parent,) if self.home.local else ()
        spec = ProcessSpec(
            argv=argv,
            cwd=workspace,
            env=env,
            stdout=files.stdout,
            stderr=files.stderr,
            marker=marker,
            limits=self.limits,
            measured=(workspace, *own),
        )
        if sandbox is None:
            return spec
        return sandbox.enter(
            spec,
            state=self.home.state_dir,
            program_file=LONG_MESSAGE,
            places=task_places(task, workspace),
            services=services,
        )

    async def _turn(
        self,
        spec: ProcessSpec,
        left_s: float,
        progress: Progress,
        stop_signal: StopSignal,
        outputs: list[Output],
    ) -> None:
        """Run one turn's process, and follow its session, its output and the gateway's log meanwhile."""
        own = StopSignal(hurry=stop_signal.hurry)
        session = progress.sessions[-1]
        progress.begin_turn()
        began = anyio.current_time()
        held_before_s = progress.held_s()

        def held_s() -> float:
            return progress.held_s() - held_before_s

        async with create_task_group() as group:
            group.start_soon(_pass_on, stop_signal, own)
            group.start_soon(self._follow_session, progress, own)
            for output in outputs:
                group.start_soon(output.follow)
            if progress.listener is not None:
                group.start_soon(_follow_log, progress.listener.log)
            end = await supervise(spec, timeout_s=left_s, held_s=held_s, stop_signal=own)
            group.cancel_scope.cancel()
        progress.note(end, began, held_s=held_s())
        # Read the rest now: an answer that is read later would count as the next turn's.
        while await progress.read_on(session):
            pass
        for output in outputs:
            await output.finish()
        if progress.listener is not None:
            await progress.listener.log.poll()
            if (failure := progress.listener.log.failure) is not None:
                raise failure

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

    def _result(
        self,
        task: Task,
        progress: Progress,
        exported: Export | OSError,
        full: str,
        *,
        workspace: Path,
        files: Evidence,
    ) -> TaskResult:
        last = progress.ends[-1]
        if isinstance(exported, OSError):
            # only what was read live is available
            reason = Reason.DISK_FULL if full or is_disk_full(exported) else Reason.EVIDENCE_LOST
            note = f"the transcript could not be kept: {exported}"
            exported = Export(facts=TranscriptFacts(usage=progress.usage()))
        else:
            turn = progress.last_turn(exported.last_session)
            complaints = progress.complaints.complaints
            if self.home.local:
                complaints = replace(complaints, gateway="")  # it has no gateway to lose
            reason, note = decide(
                last,
                exported.facts,
                turn,
                complaints,
                lingered=progress.lingered,
                full_disk=full,
                has_log=self.home.local or progress.listener is not None,
            )
            if reason.is_valid and exported.elsewhere:
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
            lookups=tuple(dict.fromkeys(name for end in progress.ends for name in end.lookups)),
            load=_load(progress.ends, is_local=self.home.local),
        )


def task_places(task: Task, workspace: Path, home: str = HOME) -> tuple[Mount, ...]:
    """Return what a task's agent sees at paths that the task states: its workspace, files of the suite, in its home."""
    own = Mount(source=str(workspace), target=task.workspace_path, writable=True)
    shown = (Mount(source=str(one.source), target=one.path) for one in task.shown)
    kept = (
        Mount(source=str(workspace / HOME_FOLDERS / name), target=f"{home}/{name}", writable=True)
        for name in task.home_folders
    )
    return (*([own] if task.workspace_path else []), *shown, *kept)


def _load(ends: Sequence[ProcessEnd], *, is_local: bool) -> LoadFacts | None:
    """Add up the load during the turns; None if it was not measured in each. In a gateway, no turn is a process."""
    loads = [end.load for end in ends if end.load is not None]
    if not loads or len(loads) < len(ends):
        return None
    load = reduce(LoadFacts.__add__, loads)
    return load if is_local else replace(load, cpu_wait_s=None)


async def _follow_log(log: GatewayLog) -> None:
    while True:
        await log.poll()
        await anyio.sleep(next_look_s())


def _after(said: UserReply, result: TaskResult) -> TaskResult:
    """Return the result of a task whose user has said this last."""
    if said.failed is None or not result.reason.is_valid:
        return result
    return replace(result, reason=said.failed, note=said.note)


async def _reply(user: ConversationUser | None, progress: Progress, stop_signal: StopSignal) -> UserReply:
    """Return what the user, if there is one, says to an answer; `interrupted` if the attempt is stopped meanwhile."""
    if user is None or not progress.has_answer():
        return UserReply()
    said = UserReply(failed=Reason.INTERRUPTED, note="stopped while the user's message was awaited")
    async with create_task_group() as group:

        async def stop() -> None:
            await stop_signal.stop.wait()
            group.cancel_scope.cancel()

        group.start_soon(stop)
        said = await user.reply_to(progress.last_answer())
        group.cancel_scope.cancel()
    return said


async def _pass_on(stop_signal: StopSignal, own: StopSignal) -> None:
    await stop_signal.stop.wait()
    own.stop.set()
