"""Tasks tried without an agent: their scripts are played and graded, and held against what should come out."""

from __future__ import annotations

import errno
import os
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from anyio import CapacityLimiter, create_task_group, move_on_after, to_thread

from pinchbench.authoring.replay import PlayFolders, StepFailedError, play, write_transcript
from pinchbench.authoring.results import CheckedTask, Part
from pinchbench.defaults import DEFAULT_RUN_ROOT
from pinchbench.errors import RunInterruptedError
from pinchbench.files.archive_write import keep_workspace
from pinchbench.files.folders import folder_error, remove_folder
from pinchbench.files.workspace import fill_workspace
from pinchbench.grading.grader import GradeJob, Grader
from pinchbench.model import Grade, GradingType, Task, TrialKey, Ungraded
from pinchbench.openclaw.probe import ask_message_file, find_openclaw
from pinchbench.process.prepared_process import keep_prepared
from pinchbench.results.evidence import Evidence
from pinchbench.runner.judging import open_judge
from pinchbench.runner.prerequisites import MissingPrerequisites, examine_tasks
from pinchbench.runner.run_folders import CHECKS, CLEAN_UP_LIMIT_S, HOMES, open_work_folder
from pinchbench.runner.run_redaction import Redactor
from pinchbench.runner.sandboxing import check_sandbox
from pinchbench.runner.signals import Interrupt
from pinchbench.runner.slots import secrets_of
from pinchbench.runner.task_setup import set_up_workspace
from pinchbench.suite.solution import NEXT_TO_NOTHING, ScoreRange, Solution, SolutionTurn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pinchbench.config import JudgeConfig
    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.grading.judge.judge import Judge

