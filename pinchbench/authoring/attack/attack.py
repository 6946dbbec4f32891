"""Attacking checks: mutants of the solutions and cheats are graded as a trial is graded, without an agent."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import count
from pathlib import PurePosixPath
from random import Random
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, create_task_group, to_thread

from pinchbench.authoring.attack.attack_results import PAID, AttackedTask, Played
from pinchbench.authoring.attack.cheats import cheats_of
from pinchbench.authoring.attack.data_mutants import MutantKind, prose_mutants
from pinchbench.authoring.attack.mutants import UNUSABLE, Mutant, choose, file_mutants
from pinchbench.authoring.attack.workspace_files import NoFile, read_files, write_changes
from pinchbench.authoring.play import StepFailedError, message
from pinchbench.authoring.stage import Stage, work_in_scratch
from pinchbench.defaults import DEFAULT_RUN_ROOT
from pinchbench.files.folders import remove_folder
from pinchbench.grading.grader import Grader
from pinchbench.model.grade import CheckGrade
from pinchbench.model.task import GradingType
from pinchbench.runner.plan.prerequisites import MissingPrerequisites, examine_tasks
from pinchbench.runner.setup.run_folders import CHECKS, HOMES
from pinchbench.runner.setup.sandboxing import check_sandbox
from pinchbench.suite.solution import SolutionTurn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pinchbench.authoring.attack.workspace_files import Content
    from pinchbench.model.task import Task, Turn
    from pinchbench.suite.solution import Solution

MAX_PROBES = 24  # new files that the prompt does not name, tried for whether the check reads them
LEAST_LOSS = 1e-6  # of a score, beyond rounding
SLACK = 0.03  # that an unusable file may earn more than a missing one
NO_ANSWER = "Done."


@dataclass(frozen=True, kw_only=True, slots=True)
class AttackSettings:
    """`max_mutants` are played of each task, and chosen by `seed`: the same ones each time."""

    max_mutants: int
    seed: int


async def attack_tasks(
    tasks: Sequence[tuple[Task, Solution]],
    settings: AttackSettings,
    *,
    show: Callable[[AttackedTask], None],
    run_root: Path = DEFAULT_RUN_ROOT,
    say: Callable[[str], None] | None = None,
) -> tuple[AttackedTask, ...]:
    """Attack the check of each task; the results are in the order of the tasks, and `show` hears of each when done.

    As many checks run at once as there are CPUs. Raises and is ended as `work_in_scratch` says.
    """
    work = partial(_attack, tasks=tasks, settings=settings, show=show)
    return tuple(await work_in_scratch(work, tasks=len(tasks), run_root=run_root, say=say))


async def _attack(
    folder: Path,
    done: dict[int, AttackedTask],
    *,
    tasks: Sequence[tuple[Task, Solution]],
    settings: AttackSettings,
    show: Callable[[AttackedTask], None],
) -> None:
    cpus = os.cpu_count() or 1
    needs = await to_thread.run_sync(examine_tasks, [task for task, _ in tasks])
    sandbox = await to_thread.run_sync(check_sandbox)
    grader = Grader(scratch=folder.parent / CHECKS, checks=cpus, sandbox=sandbox)
    room = CapacityLimiter(cpus)

    async def one(place: int, task: Task, solution: Solution) -> None:
        async with room:
            stage = Stage(
                task=task,
                folder=folder / HOMES / f"{place}",
                sandbox=sandbox,
                marker=f"{folder.name}/{place}",
                reads=solution.reads,
            )
            attacker = _Attacker(stage=stage, grader=grader, solution=solution, settings=settings)
            missing = needs.get(task.task_id, MissingPrerequisites()).sentence or stage.refused
            done[place] = AttackedTask(task_id=task.task_id, untried=missing) if missing else await attacker.attack()
            show(done[place])

    async with create_task_group() as group:
        for place, (task, solution) in enumerate(tasks):
            group.start_soon(one, place, task, solution)


class _Attacker:
    """Attacks the check of one task: its mutants are graded one after another."""

    def __init__(self, *, stage: Stage, grader: Grader, solution: Solution, settings: AttackSettings) -> None:
        self._stage = stage
        self._grader = grader
        self._solution = solution
        self._settings = settings
        self._seed = f"{settings.seed} {stage.task.task_id}"
        self._numbers = count(1)

    async def attack(self) -> AttackedTask:
        stage, task_id = self._stage, self._stage.task.task_id
        try:
            async with stage.open():
                await stage.set_up()
                given_at = stage.folder / "given"
                await to_thread.run_sync(partial(shutil.copytree, stage.workspace, given_at, symlinks=True))
                given = await to_thread.run_sync(read_files, given_at)
                events = await stage.play(self._solution.turns)
                left = await to_thread.run_sync(read_files, stage.workspace)
                whole = await self._grade({}, events)
                if whole.score is None or whole.score not in self._solution.check:
                    problem = f"the check gives its solution {_given(whole)}, not {self._solution.check}"
                    return AttackedTask(task_id=task_id, score=whole.score, problems=(problem,))
                found = await self._mutate(given, left, events, whole.score)
                cheats = [
                    one async for one in self._cheat(given, {path: left[path] for path in found.results}, given_at)
                ]
                return replace(found, cheats=tuple(cheats))
        except StepFailedError as error:
            return AttackedTask(task_id=task_id, problems=(str(error),))

    async def _mutate(
        self, given: Mapping[str, bytes], left: Mapping[str, bytes], events: Sequence[dict[str, object]], whole: float
    ) -> AttackedTask:
        task = self._stage.task
        missing: dict[str, float | None] = {}

        async def score_without(path: str) -> float | None:
            if path not in missing:
                missing[path] = (await self._grade({path: NoFile.ABSENT}, events)).score
            return missing[path]

        prompt = "\n".join(turn.prompt for turn in task.turns)
        changed, named, unnamed = sort_files(given, left, prompt)
        if len(unnamed) > MAX_PROBES:
            unnamed = sorted(Random(self._seed).sample(unnamed, MAX_PROBES))  # noqa: S311 - not for secrets
        read = [path for path in unnamed if _is_loss(await score_without(path), whole)]
        results = (*changed, *named, *read)
        code = (task.automated_checks or "") if task.grading_type is GradingType.AUTOMATED else None
        every = [
            mutant
            for path in results
            for mutant in file_mutants(path, left[path], given.get(path), code=code, seed=self._seed)
        ]
        every += [
            Mutant(path=path, kind=MutantKind.STALE, detail="still there", changes={path: given[path]})
            for path in sorted(given.keys() - left.keys())
        ]
        if _is_loss((await self._grade({}, _answering(events, NO_ANSWER))).score, whole):
            every += answer_mutants(_last_answer(events), task.automated_checks or "")
        equivalent = [one.name for one in every if any(map(partial(fnmatchcase, one.name), self._solution.equivalent))]
        chosen = choose(
            [one for one in every if one.name not in equivalent], self._settings.max_mutants, seed=self._seed
        )
        played = []
        for mutant in chosen:
            spoken = events if mutant.answer is None else _answering(events, mutant.answer)
            grade = await self._grade(mutant.changes, spoken)
            killed = _is_loss(grade.score, whole)
            if killed and mutant.kind in UNUSABLE and mutant.path not in given and grade.score is not None:
                killed = grade.score <= (await score_without(mutant.path) or 0.0) + SLACK
            played.append(_played(mutant.name, mutant.kind.value, grade, killed=killed))
        return AttackedTask(
            task_id=task.task_id,
            score=whole,
            results=results,
            generated=len(every),
            mutants=tuple(played),
            equivalent=tuple(equivalent),
        )

    async def _cheat(
        self, given: Mapping[str, bytes], results: Mapping[str, bytes], given_at: Path
    ) -> AsyncIterator[Played]:
        task = self._stage.task
        for cheat in cheats_of(last_session(task.turns), given, results):
            turns = [SolutionTurn(steps=(), answer=cheat.answer)] * len(task.turns)
            events = await self._stage.play(turns)
            grade = await self._grade(cheat.changes, events, base=given_at)
            limit = max(PAID, self._solution.idle_check.high)
            killed = grade.score is not None and grade.score <= limit + LEAST_LOSS
            yield _played(cheat.name, "cheat", grade, killed=killed)

    async def _grade(
        self, changes: Mapping[str, Content], events: Sequence[Mapping[str, object]], *, base: Path | None = None
    ) -> CheckGrade:
        """Return the check's grade of a workspace with changes."""
        folder = self._stage.folder / f"mutant_{next(self._numbers)}"
        workspace = folder / "workspace"
        await to_thread.run_sync(partial(_copy, base or self._stage.workspace, workspace, changes))
        grade = await self._stage.grade(events, self._grader.grade, workspace=workspace, evidence=folder / "evidence")
        await to_thread.run_sync(remove_folder, folder)
        return grade.check or CheckGrade(ungraded=grade.ungraded, notes=grade.notes)


