"""Read the suite that a command works on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pinchbench.cli.output import say
from pinchbench.config.settings import absolute_path
from pinchbench.errors import SelectionError, SuiteError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.suite.loading import RefusedSuiteError, load_suite, problem_list, solution_of
from pinchbench.suite.named import SEPARATOR, find_suites, load_named, read_pack
from pinchbench.suite.select import fits, likely_word, select_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pinchbench.defaults import SuiteFormat
    from pinchbench.model.task import LoadedSuite, Suite, Task
    from pinchbench.suite.solution import Solution


def load(tasks_dir: Path | None, suite_format: SuiteFormat | None, *, only_shown: bool = False) -> LoadedSuite:
    """Read a suite, with the problems of unusable files. Raises SuiteError if no file is usable."""
    root = bundled_tasks_dir() if tasks_dir is None else absolute_path(tasks_dir, option="--tasks-dir")
    return load_suite(root, suite_format=suite_format, skip_broken=True, only_shown=only_shown)


def select(
    tasks_dir: Path | None,
    suite: str,
    suite_format: SuiteFormat | None,
    *,
    form: int | None = None,
    only_shown: bool = False,
) -> tuple[LoadedSuite, tuple[Task, ...]]:
    """Return a suite, or a fresh form of it, and the tasks that `--suite` selects, and say which of them have no form.

    Raises SelectionError, and SuiteError if the suite makes no forms.
    """
    root = tasks_dir and absolute_path(tasks_dir, option="--tasks-dir")
    named = find_suites(suite, tasks_dir=root, suite_format=suite_format)
    if len(named) > 1:
        loaded, chosen = load_named(named, is_lenient=True)
    else:
        loaded = load(named[0].tasks_dir, named[0].suite_format, only_shown=only_shown)
        with problems_first(loaded):
            chosen = select_tasks(loaded.suite, named[0].selection)
    if form is None:
        return loaded, chosen
    from pinchbench.suite.form import FormTasks, load_form

    found = load_form(form, FormTasks(loaded=loaded, tasks=chosen))
    if found.note:
        say(found.note)
    return found.loaded, found.tasks


def narrowed(options: Mapping[str, Any], *, keyword: str | None, limit: int | None, failed_by: str) -> str:
    """Return the expression of `--suite` for a part of the tasks of a run's options, in their order. Blocks.

    `failed_by`: only those that did not pass in the last run of this model. Raises SelectionError if none is left.
    """
    suite: str = options["suite"]
    if SEPARATOR in suite:
        raise SelectionError("-k, --last-failed and --limit choose among the tasks of one --suite.")
    _, chosen = select(options["tasks_dir"], suite, options["suite_format"], only_shown=True)
    meant = ""
    if keyword:
        texts = [f"{task.task_id} {task.name} {task.category}" for task in chosen]
        chosen = tuple(task for task, text in zip(chosen, texts, strict=True) if fits(keyword, text))
        meant = "" if chosen else likely_word(keyword, texts)
    if failed_by:
        failed = _failed_tasks(absolute_path(options["output_dir"], option="--output-dir"), failed_by)
        chosen = tuple(task for task in chosen if task.task_id in failed)
    if not chosen:
        hint = f"; did you mean {meant}?" if meant else "."
        raise SelectionError(f"No task of --suite {suite} is left by {'-k' if keyword else '--last-failed'}{hint}")
    added = f"{suite.partition(':')[0]}:" if read_pack(suite.strip().partition(":")[0]) else ""
    return added + ",".join(task.task_id for task in chosen[:limit])


def _failed_tasks(output_dir: Path, model: str) -> set[str]:
    from pinchbench.results.finished_run import read_run
    from pinchbench.results.manifest import read_facts
    from pinchbench.results.paths import runs_of
    from pinchbench.results.statistics import is_passed

    last = next((files for files in runs_of(output_dir) if read_facts(files.provenance).model == model), None)
    if last is None:
        raise SelectionError(f"--last-failed: {output_dir} has no run of {model}.")
    run = read_run(last)
    return {one.task_id for one in run.data.tasks if one.score is None or not is_passed(one.score, run.pass_threshold)}


@contextmanager
def problems_first(loaded: LoadedSuite) -> Iterator[None]:
    """Report the problems of a suite before the error that a requested task does not exist: they may be its cause."""
    try:
        yield
    except SelectionError as error:
        error.problems = loaded.problems
        if loaded.problems:
            say(problem_list(loaded.suite.root, loaded.problems))
        raise


def raise_problems(loaded: LoadedSuite) -> None:
    """Raise RefusedSuiteError, listing all problems, if the suite has any."""
    if loaded.problems:
        raise RefusedSuiteError(problem_list(loaded.suite.root, loaded.problems), loaded.problems)


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
