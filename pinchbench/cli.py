"""The command line: `pinchbench-async`, whose default command is `run`."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pinchbench import config as limits
from pinchbench.errors import ConfigError, PinchBenchError, ResultsError, RunInterruptedError, SuiteError
from pinchbench.model import GradingType, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence

    from pinchbench.config import RunConfig
    from pinchbench.model import Rehearsed, Suite, Task
    from pinchbench.runner.finish import Result
    from pinchbench.suite.solution import Solution

INCOMPLETE = 5  # some trials say nothing about the model
STOPPED = {Stop.INCONCLUSIVE: 7, Stop.BUDGET: 8}  # the run ended itself early
FOLDER = click.Path(path_type=Path, file_okay=False)
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class _DefaultRun(click.Group):
    """A group whose options are those of `run`: `pinchbench-async --model …` runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"-h", "--help", "--version"}
        by_option = args and args[0].startswith("-") and args[0] not in own
        by_environment = not args and bool(os.environ.get("PINCHBENCH_MODEL"))  # for click, empty is not set
        if by_option or by_environment:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        run = self.commands["run"]
        rows = [row for option in run.get_params(ctx) if (row := option.get_help_record(ctx)) is not None]
        with formatter.section("Options of `run`, the default command"):
            formatter.write_dl(rows)
        self.format_commands(ctx, formatter)


def _option(*names: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - click's own types
    """An option with an environment variable of its name: `--output-dir` is `PINCHBENCH_OUTPUT_DIR`."""
    long = next(name for name in names if name.startswith("--"))
    variable = "PINCHBENCH_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, show_envvar=True, **settings)


_JUDGE_OPTIONS = (
    _option("--judge", metavar="MODEL", help="Who grades what a check can't: openai/MODEL, openrouter/MODEL,"
            " anthropic/MODEL, a model of --judge-base-url, or openclaw:MODEL (an agent without tools)."),
    _option("--judge-base-url", metavar="URL", help="An OpenAI-compatible endpoint for the judge."),
    _option("--judge-api-key-env", metavar="NAME", help="The environment variable that holds the judge's key."),
    _option("--judge-votes", type=click.IntRange(1, limits.MAX_VOTES), help="How often the judge is asked about each"
            " trial; the median counts.  [default: 1]"),
    _option("--judge-concurrency", type=click.IntRange(1, limits.MAX_JUDGE_CONCURRENCY),
            help="Calls to the judge at once.  [default: 4]"),
    _option("--no-judge-cache", is_flag=True, help="Ask the judge even what it has answered before."),
)  # fmt: skip


def _judge_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_JUDGE_OPTIONS):
        command = option(command)
    return command


def _judge(options: dict[str, Any]) -> limits.JudgeConfig | None:
    """Take the judge's options out of a command's; None when no judge is asked for."""
    model = options.pop("judge")
    cache = not options.pop("no_judge_cache")
    names = ("base_url", "api_key_env", "votes", "concurrency")
    given = {name: value for name in names if (value := options.pop(f"judge_{name}")) is not None}
    if model is not None:
        return limits.JudgeConfig(model=model, cache=cache, **given)
    context = click.get_current_context()
    for name in ("no_judge_cache", *(f"judge_{name}" for name in names)):
        # one from the environment waits for a command that names a judge
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ConfigError(f"--{name.replace('_', '-')} goes with --judge, which names the judge's model.")
    return None


@click.group(
    cls=_DefaultRun,
    context_settings=CONTEXT,
    epilog="Try it without any provider: pinchbench-async --model demo/oracle --concurrency 4",
)
@click.version_option(package_name="pinchbench-async", prog_name="pinchbench-async")
def cli() -> None:
    """Find out how good a model is as the brain of an OpenClaw agent.

    Runs a suite of tasks on real OpenClaw, several at once, each in a workspace of its own, and writes one results
    file. Its path is printed to stdout; everything else goes to stderr.
    """


