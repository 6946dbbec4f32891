# ruff: noqa: T201 - it prints a table
"""Which hard tasks tell careful players from hasty ones? `python tests/players.py [--forms N] [TASK ...]`.

Four scripted players work in each task that has services, or is named, and needs no OpenClaw: the *careful* one is its
solution, the *blind* one its first near miss, the *hasty* one its second, and the *idle* one does nothing. They play
the public form and N fresh ones (2). A task tells two players apart if the lesser one's best score is below the better
one's worst: `step` is the smallest of these gaps between careful, hasty and blind, and `spread` is what lies between
the means of careful and blind.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from statistics import mean
from typing import TYPE_CHECKING

import anyio

from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.check_results import Part
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.model.task import Task, Tier
from pinchbench.suite.form import suite_root
from pinchbench.suite.loading import load_suite
from pinchbench.suite.solution import load_solution

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

PLAYERS = ("careful", "hasty", "blind", "idle")
ORDER = ("careful", "blind", "hasty", "idle")  # as `tasks check` plays a solution, its near misses, and nothing


def is_played(task: Task, names: Collection[str]) -> bool:
    """Return whether players can work in a task, and it is wanted."""
    wanted = task.task_id in names if names else task.tier is Tier.HARD and bool(task.services)
    return wanted and not task.needs_openclaw


async def scores_of(form: int | None, names: Collection[str]) -> dict[str, dict[str, float]]:
    """Return what the players get in one form of the tasks, by task and player.

    Raises RuntimeError if a script can't be played.
    """
    root = suite_root(bundled_tasks_dir(), form)
    tasks = [
        (task, load_solution(root, task.task_id)) for task in load_suite(root).suite.tasks if is_played(task, names)
    ]
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for one in await check_tasks(tasks, show=lambda _: None):
        if one.check is None:
            raise RuntimeError(f"{one.task_id}: {one.name}: {' '.join(one.problems) or one.untried}")
        if one.part is not Part.MEMORISED:
            found[one.task_id][ORDER[len(found[one.task_id])]] = one.check
    return found


def line_of(task_id: str, scores: Mapping[str, Sequence[float]]) -> str:
    """Format the means of a task's players, the smallest step between two of them, and the spread."""
    steps = [min(scores[better]) - max(scores[lesser]) for better, lesser in (PLAYERS[:2], PLAYERS[1:3])]
    means = {player: mean(some) for player, some in scores.items()}
    cells = [f"{means[player]:8.2f}" for player in PLAYERS]
    return f"{task_id:28}{''.join(cells)}{min(steps):8.2f}{means['careful'] - means['blind']:8.2f}"


def main(arguments: Sequence[str]) -> None:
    """Print a line for each task."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--forms", type=int, default=2, metavar="N")
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    options = parser.parse_args(arguments)
    known = {task.task_id for task in load_suite(bundled_tasks_dir()).suite.tasks if is_played(task, options.tasks)}
    if unknown := set(options.tasks) - known:
        parser.error(f"no task that is played without OpenClaw has this id: {', '.join(sorted(unknown))}")
    by_task: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for form in (None, *range(1, options.forms + 1)):
        for task_id, scores in anyio.run(scores_of, form, options.tasks).items():
            for player, score in scores.items():
                by_task[task_id][player].append(score)
    print(f"{'':28}" + "".join(f"{name:>8}" for name in (*PLAYERS, "step", "spread")))
    for task_id, some in by_task.items():
        print(line_of(task_id, some))


if __name__ == "__main__":
    main(sys.argv[1:])
