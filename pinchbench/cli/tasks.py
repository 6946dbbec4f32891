"""`tasks`: list, show and check the tasks of a suite, their sizes and statistics, or create a new one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_openclaw, complete_run, complete_task
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, FORM, SUITE_FORMAT, TASKS_DIR, judge_options, option, suite_option

GRADINGS = ("automated", "llm_judge", "hybrid")  # the values of GradingType, whose module `--help` must not wait for


class SeedRange(click.ParamType[range]):
    """A seed, or a range of seeds such as 1-20."""

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:  # noqa: ANN401
        """Return the seeds that a text names."""
        if isinstance(value, range):
            return value
        found = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10}))?", str(value))
        seeds = range(int(found[1]), int(found[2] or found[1]) + 1) if found else range(0)
        if not seeds or seeds[-1] > defaults.MAX_SEED:
            self.fail(f"{value!r} is no seed and no range of seeds, such as 7 or 1-20.", param, ctx)
        return seeds


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
@SUITE_FORMAT
@FORM
@suite_option("Which tasks, as for `run`.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@option("--markdown", is_flag=True,
        help="Print a Markdown table, with what each task measures; core ones are bold, hard ones italic.")  # fmt: skip
@performs("tasks.list_tasks")
def tasks_list(**_options: Any) -> None:  # noqa: ANN401
    """List the tasks, one a line.

    \b
    pinchbench-async tasks list
    pinchbench-async tasks list --suite core,coding --json
    """  # noqa: D301 - as above


@tasks.command("tiers", context_settings=CONTEXT)
@TASKS_DIR
@SUITE_FORMAT
@FORM
@suite_option("Which tasks, as for `run`.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@performs("tasks_tiers.show_tiers")
def tasks_tiers(**_options: Any) -> None:  # noqa: ANN401
    """Show how much work the tasks of each tier are: model calls, tokens, time limits, a person's time.

    \b
    pinchbench-async tasks tiers
    pinchbench-async tasks tiers --suite coding --json
    """  # noqa: D301 - as above


@tasks.command("show", context_settings=CONTEXT)
@click.argument("task_id", metavar="ID", shell_complete=complete_task)
@TASKS_DIR
@SUITE_FORMAT
@performs("tasks.show_task")
def tasks_show(**_options: Any) -> None:  # noqa: ANN401
    """Show one task as the agent and the graders see it.

    \b
    pinchbench-async tasks show task_01_calendar
    """  # noqa: D301 - as above


@tasks.command("check", context_settings=CONTEXT)
@TASKS_DIR
@SUITE_FORMAT
@suite_option("Which tasks, as for `run`.")
@option("--form", "forms", type=SeedRange(), metavar="SEED|A-B",
        help="Fresh forms of the tasks: that of a seed, or those of all seeds from A to B.")  # fmt: skip
@judge_options
@option(
    "--openclaw",
    metavar="PATH|VERSION",
    shell_complete=complete_openclaw,
    help="Which OpenClaw, for a judge that is an OpenClaw agent.",
)
@option("--run-root", type=FOLDER, default=defaults.DEFAULT_RUN_ROOT, show_default=True,
        help="Where scripts are played.")  # fmt: skip
@option("--attack", is_flag=True, help="Attack the checks: play mutants of the solutions, and cheats.")
@option("--mutants", type=click.IntRange(min=1), metavar="N",
        help="How many mutants --attack plays of each task, at most.  [default: 60]")  # fmt: skip
@option("--seed", type=int, metavar="N", help="Which mutants --attack chooses.  [default: 1]")
@option("--json", "as_json", is_flag=True, help="Print JSON: one entry for each script, or task, that was played.")
@performs("tasks_check.check_suite")
def tasks_check(**_options: Any) -> None:  # noqa: ANN401
    """Check tasks without an agent: play their solutions and grade what they leave.

    The solution must earn every point of the check, each near miss a score in the range it states, and doing nothing at
    most 0.2. All that is wrong is named. Rubrics are tried only with --judge.

    With --attack, the checks are tested instead: in each mutant of a solution's workspace one thing is wrong, and it
    must lose points; cheats that do none of the work may earn 0.2 at most. Every check should notice 95 % of the
    mutants and pay no cheat. Tasks that a judge alone grades are passed over.

    With --form, fresh forms of the tasks are made and checked in the same way. Besides, what the solution of the
    public form leaves may earn 0.2 at most, and no two forms may have the same answers. Tasks without forms are left
    out.

    \b
    pinchbench-async tasks check
    pinchbench-async tasks check --form 1-20
    pinchbench-async tasks check --attack --suite coding
    pinchbench-async tasks check --tasks-dir mine --suite task_mine --judge openai/gpt-5.5
    """  # noqa: D301 - as above


@tasks.command("stats", context_settings=CONTEXT)
@click.argument("names", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@TASKS_DIR
@SUITE_FORMAT
@suite_option("Which tasks, as for `run`.")
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where runs are looked for.")  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@performs("tasks_stats.show_statistics")
def tasks_stats(**_options: Any) -> None:  # noqa: ANN401
    """Show what past runs tell about each task: how hard it is, how well it separates variants, how noisy it is.

    All runs in --output-dir are used, or those that are named; of each, the scores on tasks that have not changed
    since. Runs of one model with the same settings are pooled: they are one variant.

    \b
    mean            the mean score over variants; the lower, the harder
    discrimination  how well the task's scores agree with those on the other tasks, over variants: the correlation, 1
                    at most; near 0 it does not separate good variants from bad ones, below 0 it misleads
    noise share     of the scores' variance, the part that is between trials of one variant: at 1 it is chance alone

    In brackets are 95 % intervals: over the variants that these might have been drawn from.

    \b
    pinchbench-async tasks stats
    pinchbench-async tasks stats --tasks-dir mine --json
    """  # noqa: D301 - as above


@tasks.command("new", context_settings=CONTEXT)
@click.argument("task_id", metavar="ID")
@option("--tasks-dir", type=FOLDER, default=Path("tasks"), show_default=True, help="The folder it is written to.")
@option("--grading", type=click.Choice(GRADINGS), default="automated",
             show_default=True, help="By a check, by a judge, or by both.")  # fmt: skip
@option("--category", default="uncategorized", show_default=True, help="The task's category.")
@performs("tasks_new.write_task")
def tasks_new(**_options: Any) -> None:  # noqa: ANN401
    """Write a new task to begin with: a task file, its solution and two near misses, small but whole.

    \b
    pinchbench-async tasks new task_50_refunds --tasks-dir mine --grading hybrid
    pinchbench-async tasks check --tasks-dir mine
    """  # noqa: D301 - as above
