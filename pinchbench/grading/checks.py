"""Running a task's check on a trial's kept evidence, in its own process."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

from anyio import from_thread, to_thread
from msgspec import UNSET

from pinchbench.files.archive import ArchiveLostError
from pinchbench.files.archive_restore import restore_workspace
from pinchbench.files.workspace import replace_files
from pinchbench.grading.check_child import read_events
from pinchbench.grading.check_sandbox import REMOVE_LIMIT_S, open_place
from pinchbench.model.grade import CheckGrade, Ungraded
from pinchbench.model.task import WorkspaceFile
from pinchbench.model.task_programs import AssertionsVerifier, PytestVerifier, RewardVerifier
from pinchbench.openclaw.agent_processes import task_places
from pinchbench.process.capacity import find_full, is_disk_full
from pinchbench.process.spec import EndReason, Limits, ProcessEnd, ProcessSpec
from pinchbench.process.supervise import supervise
from pinchbench.sandbox.sandbox_spec import Mount
from pinchbench.transcript_lines import writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from msgspec import UnsetType

    from pinchbench.defaults import FailureEvent
    from pinchbench.grading.check_sandbox import CheckFolder, CheckSandbox
    from pinchbench.model.task import Task
    from pinchbench.model.task_programs import Verifier
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.evidence_files import Evidence

START = "from pinchbench.grading.check_child import main; main()"
# `-I` without `-E`: the hash seed can only be set by an environment variable, and there are no others
# A `..` in its path, as the user may have typed it, would lead through a folder that the sandbox does not have.
PYTHON = (os.path.normpath(sys.executable), "-s", "-P", "-X", "utf8", "-c")
# Settings that would otherwise vary with each start of Python or with the user's environment.
FIXED = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
MAX_PROCESSES = 512  # and threads, of one check at a time
OUTPUT_BYTES = 32 * 1024 * 1024  # what a check may print
# Neither a check nor the programs it started have anything to save when they are ended.
LIMITS = Limits(grace_s=0, sweep_s=0, output_limit_bytes=OUTPUT_BYTES, max_processes=MAX_PROCESSES)
SERVICE_LOGS = ".services"  # in the check's copy of the workspace
LOG_BYTES = 1024 * 1024  # of a check's log that is kept
TESTS, LOGS = "/tests", "/logs"  # where the script of a `RewardVerifier` finds its folder and leaves its reward
_FAILED = (Ungraded.CHECK_RAISED, Ungraded.CHECK_NO_SCORES)
_NO_SCORE = {  # by the kind of a check's answer
    "raised": (Ungraded.CHECK_RAISED, "the check raised "),
    "no_memory": (Ungraded.CHECK_LIMIT, "the check used more memory than it may: "),
    "no_scores": (Ungraded.CHECK_NO_SCORES, ""),
    "no_scale": (Ungraded.CHECK_NO_SCALE, ""),
    "lost": (Ungraded.EVIDENCE_LOST, ""),
}
NEEDS_NAMESPACES = "the check needs files at paths that its task states, and this machine has no namespaces for that"


@dataclass(frozen=True, kw_only=True, slots=True)
class GradeJob:
    """A trial to be graded: paths, not contents.

    `ended_at` (seconds since the epoch, UTC) is the current time that a check sees, in the agent's `timezone` (a name
    for `TZ`, or empty), unless the task states its own. `workspace` is the path of the agent's workspace as its
    transcript names it; `transcript_length` counts the events of that transcript. `not_kept` lists what is missing from
    the kept workspace. `marker` identifies the check's processes.
    """

    key: TrialKey
    task: Task
    evidence: Evidence
    workspace: str
    transcript_length: int
    ended_at: float
    timeout_s: float
    marker: str
    not_kept: tuple[str, ...] = ()
    timezone: str = ""
    attempt: int = 1

    @property
    def now(self) -> float:
        """The current time that a check sees."""
        return self.ended_at if self.task.starts_at is None else self.task.starts_at


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckJob:
    """A check to run on a trial's evidence.

    The check works in a private folder of `scratch` that is named as the trial, so that paths are the same whenever it
    is graded. The log of the evidence is overwritten with everything that the check prints, and its traceback.
    `timeout_s` must be above 0. Without `sandbox`, the check runs among the user's processes.
    """

    trial: GradeJob
    scratch: Path
    timeout_s: float
    sandbox: CheckSandbox | None = None


async def run_check(job: CheckJob) -> CheckGrade:
    """Run a check; every outcome is a grade, or a reason why there is none.

    On return and on cancellation every process it started is dead and its folder is removed. Raises nothing but the
    cancellation, which continues after the cleanup.
    """
    place = None
    try:
        async with open_place(job.scratch, str(job.trial.key), wait_s=job.timeout_s + REMOVE_LIMIT_S) as place:
            grade = await _run(job, place)
            # a full disk may explain the result of a check that could not write, even if it scored
            if full := await to_thread.run_sync(find_full, (job.scratch, job.trial.evidence.check_log.parent)):
                grade = _ungraded(Ungraded.DISK_FULL, f"the check had no room: {full}")
    except ArchiveLostError as error:
        grade = _ungraded(Ungraded.EVIDENCE_LOST, str(error))
    except OSError as error:
        why = Ungraded.DISK_FULL if is_disk_full(error) else Ungraded.CHECK_NOT_STARTED
        grade = _ungraded(why, f"the check could not be prepared: {error}")
    if place is not None and place.left:
        return replace(grade, notes=(*grade.notes, f"the check's folder could not be removed: {place.left}"))
    return grade


async def _run(job: CheckJob, place: CheckFolder) -> CheckGrade:
    task, trial, log = job.trial.task, job.trial, job.trial.evidence.check_log
    stated = task.workspace_path or task.shown or task.transcript_path or task.home_folders
    if job.sandbox is None and (stated or isinstance(task.verifier, RewardVerifier)):
        return _ungraded(Ungraded.CHECK_NOT_STARTED, NEEDS_NAMESPACES)
    left_out = await to_thread.run_sync(_prepare, job, place)
    env = {**_environment(os.environ, place, timezone=task.timezone or trial.timezone), **task.env}
    if task.workspace_path:
        env["PWD"] = task.workspace_path
    plan = None
    if job.sandbox is not None:
        plan = job.sandbox.plan(
            place,
            transcript=trial.evidence.transcript.absolute(),
            workspace=trial.workspace,
            path=env["PATH"],
            visible=_visible(trial),
            places=tuple(_places(trial, place)),
        )
    spec = ProcessSpec(
        argv=[*PYTHON, START],
        input=_spec(job, place, env),
        cwd=place.copy,
        env=FIXED,
        stdout=log,
        stderr=log,
        marker=trial.marker,
        limits=LIMITS,
        sandbox=plan,
    )
    end = await supervise(spec, timeout_s=job.timeout_s)
    answer, printed_bytes = await to_thread.run_sync(_collect, log, end.answer)
    grade = _grade(end, answer, printed_bytes=printed_bytes, timeout_s=job.timeout_s)
    if grade.ungraded in _FAILED and task.rule.failed_is_zero:
        grade = CheckGrade(score=0.0, notes=(*grade.notes, "which is a score of 0 by the suite's rule"))
    notes = [*grade.notes, *(f"not in the check's copy: {one}" for one in left_out)]
    if end.leftovers:
        names = ", ".join(one.command or str(one.pid) for one in end.leftovers[:3])
        notes.append(f"processes that the check left running were ended: {names[:200]}")
    return replace(grade, notes=tuple(notes), duration_s=end.duration_s, cpu_s=end.cpu_s)


def _visible(trial: GradeJob) -> tuple[Path, ...]:
    match trial.task.verifier:
        case PytestVerifier() as verifier:
            return verifier.file.parent, verifier.root / "conftest.py", *verifier.beside
        case RewardVerifier() | AssertionsVerifier() | None:
            modules = trial.task.modules
            return (trial.evidence.chat.absolute(), *(() if modules is None else (modules,)))


def _places(trial: GradeJob, place: CheckFolder) -> Iterator[Mount]:
    """Yield what the check sees at paths that the task or its verifier states."""
    task, transcript = trial.task, trial.evidence.transcript
    for mount in task_places(task, place.copy, str(place.home)):
        if not mount.writable or Path(mount.source).is_dir():  # an agent can remove a folder of its home
            yield mount
    if task.transcript_path and transcript.exists():
        yield Mount(source=str(transcript.absolute()), target=task.transcript_path)
    if isinstance(task.verifier, RewardVerifier):
        yield Mount(source=str(place.folder / "tests"), target=TESTS, writable=True)
        yield Mount(source=str(place.folder / "logs"), target=LOGS, writable=True)


def _environment(ours: Mapping[str, str], place: CheckFolder, *, timezone: str) -> dict[str, str]:
    """Return a check's environment: `PATH`, and this machine's time zone if the trial has none of its own."""
    kept = {name: ours[name] for name in ("PATH", "TZ") if name in ours}
    own = {"HOME": str(place.home), "TMPDIR": str(place.temporary), "PWD": str(place.copy)}
    return {"PATH": os.defpath, **kept, **FIXED, **own, **({"TZ": timezone} if timezone else {})}


def _prepare(job: CheckJob, place: CheckFolder) -> tuple[str, ...]:
    archive, verifier = job.trial.evidence.workspace, job.trial.task.verifier
    left_out = restore_workspace(archive, place.copy, before_each=from_thread.check_cancelled)
    replace_files(place.copy, (*job.trial.task.check_files, *_service_files(job.trial)))
    for folder in (place.home, place.temporary):
        folder.mkdir(mode=0o700)
    if isinstance(verifier, RewardVerifier):
        copytree(verifier.folder, place.folder / "tests", symlinks=True)
        (place.folder / "logs" / "verifier").mkdir(parents=True, mode=0o700)
    for folder in (place.home, place.temporary, place.copy, place.folder):
        os.utime(folder, (job.trial.now, job.trial.now))
    job.trial.evidence.check_log.unlink(missing_ok=True)
    return left_out


def _service_files(trial: GradeJob) -> Iterator[WorkspaceFile]:
    """Yield what each service of the task printed, as a file of the check's copy of the workspace."""
    for service, log in zip(trial.task.services, trial.evidence.service_logs, strict=False):
        dest = f"{SERVICE_LOGS}/{service.name}.log"
        yield WorkspaceFile(dest=dest, source=log) if log.is_file() else WorkspaceFile(dest=dest, content="")


