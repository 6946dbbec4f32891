"""What a rehearsal of tasks has shown, in words (pure)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pinchbench.model import Part
from pinchbench.report.text import many, plain, plain_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.model import Rehearsed


def task_line(results: Sequence[Rehearsed], *, width: int) -> str:
    """One task's results in a line; its id takes `width` columns. `results` are of one task, at least one."""
    scores = {
        part: ", ".join(_score(one) for one in results if one.part is part)
        for part in Part
        if any(one.part is part for one in results)
    }
    titles = {Part.ORACLE: "oracle", Part.NEAR_MISS: "near misses", Part.NOTHING: "nothing"}
    shown = "  ".join(f"{titles[part]} {text}" for part, text in scores.items())
    wrong = any(one.problems for one in results)
    return f"{results[0].task_id:<{width}}  {'WRONG' if wrong else 'ok':<5}  {shown}"


def _score(one: Rehearsed) -> str:
    given = [f"{score:.2f}{by}" for score, by in ((one.check, ""), (one.judge, " by the judge")) if score is not None]
    return " and ".join(given) or "-"


def record(one: Rehearsed) -> dict[str, object]:
    """One script's result for machines."""
    return {**asdict(one), "part": one.part.value, "problems": list(one.problems)}


def problem_lines(results: Sequence[Rehearsed]) -> str:
    """All that is wrong, a line each; empty when nothing is."""
    lines = [
        f"{one.task_id}, {_script(one)}: {plain_lines(problem).strip()}" for one in results for problem in one.problems
    ]
    return "\n".join(lines)


def _script(one: Rehearsed) -> str:
    return f"near miss {plain(one.name)!r}" if one.part is Part.NEAR_MISS else one.part.value


def verdict(results: Sequence[Rehearsed], *, judged: bool) -> str:
    """The sentences at the end of a rehearsal without problems."""
    tasks = {one.task_id for one in results}
    checked = {one.task_id for one in results if one.check is not None}
    solved = {one.task_id for one in results if one.part is Part.ORACLE}
    misses = sum(one.part is Part.NEAR_MISS for one in results)
    said = [f"{many(len(tasks), 'task')}, {many(misses, 'near miss')}: all as they should be."]
    if unsolved := sorted(tasks - solved):
        said.append(f"Without a solution: {', '.join(unsolved)}.")
    if not judged and (unjudged := sorted(solved - checked)):
        said.append(f"Played but not graded, because only a judge can (name one with --judge): {', '.join(unjudged)}.")
    return "\n".join(said)
