"""Attacking checks: mutants of the solutions and cheats are graded as a trial is graded, without an agent."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import count, pairwise
from pathlib import Path, PurePosixPath
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, Lock, create_task_group, to_thread

from pinchbench.authoring.attack import record_mutants as records
from pinchbench.authoring.attack.attack_results import PAID, AttackedTask, Played
from pinchbench.authoring.attack.cheats import CLAIM, cheats_of
from pinchbench.authoring.attack.data_mutants import MutantKind, TextMutant, prose_mutants
from pinchbench.authoring.attack.mutants import UNUSABLE, Mutant, choose, file_mutants
from pinchbench.authoring.attack.workspace_files import Content, NoFile, read_files, write_changes
from pinchbench.authoring.play import POLITE, StepFailedError, message, play_in_openclaw
from pinchbench.authoring.stage import Stage, work_in_scratch
from pinchbench.defaults import DEFAULT_RUN_ROOT
from pinchbench.errors import OpenClawError
from pinchbench.files.archive_restore import restore_workspace
from pinchbench.files.folders import remove_folder
from pinchbench.grading.grader import Grader
from pinchbench.model.ending import Reason
from pinchbench.model.grade import CheckGrade
from pinchbench.model.task import GradingType, Task, Turn
from pinchbench.model.timeline import Ability
from pinchbench.results.evidence_files import Evidence
from pinchbench.runner.plan.prerequisites import MissingPrerequisites, examine_tasks
from pinchbench.runner.run_folders import CHECKS, HOMES
from pinchbench.runner.setup.sandboxing import check_sandbox
from pinchbench.suite.solution import Solution, SolutionTurn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from pinchbench.authoring.attack.record_mutants import Line

MAX_PROBES = 24  # new files that the prompt does not name, tried for whether the check reads them
LEAST_LOSS = 1e-6  # of a score, beyond rounding
SLACK = 0.03  # that an unusable file may earn more than a missing one
NO_ANSWER = "Done."
NO_CHANGES: Mapping[str, Content] = MappingProxyType({})
EVIDENCE = Evidence(folder=Path())
CHAT, TRANSCRIPT = EVIDENCE.chat.name, EVIDENCE.transcript.name
SERVICE_LOGS = tuple(log.name for log in EVIDENCE.service_logs)
CHAT_NAME = "chat"  # among the results


@dataclass(frozen=True, kw_only=True, slots=True)
class AttackSettings:
    """`max_mutants` are played of each task, and chosen by `seed`: the same ones each time. `openclaw` is a command."""

    max_mutants: int
    seed: int
    openclaw: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What a script has left: its workspace, its transcript, and other files of the evidence by their names."""

    workspace: Path
    events: Sequence[Mapping[str, object]]
    records: Mapping[str, bytes] = field(default_factory=dict)


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
    needs = await to_thread.run_sync(partial(examine_tasks, [task for task, _ in tasks], in_openclaw=False))
    sandbox = await to_thread.run_sync(check_sandbox)
    grader = Grader(scratch=folder.parent / CHECKS, checks=cpus, sandbox=sandbox)
    room, openclaws = CapacityLimiter(cpus), Lock()

    async def one(place: int, task: Task, solution: Solution) -> None:
        async with room:
            stage = Stage(
                task=task,
                folder=folder / HOMES / f"{place}",
                sandbox=sandbox,
                marker=f"{folder.name}/{place}",
                reads=solution.reads,
            )
            attacker = _Attacker(stage, grader=grader, solution=solution, settings=settings, openclaws=openclaws)
            missing = needs.get(task.task_id, MissingPrerequisites()).sentence
            missing = missing or ("" if task.needs_openclaw else stage.refused)
            done[place] = AttackedTask(task_id=task.task_id, untried=missing) if missing else await attacker.attack()
            show(done[place])

    async with create_task_group() as group:
        for place, (task, solution) in enumerate(tasks):
            group.start_soon(one, place, task, solution)