def _spec(job: CheckJob, place: CheckFolder, env: Mapping[str, str]) -> str:
    task, trial = job.trial.task, job.trial
    # programs may use the real path, which differs below a link such as /tmp on macOS
    paths = {trial.workspace, os.path.realpath(trial.workspace)} if trial.workspace else ()
    spec = {
        "env": dict(env),
        "code": task.automated_checks or "",
        "total": task.rule.check_total,
        "modules": task.modules,
        "verifier": None if task.verifier is None else _verifier_spec(task.verifier),
        "transcript": trial.evidence.transcript.absolute(),
        "chat": trial.evidence.chat.absolute(),
        "transcript_length": trial.transcript_length,
        "workspace": sorted(paths, reverse=True),
        "copy": task.workspace_path or str(place.copy),
        "now": job.trial.now,
        "timeout_s": job.timeout_s,
    }
    return json.dumps(spec, default=str)  # of a path


def _verifier_spec(verifier: Verifier) -> dict[str, object]:
    match verifier:
        case RewardVerifier():
            return {"script": f"{TESTS}/{verifier.script}", "rewards": f"{LOGS}/verifier", "env": dict(verifier.env)}
        case AssertionsVerifier() | PytestVerifier():
            return asdict(verifier)


def _collect(log: Path, said: str) -> tuple[Mapping[str, object] | None, int]:
    """Return a check's answer and how many bytes it printed, and tidy up its log. What is unreadable is missing."""
    answer, printed = None, 0
    with suppress(ValueError, RecursionError):
        answer = json.loads(said.partition("\n")[2])
    answer = answer if isinstance(answer, dict) else None
    with suppress(OSError):
        printed = _tidy_log(log, str(answer.get("trace", "")) if answer else "")
    return answer, printed


