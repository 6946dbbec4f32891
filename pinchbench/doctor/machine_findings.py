"""What a run needs of the machine: facts that are read, and what they mean (pure)."""

from __future__ import annotations

import math
import os
import platform
from typing import TYPE_CHECKING

from pinchbench.errors import ResultsError
from pinchbench.files.folders import refuse_noexec, refuse_planted
from pinchbench.files.user_data import cache_dir
from pinchbench.model.finding import Finding
from pinchbench.process import capacity
from pinchbench.process.supervise import contain_level
from pinchbench.report.text import size
from pinchbench.runner.plan.prerequisites import MissingPrerequisites, examine_tasks
from pinchbench.sandbox.landlock_rules import NETWORK_ABI, SCOPE_ABI
from pinchbench.sandbox.levels import Level as SandboxLevel
from pinchbench.sandbox.levels import Support
from pinchbench.suite.named import find_suites, load_named

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.defaults import SuiteFormat


MIB = 1024**2
# What a slot has on the disk at once: a home of some MiB (measured on 2026.9.6), and a workspace with what commands
# put there
SLOT_BYTES = 64 * MIB
RESULT_BYTES = 256 * MIB  # of a suite: transcripts, output and workspaces as they were graded
INSTALL_BYTES = 900 * MIB  # OpenClaw, its Node, and the compiled code that all homes share
COMPILED_BYTES = 128 * MIB  # of JavaScript, which all homes share


def find_platform() -> Finding:
    """Python, the system, and how well trials are contained on it."""
    return of_platform(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()} ({platform.machine()})",
        level=contain_level(),
    )


def of_platform(*, python: str, system: str, level: str) -> Finding:
    """Say what trials run on; a session contains less than a guardian."""
    on = f"Python {python} on {system}"
    if level == "guardian":
        return Finding.ok("platform", f"{on}; a guardian owns each trial: nothing that it starts can outlive it.")
    return Finding.note(
        "platform",
        f"{on}; trials are held together by their session and a mark in their environment: a process that clears its"
        " environment and leaves its session can outlive its trial.",
        do="For runs that have to be watertight, use Linux, in a virtual machine or a container.",
    )


def of_sandbox(support: Support) -> Finding:
    """Say what separates trials from the rest of the machine, and what a lower level does not give."""
    match support.best:
        case SandboxLevel.NAMESPACES:
            return Finding.ok("sandbox", "Each trial gets a sandbox of its own (Linux namespaces).")
        case SandboxLevel.LANDLOCK:
            missing = [
                "other processes can be seen",
                *(["the network is open"] if support.landlock_abi < NETWORK_ABI else []),
                *(["your other processes can be ended"] if support.landlock_abi < SCOPE_ABI else []),
                "sockets in the file system, such as those of tmux or Docker, can be used",
            ]
            return Finding.note(
                "sandbox",
                f"Trials in private homes are restricted by Landlock (ABI {support.landlock_abi}): they can't read or"
                f" change your files, but {', '.join(missing)}. They have no namespaces: {support.namespaces_refused}",
                do="For namespaces, allow unprivileged user namespaces.",
            )
        case SandboxLevel.NONE:
            return Finding.note(
                "sandbox",
                f"Trials have no namespaces of their own: {support.namespaces_refused} Nor has the machine"
                f" Landlock: {support.landlock_refused} Agents run as you.",
                do="Allow unprivileged user namespaces, or use a machine or an account that you can spare.",
            )


def find_room(folder: Path, *, subject: str, needed: int, option: str, executes: bool = False) -> Finding:
    """Hold a folder, which nobody may have made yet, against the bytes that are needed there. Blocks. Raises OSError.

    `option` is what names another folder; programs are executed in the folder if `executes`.
    """
    there = next(one for one in (folder, *folder.parents) if one.is_dir())
    another = f"name another folder with {option}"
    try:
        refuse_planted(folder, option=option)
        if executes:
            refuse_noexec(there)
    except ResultsError as error:
        return Finding.problem(subject, str(error), do=f"Remount or remove it, or {another}.")
    if os.path.lexists(folder) and not folder.is_dir():
        return Finding.problem(subject, f"{folder} is not a folder.", do=f"Remove it, or {another}.")
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding.problem(subject, f"{there} can't be written.", do=f"Change its permissions, or {another}.")
    if full := capacity.find_full([there]):
        return Finding.problem(subject, f"{full}: that is full.", do=f"Free some, or {another}.")
    free_bytes = capacity.room_of(there)
    said = f"{folder}: {size(free_bytes)} free; about {size(needed)} are needed."
    if free_bytes < needed:
        return Finding.warning(subject, said, do=f"Free some, or {another}.")
    return Finding.ok(subject, said)


