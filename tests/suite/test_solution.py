"""Solutions: the tool calls that solve a task."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from pinchbench.errors import SuiteError
from pinchbench.suite.solution import Solution, SolutionTurn, ToolStep, load_solution, parse_solution

PATH = Path("solutions/task_x.yaml")


def test_a_solution_is_read() -> None:
    text = """
        near_misses: later
        turns:
          - steps:
              - {tool: write, args: {path: hello.txt, content: "Hello"}}
              - tool: exec
                args: {command: "python3 x.py", timeout: 5, env: {A: [1, true]}}
              - tool: status
            answer: 42
          - answer: Done.
    """
    assert parse_solution(dedent(text), path=PATH) == Solution(
        turns=(
            SolutionTurn(
                steps=(
                    ToolStep(tool="write", args={"path": "hello.txt", "content": "Hello"}),
                    ToolStep(tool="exec", args={"command": "python3 x.py", "timeout": 5, "env": {"A": [1, True]}}),
                    ToolStep(tool="status"),
                ),
                answer="42",
            ),
            SolutionTurn(steps=(), answer="Done."),
        ),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1: a solution needs a list of `turns`"),
        ("turns: []", "1: a solution needs a list of `turns`"),
        ("turns: [a]", "1: a turn needs an `answer`, a text"),
        ("turns:\n- steps: []", "2: a turn needs an `answer`, a text"),
        ("turns:\n- answer: a\n  steps: b", "3: `steps` must be a list"),
        ("turns:\n- answer: a\n  steps:\n  - args: {}", "4: a step needs a `tool`, a text"),
        ("turns:\n- answer: a\n  steps:\n  - tool: x\n    args: [1]", "5: `args` must map names to values"),
        ("a: b: c", "1: not valid YAML: mapping values are not allowed here"),
    ],
)
def test_a_broken_solution_names_file_line_and_reason(text: str, problem: str) -> None:
    with pytest.raises(SuiteError) as caught:
        parse_solution(text, path=PATH)
    assert str(caught.value) == f"{PATH}:{problem}"


def test_a_solution_is_found_by_the_id_of_its_task(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "task_x.yaml").write_text("turns: [{answer: é}]", encoding="utf-8")
    assert load_solution(tmp_path, "task_x") == Solution(turns=(SolutionTurn(steps=(), answer="é"),))
    assert load_solution(tmp_path, "task_y") is None


def test_a_solution_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "task_x.yaml").write_bytes(b"\xff")
    with pytest.raises(SuiteError, match=r"task_x\.yaml can't be read"):
        load_solution(tmp_path, "task_x")