def _tidy_log(log: Path, trace: str) -> int:
    """Append the traceback, shorten a long log, remove an empty one; return the number of bytes printed."""
    printed = log.stat().st_size if log.exists() else 0
    with log.open("r+b" if printed else "wb") as file:
        if printed > LOG_BYTES:
            file.seek(printed - LOG_BYTES // 2)
            tail = file.read(LOG_BYTES // 2)
            file.seek(LOG_BYTES // 2)
            file.truncate()
            file.write(f"\n[… {printed - LOG_BYTES} bytes are left out here …]\n".encode() + tail)
        file.seek(0, os.SEEK_END)
        file.write(trace.encode("utf-8", "replace"))
        if not file.tell():
            log.unlink()
    return printed


def _grade(end: ProcessEnd, answer: Mapping[str, object] | None, *, printed_bytes: int, timeout_s: float) -> CheckGrade:
    """Return the grade from the end of a check's processes and its answer, before which it says that it has begun."""
    why, note = Ungraded.CHECK_DIED, f"the check {_manner(end, timeout_s)} and gave no answer"
    match end.reason:
        case EndReason.NOT_STARTED:
            why, note = Ungraded.CHECK_NOT_STARTED, f"the check's process could not be started: {end.error}"
        case _ if printed_bytes > OUTPUT_BYTES or end.reason is EndReason.OUTPUT_LIMIT:  # also afterwards
            why, note = Ungraded.CHECK_LIMIT, f"the check printed more than {OUTPUT_BYTES // 1024**2} MiB"
        case EndReason.RESOURCE_LIMIT:
            why, note = Ungraded.CHECK_LIMIT, f"the check had more than {MAX_PROCESSES} processes and threads at once"
        case EndReason.TIMED_OUT:
            why, note = Ungraded.CHECK_TIMED_OUT, f"the check took longer than {timeout_s:g} s"
        case EndReason.GUARDIAN_LOST:
            note = "the process that watches over the check died with it"
        case EndReason.EXITED if not end.answer:
            why, note = Ungraded.CHECK_NOT_STARTED, f"the check's process {_manner(end, timeout_s)} at its start"
        case EndReason.EXITED if end.exit_code == 0 and answer is not None:
            return _read_grade(answer)
    return _ungraded(why, note)


def _manner(end: ProcessEnd, timeout_s: float) -> str:
    code = end.exit_code
    if code == -signal.SIGXCPU:
        return f"used more CPU time than {math.ceil(timeout_s) + 1} s, was ended (SIGXCPU)"
    if code is not None and code < 0:
        names = {one.value: one.name for one in signal.Signals}
        return f"was killed by {names.get(-code, f'signal {-code}')}"
    return f"ended with exit code {code}"


def _read_grade(answer: Mapping[str, object]) -> CheckGrade:
    kind, notes = str(answer.get("kind")), _texts(answer.get("notes"))
    if kind in _NO_SCORE:
        why, said = _NO_SCORE[kind]
        return CheckGrade(ungraded=why, notes=(said + writable(str(answer.get("message"))), *notes))
    score, breakdown = answer.get("score"), answer.get("breakdown")
    is_scored = kind == "scored" and _is_score(score)
    if is_scored and isinstance(breakdown, dict) and all(map(_is_score, breakdown.values())):
        named = {writable(name): points for name, points in breakdown.items()}
        return CheckGrade(score=float(str(score)), breakdown=named, notes=notes, events=_events(answer.get("events")))
    return _ungraded(Ungraded.CHECK_DIED, "the check's answer can't be read")


def _events(stated: object) -> Mapping[FailureEvent, tuple[int, int]] | UnsetType:
    """Read the events again: a module of the agent's, in the check's process, may have sent the answer."""
    with suppress(ValueError):
        return read_events(stated) or UNSET if isinstance(stated, dict) else UNSET
    return UNSET


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _texts(value: object) -> tuple[str, ...]:
    return tuple(writable(str(one)) for one in value) if isinstance(value, list) else ()


def _ungraded(why: Ungraded, note: str) -> CheckGrade:
    return CheckGrade(ungraded=why, notes=(note,))