ORACLE_JUDGED = ScoreRange(low=0.8, high=1)  # a judge may find fault with a perfect solution
POLITE = "Thank you, I am glad to help with that."
OUT_OF_REACH = frozenset({Ungraded.JUDGE_UNREACHABLE, Ungraded.JUDGE_REFUSED})
STOPPING = "Ending the running scripts. The third Ctrl-C exits immediately."
HURRYING = "Ending the running scripts. The next Ctrl-C exits immediately."
_Done: TypeAlias = "dict[int, tuple[CheckedTask, ...]]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """What is played of a task, and the scores that should come out; None for one that nobody has stated."""

    part: Part
    name: str
    turns: tuple[SolutionTurn, ...]
    check: ScoreRange | None
    judge: ScoreRange | None


def scripts_of(task: Task, solution: Solution | None) -> tuple[Script, ...]:
    """What there is to play: nothing done, always; then the solution and its near misses."""
    idle = tuple(SolutionTurn(steps=(), answer=POLITE) for _ in task.turns)
    check = NEXT_TO_NOTHING if solution is None else solution.idle_check
    nothing = Script(part=Part.NOTHING, name="nothing", turns=idle, check=check, judge=NEXT_TO_NOTHING)
    if solution is None:
        return (nothing,)
    oracle = Script(part=Part.ORACLE, name="oracle", turns=solution.turns, check=solution.check, judge=ORACLE_JUDGED)
    misses = (
        Script(part=Part.NEAR_MISS, name=miss.name, turns=miss.turns, check=miss.check, judge=miss.judge)
        for miss in solution.near_misses
    )
    return (oracle, *misses, nothing)


def problems_of(script: Script, task: Task, grade: Grade, *, judged: bool) -> Iterator[str]:
    """Say what is not as the script states. Without a judge, what needs one is passed over."""
    if grade.ungraded is Ungraded.GRADER_BUG:
        yield from (f"grader_bug: {note}" for note in grade.notes)
    if task.grading_type is not GradingType.LLM_JUDGE and grade.check is not None:
        if grade.check.score is None:
            why = grade.check.ungraded.value if grade.check.ungraded else "no score"
            yield f"its check gave no score, {why}: {' '.join(grade.check.notes)}"
        elif script.check is not None and grade.check.score not in script.check:
            yield f"its check gives {grade.check.score:.3f}, not {script.check} ({_points(grade.check.breakdown)})"
    if judged and task.grading_type is not GradingType.AUTOMATED and grade.judge is not None:
        if grade.judge.score is None and grade.judge.ungraded not in OUT_OF_REACH:
            why = grade.judge.ungraded.value if grade.judge.ungraded else "no score"
            yield f"the judge gave no score, {why}: {' '.join(grade.judge.notes)}"
        elif script.judge is not None and grade.judge.score is not None and grade.judge.score not in script.judge:
            yield f"the judge gives {grade.judge.score:.3f}, not {script.judge}"


def _points(breakdown: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {points:.2f}" for name, points in breakdown.items())


async def check_tasks(
    tasks: Sequence[tuple[Task, Solution | None]],
    *,
    show: Callable[[Sequence[CheckedTask]], None],
    judge: JudgeConfig | None = None,
    openclaw: str | None = None,
    run_root: Path = DEFAULT_RUN_ROOT,
    say: Callable[[str], None] | None = None,
) -> tuple[CheckedTask, ...]:
    """Play and grade every script of every task; the results are in the order of the tasks.

    `show` hears of each task when it is done. Several are played at once, each script in a scratch workspace of its
    own,
    which is removed; those of a rehearsal that was killed are removed by the next. What a script does wrong is in its
    result. When the judge can't be asked, it is not asked again.

    With `say`, SIGINT, SIGTERM and SIGHUP end what runs, `say` gets a sentence, and RunInterruptedError is raised. A
    cancellation ends what runs as well, without words, and goes on. Raises ResultsError when there is no room for the
    workspaces, ConfigError for a judge that has no endpoint, and OpenClawError for an `openclaw:` judge.
    """
    interrupt = Interrupt(STOPPING, HURRYING)
    try:
        async with open_work_folder(run_root, prefix="tasks-") as folder:
            work = partial(_rehearse, tasks=tasks, folder=folder.resolve(), judge=judge, openclaw=openclaw, show=show)
            done = await _in_time(work, interrupt, say)
    except OSError as error:
        raise folder_error(run_root, error, option="--run-root") from error
    if interrupt.signal is not None:
        sentence = f"{interrupt.signal.name} came; {len(done)} of {len(tasks)} tasks were checked."
        raise RunInterruptedError(interrupt.signal, sentence)
    return tuple(result for place in sorted(done) for result in done[place])


async def _in_time(
    work: Callable[[_Done], Awaitable[None]], interrupt: Interrupt, say: Callable[[str], None] | None
) -> _Done:
    """Do the work until it is done or a signal comes; what is done by then is there."""
    done: _Done = {}
    async with create_task_group() as group:
        if say is not None:
            group.start_soon(interrupt.listen, say)
        with interrupt.setup:
            await work(done)
        group.cancel_scope.cancel()
    return done


async def _rehearse(
    done: _Done,
    *,
    tasks: Sequence[tuple[Task, Solution | None]],
    folder: Path,
    judge: JudgeConfig | None,
    openclaw: str | None,
    show: Callable[[Sequence[CheckedTask]], None],
) -> None:
    needs = await to_thread.run_sync(examine_tasks, [task for task, _ in tasks])
    homes = folder / HOMES
    async with keep_prepared(), _judge(judge, openclaw, homes / "judge", folder.name) as asked:
        secrets = secrets_of(judge.api_key_env if judge is not None else None, is_demo=True)
        redactor = Redactor(secrets)
        sandbox = await to_thread.run_sync(check_sandbox)
        make_grader = partial(
            Grader,
            scratch=folder.parent / CHECKS,
            secrets=secrets,
            checks=os.cpu_count() or 1,
            sandbox=sandbox,
        )
        desk = _JudgeStatus(
            unjudged=make_grader(judge=None),
            judged=make_grader(judge=asked) if asked is not None else None,
            sandbox=sandbox,
        )
        room = CapacityLimiter(os.cpu_count() or 1)

        async def one(place: int, task: Task, solution: Solution | None) -> None:
            async with room:
                theater = _Player(
                    task=task,
                    folder=homes / f"{place}",
                    desk=desk,
                    marker=f"{folder.name}/{place}",
                    lacking=needs.get(task.task_id, MissingPrerequisites()).sentence,
                )
                results = [await theater.give(script) for script in scripts_of(task, solution)]
                done[place] = tuple(_redacted(result, redactor) for result in results)
                show(done[place])

        async with create_task_group() as group:
            for place, (task, solution) in enumerate(tasks):
                group.start_soon(one, place, task, solution)


def _redacted(result: CheckedTask, redactor: Redactor) -> CheckedTask:
    """A result without keys in what checks and judges said: it is shown."""
    return replace(result, problems=tuple(map(redactor.text, result.problems)), untried=redactor.text(result.untried))


@asynccontextmanager
async def _judge(
    config: JudgeConfig | None, openclaw: str | None, folder: Path, run_id: str
) -> AsyncGenerator[Judge | None]:
    found = None
    if config is not None and config.is_openclaw:
        found = await ask_message_file(await find_openclaw(openclaw))
    async with open_judge(config, openclaw=found, folder=folder, run_id=run_id) as judge:
        yield judge


@dataclass(slots=True)
class _JudgeStatus:
    """Who grades: with the judge as long as it can be asked, and why it can't be any more."""

    unjudged: Grader
    judged: Grader | None
    sandbox: CheckSandbox | None
    lost: str = ""

    async def grade(self, job: GradeJob) -> Grade:
        grade = await (self.unjudged if self.judged is None or self.lost else self.judged).grade(job)
        if grade.judge is not None and grade.judge.ungraded in OUT_OF_REACH:
            self.lost = self.lost or f"{grade.judge.ungraded.value}: {' '.join(grade.judge.notes)}"
        return grade


