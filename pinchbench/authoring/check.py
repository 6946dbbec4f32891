"""Tasks tried without an agent: their scripts are played and graded, and held against what should come out."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, create_task_group, to_thread

from pinchbench.authoring.attack.workspace_files import changed_files, files_digest, read_files, write_changes
from pinchbench.authoring.check_results import CheckedTask, Part
from pinchbench.authoring.play import POLITE, StepFailedError, play_in_openclaw
from pinchbench.authoring.stage import Stage, work_in_scratch
from pinchbench.defaults import DEFAULT_RUN_ROOT
from pinchbench.errors import OpenClawError
from pinchbench.grading.grader import Grader
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.task import GradingType, Task
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.openclaw.homes.user_state import secrets_of
from pinchbench.runner.plan.prerequisites import MissingPrerequisites, examine_tasks
from pinchbench.runner.run_context import Redactor
from pinchbench.runner.run_folders import CHECKS, HOMES
from pinchbench.runner.setup.judging import open_judges
from pinchbench.runner.setup.sandboxing import check_sandbox
from pinchbench.suite.solution import NEXT_TO_NOTHING, ScoreRange, Solution, SolutionTurn, script_problem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pinchbench.config.asked_models import JudgeConfig
    from pinchbench.grading.checks import GradeJob
    from pinchbench.model.outcome import Outcome

ORACLE_JUDGED = ScoreRange(low=0.8, high=1)  # a judge may find fault with a perfect solution
NO_PUBLIC: Mapping[str, tuple[Task, Solution]] = MappingProxyType({})
OUT_OF_REACH = frozenset({Ungraded.JUDGE_UNREACHABLE, Ungraded.JUDGE_REFUSED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """What is played of a task, and the scores that should come out; None for one that nobody has stated."""

    part: Part
    name: str
    turns: tuple[SolutionTurn, ...]
    check: ScoreRange | None
    judge: ScoreRange | None
    cases: tuple[SolutionTurn, ...] = ()


def scripts_of(task: Task, solution: Solution | None) -> tuple[Script, ...]:
    """What there is to play: nothing done, always; then the solution and its near misses."""
    idle = tuple(SolutionTurn(steps=(), answer=POLITE) for _ in task.turns)
    check = NEXT_TO_NOTHING if solution is None else solution.idle_check
    nothing = Script(part=Part.NOTHING, name="nothing", turns=idle, check=check, judge=NEXT_TO_NOTHING)
    if solution is None:
        return (nothing,)
    oracle = Script(
        part=Part.ORACLE,
        name="oracle",
        turns=solution.turns,
        check=solution.check,
        judge=ORACLE_JUDGED,
        cases=solution.cases,
    )
    misses = (
        Script(
            part=Part.NEAR_MISS, name=miss.name, turns=miss.turns, check=miss.check, judge=miss.judge, cases=miss.cases
        )
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
            points = ", ".join(f"{name} {points:.2f}" for name, points in grade.check.breakdown.items())
            yield f"its check gives {grade.check.score:.3f}, not {script.check} ({points})"
        counted = [f"{event} {n} of {of}" for event, (n, of) in (grade.check.events or {}).items() if n]
        if counted and script.part is Part.ORACLE:
            yield f"its check counts {', '.join(counted)}: a solution does nothing wrong"
    if judged and task.grading_type is not GradingType.AUTOMATED and grade.judge is not None:
        if grade.judge.score is None and grade.judge.ungraded not in OUT_OF_REACH:
            why = grade.judge.ungraded.value if grade.judge.ungraded else "no score"
            yield f"the judge gave no score, {why}: {' '.join(grade.judge.notes)}"
        elif script.judge is not None and grade.judge.score is not None and grade.judge.score not in script.judge:
            yield f"the judge gives {grade.judge.score:.3f}, not {script.judge}"


async def check_tasks(
    tasks: Sequence[tuple[Task, Solution | None]],
    *,
    show: Callable[[Sequence[CheckedTask]], None],
    judge: JudgeConfig | None = None,
    openclaw: str | None = None,
    run_root: Path = DEFAULT_RUN_ROOT,
    say: Callable[[str], None] | None = None,
    public: Mapping[str, tuple[Task, Solution]] = NO_PUBLIC,
) -> tuple[CheckedTask, ...]:
    """Play and grade every script of every task; the results are in the order of the tasks.

    `show` hears of each task when it is done. Several are played at once, each script in a scratch workspace of its
    own, which is removed; those of a rehearsal that was killed are removed by the next. What a script does wrong is in
    its result. When the judge can't be asked, it is not asked again.

    `public` holds tasks of the same ids with other data, and their solutions. What these leave is graded by the checks
    of `tasks`, too: a memorised answer. It may earn what doing nothing may.

    With `say`, SIGINT, SIGTERM and SIGHUP end what runs, `say` gets a sentence, and RunInterruptedError is raised. A
    cancellation ends what runs as well, without words, and goes on. Raises ResultsError when there is no room for the
    workspaces, ConfigError for a judge that has no endpoint, and OpenClawError for an `openclaw:` judge.
    """
    work = partial(_rehearse, tasks=tasks, public=public, judge=judge, openclaw=openclaw, show=show)
    done = await work_in_scratch(work, tasks=len(tasks), run_root=run_root, say=say)
    return tuple(result for results in done for result in results)


async def _rehearse(
    folder: Path,
    done: dict[int, tuple[CheckedTask, ...]],
    *,
    tasks: Sequence[tuple[Task, Solution | None]],
    public: Mapping[str, tuple[Task, Solution]],
    judge: JudgeConfig | None,
    openclaw: str | None,
    show: Callable[[Sequence[CheckedTask]], None],
) -> None:
    needs = await to_thread.run_sync(partial(examine_tasks, [task for task, _ in tasks], in_openclaw=False))
    homes = folder / HOMES
    async with open_judges(judge, folder=homes / "judge", run_id=folder.name, openclaw=openclaw) as judges:
        secrets = secrets_of(UserState(), *(judge.key_names if judge is not None else ()))
        redactor = Redactor(secrets)
        sandbox = await to_thread.run_sync(check_sandbox)
        make_grader = partial(
            Grader, scratch=folder.parent / CHECKS, secrets=secrets, checks=os.cpu_count() or 1, sandbox=sandbox
        )
        desk = _JudgeStatus(unjudged=make_grader(), judged=make_grader(judges=judges) if judges else None)
        room, openclaws = CapacityLimiter(os.cpu_count() or 1), CapacityLimiter(1)

        async def one(place: int, task: Task, solution: Solution | None) -> None:
            async with room:
                stage = Stage(
                    task=task,
                    folder=homes / f"{place}",
                    sandbox=sandbox,
                    marker=f"{folder.name}/{place}",
                    reads=solution.reads if solution is not None else (),
                )
                theater = _Player(
                    stage=stage,
                    desk=desk,
                    lacking=needs.get(task.task_id, MissingPrerequisites()).sentence
                    or ("" if task.needs_openclaw else stage.refused),
                )
                scripts = scripts_of(task, solution)
                if task.needs_openclaw:
                    async with openclaws:
                        play = partial(play_in_openclaw, folder=stage.folder, judge=judge, openclaw=openclaw)
                        results = await theater.give_in_openclaw(scripts, play)
                else:
                    results = [await theater.give(script) for script in scripts]
                if (known := public.get(task.task_id)) is not None:
                    before = Stage(task=known[0], folder=homes / f"{place}p", sandbox=sandbox, marker=stage.marker)
                    results.append(await theater.recall(before, known[1]))
                done[place] = tuple(_redacted(result, redactor) for result in results)
                show(done[place])

        async with create_task_group() as group:
            for place, (task, solution) in enumerate(tasks):
                group.start_soon(one, place, task, solution)


def _redacted(result: CheckedTask, redactor: Redactor) -> CheckedTask:
    """A result without keys in what checks and judges said: it is shown."""
    return replace(result, problems=tuple(map(redactor.text, result.problems)), untried=redactor.text(result.untried))


@dataclass(slots=True)
class _JudgeStatus:
    """Who grades: with the judge as long as it can be asked, and why it can't be any more."""

    unjudged: Grader
    judged: Grader | None
    lost: str = ""

    async def grade(self, job: GradeJob) -> Grade:
        return self.noted(await (self.unjudged if self.judged is None or self.lost else self.judged).grade(job))

    def noted(self, grade: Grade) -> Grade:
        if grade.judge is not None and grade.judge.ungraded in OUT_OF_REACH:
            self.lost = self.lost or f"{grade.judge.ungraded.value}: {' '.join(grade.judge.notes)}"
        return grade