def _copy(source: Path, target: Path, changes: Mapping[str, Content]) -> None:
    target.parent.mkdir(mode=0o700)
    shutil.copytree(source, target, symlinks=True)
    write_changes(target, changes)


def _played(name: str, kind: str, grade: CheckGrade, *, killed: bool) -> Played:
    why = "" if grade.ungraded is None else f"{grade.ungraded.value}: {' '.join(grade.notes)}"
    return Played(name=name, kind=kind, score=grade.score, killed=killed, ungraded=why)


def _given(grade: CheckGrade) -> str:
    return f"no score ({' '.join(grade.notes)})" if grade.score is None else f"{grade.score:.3f}"


def _is_loss(score: float | None, whole: float) -> bool:
    return score is not None and score < whole - LEAST_LOSS


def sort_files(
    given: Mapping[str, bytes], left: Mapping[str, bytes], prompt: str
) -> tuple[list[str], list[str], list[str]]:
    """Return what a solution has changed of the given files, its new files that the prompt names, and the others."""
    changed = sorted(path for path in left if path in given and left[path] != given[path])
    new = sorted(path for path in left if path not in given)
    named = [path for path in new if PurePosixPath(path).name in prompt]
    return changed, named, [path for path in new if path not in named]


def last_session(turns: Sequence[Turn]) -> list[str]:
    """Return the prompts of the last session: who repeats those of an earlier one has remembered them."""
    begins = max((place for place, turn in enumerate(turns) if turn.new_session), default=0)
    return [turn.prompt for turn in turns[begins:]]


def answer_mutants(answer: str, code: str) -> Iterator[Mutant]:
    """Return mutants of the last answer, which the check reads: none, and each number that the check names wrong."""
    yield Mutant(path="answer", kind=MutantKind.ANSWER, detail="none", answer=NO_ANSWER)
    for one in prose_mutants(answer, code):
        yield Mutant(path="answer", kind=one.kind, detail=one.detail, answer=one.text)


def _last_answer(events: Sequence[Mapping[str, object]]) -> str:
    return str(events[-1]["message"]["content"][0]["text"])  # type: ignore[index]  # as `play` writes it


def _answering(events: Sequence[dict[str, object]], answer: str) -> list[dict[str, object]]:
    """Return a transcript whose last answer is another."""
    return [*events[:-1], message("assistant", text=answer)]