@dataclass(frozen=True, kw_only=True, slots=True)
class _Player:
    """Where one task's scripts are played, one after another, each in an empty folder."""

    task: Task
    folder: Path
    desk: _JudgeStatus
    marker: str
    lacking: str

    async def give(self, script: Script) -> CheckedTask:
        result = partial(
            CheckedTask,
            task_id=self.task.task_id,
            part=script.part,
            name=script.name,
            has_rubric=self.task.grading_type is not GradingType.AUTOMATED,
        )
        if self.lacking:
            return result(untried=self.lacking)
        if len(script.turns) != len(self.task.turns):
            return result(problems=(f"it has {len(script.turns)} turns, the task {len(self.task.turns)}",))
        stated, key = (
            (script.judge, "judge") if self.task.grading_type is GradingType.LLM_JUDGE else (script.check, "check")
        )
        if stated is None:
            return result(problems=(f"it does not state its score: `{key}: [low, high]`",))
        try:
            grade = await self._play(script)
        except StepFailedError as error:
            return result(problems=(str(error),))
        except OSError as error:
            raise folder_error(self.folder, error, option="--run-root") from error
        finally:
            with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
                await to_thread.run_sync(remove_folder, self.folder, abandon_on_cancel=True)
        judged = self.desk.judged is not None and not self.desk.lost
        return result(
            check=grade.check.score if grade.check is not None else None,
            judge=grade.judge.score if grade.judge is not None else None,
            problems=tuple(problems_of(script, self.task, grade, judged=judged)),
            untried=f"its rubric: {self.desk.lost}" if grade.judge is not None and self.desk.lost else "",
        )

    async def _play(self, script: Script) -> Grade:
        """Raises StepFailedError, and OSError for what is this machine's fault."""
        evidence = Evidence(folder=self.folder / "evidence")
        # the name of a task may be that of any folder beside it
        workspace = self.folder / "workspace" / self.task.task_id
        await to_thread.run_sync(self._set, workspace)
        await set_up_workspace(self.task, workspace, seen_as=workspace, sandbox=self.desk.sandbox, marker=self.marker)
        stage = PlayFolders(
            workspace=workspace, home=self.folder / "home", output=self.folder / "output.log", marker=self.marker
        )
        events = await play(script.turns, self.task, stage)
        await to_thread.run_sync(write_transcript, evidence.transcript, events)
        not_kept = await to_thread.run_sync(keep_workspace, workspace, evidence.workspace)
        grade = await self.desk.grade(
            GradeJob(
                key=TrialKey(task_id=self.task.task_id, repetition=1),
                task=self.task,
                evidence=evidence,
                workspace=str(workspace),
                transcript_length=len(events),
                ended_at=time.time(),
                timeout_s=self.task.timeout_s,
                marker=self.marker,
                not_kept=not_kept,
            )
        )
        if grade.check is not None and grade.check.ungraded is Ungraded.DISK_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return grade

    def _set(self, workspace: Path) -> None:
        for folder in (self.folder, self.folder / "home", self.folder / "evidence"):
            folder.mkdir(mode=0o700)
        fill_workspace(workspace, ())
