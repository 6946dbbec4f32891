"""New tasks to begin with: whole, with working examples of parts, and nothing of the user's overwritten."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pinchbench.authoring.template import PARTS, write_skeleton
from pinchbench.cli import tasks
from pinchbench.errors import ConfigError
from pinchbench.model.task import GradingType
from pinchbench.suite.loading import load_suite
from pinchbench.suite.solution import load_solution, script_problem


@pytest.mark.parametrize("grading", GradingType)
def test_a_new_task_loads_with_its_solution_and_two_near_misses(grading: GradingType, tmp_path: Path) -> None:
    files = write_skeleton(tmp_path / "deep" / "tasks", "task_50_new", grading=grading, category="my things")

    assert [path.relative_to(tmp_path / "deep" / "tasks").as_posix() for path in files] == [
        "task_50_new/task.md",
        "task_50_new/solution.yaml",
    ]
    [task] = load_suite(tmp_path / "deep" / "tasks").suite.tasks
    assert (task.task_id, task.category, task.grading_type) == ("task_50_new", "my things", grading)
    assert (task.automated_checks is None) == (grading is GradingType.LLM_JUDGE)
    assert (task.llm_judge_rubric is None) == (grading is GradingType.AUTOMATED)
    assert task.expected_behavior
    assert task.grading_criteria
    solution = load_solution(tmp_path / "deep" / "tasks", "task_50_new")
    assert solution is not None
    assert len(solution.near_misses) == 2


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "task_a").mkdir()
    (tmp_path / "task_a" / "solution.yaml").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="is there already; choose another id"):
        write_skeleton(tmp_path, "task_a", grading=GradingType.AUTOMATED, category="x")
    [kept] = (tmp_path / "task_a").iterdir()
    assert kept.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("task_id", "category"),
    [
        ("", "x"),
        ("../up", "x"),
        ("a b", "x"),
        ("README", "x"),
        ("task_XX_a", "x"),
        ("a: b", "x"),
        ("workspace", "x"),
        ("Core", "x"),
        ("automated-only", "x"),
        ("task_a", "[x"),
        ("task_a", "x # y"),
        ("task_a", "x\nid: b"),
        ("task_a", "'x'"),
    ],
)
def test_ids_and_categories_that_can_not_be_used_are_refused(task_id: str, category: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        write_skeleton(tmp_path, task_id, grading=GradingType.AUTOMATED, category=category)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("task_id", ["task_mine", "TASK_MINE"])
def test_an_id_that_another_file_has_is_taken_in_any_case(task_id: str, tmp_path: Path) -> None:
    write_skeleton(tmp_path, "task_mine", grading=GradingType.AUTOMATED, category="x")
    (tmp_path / "task_mine" / "task.md").rename(tmp_path / "other.md")
    (tmp_path / "task_mine" / "solution.yaml").unlink()
    (tmp_path / "task_mine").rmdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigError, match=r"is taken by .*other\.md"):
        write_skeleton(tmp_path, task_id, grading=GradingType.AUTOMATED, category="x")
    assert sorted(tmp_path.rglob("*")) == before


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
