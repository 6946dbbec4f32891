"""What a task needs before its agent starts: abilities and a sandbox, its set-up script, its files."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import Network
from pinchbench.files.workspace import copy_files
from pinchbench.model.task import HOME_FOLDERS, Task
from pinchbench.openclaw.short_command import short_lived_folder
from pinchbench.openclaw.trial_clock import find_libfaketime
from pinchbench.process.spec import EndReason, Limits, ProcessSpec
from pinchbench.process.supervise import supervise
from pinchbench.runner.plan.prepare import NEEDS_OWN_LOOPBACK, NEEDS_OWN_ROOT
from pinchbench.runner.plan.prerequisites import CLOCK
from pinchbench.sandbox.sandbox_spec import WORKSPACE, Mount

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.model.timeline import Ability
    from pinchbench.openclaw.homes.sandbox import TurnSandbox

OUTPUT_BYTES = 4 * 1024 * 1024
SHOWN_BYTES = 500  # of the output, in an error
MAX_PROCESSES = 512


def missing_for(task: Task, sandbox: TurnSandbox | None, unusable: Mapping[Ability, str]) -> str:
    """Return what a trial of a task lacks in such a sandbox, as a sentence without a full stop; empty if nothing.

    `unusable` are abilities that no agent of the run can have, and why.
    """
    for ability in task.abilities:
        if why := unusable.get(ability):
            return why
    has_own_root = sandbox is not None and sandbox.has_own_root
    if task.needs_own_root and not has_own_root:
        return NEEDS_OWN_ROOT
    if task.starts_at is not None and find_libfaketime() is None:
        return f"{CLOCK} is missing"
    if (task.services or task.needs_gateway) and (
        not has_own_root or sandbox is None or sandbox.network is Network.OPEN
    ):
        return NEEDS_OWN_LOOPBACK
    return ""


async def set_up_workspace(
    task: Task, workspace: Path, *, seen_as: Path, sandbox: CheckSandbox | None, marker: str
) -> None:
    """Run the task's set-up script, if it has one, in an empty workspace; then put the task's files and folders there.

    `seen_as` is the path by which the agent will name the workspace, and so the script's argument if it has a sandbox.
    A cancellation ends the script. Raises OSError if it can't be run or takes too long, or a file can't be copied.
    """
    if (setup := task.setup) is not None:
        async with short_lived_folder() as scratch:
            copy, log = scratch / "task", scratch / "output.log"
            await to_thread.run_sync(_copy, setup.folder, scratch)
            env = {
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": str(scratch / "home"),
                "TMPDIR": str(scratch / "tmp"),
                "LANG": "C.UTF-8",
                "PYTHONDONTWRITEBYTECODE": "1",  # nothing but the script's own files may be left
            }
            plan = None
            if sandbox is not None:
                # the workspace at its agent's path, unless that is where every sandbox has it
                is_usual = str(seen_as) == WORKSPACE
                places = () if is_usual else (Mount(source=str(workspace), target=str(seen_as), writable=True),)
                plan = sandbox.plan_program(workspace, cwd=str(copy), path=env["PATH"], owned=(scratch,), places=places)
            spec = ProcessSpec(
                argv=["bash", setup.script, str(workspace if sandbox is None else seen_as)],
                cwd=copy,
                env=env,
                stdout=log,
                stderr=log,
                marker=marker,
                limits=Limits(grace_s=0, sweep_s=0, output_limit_bytes=OUTPUT_BYTES, max_processes=MAX_PROCESSES),
                sandbox=plan,
            )
            end = await supervise(spec, timeout_s=setup.limit_s)
            if end.reason is not EndReason.EXITED:
                said = await to_thread.run_sync(tail, log)
                how = f"the set-up script {setup.script} ended as {end.reason.value} {end.error}: {said}"
                raise OSError(how.rstrip(": "))
    await to_thread.run_sync(_copy_files, task, workspace)


def _copy_files(task: Task, workspace: Path) -> None:
    copy_files(workspace, task.workspace_files)
    for name in task.home_folders:
        (workspace / HOME_FOLDERS / name).mkdir(parents=True, exist_ok=True)


def _copy(folder: Path, scratch: Path) -> None:
    shutil.copytree(folder, scratch / "task", symlinks=True)
    for name in ("home", "tmp"):
        (scratch / name).mkdir(mode=0o700)


def tail(log: Path) -> str:
    """Return the end of what a program has printed, for an error; empty without a file. Blocks. Raises OSError."""
    try:
        return log.read_bytes()[-SHOWN_BYTES:].decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
