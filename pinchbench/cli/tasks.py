"""`tasks`: list, show and check the tasks of a suite, or create a new one."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_openclaw, complete_task, complete_tasks
from pinchbench.cli.options import CONTEXT, FOLDER, TASKS_DIR, judge_options, option, take_judge
from pinchbench.cli.output import print_result, say
from pinchbench.errors import SelectionError, SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinchbench.authoring.results import CheckedTask
    from pinchbench.model import Suite, Task
    from pinchbench.suite.load import LoadedSuite
    from pinchbench.suite.solution import Solution

GRADINGS = ("automated", "llm_judge", "hybrid")  # the values of GradingType, whose module `--help` must not wait for


@click.group(context_settings=CONTEXT)
def tasks() -> None:
    """Look at the tasks of a suite and check them.

    \b
    pinchbench-async tasks list
    pinchbench-async tasks show task_00_sanity
    pinchbench-async tasks check
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@tasks.command("list", context_settings=CONTEXT)
@TASKS_DIR
@option("--suite", default="all", show_default=True, shell_complete=complete_tasks, help="Which tasks, as for `run`.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@option("--markdown", is_flag=True, help="Print a Markdown table, with what each task measures; core tasks are bold.")
def tasks_list(*, tasks_dir: Path | None, suite: str, as_json: bool, markdown: bool) -> None:
    """List the tasks, one a line.

    \b
    pinchbench-async tasks list
    pinchbench-async tasks list --suite core,coding --json
    """  # noqa: D301 - as above
    from dataclasses import replace  # noqa: PLC0415 - `--help` must not wait for what a command needs

    from pinchbench.suite.table import suite_table  # noqa: PLC0415 - as above

    if markdown and as_json:
        raise click.UsageError("--json and --markdown are two forms; name one of them.")
    loaded, chosen = _select(tasks_dir, suite)
    if markdown:
        print_result(suite_table(replace(loaded.suite, tasks=chosen)).rstrip("\n"))
    else:
        _print_list(chosen, as_json=as_json)
    if loaded.note:
        say(loaded.note)
    _raise_problems(loaded)


def _print_list(chosen: Sequence[Task], *, as_json: bool) -> None:
    from pinchbench.report.text import plain  # noqa: PLC0415 - as above
    from pinchbench.runner.prerequisites import MissingPrerequisites, examine_tasks  # noqa: PLC0415 - as above

    needs = examine_tasks(chosen)
    lacking = {task.task_id: needs.get(task.task_id, MissingPrerequisites()) for task in chosen}
    if as_json:
        keys = ("task_id", "name", "category", "timeout_s")
        rows = [
            {
                **{key: getattr(task, key) for key in keys},
                "grading_type": task.grading_type.value,
                "prerequisites": list(task.prerequisites),
                "missing": [one.text for one in lacking[task.task_id].missing],
            }
            for task in chosen
        ]
        print_result(json.dumps(rows))
        return
    table = [(task.task_id, plain(task.category), task) for task in chosen]
    id_width = max(len(task_id) for task_id, _, _ in table)
    category_width = max(len(category) for _, category, _ in table)
    for task_id, category, task in table:
        print_result(
            f"{task_id:<{id_width}}  {category:<{category_width}}  {task.grading_type.value:<9}"
            f"  {task.timeout_s:>4.0f} s  {plain(task.name)}"
            + (f"  ({plain(lacking[task_id].sentence)})" if lacking[task_id].missing else "")
        )


@tasks.command("show", context_settings=CONTEXT)
@click.argument("task_id", metavar="ID", shell_complete=complete_task)
@TASKS_DIR
def tasks_show(*, task_id: str, tasks_dir: Path | None) -> None:
    """Show one task as the agent and the graders see it.

    \b
    pinchbench-async tasks show task_01_calendar
    """  # noqa: D301 - as above
    from pinchbench.report.text import plain, plain_lines  # noqa: PLC0415 - as above
    from pinchbench.suite.select import find_task  # noqa: PLC0415 - as above

    loaded = _load(tasks_dir)
    with _problems_first(loaded):
        task = find_task(loaded.suite, task_id)
    print_result(f"{task.task_id}: {plain(task.name)}")
    print_result(f"{plain(task.category)}, {task.grading_type.value}, {task.timeout_s:g} s")
    for one, state in _prerequisites(task):
        print_result(f"needs {plain(one)}: {state}")
    for file in task.workspace_files:
        print_result(f"file {plain(file.dest)}")
    for number, turn in enumerate(task.turns, 1):
        session = ", new session" if turn.new_session else ""
        print_result(f"\nTurn {number}{session}:\n{plain_lines(turn.prompt)}")
    for title, text in _sections(task):
        print_result(f"\n{title}:\n{plain_lines(text)}")


def _prerequisites(task: Task) -> Iterator[tuple[str, str]]:
    """Yield what a task requires, and whether this machine has it."""
    from pinchbench.runner.prerequisites import MissingPrerequisites, examine_tasks  # noqa: PLC0415 - as above
    from pinchbench.suite.prerequisite import parse_prerequisite  # noqa: PLC0415 - as above

    needs = examine_tasks([task]).get(task.task_id, MissingPrerequisites())
    for one in map(parse_prerequisite, task.prerequisites):
        yield str(one), needs.state_of(one)


def _sections(task: Task) -> Iterator[tuple[str, str]]:
    criteria = "\n".join(f"- {one}" for one in task.grading_criteria)
    titled = (("Expected behavior", task.expected_behavior), ("Criteria", criteria), ("Check", task.automated_checks))
    yield from ((title, text) for title, text in (*titled, ("Rubric", task.llm_judge_rubric)) if text)


@tasks.command("check", context_settings=CONTEXT)
@TASKS_DIR
@option("--suite", default="all", show_default=True, shell_complete=complete_tasks, help="Which tasks, as for `run`.")
@judge_options
@option(
    "--openclaw",
    metavar="PATH|VERSION",
    shell_complete=complete_openclaw,
    help="Which OpenClaw, for a judge that is an OpenClaw agent.",
)
@option("--run-root", type=FOLDER, default=defaults.DEFAULT_RUN_ROOT, show_default=True,
        help="Where scripts are played.")  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Print JSON: one entry for each script that was played.")
def tasks_check(
    *,
    tasks_dir: Path | None,
    suite: str,
    openclaw: str | None,
    run_root: Path,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Check tasks without an agent: play their solutions and grade what they leave.

    The solution must earn every point of the check, each near miss a score in the range it states, and doing nothing at
    most 0.2. All that is wrong is named. Rubrics are tried only with --judge.

    \b
    pinchbench-async tasks check
    pinchbench-async tasks check --tasks-dir mine --suite task_mine --judge openai/gpt-5.5
    """  # noqa: D301 - as above
    import anyio  # noqa: PLC0415 - as above

    from pinchbench.authoring import text as report  # noqa: PLC0415 - as above
    from pinchbench.authoring.check import check_tasks  # noqa: PLC0415 - as above
    from pinchbench.cli.running import INCOMPLETE  # noqa: PLC0415 - as above
    from pinchbench.config import absolute_path  # noqa: PLC0415 - as above

    judge = take_judge(options)
    loaded, selected = _select(tasks_dir, suite)
    chosen = _with_solutions(loaded.suite, selected)
    width = max(len(task.task_id) for task, _ in chosen)

    def show(results: Sequence[CheckedTask]) -> None:
        if not as_json:
            print_result(report.task_line(results, width=width))
        if problems := report.problem_lines(results):
            say(problems)

    if judge is not None:
        say(
            f"Asking {judge.model} about each script of {sum(one.llm_judge_rubric is not None for one, _ in chosen)} tasks."
        )
    root = absolute_path(run_root, option="--run-root")
    results = anyio.run(partial(check_tasks, chosen, show=show, judge=judge, openclaw=openclaw, run_root=root, say=say))
    if as_json:
        print_result(json.dumps([report.record(one) for one in results]))
    if wrong := report.wrong_tasks(results):
        raise SuiteError(wrong)
    _raise_problems(loaded)
    if untried := report.untried_lines(results):
        say(untried)
        sys.exit(INCOMPLETE)
    say(report.verdict(results, judged=judge is not None))


def _with_solutions(suite: Suite, chosen: Iterable[Task]) -> list[tuple[Task, Solution | None]]:
    """Return the tasks, each with its solution if it has one. Raises SuiteError, listing all invalid solutions."""
    from pinchbench.suite.solution import load_solution  # noqa: PLC0415 - as above

    solved = []
    broken = []
    for task in chosen:
        try:
            solved.append((task, load_solution(suite.root, task.task_id)))
        except SuiteError as error:
            broken.append(str(error))
    if broken:
        raise SuiteError("\n".join(broken))
    return solved


@tasks.command("new", context_settings=CONTEXT)
@click.argument("task_id", metavar="ID")
@option("--tasks-dir", type=FOLDER, default=Path("tasks"), show_default=True, help="The folder it is written to.")
@option("--grading", type=click.Choice(GRADINGS), default="automated",
             show_default=True, help="By a check, by a judge, or by both.")  # fmt: skip
@option("--category", default="uncategorized", show_default=True, help="The task's category.")
def tasks_new(*, task_id: str, tasks_dir: Path, grading: str, category: str) -> None:
    """Write a new task to begin with: a task file, its solution and two near misses, small but whole.

    \b
    pinchbench-async tasks new task_50_refunds --tasks-dir mine --grading hybrid
    pinchbench-async tasks check --tasks-dir mine
    """  # noqa: D301 - as above
    from pinchbench.authoring.template import write_skeleton  # noqa: PLC0415 - as above
    from pinchbench.model import GradingType  # noqa: PLC0415 - as above

    for path in write_skeleton(tasks_dir, task_id, grading=GradingType(grading), category=category):
        print_result(path)
    say(
        f"Change both, and try them with: pinchbench-async tasks check --tasks-dir {shlex.quote(str(tasks_dir))} --suite {task_id}"
    )


def _load(tasks_dir: Path | None) -> LoadedSuite:
    """Read a suite, with the problems of unusable files. Raises SuiteError if no file is usable."""
    from pinchbench.config import absolute_path  # noqa: PLC0415 - as above
    from pinchbench.suite.load import bundled_tasks_dir, load_suite, read_suite  # noqa: PLC0415 - as above

    root = bundled_tasks_dir() if tasks_dir is None else absolute_path(tasks_dir, option="--tasks-dir")
    loaded = read_suite(root)
    return loaded if loaded.suite.by_id else load_suite(root)


def _select(tasks_dir: Path | None, suite: str) -> tuple[LoadedSuite, tuple[Task, ...]]:
    from pinchbench.suite.select import select_tasks  # noqa: PLC0415 - as above

    loaded = _load(tasks_dir)
    with _problems_first(loaded):
        return loaded, select_tasks(loaded.suite, suite)


@contextmanager
def _problems_first(loaded: LoadedSuite) -> Iterator[None]:
    """Report the problems of a suite before the error that a requested task does not exist: they may be its cause."""
    try:
        yield
    except SelectionError:
        for problem in loaded.problems:
            say(str(problem))
        raise


def _raise_problems(loaded: LoadedSuite) -> None:
    from pinchbench.suite.load import problem_list  # noqa: PLC0415 - as above

    if loaded.problems:
        raise SuiteError(problem_list(loaded.suite.root, loaded.problems))