class _Attacker:
    """Attacks the check of one task: its mutants are graded one after another."""

    def __init__(
        self, stage: Stage, *, grader: Grader, solution: Solution, settings: AttackSettings, openclaws: Lock
    ) -> None:
        self._stage = stage
        self._grader = grader
        self._solution = solution
        self._settings = settings
        self._openclaws = openclaws
        self._seed = f"{settings.seed} {stage.task.task_id}"
        self._numbers = count(1)
        self._idle = (SolutionTurn(steps=(), answer=POLITE),) * len(stage.task.turns)

    async def attack(self) -> AttackedTask:
        stage, task_id = self._stage, self._stage.task.task_id
        try:
            async with stage.open():
                await stage.set_up()
                given_at = stage.folder / "given"
                await to_thread.run_sync(partial(shutil.copytree, stage.workspace, given_at, symlinks=True))
                given = await to_thread.run_sync(read_files, given_at)
                play = self._play_in_openclaw if stage.task.needs_openclaw else self._play
                idle, solved = await play(given_at)
                left = await to_thread.run_sync(read_files, solved.workspace)
                whole = await self._grade(solved)
                if whole.score is None or whole.score not in self._solution.check:
                    problem = f"the check gives its solution {_given(whole)}, not {self._solution.check}"
                    return AttackedTask(task_id=task_id, score=whole.score, problems=(problem,))
                found = await self._mutate(given, left, solved, idle, whole.score)
                results = {path: left[path] for path in found.results if path in left}
                chat = records.read_lines(solved.records[CHAT]) if CHAT_NAME in found.results else []
                cheats = [one async for one in self._cheat(given, results, idle, chat)]
                return replace(found, cheats=tuple(cheats))
        except StepFailedError as error:
            return AttackedTask(task_id=task_id, problems=(str(error),))
        except OpenClawError as error:
            return AttackedTask(task_id=task_id, untried=f"only OpenClaw can play it: {error}")

    async def _play(self, given_at: Path) -> tuple[Work, Work]:
        """Do nothing, then play the solution; return what each has left. Raises StepFailedError."""
        stage = self._stage
        events = await stage.play(self._idle)
        idle = Work(workspace=given_at, events=events, records=await to_thread.run_sync(stage.records))
        await stage.set_up()
        events = await stage.play(self._solution.turns)
        return idle, Work(workspace=stage.workspace, events=events, records=await to_thread.run_sync(stage.records))

    async def _play_in_openclaw(self, given_at: Path) -> tuple[Work, Work]:
        """Do the same in OpenClaw, in a trial each. Raises StepFailedError and OpenClawError."""
        folder, scripts = self._stage.folder / "openclaw", [Solution(turns=self._idle), self._solution]
        play = partial(play_in_openclaw, self._stage.task, scripts, folder=folder, openclaw=self._settings.openclaw)
        async with self._openclaws:
            lacking, ends = await play()
        if lacking:
            raise OpenClawError(lacking)
        works = []
        for (outcome, _), workspace in zip(ends, (given_at, folder / "solved"), strict=True):
            if outcome.reason is not Reason.COMPLETED:
                raise StepFailedError(f"in OpenClaw it ended as {outcome.reason.value}: {outcome.note}")
            works.append(await to_thread.run_sync(_read_work, Path(outcome.evidence), workspace))
        return works[0], works[1]

    async def _mutate(
        self, given: Mapping[str, bytes], left: Mapping[str, bytes], solved: Work, idle: Work, whole: float
    ) -> AttackedTask:
        task = self._stage.task
        missing: dict[str, float | None] = {}

        async def score_without(path: str) -> float | None:
            if path not in missing:
                missing[path] = (await self._grade(solved, {path: NoFile.ABSENT})).score
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
        if _is_loss((await self._grade(_answering(solved, NO_ANSWER))).score, whole):
            every += answer_mutants([*filter(None, map(_said, solved.events))][-1], task.automated_checks or "")
        recorded = []
        for name, file, without_it, mutants in self._recorded(solved, idle):
            if _is_loss((await self._grade(_with(solved, file, without_it))).score, whole):
                recorded.append(name)
                every += [
                    Mutant(path=name, kind=one.kind, detail=one.detail, record=(file, one.text)) for one in mutants
                ]
        equivalent = [one.name for one in every if any(map(partial(fnmatchcase, one.name), self._solution.equivalent))]
        chosen = choose(
            [one for one in every if one.name not in equivalent], self._settings.max_mutants, seed=self._seed
        )
        played = []
        for mutant in chosen:
            work = solved if mutant.answer is None else _answering(solved, mutant.answer)
            work = work if mutant.record is None else _with(work, *mutant.record)
            grade = await self._grade(work, mutant.changes)
            killed = _is_loss(grade.score, whole)
            if killed and mutant.kind in UNUSABLE and mutant.path not in given and grade.score is not None:
                killed = grade.score <= (await score_without(mutant.path) or 0.0) + SLACK
            played.append(_played(mutant.name, mutant.kind.value, grade, killed=killed))
        return AttackedTask(
            task_id=task.task_id,
            score=whole,
            results=(*results, *recorded),
            generated=len(every),
            mutants=tuple(played),
            equivalent=tuple(equivalent),
        )

    def _recorded(self, solved: Work, idle: Work) -> Iterator[tuple[str, str, str, Iterator[TextMutant]]]:
        """Yield what is recorded of the agent: its name among the results, file, text without the agent, mutants."""
        task = self._stage.task
        if chat := records.read_lines(solved.records.get(CHAT, b"")):
            mutants = records.chat_mutants(chat, task.automated_checks or "", has_clock=task.starts_at is not None)
            yield (CHAT_NAME, CHAT, records.without(chat, records.messages_of_agent(chat)), mutants)
        for service, file in zip(task.services, SERVICE_LOGS, strict=False):
            log, before = (records.read_lines(work.records.get(file, b"")) for work in (solved, idle))
            mutants = records.log_mutants(log, before, Random(f"{self._seed} {file}"))  # noqa: S311 - not for secrets
            yield (f"{service.name}.log", file, records.without(log, records.acts_of(log, before)), mutants)
        if Ability.SUBAGENTS in task.abilities:
            sessions = records.sessions_of([dict(event) for event in solved.events])
            yield ("sessions", TRANSCRIPT, records.write_lines(sessions[0]), records.session_mutants(sessions))

    async def _cheat(
        self, given: Mapping[str, bytes], results: Mapping[str, bytes], idle: Work, chat: Sequence[Line]
    ) -> AsyncIterator[Played]:
        works = [
            (one.name, _saying(idle, one.answer), one.changes)
            for one in cheats_of(last_session(self._stage.task.turns), given, results)
        ]
        if chat:
            every = _with(idle, CHAT, records.write_lines(records.everything_to_everybody(chat)))
            works.append(("everything to everybody", every, {}))
        limit = max(PAID, self._solution.idle_check.high) + LEAST_LOSS
        for name, work, changes in works:
            grade = await self._grade(work, changes)
            yield _played(name, "cheat", grade, killed=grade.score is not None and grade.score <= limit)

    async def _grade(self, work: Work, changes: Mapping[str, Content] = NO_CHANGES) -> CheckGrade:
        """Return the check's grade of what a script has left, with changes to its workspace."""
        folder = self._stage.folder / f"mutant_{next(self._numbers)}"
        workspace = folder / "workspace"
        await to_thread.run_sync(partial(_copy, work.workspace, workspace, changes))
        grade = await self._stage.grade(
            work.events, self._grader.grade, workspace=workspace, evidence=folder / "evidence", records=work.records
        )
        await to_thread.run_sync(remove_folder, folder)
        return grade.check or CheckGrade(ungraded=grade.ungraded, notes=grade.notes)


