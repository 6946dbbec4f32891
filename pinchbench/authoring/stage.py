"""Where a task is played without an agent: its workspace is set up, a script played there, and the result graded."""

from __future__ import annotations

import errno
import os
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from anyio import create_task_group, move_on_after, to_thread

from pinchbench.authoring.play import PlayFolders, StepFailedError, play, write_transcript
from pinchbench.errors import RunInterruptedError, ServiceError
from pinchbench.files.archive_write import keep_workspace
from pinchbench.files.folders import folder_error, remove_folder
from pinchbench.files.workspace import fill_workspace
from pinchbench.grading.checks import GradeJob
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.trial import TrialKey
from pinchbench.openclaw.agent_processes import task_places
from pinchbench.results.evidence_files import Evidence
from pinchbench.runner.run_folders import CLEAN_UP_LIMIT_S, open_work_folder
from pinchbench.runner.signals import Interrupt
from pinchbench.runner.trial.task_services import ServicePlace, open_services
from pinchbench.runner.trial.task_setup import set_up_workspace
from pinchbench.sandbox.sandbox_spec import WORKSPACE, Forward

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.model.task import Task
    from pinchbench.suite.solution import SolutionTurn


STOPPING = "Ending the running scripts. The third Ctrl-C exits immediately."
HURRYING = "Ending the running scripts. The next Ctrl-C exits immediately."
_Result = TypeVar("_Result")


async def work_in_scratch(
    work: Callable[[Path, dict[int, _Result]], Awaitable[None]],
    *,
    tasks: int,
    run_root: Path,
    say: Callable[[str], None] | None,
) -> list[_Result]:
    """Call `work` with a private folder of `run_root`, and return what it put into its dict, by ascending key.

    What the work has put below the folder's `HOMES` is removed afterwards, or by the next process if this one is
    killed. `tasks` is the number of results that there should be.

    With `say`, SIGINT, SIGTERM and SIGHUP cancel the work, `say` gets a sentence, and RunInterruptedError is raised. A
    cancellation ends the work as well, without words, and goes on. Raises ResultsError when there is no room for the
    folder.
    """
    interrupt = Interrupt(STOPPING, HURRYING)
    done: dict[int, _Result] = {}
    try:
        async with open_work_folder(run_root, prefix="tasks-") as folder, create_task_group() as group:
            if say is not None:
                group.start_soon(interrupt.listen, say)
            with interrupt.setup:
                await work(folder.resolve(), done)
            group.cancel_scope.cancel()
    except OSError as error:
        raise folder_error(run_root, error, option="--run-root") from error
    if interrupt.signal is not None:
        sentence = f"{interrupt.signal.name} came; {len(done)} of {tasks} tasks were checked."
        raise RunInterruptedError(interrupt.signal, sentence)
    return [done[place] for place in sorted(done)]


