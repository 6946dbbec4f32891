"""What `tasks new --with` writes: working examples, which an idle agent gets nothing for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pinchbench.authoring.template import write_skeleton
from pinchbench.authoring.template_parts import PARTS
from pinchbench.cli import tasks
from pinchbench.errors import ConfigError
from pinchbench.model.task import GradingType
from pinchbench.suite.loading import load_suite
from pinchbench.suite.solution import load_solution, script_problem


@pytest.mark.parametrize(
    ("parts", "abilities", "steps", "criteria"),
    [
        (["clock"], (), 1, 2),
        (["memory", "images", "browser"], ("browser", "memory", "images"), 1, 4),
        (["subagents"], ("subagents",), 1, 2),
        (["chat"], ("chat",), 2, 3),
        (["automations"], ("chat", "automations"), 3, 5),
        (list(PARTS), ("chat", "automations", "subagents", "browser", "memory", "images"), 5, 10),
    ],
)
def test_a_task_with_parts_has_a_solution_for_each_step_and_gives_nothing_to_the_idle(
    parts: list[str], abilities: tuple[str, ...], steps: int, criteria: int, tmp_path: Path
) -> None:
    write_skeleton(tmp_path, "task_a", grading=GradingType.AUTOMATED, category="x", parts=parts)

    [task] = load_suite(tmp_path).suite.tasks
    solution = load_solution(tmp_path, "task_a")
    assert (task.abilities, len(task.turns)) == (abilities, steps)
    assert solution is not None
    assert script_problem(task, solution.turns) == ""
    check: dict[str, Callable[..., dict[str, float]]] = {}
    exec(task.automated_checks or "", check)
    assert list(check["grade"]([], str(tmp_path), []).values()) == [0.0] * criteria


def test_the_command_names_all_parts() -> None:
    assert tuple(PARTS) == tasks.PARTS


@pytest.mark.parametrize(("grading", "part"), [(GradingType.HYBRID, "chat"), (GradingType.AUTOMATED, "mail")])
def test_parts_take_a_check_and_a_known_name(grading: GradingType, part: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--with"):
        write_skeleton(tmp_path, "task_a", grading=grading, category="x", parts=[part])
    assert list(tmp_path.iterdir()) == []
