"""What `tasks check --form` does."""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from pinchbench.authoring import text as report
from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.form_text import forms_verdict, same_answers
from pinchbench.cli.actions.running import INCOMPLETE
from pinchbench.cli.output import print_result, say
from pinchbench.errors import SuiteError
from pinchbench.suite.form import FormTasks, tasks_of_form, write_form
from pinchbench.suite.load import solution_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinchbench.authoring.results import CheckedTask
    from pinchbench.model.task import Suite, Task
    from pinchbench.suite.load import LoadedSuite
    from pinchbench.suite.solution import Solution


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
            if not as_json:
                print_result(f"form {form}  {report.task_line(results, width=width)}")
            if problems := report.problem_lines(results):
                say(problems)

        with tempfile.TemporaryDirectory(prefix="pinchbench-form-") as folder:
            write_form(loaded.suite.root, form, Path(folder), needed=[task.task_id for task in chosen])
            found = tasks_of_form(Path(folder), named)
            if not checked and found.note:
                say(found.note)
            solved = with_solutions(found.loaded.suite, found.tasks)
            checked[form] = anyio.run(
                partial(check_tasks, solved, show=show, run_root=run_root, say=say, public=public)
            )
    if as_json:
        print_result(json.dumps([{"form": form, **report.record(one)} for form in checked for one in checked[form]]))
    every = [one for results in checked.values() for one in results]
    if wrong := "\n".join(filter(None, (report.wrong_tasks(every), same_answers(checked)))):
        raise SuiteError(wrong)
    if untried := report.untried_lines(every):
        say(untried)
        sys.exit(INCOMPLETE)
    say(forms_verdict(checked))


def with_solutions(suite: Suite, chosen: Iterable[Task]) -> list[tuple[Task, Solution | None]]:
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