NEEDS_NAMESPACES = "it needs files at paths that it states, or services, and this machine has no namespaces for that"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """Where one task is played: `folder` exists only while the stage is open. `marker` names the processes.

    The commands of a task that states paths or has services run in namespaces, where the workspace is at these paths,
    and `reads` are files and folders that its scripts need. All others run among the user's processes.
    """

    task: Task
    folder: Path
    sandbox: CheckSandbox | None
    marker: str
    reads: tuple[Path, ...] = ()

    @property
    def refused(self) -> str:
        """Why the task can't be played here, as a sentence without a full stop; empty if it can."""
        if self.task.needs_openclaw:
            return "only OpenClaw can play its solution"
        return NEEDS_NAMESPACES if self.task.needs_namespaces and self.sandbox is None else ""

    @property
    def workspace(self) -> Path:
        """The task's workspace: in a folder of its own, as a task may have the name of any folder next to it."""
        return self.folder / "workspace" / self.task.task_id

    @property
    def _printed(self) -> Evidence:
        """Where the logs of services are until the work is graded."""
        return Evidence(folder=self.folder / "services")

    def records(self) -> dict[str, bytes]:
        """Return what the services of the last play have printed, by the names of the evidence. Blocks."""
        return {log.name: log.read_bytes() for log in self._printed.service_logs if log.is_file()}

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Create the folder, and remove it at the end of the block, also on cancellation.

        Raises ResultsError for an OSError in the block, which is the machine's fault.
        """
        try:
            await to_thread.run_sync(self._create)
            yield
        except OSError as error:
            raise folder_error(self.folder, error, option="--run-root") from error
        finally:
            with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
                await to_thread.run_sync(remove_folder, self.folder, abandon_on_cancel=True)

    def _create(self) -> None:
        for folder in (self.folder, self.folder / "home", self._printed.folder):
            folder.mkdir(mode=0o700)

    async def set_up(self) -> None:
        """Fill the workspace as a trial's is filled. Raises OSError."""
        await to_thread.run_sync(fill_workspace, self.workspace, ())
        await set_up_workspace(
            self.task, self.workspace, seen_as=self.workspace, sandbox=self.sandbox, marker=self.marker
        )

    async def play(self, turns: Sequence[SolutionTurn]) -> list[dict[str, object]]:
        """Play a script in the workspace, with the task's services, and return its transcript.

        What the services print replaces what those of a script before it have printed: logs are appended to.

        Raises StepFailedError, also if a service does not start or ends.
        """
        beside = ServicePlace(
            workspace=self.workspace, evidence=self._printed, sandbox=self.sandbox, marker=self.marker
        )
        await to_thread.run_sync(_remove_logs, self._printed)
        try:
            async with open_services(self.task, beside) as services:
                events = await play(turns, self.task, self._folders(services.forwards))
        except ServiceError as error:
            raise StepFailedError(str(error)) from error
        if services.ended:
            raise StepFailedError(services.ended[0])
        return events

    def _folders(self, services: tuple[Forward, ...]) -> PlayFolders:
        home, task = self.folder / "home", self.task
        plan = None
        if task.needs_namespaces and self.sandbox is not None:
            plan = self.sandbox.plan_program(
                self.workspace,
                owned=(home,),
                cwd=task.workspace_path or WORKSPACE,
                path=os.environ.get("PATH", os.defpath),
                visible=self.reads,
                places=task_places(task, self.workspace, str(home)),
                services=services,
            )
        return PlayFolders(
            workspace=self.workspace,
            home=home,
            output=self.folder / "output.log",
            marker=self.marker,
            env=task.env,
            sandbox=plan,
        )

    async def grade(
        self,
        events: Sequence[Mapping[str, object]],
        grade: Callable[[GradeJob], Awaitable[Grade]],
        *,
        workspace: Path | None = None,
        evidence: Path | None = None,
        records: Mapping[str, bytes] | None = None,
    ) -> Grade:
        """Return the grade of a workspace, of the stage's own by default, with a transcript.

        `records` are other files of the evidence, those of the last play by default. `evidence` is a folder that does
        not exist yet; what is graded is kept there. Raises OSError.
        """
        kept = Evidence(folder=evidence or self.folder / "evidence")
        await to_thread.run_sync(kept.folder.mkdir, 0o700)
        await to_thread.run_sync(_write_records, kept.folder, self.records() if records is None else records)
        await to_thread.run_sync(write_transcript, kept.transcript, events)
        written = await to_thread.run_sync(keep_workspace, workspace or self.workspace, kept.workspace)
        found = await grade(
            GradeJob(
                key=TrialKey(task_id=self.task.task_id, repetition=1),
                task=self.task,
                evidence=kept,
                workspace=str(self.workspace),
                transcript_length=len(events),
                ended_at=time.time(),
                timeout_s=self.task.timeout_s,
                marker=self.marker,
                not_kept=written.left_out,
            )
        )
        if found.check is not None and found.check.ungraded is Ungraded.DISK_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return found


def _remove_logs(printed: Evidence) -> None:
    for log in printed.service_logs:
        log.unlink(missing_ok=True)


def _write_records(folder: Path, records: Mapping[str, bytes]) -> None:
    for name, data in records.items():
        (folder / name).write_bytes(data)
