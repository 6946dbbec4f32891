"""What was measured of the hard tier, as tables: `python tasks/measured.py`; `make suite` writes them into README.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import yaml

from pinchbench.model.task import Tier
from pinchbench.suite.load import load_suite

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "measured.yaml"
BEGIN_STRONG, BEGIN_SIMPLE = (
    f"<!-- {what}: made from measured.yaml. -->" for what in ("A strong model", "Simple programs")
)
GOAL = 0.95  # no task should give a strong model more than that in two of three plays


def strong_table(tasks: Mapping[str, Mapping], hard: Sequence[str]) -> str:
    """Return a table of a strong model's plays of each task, and their mean: each task counts the same.

    `hard` has the numbers of all tasks of the hard tier. Raises ValueError for plays of another task.
    """
    if others := sorted(tasks.keys() - set(hard)):
        raise ValueError(f"{MEASURED.name} has plays of tasks that are not in the hard tier: {', '.join(others)}")
    rows = [
        f"| {task} | {', '.join(f'{score:.2f}' for score in one['plays'])} | {one.get('remark', '')} |\n"
        for task, one in tasks.items()
    ]
    means = [fmean(one["plays"]) for one in tasks.values()]
    high = [task for task, one in tasks.items() if max(one["plays"]) > GOAL]
    twice = sum(len(one["plays"]) > 1 for one in tasks.values())
    unplayed = [task for task in hard if task not in tasks]
    return (
        "| task | scores | of that |\n|---|--:|---|\n" + "".join(rows) + f"\nThe mean of these {len(tasks)} tasks is"
        f" {fmean(means):.2f}; {twice} of them were played more than once. Above {GOAL} in any play:"
        f" {', '.join(high) or 'none'}." + (f" Not played yet: {', '.join(unplayed)}." if unplayed else "") + "\n"
    )


def simple_table(tasks: Mapping[str, Mapping]) -> str:
    """Return a table of what an obvious and a good simple program get."""
    head = "| task | an obvious way | a good one | what the good one does |\n|---|--:|--:|---|\n"
    return head + "".join(
        f"| {task} | {one['obvious']:.2f} | {one['good']:.2f} | {one['how']} |\n" for task, one in tasks.items()
    )


def hard_tasks() -> list[str]:
    """Return the numbers of the tasks of the hard tier."""
    tasks = load_suite(HERE).suite.tasks
    return [task.task_id.split("_")[1] for task in tasks if task.tier is Tier.HARD]


def measured() -> tuple[Mapping[str, Mapping], Mapping[str, Mapping]]:
    """Return what a strong model has in each task, and what simple programs have, by the number of the task."""
    both = yaml.safe_load(MEASURED.read_text(encoding="utf-8"))
    return both["strong"], both["simple"]


if __name__ == "__main__":
    strong, simple = measured()
    print(strong_table(strong, hard_tasks()))
    print(simple_table(simple), end="")
