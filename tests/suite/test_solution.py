"""Solutions: the tool calls that solve a task."""

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from made_tasks import made_task
from pinchbench.errors import SuiteError
from pinchbench.model.task import SimulatedUser, Task
from pinchbench.suite.solution import (
    ScoreRange,
    Solution,
    SolutionTurn,
    ToolStep,
    parse_solution,
    script_problem,
)

PATH = Path("solutions/task_x.yaml")


def test_a_solution_is_read() -> None:
    text = """
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


ONE = "turns: [{answer: a}]\n"
STEPS, MISS = "turns:\n- answer: a\n  steps:\n", f"{ONE}near_misses:\n- name: n\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1: a solution must hold `key: value` lines"),
        ("turns: []", "1: a list of `turns` is needed"),
        (f"{ONE}near_miss: []", "2: `near_miss` of a solution is not known: did you mean `near_misses`?"),
        ("turns:\n- answer: a\n  step: []", "3: `step` of a turn is not known: did you mean `steps`?"),
        (f"{STEPS}  - tool: x\n    arg: {{}}", "5: `arg` of a step is not known: did you mean `args`?"),
        (f"{MISS}  chek: [0, 1]", "4: `chek` of a near miss is not known: did you mean `check`?"),
        ("turns: [a]", "1: a turn must be a mapping"),
        ("turns:\n- steps: []", "2: a turn needs `answer`"),
        ("turns:\n- answer: a\n  steps: b", "3: `steps` must be a list"),
        (f"{STEPS}  - args: {{}}", "4: a step needs `tool`"),
        (f"{STEPS}  - tool: x\n    args: [1]", "5: `args` must map names to values"),
        (f"{ONE}equivalent: all", "2: `equivalent` must be a list"),
        (f"{ONE}equivalent:\n- mutant: x", "3: an equivalent mutant needs `why`"),
        (f"{ONE}near_misses: later", "2: `near_misses` must be a list"),
        (f"{ONE}near_misses:\n- turns: []", "3: a near miss needs `name`"),
        (f"{MISS}  check: [0, 0.5]", "3: a list of `turns` is needed"),
        (f"{MISS}  {ONE}", "3: a near miss needs the range of its score: `check: [low, high]`, or `judge`, or both"),
        ("a: b: c", "1: not valid YAML: mapping values are not allowed here"),
    ],
)
def test_a_broken_solution_names_file_line_and_reason(text: str, problem: str) -> None:
    with pytest.raises(SuiteError) as caught:
        parse_solution(text, path=PATH)
    assert f"{PATH}:{problem}" in str(caught.value).split("\n")


def test_cases_stand_among_the_turns() -> None:
    text = "turns: [{answer: a}, {when: ' Count it ', answer: b}, {answer: c}]"
    solution = parse_solution(text, path=PATH)
    assert [turn.answer for turn in solution.turns] == ["a", "c"]
    assert solution.cases == (SolutionTurn(steps=(), answer="b", when="Count it"),)
    with pytest.raises(SuiteError, match="1: `when` must be a text"):
        parse_solution("turns: [{when: '', answer: b}]", path=PATH)


def test_near_misses_are_read() -> None:
    text = """
        turns: [{answer: a}]
        near_misses:
          - {name: Half, check: [0.2, 0.5], turns: [{answer: b}]}
          - {name: Dull, judge: [0, 0.25], check: null, turns: [{answer: c}, {answer: d}]}
    """
    half, dull = parse_solution(dedent(text), path=PATH).near_misses
    assert (half.name, half.check, half.judge) == ("Half", ScoreRange(low=0.2, high=0.5), None)
    assert (dull.name, dull.check, dull.judge) == ("Dull", None, ScoreRange(low=0, high=0.25))
    assert [turn.answer for turn in dull.turns] == ["c", "d"]


ASKED = made_task(simulated_user=SimulatedUser(script="Ada", most_messages=2))
FIRST = SolutionTurn(steps=(), answer="When?")


def said(*messages: str) -> tuple[SolutionTurn, ...]:
    return (FIRST, *(SolutionTurn(steps=(), answer="Done.", user=message) for message in messages))


def test_what_a_simulated_user_says_is_read() -> None:
    solution = parse_solution("turns:\n  - answer: When?\n  - {user: ' Friday. ', answer: Done.}", path=PATH)
    assert solution.turns == said("Friday.")
    with pytest.raises(SuiteError, match=r":2: `user` must be a text"):
        parse_solution("turns:\n  - {user: '', answer: Done.}", path=PATH)


@pytest.mark.parametrize(
    ("task", "script", "problem"),
    [
        (ASKED, said(), ""),
        (ASKED, said("Friday.", "At eight."), ""),
        (ASKED, said("Friday.", ""), "needs `user`"),
        (ASKED, said("a", "b", "c"), "says 3 messages; `user_messages` is 2"),
        (ASKED, said("a")[1:], "the prompt is what is said there"),
        (replace(ASKED, simulated_user=None), said("a"), "it has 2 turns, the task 1"),
        (replace(ASKED, simulated_user=None), said(), ""),
    ],
)
def test_a_script_fits_its_task(task: Task, script: tuple[SolutionTurn, ...], problem: str) -> None:
    assert problem in script_problem(task, script)
    assert bool(script_problem(task, script)) == bool(problem)