@cli.command(context_settings=CONTEXT)
@_option("--model", required=True, help="Model as OpenClaw names it, such as anthropic/claude-sonnet-4. Built in,"
         " without a provider: demo/oracle plays the solutions, demo/null does nothing.")  # fmt: skip
@_option("--suite", default="all", show_default=True,
         help="all, core, automated-only, a category, task ids; commas mix.")  # fmt: skip
@_option("--tasks-dir", type=FOLDER, help="The suite's folder (default: the bundled tasks).")
@_option("--concurrency", type=click.IntRange(1, limits.MAX_CONCURRENCY), default=1, show_default=True,
         help="Trials at once, each with an OpenClaw of its own (about 1 GB of memory each).")  # fmt: skip
@_option("--runs", type=click.IntRange(1, limits.MAX_RUNS), default=1, show_default=True,
         help="Repetitions of each task.")  # fmt: skip
@_option("--timeout-multiplier", type=click.FloatRange(0, limits.MAX_TIMEOUT_MULTIPLIER, min_open=True), default=1.0,
         show_default=True, help="Scales every task's time limit.")  # fmt: skip
@_option("--thinking", type=click.Choice(limits.THINKING_LEVELS), help="OpenClaw's thinking level.")
@_option("--output-dir", type=FOLDER, default=limits.DEFAULT_OUTPUT_DIR, show_default=True,
         help="Where results go.")  # fmt: skip
@_option("--run-root", type=FOLDER, default=limits.DEFAULT_RUN_ROOT, show_default=True,
         help="Where workspaces go; they are kept.")  # fmt: skip
@_option("--openclaw", metavar="PATH|VERSION", help="Which OpenClaw (default: the one on PATH, else the newest that"
         " `pinchbench-async openclaw install` installed).")  # fmt: skip
@_option("--isolation", type=click.Choice([one.value for one in limits.Isolation]), default="private",
         show_default=True, help="private: an OpenClaw state of its own for each slot. shared: agents in your own"
         " ~/.openclaw, through your gateway.")  # fmt: skip
@_option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint for the model's provider.")
@_option("--api-key-env", metavar="NAME", help="The environment variable that holds that endpoint's key.")
@_judge_options
@_option("--pass-threshold", type=click.FloatRange(0, 1, min_open=True), default=limits.DEFAULT_PASS_THRESHOLD,
         show_default=True, help="The score from which a trial counts as passed.")  # fmt: skip
@_option("--infra-retries", type=click.IntRange(0, limits.MAX_INFRA_RETRIES), default=2, show_default=True,
         help="How often a trial is tried again that says nothing about the model.")  # fmt: skip
@_option("--retry-timeouts", is_flag=True, help="Try trials again that timed out, as well.")
@_option("--no-fail-fast", is_flag=True, help="Neither pause nor end the run when trials fail alike for reasons that say"
         " nothing about the model.")  # fmt: skip
@_option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="End the run before it costs more,"
         " the judge included.")  # fmt: skip