def find_run_root(folder: Path, slots: int) -> Finding:
    """The folder of the agents' homes and workspaces against the slots. Blocks."""
    return find_room(folder, subject="run root", needed=SLOT_BYTES * slots, option="--run-root", executes=True)


def find_output(folder: Path) -> Finding:
    """The folder of results. Blocks."""
    return find_room(folder, subject="output", needed=RESULT_BYTES, option="--output-dir")


def find_cache() -> Finding:
    """The folder of installed OpenClaws. Blocks."""
    needed = COMPILED_BYTES if any(cache_dir().glob("openclaw-*")) else INSTALL_BYTES
    return find_room(cache_dir().absolute(), subject="cache", needed=needed, option="PINCHBENCH_CACHE")


def find_memory(slots: int) -> Finding:
    """Memory and CPUs against the slots. Blocks."""
    if warning := capacity.slots_warning(slots):
        return Finding.warning("memory", warning)
    free_bytes, cpus = capacity.available_bytes(), capacity.usable_cpus()
    most = capacity.suited_slots(free_bytes=free_bytes, cpus=cpus)
    return Finding.ok("memory", f"{size(free_bytes)} are free: up to --concurrency {most} suits this machine.")


def find_limits(slots: int) -> Finding:
    """Open files and processes against the slots, after raising the limit of open files as a run does. Blocks."""
    capacity.raise_open_files()
    files, tasks = capacity.allowed_open_files(), capacity.allowed_tasks()
    if refused := capacity.slots_refusal(slots, files=files, tasks=tasks):
        return Finding.problem("limits", refused)
    return Finding.ok("limits", f"{_count(files)} open files and {_count(tasks)} processes are allowed.")


def _count(number: float) -> str:
    return "any number of" if math.isinf(number) else str(int(number))


SUBJECT = "tasks"


def find_prerequisites(
    tasks_dir: Path | None, suite: str, *, openclaw: str | None, suite_format: SuiteFormat | None = None
) -> Finding:
    """Read the tasks and look for what they need. Blocks. Raises SuiteError and SelectionError."""
    loaded, chosen = load_named(find_suites(suite, tasks_dir=tasks_dir, suite_format=suite_format), is_lenient=True)
    if loaded.problems:
        listed = "; ".join(map(str, loaded.problems))
        do = "Correct these files, or leave them out with --skip-broken."
        return Finding.problem(SUBJECT, f"Some can't be used: {listed}.", do=do)
    return of_prerequisites(len(chosen), examine_tasks(chosen, openclaw=openclaw))


def of_prerequisites(tasks: int, needs: Mapping[str, MissingPrerequisites]) -> Finding:
    """Say what is missing, by task, and what can't be checked (pure)."""
    lacking: dict[str, list[str]] = {}
    for task_id, one in needs.items():
        if one.missing:
            lacking.setdefault(one.sentence, []).append(task_id)
    unchecked = [f"{task_id} ({', '.join(map(str, one.unchecked))})" for task_id, one in needs.items() if one.unchecked]
    unknown = f" What can't be checked: {', '.join(unchecked)}." if unchecked else ""
    if lacking:
        reasons = "; ".join(f"{sentence} ({', '.join(task_ids)})" for sentence, task_ids in lacking.items())
        said = f"{sum(map(len, lacking.values()))} of {tasks} can't be run here: {reasons}.{unknown}"
        return Finding.warning(SUBJECT, said, do="Install what is missing.")
    return Finding.ok(SUBJECT, f"What {tasks} of them need is here.{unknown}")
