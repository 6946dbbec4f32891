"""Play the scripts of tasks for `tasks check`, show what they earn, and exit with the code of the result."""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from pinchbench.authoring import check_results as report
from pinchbench.authoring.attack import attack_results as findings
from pinchbench.authoring.attack.attack import AttackSettings, attack_tasks
from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.check_results import CheckedTask, same_answers
from pinchbench.cli.output import print_result, say
from pinchbench.cli.running import INCOMPLETE
from pinchbench.cli.selected_tasks import raise_problems, with_solutions
from pinchbench.errors import SuiteError
from pinchbench.model.task import GradingType, LoadedSuite, Task
from pinchbench.report.text import many
from pinchbench.suite.form import FormTasks, tasks_of_form, write_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.authoring.attack.attack_results import AttackedTask
    from pinchbench.config.asked_models import JudgeConfig
    from pinchbench.suite.solution import Solution


def check_scripts(
    loaded: LoadedSuite,
    chosen: Sequence[tuple[Task, Solution | None]],
    judge: JudgeConfig | None,
    *,
    openclaw: str | None,
    run_root: Path,
    as_json: bool,
) -> None:
    """Play the scripts of tasks and grade what they leave. Raises SuiteError when a score is not as stated."""
    width = max(len(task.task_id) for task, _ in chosen)

    def show(results: Sequence[CheckedTask]) -> None:
        _show(report.task_line(results, width=width), report.problem_lines(results), as_json=as_json)

    if judge is not None:
        number = sum(one.llm_judge_rubric is not None for one, _ in chosen)
        say(f"Asking {judge.model} about each script of {number} tasks.")
    results = anyio.run(
        partial(check_tasks, chosen, show=show, judge=judge, openclaw=openclaw, run_root=run_root, say=say)
    )
    _print_records([report.record(one) for one in results], report.wrong_tasks(results), as_json=as_json)
    raise_problems(loaded)
    _end(report.untried_lines(results), report.verdict(results, judged=judge is not None))


def attack_checks(
    loaded: LoadedSuite,
    tasks: Sequence[tuple[Task, Solution | None]],
    settings: AttackSettings,
    *,
    run_root: Path,
    as_json: bool,
) -> None:
    """Raises SuiteError when a check falls short, and when no task has both a check and a solution."""
    checked = [
        (task, solution)
        for task, solution in tasks
        if solution is not None and task.grading_type is not GradingType.LLM_JUDGE
    ]
    if passed_over := sorted({task.task_id for task, _ in tasks} - {task.task_id for task, _ in checked}):
        say(f"Not attacked, as they have no check or no solution: {', '.join(passed_over)}.")
    if not checked:
        raise SuiteError("None of these tasks has both a check and a solution, so there is nothing to attack.")
    width = max(len(task.task_id) for task, _ in checked)

    def show(result: AttackedTask) -> None:
        _show(findings.table_line(result, width=width), findings.finding_lines(result), as_json=as_json)

    if not as_json:
        print_result(findings.table_head(width=width))
    results = anyio.run(partial(attack_tasks, checked, settings, show=show, run_root=run_root, say=say))
    _print_records([findings.record(one) for one in results], findings.weak_tasks(results), as_json=as_json)
    raise_problems(loaded)
    untried = "\n".join(f"Not tried: {one.task_id}: {one.untried}" for one in results if one.untried)
    _end(untried, findings.verdict(results))


def check_forms(
    loaded: LoadedSuite, chosen: Sequence[Task], forms: Sequence[int], *, run_root: Path, as_json: bool
) -> None:
    """Make fresh forms one after another, and check each as the public tasks are checked.

    Raises SuiteError when something in a form is not as it should be, and SelectionError if no task has forms.
    """
    public = {
        task.task_id: (task, solution)
        for task, solution in with_solutions(loaded.suite, chosen)
        if solution is not None
    }
    named = FormTasks(loaded=loaded, tasks=tuple(chosen))
    width = max(len(task.task_id) for task in chosen)
    checked: dict[int, tuple[CheckedTask, ...]] = {}
    for form in forms:

        def show(results: Sequence[CheckedTask], form: int = form) -> None:
            line = f"form {form}  {report.task_line(results, width=width)}"
            _show(line, report.problem_lines(results), as_json=as_json)

        with tempfile.TemporaryDirectory(prefix="pinchbench-form-") as folder:
            write_form(loaded.suite.root, form, Path(folder), needed=[task.task_id for task in chosen])
            found = tasks_of_form(Path(folder), named)
            if not checked and found.note:
                say(found.note)
            solved = with_solutions(found.loaded.suite, found.tasks)
            checked[form] = anyio.run(
                partial(check_tasks, solved, show=show, run_root=run_root, say=say, public=public)
            )
    every = [one for results in checked.values() for one in results]
    records = [{"form": form, **report.record(one)} for form in checked for one in checked[form]]
    wrong = "\n".join(filter(None, (report.wrong_tasks(every), same_answers(checked))))
    _print_records(records, wrong, as_json=as_json)
    tasks = {one.task_id for one in every}
    verdict = f"{many(len(checked), 'form')} of {many(len(tasks), 'task')}: all as expected."
    _end(report.untried_lines(every), verdict)


def _show(line: str, problems: str, *, as_json: bool) -> None:
    if not as_json:
        print_result(line)
    if problems:
        say(problems)


def _print_records(records: Sequence[dict[str, object]], wrong: str, *, as_json: bool) -> None:
    if as_json:
        print_result(json.dumps(records))
    if wrong:
        raise SuiteError(wrong)


def _end(untried: str, verdict: str) -> None:
    if untried:
        say(untried)
        sys.exit(INCOMPLETE)
    say(verdict)
