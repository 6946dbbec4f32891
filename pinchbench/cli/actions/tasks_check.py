"""What `tasks check` does."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from pinchbench.authoring import text as report
from pinchbench.authoring.check import check_tasks
from pinchbench.cli.actions.judge_options import take_judge
from pinchbench.cli.actions.running import INCOMPLETE
from pinchbench.cli.actions.suite import raise_problems, select
from pinchbench.cli.output import print_result, say
from pinchbench.config import absolute_path
from pinchbench.errors import SuiteError
from pinchbench.suite.load import solution_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pinchbench.authoring.results import CheckedTask
    from pinchbench.defaults import SuiteFormat
    from pinchbench.model import Suite, Task
    from pinchbench.suite.solution import Solution


def check_suite(
    *,
    tasks_dir: Path | None,
    suite_format: SuiteFormat | None,
    suite: str,
    openclaw: str | None,
    run_root: Path,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Check tasks without an agent: play their solutions and grade what they leave."""
    judge = take_judge(options)
    loaded, selected = select(tasks_dir, suite, suite_format)
    chosen = _with_solutions(loaded.suite, selected)
    width = max(len(task.task_id) for task, _ in chosen)

    def show(results: Sequence[CheckedTask]) -> None:
        if not as_json:
            print_result(report.task_line(results, width=width))
        if problems := report.problem_lines(results):
            say(problems)

    if judge is not None:
        say(
            f"Asking {judge.model} about each script of "
            f"{sum(one.llm_judge_rubric is not None for one, _ in chosen)} tasks."
        )
    root = absolute_path(run_root, option="--run-root")
    results = anyio.run(partial(check_tasks, chosen, show=show, judge=judge, openclaw=openclaw, run_root=root, say=say))
    if as_json:
        print_result(json.dumps([report.record(one) for one in results]))
    if wrong := report.wrong_tasks(results):
        raise SuiteError(wrong)
    raise_problems(loaded)
    if untried := report.untried_lines(results):
        say(untried)
        sys.exit(INCOMPLETE)
    say(report.verdict(results, judged=judge is not None))


def _with_solutions(suite: Suite, chosen: Iterable[Task]) -> list[tuple[Task, Solution | None]]:
    """Return the tasks, each with its solution if it has one. Raises SuiteError, listing all invalid solutions."""
    solved = []
    broken = []
    for task in chosen:
        try:
            solved.append((task, solution_of(suite, task)))
        except SuiteError as error:
            broken.append(str(error))
    if broken:
        raise SuiteError("\n".join(broken))
    return solved
