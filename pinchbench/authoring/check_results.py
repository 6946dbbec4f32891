"""What checking tasks has found, and the sentences about it (pure)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from pinchbench.report.text import many, plain, plain_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.defaults import FailureEvent


class Part(StrEnum):
    """What is played of a task: its solution, a near miss, nothing but a polite answer, or another form's solution."""

    ORACLE = "oracle"
    NEAR_MISS = "near_miss"
    NOTHING = "nothing"
    MEMORISED = "memorised"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedTask:
    """What came of one script: the scores of check and judge (None: not graded), and what is not as it should be.

    `untried` says why the script, or its judge's part, could not be tried on this machine. `has_rubric`: a judge has a
    word in it. `answers` is a digest of what a solution has left and of its last answer; empty for other scripts.
    `events` are those that the check counts.
    """

    task_id: str
    part: Part
    name: str
    check: float | None = None
    judge: float | None = None
    problems: tuple[str, ...] = ()
    untried: str = ""
    has_rubric: bool = False
    answers: str = ""
    events: Mapping[FailureEvent, tuple[int, int]] = field(default_factory=dict)


NEAR_MISSES = 2  # of each task, at least


def task_line(results: Sequence[CheckedTask], *, width: int) -> str:
    """Format one task's results in a line; its id takes `width` columns. `results` are of one task, at least one."""
    scores = {
        part: ", ".join(_score(one) for one in results if one.part is part)
        for part in Part
        if any(one.part is part for one in results)
    }
    shown = "  ".join(
        f"{'near misses' if part is Part.NEAR_MISS else part.value} {text}" for part, text in scores.items()
    )
    wrong, untried = any(one.problems for one in results), any(one.untried for one in results)
    state = "WRONG" if wrong else "-" if untried else "ok"
    return f"{results[0].task_id:<{width}}  {state:<5}  {shown}"


def _score(one: CheckedTask) -> str:
    given = [f"{score:.2f}{by}" for score, by in ((one.check, ""), (one.judge, " by the judge")) if score is not None]
    return " and ".join(given) or "-"


def record(one: CheckedTask) -> dict[str, object]:
    """Return one script's result as a JSON object."""
    shown = {name: value for name, value in asdict(one).items() if name != "answers"}
    return {**shown, "part": one.part.value, "problems": list(one.problems)}


def problem_lines(results: Sequence[CheckedTask]) -> str:
    """Format all problems of these scripts, one per line; empty if there are none."""
    lines = [
        f"{one.task_id}, {_script(one)}: {plain_lines(problem).strip()}" for one in results for problem in one.problems
    ]
    return "\n".join(lines)


def _script(one: CheckedTask) -> str:
    return f"near miss {plain(one.name)!r}" if one.part is Part.NEAR_MISS else one.part.value


def wrong_tasks(results: Sequence[CheckedTask]) -> str:
    """Return the sentence about all tasks with problems; empty if there are none."""
    wrong = sorted({one.task_id for one in results if one.problems})
    many_tasks = many(len({one.task_id for one in results}), "task")
    return f"{len(wrong)} of {many_tasks} not as stated: {', '.join(wrong)}." if wrong else ""


def untried_lines(results: Sequence[CheckedTask]) -> str:
    """List what could not be tried on this machine, one line per reason; empty if everything could."""
    reasons: dict[str, list[str]] = {}
    for one in results:
        if one.untried and one.task_id not in reasons.setdefault(one.untried, []):
            reasons[one.untried].append(one.task_id)
    return "\n".join(f"Not tried: {', '.join(tasks)}: {plain(reason)}" for reason, tasks in reasons.items())


def verdict(results: Sequence[CheckedTask], *, judged: bool) -> str:
    """Return the closing sentences for a rehearsal without problems."""
    tasks = {one.task_id for one in results}
    misses = Counter(one.task_id for one in results if one.part is Part.NEAR_MISS)
    solved = {one.task_id for one in results if one.part is Part.ORACLE}
    said = [f"{many(len(tasks), 'task')}, {many(misses.total(), 'near miss')}: all as expected."]
    if unsolved := sorted(tasks - solved):
        said.append(f"Without a solution: {', '.join(unsolved)}.")
    if few := sorted(task_id for task_id in solved if misses[task_id] < NEAR_MISSES):
        said.append(f"With fewer than two near misses: {', '.join(few)}.")
    rubrics = {one.task_id for one in results if one.has_rubric}
    if rubrics and not judged:
        said.append(f"The rubrics of {many(len(rubrics), 'task')} were not tried; --judge names who can.")
    return "\n".join(said)


def same_answers(checked: Mapping[int, Sequence[CheckedTask]]) -> str:
    """Name the tasks whose solutions leave the same in two forms, one a line; empty if there are none."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for form, results in checked.items():
        for one in results:
            if one.answers:
                found[one.task_id, one.answers].append(form)
    return "\n".join(
        f"{task_id} has the same answers in the forms {', '.join(map(str, forms))}."
        for (task_id, _), forms in sorted(found.items())
        if len(forms) > 1
    )
