"""Tasks tried without an agent: their scripts are played and graded, and held against what should come out."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, create_task_group, move_on_after, to_thread

from pinchbench.folders import remove_folder
from pinchbench.grading.grader import GradeJob, Grader
from pinchbench.model import Grade, GradingType, Part, Rehearsed, Task, TrialKey, Ungraded
from pinchbench.openclaw.probe import ask_message_file, find_openclaw
from pinchbench.openclaw.task_result import Evidence
from pinchbench.runner.judging import open_judge
from pinchbench.runner.play import Stage, StepFailedError, play, write_transcript
from pinchbench.runner.slots import secrets_of
from pinchbench.snapshot import keep_workspace
from pinchbench.suite.solution import ScoreRange, Solution, SolutionTurn
from pinchbench.workspace import fill_workspace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence

    from pinchbench.config import JudgeConfig
    from pinchbench.grading.judge import Judge

FULL = ScoreRange(low=1, high=1)
ORACLE_JUDGED = ScoreRange(low=0.8, high=1)  # a judge may find fault with a perfect solution
NEXT_TO_NOTHING = ScoreRange(low=0, high=0.2)
POLITE = "Thank you, I am glad to help with that."
CLEAN_UP_LIMIT_S = 30.0


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
    nothing = Script(part=Part.NOTHING, name="nothing", turns=idle, check=NEXT_TO_NOTHING, judge=NEXT_TO_NOTHING)
    if solution is None:
        return (nothing,)
    oracle = Script(part=Part.ORACLE, name="oracle", turns=solution.turns, check=FULL, judge=ORACLE_JUDGED)
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
            yield f"its check gives {grade.check.score:.3f}, not {script.check} ({_low_points(grade.check.breakdown)})"
    if judged and task.grading_type is not GradingType.AUTOMATED and grade.judge is not None:
        if grade.judge.score is None:
            why = grade.judge.ungraded.value if grade.judge.ungraded else "no score"
            yield f"the judge gave no score, {why}: {' '.join(grade.judge.notes)}"
        elif script.judge is not None and grade.judge.score not in script.judge:
            yield f"the judge gives {grade.judge.score:.3f}, not {script.judge}"


def _low_points(breakdown: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {points:.2f}" for name, points in breakdown.items())


async def rehearse(
    tasks: Sequence[tuple[Task, Solution | None]],
    *,
    judge: JudgeConfig | None = None,
    openclaw: str | None = None,
    show: Callable[[Sequence[Rehearsed]], None],
) -> tuple[Rehearsed, ...]:
    """Play and grade every script of every task; the results are in the order of the tasks.

    `show` hears of each task when it is done. Several are played at once, each in a scratch workspace of its own, which
    is removed. What a script does wrong is in its result. A cancellation ends what runs and removes what was made.
    Raises ConfigError for a judge that can't be asked, OpenClawError for an `openclaw:` judge, and OSError when there
    is no room for the workspaces.
    """
    folder = await to_thread.run_sync(_private_folder)
    run_id = f"tasks-{uuid.uuid4().hex[:12]}"
    try:
        async with AsyncExitStack() as stack:
            asked = await stack.enter_async_context(_judge(judge, openclaw, folder / "judge", run_id))
            scratch = folder / "checks"
            scratch.mkdir(mode=0o700)
            secrets = secrets_of(judge.api_key_env if judge is not None else None, is_demo=True)
            grader = Grader(judge=asked, scratch=scratch, secrets=secrets, checks=os.cpu_count() or 1)
            room = CapacityLimiter(os.cpu_count() or 1)
            done: dict[int, tuple[Rehearsed, ...]] = {}

            async def one(place: int, task: Task, solution: Solution | None) -> None:
                async with room:
                    theater = _Theater(task=task, folder=folder / f"{place}", grader=grader, judged=asked is not None)
                    results = [await theater.give(script, f"{run_id}/{place}") for script in scripts_of(task, solution)]
                    done[place] = tuple(results)
                    show(results)

            async with create_task_group() as group:
                for place, (task, solution) in enumerate(tasks):
                    group.start_soon(one, place, task, solution)
            return tuple(result for place in range(len(tasks)) for result in done[place])
    finally:
        with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
            await to_thread.run_sync(remove_folder, folder, abandon_on_cancel=True)


def _private_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="pinchbench-tasks-")).resolve()


@asynccontextmanager
async def _judge(
    config: JudgeConfig | None, openclaw: str | None, folder: Path, run_id: str
) -> AsyncGenerator[Judge | None]:
    found = None
    if config is not None and config.is_openclaw:
        found = await ask_message_file(await find_openclaw(openclaw))
    async with open_judge(config, openclaw=found, folder=folder, run_id=run_id) as judge:
        yield judge


@dataclass(frozen=True, kw_only=True, slots=True)
class _Theater:
    """Where one task's scripts are played, one after another, each in an empty folder."""

    task: Task
    folder: Path
    grader: Grader
    judged: bool

    async def give(self, script: Script, marker: str) -> Rehearsed:
        result = partial(Rehearsed, task_id=self.task.task_id, part=script.part, name=script.name)
        if len(script.turns) != len(self.task.turns):
            return result(problems=(f"it has {len(script.turns)} turns, the task {len(self.task.turns)}",))
        stated, key = (
            (script.judge, "judge") if self.task.grading_type is GradingType.LLM_JUDGE else (script.check, "check")
        )
        if stated is None:
            return result(problems=(f"it does not state its score: `{key}: [low, high]`",))
        evidence = Evidence(folder=self.folder / "evidence")
        workspace = self.folder / self.task.task_id
        try:
            await to_thread.run_sync(self._set, workspace)
            stage = Stage(
                workspace=workspace, home=self.folder / "home", output=self.folder / "output.log", marker=marker
            )
            events = await play(script.turns, self.task, stage)
            await to_thread.run_sync(write_transcript, evidence.transcript, events)
            not_kept = await to_thread.run_sync(keep_workspace, workspace, evidence.workspace)
            grade = await self.grader.grade(
                GradeJob(
                    key=TrialKey(task_id=self.task.task_id, repetition=1),
                    task=self.task,
                    evidence=evidence,
                    workspace=str(workspace),
                    transcript_length=len(events),
                    ended_at=time.time(),
                    timeout_s=self.task.timeout_s,
                    marker=marker,
                    not_kept=not_kept,
                )
            )
        except StepFailedError as error:
            return result(problems=(str(error),))
        except OSError as error:
            return result(problems=(f"it can't be played: {error}",))
        finally:
            with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
                await to_thread.run_sync(remove_folder, self.folder, abandon_on_cancel=True)
        return result(
            check=grade.check.score if grade.check is not None else None,
            judge=grade.judge.score if grade.judge is not None else None,
            problems=tuple(problems_of(script, self.task, grade, judged=self.judged)),
        )

    def _set(self, workspace: Path) -> None:
        for folder in (self.folder, self.folder / "home", self.folder / "evidence"):
            folder.mkdir(mode=0o700)
        fill_workspace(workspace, self.task.workspace_files)