@dataclass(frozen=True, kw_only=True, slots=True)
class _Player:
    """Plays one task's scripts, one after another, each in an empty folder."""

    stage: Stage
    desk: _JudgeStatus
    lacking: str

    async def give(self, script: Script) -> CheckedTask:
        if (problem := self._unplayable(script)) is not None:
            return problem
        try:
            async with self.stage.open():
                await self.stage.set_up()
                given = await to_thread.run_sync(read_files, self.stage.workspace)
                events = await self.stage.play(script.turns)
                left = await to_thread.run_sync(changed_files, given, self.stage.workspace)
                grade = await self.stage.grade(events, self.desk.grade)
        except StepFailedError as error:
            return self._result(script, problems=(str(error),))
        answers = files_digest(left | {"": script.turns[-1].answer.encode()}) if script.part is Part.ORACLE else ""
        return replace(self._graded(script, grade), answers=answers)

    async def give_in_openclaw(
        self,
        scripts: Sequence[Script],
        play: Callable[[Task, Sequence[Solution]], Awaitable[tuple[str, list[tuple[Outcome, Grade | None]]]]],
    ) -> list[CheckedTask]:
        """Play scripts by `play`, all of which are of the task."""
        unplayable = [self._unplayable(script) for script in scripts]
        playable = [script for script, problem in zip(scripts, unplayable, strict=True) if problem is None]
        ends: list[tuple[Outcome, Grade | None]] = []
        try:
            lacking = ""
            if playable:
                async with self.stage.open():
                    solutions = [Solution(turns=script.turns, cases=script.cases) for script in playable]
                    lacking, ends = await play(self.stage.task, solutions)
        except OpenClawError as error:
            lacking = f"only OpenClaw can play it. {error}"
        if lacking:
            played = [self._result(script, untried=lacking) for script in playable]
        else:
            played = [self._ended(script, *end) for script, end in zip(playable, ends, strict=True)]
        results = iter(played)
        return [next(results) if problem is None else problem for problem in unplayable]

    def _ended(self, script: Script, outcome: Outcome, grade: Grade | None) -> CheckedTask:
        if outcome.reason is Reason.PREREQUISITE_MISSING:
            return self._result(script, untried=outcome.note)
        if outcome.reason is not Reason.COMPLETED or grade is None:
            return self._result(script, problems=(f"in OpenClaw it ended as {outcome.reason.value}: {outcome.note}",))
        return self._graded(script, self.desk.noted(grade))

    def _result(self, script: Script, **found: Any) -> CheckedTask:  # noqa: ANN401 - fields of the result
        task = self.stage.task
        has_rubric = task.grading_type is not GradingType.AUTOMATED
        return CheckedTask(task_id=task.task_id, part=script.part, name=script.name, has_rubric=has_rubric, **found)

    def _unplayable(self, script: Script) -> CheckedTask | None:
        task = self.stage.task
        if self.lacking:
            return self._result(script, untried=self.lacking)
        if problem := script_problem(task, script.turns):
            return self._result(script, problems=(problem,))
        stated, key = (script.judge, "judge") if task.grading_type is GradingType.LLM_JUDGE else (script.check, "check")
        if stated is None:
            return self._result(script, problems=(f"it does not state its score: `{key}: [low, high]`",))
        return None

    def _graded(self, script: Script, grade: Grade) -> CheckedTask:
        judged = self.desk.judged is not None and not self.desk.lost
        return self._result(
            script,
            check=grade.check.score if grade.check is not None else None,
            events=(grade.check.events or {}) if grade.check is not None else {},
            judge=grade.judge.score if grade.judge is not None else None,
            problems=tuple(problems_of(script, self.stage.task, grade, judged=judged)),
            untried=f"its rubric: {self.desk.lost}" if grade.judge is not None and self.desk.lost else "",
        )

    async def recall(self, public: Stage, solution: Solution) -> CheckedTask:
        """Play a solution where it belongs, and grade here what it has left there: by the check alone."""
        task = self.stage.task
        result = partial(CheckedTask, task_id=task.task_id, part=Part.MEMORISED, name="memorised")
        if lacking := self.lacking or self.stage.refused:
            return result(untried=lacking)
        try:
            async with public.open():
                await public.set_up()
                given = await to_thread.run_sync(read_files, public.workspace)
                events = await public.play(solution.turns)
                left = await to_thread.run_sync(changed_files, given, public.workspace)
        except StepFailedError as error:
            return result(problems=(f"the solution of the public form: {error}",))
        async with self.stage.open():
            await self.stage.set_up()
            await to_thread.run_sync(write_changes, self.stage.workspace, left)
            grade = await self.stage.grade(events, self.desk.unjudged.grade)
        limit = ScoreRange(low=0, high=max(NEXT_TO_NOTHING.high, solution.idle_check.high))
        script = Script(part=Part.MEMORISED, name="memorised", turns=(), check=limit, judge=None)
        return result(
            check=grade.check.score if grade.check is not None else None,
            problems=tuple(problems_of(script, task, grade, judged=False)),
        )