def _with(work: Work, file: str, text: str) -> Work:
    """Return work with another text of a file of its evidence."""
    if file == TRANSCRIPT:
        return replace(work, events=[line for line in records.read_lines(text.encode()) if not isinstance(line, str)])
    return replace(work, records={**work.records, file: text.encode()})


def _read_work(folder: Path, workspace: Path) -> Work:
    """Read what a trial has left; `workspace` is for its files, unless it is there. Raises OSError."""
    evidence = Evidence(folder=folder)
    if not workspace.exists():
        restore_workspace(evidence.workspace, workspace)
    files = (file for file in (evidence.chat, *evidence.service_logs) if file.is_file())
    work = Work(workspace=workspace, events=[], records={file.name: file.read_bytes() for file in files})
    return _with(work, TRANSCRIPT, evidence.transcript.read_text(encoding="utf-8"))


def _saying(idle: Work, answer: str) -> Work:
    """Return the work of doing nothing with another answer to everything."""
    events = [message("assistant", text=answer) if _said(event) else event for event in idle.events]
    chat = records.answered(records.read_lines(idle.records.get(CHAT, b"")), answer)
    return _with(replace(idle, events=events), CHAT, records.write_lines(chat))


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
    """Return mutants of the last answer, which the check reads: none, a claim, and numbers and names in it wrong.

    Those are numbers and names that the check has, too.
    """
    wrong = Mutant(path="answer", kind=MutantKind.ANSWER, detail="none", answer=NO_ANSWER)
    yield wrong
    yield replace(wrong, detail="a claim that all is done", answer=CLAIM)
    for one in prose_mutants(answer, code):
        yield replace(wrong, kind=one.kind, detail=one.detail, answer=one.text)
    known = set(re.findall(r"\w+", code))
    for name, other in pairwise(one for one in dict.fromkeys(re.findall(r"\b[A-Z]\w+", answer)) if one in known):
        swap = {name: other, other: name}
        text = re.sub(r"\w+", lambda found, swap=swap: swap.get(found[0], found[0]), answer)  # type: ignore[misc]
        yield replace(wrong, kind=MutantKind.SWAPPED, detail=f"{name} and {other} swapped", answer=text)


def _said(event: Mapping[str, Any]) -> str:
    """Return what the agent says in an event of a transcript; empty for anything else."""
    if event.get("type") != "message" or event["message"]["role"] != "assistant":
        return ""
    return "".join(part["text"] for part in event["message"]["content"] if part["type"] == "text")


def _answering(work: Work, answer: str) -> Work:
    """Return work whose last answer is another."""
    place = max(place for place, event in enumerate(work.events) if _said(event))
    return replace(work, events=[*work.events[:place], message("assistant", text=answer), *work.events[place + 1 :]])
