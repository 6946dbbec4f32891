"""What `tasks list` and `tasks show` print."""

from __future__ import annotations

import json
import shlex
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from pinchbench.cli.output import print_result, say
from pinchbench.cli.selected_tasks import load, problems_first, raise_problems
from pinchbench.defaults import SuiteFormat
from pinchbench.errors import PinchBenchError, SelectionError
from pinchbench.report.text import many, plain, plain_lines
from pinchbench.runner.plan.prerequisites import MissingPrerequisites, examine_tasks
from pinchbench.suite.loading import RefusedSuiteError
from pinchbench.suite.prerequisite import parse_prerequisite
from pinchbench.suite.select import find_task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pinchbench.model.task import LoadedSuite, Task, TaskProblem, Turn


def show_list(loaded: LoadedSuite, chosen: tuple[Task, ...], *, as_json: bool, markdown: bool) -> None:
    """Print the tasks, one a line, and how they are scored. Raises SuiteError if it has problems."""
    if markdown:
        from pinchbench.suite.markdown import suite_table

        print_result(suite_table(replace(loaded.suite, tasks=chosen)).rstrip("\n"))
    else:
        _print_list(loaded, chosen, as_json=as_json)
    for part in loaded.suite.parts or (loaded.suite,):
        own = [task for task in chosen if task.task_id in part.by_id]
        if own and (part.name or part.format is not SuiteFormat.PINCHBENCH):
            of = f"Suite {part.name}: format" if part.name else "Format"
            say(f"{of} {part.format}. A task's score: {own[0].rule.text}.")
    if loaded.note:
        say(loaded.note)
    raise_problems(loaded)


def show_task(task_id: str, tasks_dir: Path | None, suite_format: SuiteFormat | None) -> None:
    """Print one task as the agent and the graders see it. Raises SelectionError, SuiteError."""
    loaded = load(tasks_dir, suite_format, only_shown=True)
    with problems_first(loaded):
        task = find_task(loaded.suite, task_id)
    print_result(f"{task.task_id}: {plain(task.name)}")
    for key in ("asks", "low_score"):
        if key in task.frontmatter:
            print_result(f"{key.replace('_', ' ')}: {plain(str(task.frontmatter[key]))}")
    print_result(f"{plain(task.category)}, {task.grading_type.value}, {task.timeout_s:g} s")
    if loaded.suite.format is not SuiteFormat.PINCHBENCH:
        print_result(f"format {loaded.suite.format}; score: {task.rule.text}")
    for line in _circumstances(task):
        print_result(line)
    for file in task.workspace_files:
        print_result(f"file {plain(file.dest)}")
    for service in task.services:
        print_result(f"service {service.name} on port {service.port}: {plain(shlex.join(service.command))}")
    for number, turn in enumerate(task.turns, 1):
        print_result(_turn(number, turn))
    if (user := task.simulated_user) is not None:
        fixed = "\nwithout a model: ".join(["", *map(plain, user.messages)])
        what = f"Simulated user, {many(user.most_messages, 'message')} at most"
        print_result(f"\n{what}:\n{plain_lines(user.script)}{fixed}")
    for title, text in _sections(task):
        print_result(f"\n{title}:\n{plain_lines(text)}")


def _circumstances(task: Task) -> Iterator[str]:
    """Yield how a task's trials are run, and what they need, one line each."""
    if task.runs > 1:
        yield f"is run {task.runs} times, unless --runs says otherwise"
    if task.network:
        yield "has the network: its trials can connect to everything, unless --network none excludes it"
    if task.abilities:
        yield f"lets the agent use {', '.join(task.abilities)}"
    if task.starts_at is not None:
        from zoneinfo import ZoneInfo

        zone = ZoneInfo(task.timezone) if task.timezone else UTC
        yield f"begins at {datetime.fromtimestamp(task.starts_at, zone).isoformat()}"
    needs = examine_tasks([task]).get(task.task_id, MissingPrerequisites())
    for one in map(parse_prerequisite, task.prerequisites):
        yield f"needs {plain(str(one))}: {needs.state_of(one)}"


def _turn(number: int, turn: Turn) -> str:
    session = ", new session" if turn.new_session else ""
    gate = "" if turn.gate is None or number == 1 else f", {plain(str(turn.gate))}"
    event = "" if turn.event is None else f", {plain(str(turn.event))}"
    return f"\nTurn {number}{session}{gate}{event}" + (f":\n{plain_lines(turn.prompt)}" if turn.prompt else "")


@contextmanager
def refusals_as_json(*, as_json: bool) -> Iterator[None]:
    """Print why tasks can't be listed as JSON too, if that is asked for."""
    try:
        yield
    except (PinchBenchError, click.UsageError) as error:
        if as_json:
            rows = _refused(error.problems) if isinstance(error, RefusedSuiteError | SelectionError) else []
            if not isinstance(error, RefusedSuiteError) or not rows:
                said = error.format_message() if isinstance(error, click.UsageError) else str(error)
                rows.insert(0, {"refused": said, "path": None, "line": None})
            print_result(json.dumps(rows))
        raise


def _refused(problems: Sequence[TaskProblem]) -> list[dict[str, object]]:
    return [{"refused": one.reason, "path": str(one.path), "line": one.line} for one in problems]


def _print_list(loaded: LoadedSuite, chosen: Sequence[Task], *, as_json: bool) -> None:
    needs = examine_tasks(chosen)
    lacking = {task.task_id: needs.get(task.task_id, MissingPrerequisites()) for task in chosen}
    suite = loaded.suite
    if as_json:
        keys = ("task_id", "name", "category", "timeout_s")
        rows: list[dict[str, object]] = [
            {
                **{key: getattr(task, key) for key in keys},
                "grading_type": task.grading_type.value,
                "format": suite.part_of(task.task_id).format.value,
                "prerequisites": list(task.prerequisites),
                "network": task.network,
                "services": [service.name for service in task.services],
                "abilities": list(task.abilities),
                "simulated_user": task.simulated_user is not None,
                "runs": task.runs,
                "missing": [one.text for one in lacking[task.task_id].missing],
            }
            for task in chosen
        ]
        print_result(json.dumps(rows + _refused(loaded.problems)))
        return
    table = [(task.task_id, plain(task.category), task) for task in chosen]
    id_width = max(len(task_id) for task_id, _, _ in table)
    category_width = max(len(category) for _, category, _ in table)
    for task_id, category, task in table:
        print_result(
            f"{task_id:<{id_width}}  {category:<{category_width}}  {task.grading_type.value:<9}"
            f"  {task.timeout_s:>4.0f} s  {plain(task.name)}"
            + (f"  ({task.runs} runs)" if task.runs > 1 else "")
            + ("  (has the network)" if task.network else "")
            + ("  (has services)" if task.services else "")
            + (f"  (uses {', '.join(task.abilities)})" if task.abilities else "")
            + ("  (has a simulated user)" if task.simulated_user is not None else "")
            + (f"  ({plain(lacking[task_id].sentence)})" if lacking[task_id].missing else "")
        )


def _sections(task: Task) -> Iterator[tuple[str, str]]:
    from pinchbench.model.task_programs import AssertionsVerifier

    criteria = "\n".join(f"- {one}" for one in task.grading_criteria)
    check = str(task.verifier) if isinstance(task.verifier, AssertionsVerifier) else task.automated_checks
    titled = (("Expected behavior", task.expected_behavior), ("Criteria", criteria), ("Check", check))
    yield from ((title, text) for title, text in (*titled, ("Rubric", task.llm_judge_rubric)) if text)