@_option("--max-tokens", type=click.IntRange(1), metavar="N", help="End the run before it uses more tokens.")
@_option("--max-hours", type=click.FloatRange(0, min_open=True), metavar="H", help="End the run after this time.")
@_option("--skip-broken", is_flag=True, help="Leave broken task files out instead of stopping.")
@_option("--no-upload", is_flag=True, help="Never offer the result to the public leaderboard.")
@_option("--dry-run", is_flag=True, help="Show what would be run and how long it can take; start nothing.")
@_option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of its path.")
@_option("-v", "--verbose", is_flag=True, help="Show the agents' stdout and stderr as they come.")
def run(
    *,
    dry_run: bool,
    as_json: bool,
    no_upload: bool,
    no_fail_fast: bool,
    isolation: str,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run a suite (the default command).

    \b
    pinchbench-async --model anthropic/claude-sonnet-4 --concurrency 4
    pinchbench-async --model demo/oracle --suite core,task_05_outage_brief --runs 3
    pinchbench-async --model local/qwen3 --base-url http://127.0.0.1:8000/v1 --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    judge = _judge(options)
    config = limits.RunConfig(
        **options,
        judge=judge,
        isolation=limits.Isolation(isolation),
        upload=not no_upload,
        fail_fast=not no_fail_fast,
    )
    if dry_run:
        _show_plan(config, as_json=as_json)
        return
    from pinchbench.runner.bench import run_benchmark  # noqa: PLC0415

    uploads = config.upload and not config.is_demo
    result = _watched(
        partial(run_benchmark, config),
        last_words="This release uploads nothing: the result stays on this machine." if uploads else "",
    )
    _leave(result, as_json=as_json)


@cli.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN")
@_judge_options
@_option("--suite", default="all", show_default=True, help="Which tasks of the run, as for `run`.")
@_option("--tasks-dir", type=FOLDER, help="The suite's folder (default: the one that was run).")
@_option("--only-ungraded", is_flag=True, help="Leave the trials alone that have a score.")
@_option("--output-dir", type=FOLDER, default=limits.DEFAULT_OUTPUT_DIR, show_default=True,
         help="Where RUN is looked for.")  # fmt: skip
@_option("--run-root", type=FOLDER, default=limits.DEFAULT_RUN_ROOT, show_default=True,
         help="Where checks run.")  # fmt: skip
@_option("--openclaw", metavar="PATH|VERSION", help="Which OpenClaw, for a judge that is an OpenClaw agent.")
@_option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of its path.")
def regrade(*, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Grade a run again from what it has kept, without running an agent.

    RUN is a run's id, its folder, or its results file. Every grade is kept; the latest one with a score counts. Without
    --judge, the judge that graded the run last is asked again.

    \b
    pinchbench-async regrade 20260102-030405-9f3a --judge openai/gpt-5 --judge-votes 3
    pinchbench-async regrade results/demo-oracle_20260102-030405-9f3a.json --only-ungraded
    """  # noqa: D301 - as above
    from pinchbench.runner.regrade import regrade as grade_again  # noqa: PLC0415

    judge = _judge(options)
    config = limits.RegradeConfig(**options, judge=judge)
    _leave(_watched(partial(grade_again, config)), as_json=as_json)


def _setting(*names: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - click's own types
    """An option of a resumed run: what the run was started with holds where it is not given, not the environment."""
    return click.option(*names, **{"default": None, **settings})


_RESUME_SETTINGS = (
    _setting("--concurrency", type=click.IntRange(1, limits.MAX_CONCURRENCY), help="Trials at once."),
    _setting("--openclaw", metavar="PATH|VERSION", help="Which OpenClaw."),
    _setting("--tasks-dir", type=FOLDER, help="Where the suite is now."),
    _setting("--run-root", type=FOLDER, help="Where workspaces go."),
    _setting("--infra-retries", type=click.IntRange(0, limits.MAX_INFRA_RETRIES), help="Retries of a trial."),
    _setting("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="For the whole run."),
    _setting("--max-tokens", type=click.IntRange(1), metavar="N", help="For the whole run."),
    _setting("--max-hours", type=click.FloatRange(0, min_open=True), metavar="H", help="From now on."),
    _setting("--model", help="Another model than the run's needs --accept-changes."),
    _setting("--thinking", type=click.Choice(limits.THINKING_LEVELS), help="Another value than the run's needs --accept-changes."),
    _setting("--timeout-multiplier", type=click.FloatRange(0, limits.MAX_TIMEOUT_MULTIPLIER, min_open=True),
             help="Another value than the run's needs --accept-changes."),
    _setting("--base-url", metavar="URL", help="Another value than the run's needs --accept-changes."),
    _setting("--api-key-env", metavar="NAME", help="The environment variable that holds that endpoint's key."),
    _setting("--judge", metavar="MODEL", help="Another judge than the run's needs --accept-changes; so do its options."),
    _setting("--judge-base-url", metavar="URL", help="An OpenAI-compatible endpoint for the judge."),
    _setting("--judge-api-key-env", metavar="NAME", help="The environment variable that holds the judge's key."),
    _setting("--judge-votes", type=click.IntRange(1, limits.MAX_VOTES), help="How often the judge is asked."),
    _setting("--judge-concurrency", type=click.IntRange(1, limits.MAX_JUDGE_CONCURRENCY), help="Calls at once."),
    _setting("--no-judge-cache", is_flag=True, help="Ask the judge even what it has answered before."),
    _setting("--retry-timeouts", is_flag=True, help="Another value than the run's needs --accept-changes."),
    _setting("--no-fail-fast", is_flag=True, help="Go on whatever fails."),
    _setting("-v", "--verbose", is_flag=True, help="Show the agents' stdout and stderr as they come."),
)  # fmt: skip


def _resume_settings(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_RESUME_SETTINGS):
        command = option(command)
    return command


@cli.command(context_settings=CONTEXT)
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--accept-changes", is_flag=True, help="Go on although tasks, settings or releases are others now.")
@_resume_settings
@_option("--output-dir", type=FOLDER, default=limits.DEFAULT_OUTPUT_DIR, show_default=True,
         help="Where RUN is looked for.")  # fmt: skip
@_option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of its path.")
def resume(
    *,
    run: str | None,
    accept_changes: bool,
    output_dir: Path,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Go on with a run that was ended early, whatever ended it.

    RUN is a run's id, its folder, or its results file; without it, the newest unfinished run. Trials that have
    finished are not run again. Settings are those of the run, unless given here; the environment changes none.

    \b
    pinchbench-async resume
    pinchbench-async resume 20260102-030405-9f3a --concurrency 8 --max-cost 20
    """  # noqa: D301 - as above
    from pinchbench.runner.resume import resume as go_on  # noqa: PLC0415

    judge = _judge(options)
    settings = {name: value for name, value in options.items() if value is not None and value is not False}
    if settings.pop("no_fail_fast", False):
        settings["fail_fast"] = False
    if judge is not None:
        settings["judge"] = judge
    config = limits.ResumeConfig(run=run, output_dir=output_dir, accept_changes=accept_changes, settings=settings)
    _leave(_watched(partial(go_on, config)), as_json=as_json)


def _watched(work: Callable[..., Coroutine[Any, Any, Result]], *, last_words: str = "") -> Result:
    """Do the work of a run with the live view on stderr, and print its summary."""
    import anyio  # noqa: PLC0415 - `--help` must not wait for it

    from pinchbench.report.console import END_LIMIT_S, report_console, stderr_writer  # noqa: PLC0415
    from pinchbench.report.live import LiveView  # noqa: PLC0415
    from pinchbench.report.summary import print_summary  # noqa: PLC0415

    with stderr_writer() as writer:
        console = report_console(writer)
        view = LiveView(console, is_full=writer.is_full)
        result = anyio.run(partial(work, observer=view.watch, handle_signals=True))
        # all is done and saved: an impatient Ctrl-C must not cost the words on where it is and how to go on
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        writer.be_patient(END_LIMIT_S)
        view.say_left_out()
        print_summary(console, result.data, result.outcomes, result.grades, folder=result.folder)
        if result.unfinished:
            console.print(_how_to_go_on(result), soft_wrap=True, highlight=False, markup=False)
        if last_words:
            console.print(last_words)
    return result


def _how_to_go_on(result: Result) -> str:
    """The command that goes on with a run, ready to be copied."""
    elsewhere = result.path.parent != limits.DEFAULT_OUTPUT_DIR.absolute()
    where = shlex.quote(str(result.folder)) if elsewhere else result.run_id
    left = f"{result.unfinished} of {result.planned} trials are left"
    if result.stop is Stop.BUDGET:
        option = result.stopped.split(" ", 1)[0]
        return f"{left}; go on, within a higher limit, with: pinchbench-async resume {where} {option} …"
    return f"{left}; go on with: pinchbench-async resume {where}"


def _leave(result: Result, *, as_json: bool) -> None:
    """Print the result, and leave with the exit code that suits it."""
    _print(json.dumps(result.data) if as_json else result.path, stands_in=result.path)
    if result.interrupted is not None:
        sys.exit(128 + signal.Signals[result.interrupted])
    if result.stop is not None:
        sys.exit(STOPPED[result.stop])
    if not result.complete:
        sys.exit(INCOMPLETE)


def _show_plan(config: RunConfig, *, as_json: bool) -> None:
    from pinchbench.runner.plan import worst_case_s  # noqa: PLC0415
    from pinchbench.runner.prepare import prepare  # noqa: PLC0415

    prepared = prepare(config)
    for problem in prepared.skipped:
        _say(f"Left out: {problem}")
    if prepared.unjudged:
        _say(prepared.unjudged)
    longest = worst_case_s(prepared.trials, concurrency=prepared.slots)
    if as_json:
        rows = [
            {"task_id": trial.key.task_id, "repetition": trial.key.repetition, "timeout_s": trial.timeout_s}
            for trial in prepared.trials
        ]
        _print(json.dumps({"model": config.model, "trials": rows, "slots": prepared.slots, "worst_case_s": longest}))
        return
    from pinchbench.report.console import report_console  # noqa: PLC0415
    from pinchbench.report.summary import print_plan  # noqa: PLC0415

    plan = io.StringIO()
    console = report_console(plan, is_terminal=sys.stdout is not None and sys.stdout.isatty())
    print_plan(console, prepared.trials, concurrency=config.concurrency, worst_case_s=longest)
    _print(plan.getvalue().rstrip("\n"))


@cli.group(context_settings=CONTEXT)
def tasks() -> None:
    """Look at the tasks of a suite and check them."""


_TASKS_DIR = _option("--tasks-dir", type=FOLDER, help="The suite's folder (default: the bundled tasks).")


@tasks.command("list", context_settings=CONTEXT)
@_TASKS_DIR
@_option("--suite", default="all", show_default=True, help="Which tasks, as for `run`.")
@_option("--json", "as_json", is_flag=True, help="Print JSON.")
@_option("--markdown", is_flag=True, help="Print a Markdown table, with what each task measures; core tasks are bold.")
def tasks_list(*, tasks_dir: Path | None, suite: str, as_json: bool, markdown: bool) -> None:
    """List the tasks, one a line."""
    from pinchbench.report.text import plain  # noqa: PLC0415
    from pinchbench.suite.select import select_tasks  # noqa: PLC0415
    from pinchbench.suite.table import suite_table  # noqa: PLC0415

    if markdown and as_json:
        raise click.UsageError("--json and --markdown are two forms; name one of them.")
    loaded = _load(tasks_dir)
    chosen = select_tasks(loaded, suite)
    if markdown:
        _print(suite_table(replace(loaded, tasks=chosen)).rstrip("\n"))
        return
    if as_json:
        keys = ("task_id", "name", "category", "timeout_s")
        rows = [
            {**{key: getattr(task, key) for key in keys}, "grading_type": task.grading_type.value} for task in chosen
        ]
        _print(json.dumps(rows))
        return
    table = [(task.task_id, plain(task.category), task) for task in chosen]
    id_width = max(len(task_id) for task_id, _, _ in table)
    category_width = max(len(category) for _, category, _ in table)
    for task_id, category, task in table:
        _print(
            f"{task_id:<{id_width}}  {category:<{category_width}}  {task.grading_type.value:<9}"
            f"  {task.timeout_s:>4.0f} s  {plain(task.name)}"
        )


@tasks.command("show", context_settings=CONTEXT)
@click.argument("task_id")
@_TASKS_DIR
def tasks_show(*, task_id: str, tasks_dir: Path | None) -> None:
    """Show one task as the agent and the graders see it."""
    from pinchbench.report.text import plain, plain_lines  # noqa: PLC0415
    from pinchbench.suite.select import find_task  # noqa: PLC0415

    task = find_task(_load(tasks_dir), task_id)
    _print(f"{task.task_id}: {plain(task.name)}")
    _print(f"{plain(task.category)}, {task.grading_type.value}, {task.timeout_s:g} s")
    for file in task.workspace_files:
        _print(f"file {plain(file.dest)}")
    for number, turn in enumerate(task.turns, 1):
        session = ", new session" if turn.new_session else ""
        _print(f"\nTurn {number}{session}:\n{plain_lines(turn.prompt)}")
    for title, text in _sections(task):
        _print(f"\n{title}:\n{plain_lines(text)}")


def _sections(task: Task) -> Iterator[tuple[str, str]]:
    criteria = "\n".join(f"- {one}" for one in task.grading_criteria)
    titled = (("Expected behavior", task.expected_behavior), ("Criteria", criteria), ("Check", task.automated_checks))
    yield from ((title, text) for title, text in (*titled, ("Rubric", task.llm_judge_rubric)) if text)


@tasks.command("check", context_settings=CONTEXT)
@_TASKS_DIR
@_option("--suite", default="all", show_default=True, help="Which tasks, as for `run`.")
@_judge_options
@_option("--openclaw", metavar="PATH|VERSION", help="Which OpenClaw, for a judge that is an OpenClaw agent.")
@_option("--run-root", type=FOLDER, default=limits.DEFAULT_RUN_ROOT, show_default=True,
         help="Where scripts are played.")  # fmt: skip
@_option("--json", "as_json", is_flag=True, help="Print JSON: one entry for each script that was played.")
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
    pinchbench-async tasks check --tasks-dir mine --suite task_mine --judge openai/gpt-5
    """  # noqa: D301 - as above
    import anyio  # noqa: PLC0415

    from pinchbench.report import rehearsal as report  # noqa: PLC0415
    from pinchbench.runner.rehearsal import rehearse  # noqa: PLC0415
    from pinchbench.suite.select import select_tasks  # noqa: PLC0415

    judge = _judge(options)
    loaded = _load(tasks_dir)
    chosen = _with_solutions(loaded, select_tasks(loaded, suite))
    width = max(len(task.task_id) for task, _ in chosen)

    def show(results: Sequence[Rehearsed]) -> None:
        if not as_json:
            _print(report.task_line(results, width=width))
        if problems := report.problem_lines(results):
            _say(problems)

    if judge is not None:
        _say(
            f"Asking {judge.model} about each script of {sum(one.llm_judge_rubric is not None for one, _ in chosen)} tasks."
        )
    root = limits.absolute_path(run_root, option="--run-root")
    results = anyio.run(partial(rehearse, chosen, show=show, judge=judge, openclaw=openclaw, run_root=root, say=_say))
    if as_json:
        _print(json.dumps([report.record(one) for one in results]))
    if wrong := report.wrong_tasks(results):
        raise SuiteError(wrong)
    if untried := report.untried_lines(results):
        _say(untried)
        sys.exit(INCOMPLETE)
    _say(report.verdict(results, judged=judge is not None))


def _with_solutions(suite: Suite, chosen: Iterable[Task]) -> list[tuple[Task, Solution | None]]:
    """The tasks, each with its solution if it has one. Raises SuiteError, with all broken solutions."""
    from pinchbench.suite.solution import load_solution  # noqa: PLC0415

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
@_option("--tasks-dir", type=FOLDER, default=Path("tasks"), show_default=True, help="The folder it is written to.")
@_option("--grading", type=click.Choice([one.value for one in GradingType]), default="automated",
              show_default=True, help="By a check, by a judge, or by both.")  # fmt: skip
@_option("--category", default="uncategorized", show_default=True, help="The task's category.")
def tasks_new(*, task_id: str, tasks_dir: Path, grading: str, category: str) -> None:
    """Write a new task to begin with: a task file, its solution and two near misses, small but whole.

    \b
    pinchbench-async tasks new task_50_refunds --tasks-dir mine --grading hybrid
    pinchbench-async tasks check --tasks-dir mine
    """  # noqa: D301 - as above
    from pinchbench.suite.skeleton import write_skeleton  # noqa: PLC0415

    for path in write_skeleton(tasks_dir, task_id, grading=GradingType(grading), category=category):
        _print(path)
    _say(
        f"Change both, and try them with: pinchbench-async tasks check --tasks-dir {shlex.quote(str(tasks_dir))} --suite {task_id}"
    )


@cli.group(context_settings=CONTEXT)
def openclaw() -> None:
    """Install OpenClaw for this program, beside any other on the machine."""


@openclaw.command("install", context_settings=CONTEXT)
@click.argument("version", required=False)
def openclaw_install(*, version: str | None) -> None:
    """Install an OpenClaw release (default: the newest one this program was tried with) and a Node that suits it.

    Both go into the user's cache folder. A release that is there already is not fetched again.
    """
    from pinchbench.openclaw.install import DEFAULT_RELEASE, install, managed  # noqa: PLC0415

    wanted = version or DEFAULT_RELEASE
    if managed(wanted) is None:
        _say(f"Installing OpenClaw {wanted} with npm; this takes about a minute.")
    _print(install(wanted).program)


@openclaw.command("list", context_settings=CONTEXT)
def openclaw_list() -> None:
    """List the releases that are installed, newest first."""
    from pinchbench.openclaw.install import installed  # noqa: PLC0415

    for found in installed():
        _print(f"{found.version}  {found.program}")


def _load(tasks_dir: Path | None) -> Suite:
    from pinchbench.suite.load import bundled_tasks_dir, load_suite  # noqa: PLC0415

    if tasks_dir is None:
        return load_suite(bundled_tasks_dir()).suite
    return load_suite(limits.absolute_path(tasks_dir, option="--tasks-dir")).suite


def _print(text: object, *, stands_in: Path | None = None) -> None:
    """Print a result to stdout; a reader that has gone away is no error of ours.

    Raises ResultsError for any other failure, a full disk above all.
    """
    try:
        click.echo(text)
    except OSError as error:
        # so that the interpreter's last flush does not fail too
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if isinstance(error, BrokenPipeError):
            return
        kept = f"; it stands in {stands_in}" if stands_in else ""
        raise ResultsError(f"The result could not be printed: {error.strerror}{kept}.") from error


def _say(text: str) -> None:
    """Print to stderr, without control characters; one that can't be written to changes nothing."""
    from pinchbench.report.text import plain_lines  # noqa: PLC0415

    with suppress(OSError):
        click.echo(plain_lines(text), err=True)


def _expected(error: BaseException) -> PinchBenchError | None:
    """The one expected error an exception is, or a group of nothing else holds."""
    if isinstance(error, PinchBenchError):
        return error
    if isinstance(error, ExceptionGroup):
        found = [_expected(one) for one in error.exceptions]
        return found[0] if all(one is not None for one in found) else None
    return None


def main() -> None:
    """Run the program and leave with its exit code. The only place that exits and that unwraps exception groups."""
    if not hasattr(os, "fork"):
        click.echo("Error: this program runs on Linux and macOS; on Windows, use it inside WSL.", err=True)
        sys.exit(ConfigError.exit_code)
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except KeyboardInterrupt:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (PinchBenchError, ExceptionGroup) as error:
        from pinchbench.secrets import known_secrets, mask  # noqa: PLC0415 - `--help` must not wait for it

        expected = _expected(error)
        if expected is None:
            raise
        _say(f"Error: {mask(str(expected), known_secrets(os.environ))}")
        if isinstance(expected, RunInterruptedError):
            sys.exit(128 + expected.signal)
        sys.exit(expected.exit_code)
