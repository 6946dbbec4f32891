"""Options that several commands share, and the function that defines one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run, complete_tasks

if TYPE_CHECKING:
    from collections.abc import Callable


FOLDER = click.Path(path_type=Path, file_okay=False)
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - click's own types
    """Define an option with an environment variable of its name: `--output-dir` is `PINCHBENCH_OUTPUT_DIR`."""
    long = next(name for name in names if name.startswith("--"))
    variable = "PINCHBENCH_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, show_envvar=True, **settings)


TASKS_DIR = option("--tasks-dir", type=FOLDER, help="The suite's folder (default: the bundled tasks).")


class _SuiteType(click.types.StringParamType):
    """An expression of `--suite`; `;` stands between several in the environment variable."""

    envvar_list_splitter: ClassVar[str] = ";"


def _joined(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> str | None:
    return ";".join(value) if value else None


def suite_option(help_text: str, *, default: str | None = "all") -> Callable[[Any], Any]:
    """Define `--suite`, which may be given several times: the command gets the expressions joined by `;`."""
    return option(
        "--suite",
        type=_SuiteType(),
        multiple=True,
        default=() if default is None else (default,),
        show_default=default or False,
        callback=_joined,
        shell_complete=complete_tasks,
        help=help_text,
    )


SUITE_FORMAT = option(
    "--suite-format",
    type=click.Choice([one.value for one in defaults.SuiteFormat]),
    callback=lambda _context, _parameter, value: defaults.SuiteFormat(value) if value else None,
    help="The format of its tasks (default: detected from the files).",
)

MEAN_ACROSS_SUITES = option(
    "--mean-across-suites",
    is_flag=True,
    help="With several suites: a mean over the tasks of all, too. Their scores mean different things.",
)

FORM = option(
    "--form",
    type=click.IntRange(0, defaults.MAX_SEED),
    metavar="SEED",
    help="A fresh form of the tasks: other data, other answers. Tasks without one are left out.",
)
UNTIL = option(
    "--until",
    type=click.Choice(["decided"]),
    help="End an experiment as soon as each variant is decided to be better, worse or equal within --margin, or what"
    " --runs leaves can hardly decide it.",
)
NO_PREFLIGHT = option(
    "--no-preflight",
    is_flag=True,
    help="Do not ask the endpoints of the model, the judge and the user's model one question first.",
)
NO_WIRE = option("--no-wire", is_flag=True, help="Do not record the requests between OpenClaw and the model.")
MAX_REQUESTS = option(
    "--max-requests",
    type=click.IntRange(1, defaults.MAX_REQUESTS),
    metavar="N",
    help="Requests to the model at once; fewer while it answers 429.",
)
WIRE_RETRIES = option(
    "--wire-retries",
    type=click.IntRange(0, defaults.MAX_INFRA_RETRIES),
    default=0,
    show_default=True,
    metavar="N",
    help="How often the wire repeats a call that failed with 429, 5xx or no reply; OpenClaw's own retries change the"
    " prompt.",
)
PROBES = option(
    "--probes",
    type=click.IntRange(1, defaults.MAX_PROBES),
    metavar="N",
    help="Ask the model the same small question at the start, after every N trials and at the end, to tell when its"
    " provider changed.",
)
CLUSTER = option(
    "--cluster",
    metavar="ray[://HOST:PORT]",
    help="Run the trials on the nodes of a Ray cluster that this machine is part of, and grade them here. ray: the one"
    " that RAY_ADDRESS or the last `ray start` names. ray://HOST:PORT: the one with this head.",
)
RELAY = option(
    "--relay",
    is_flag=True,
    help="With --cluster: lead the nodes to an endpoint of this machine's loopback (--base-url) through this command.",
)
NOTIFY = option(
    "--notify",
    multiple=True,
    metavar="bell|command:…|URL",
    help="Tell of the end of the run, a pause, a budget nearly used, and what needs attention: by the terminal's bell,"
    " a program, or a webhook, signed with PINCHBENCH_NOTIFY_SECRET. May be repeated.",
)
OTLP = option(
    "--otlp",
    metavar="URL",
    help="Send OpenTelemetry traces of trials, model calls and scores to the collector at this URL, by OTLP over HTTP;"
    " OTEL_EXPORTER_OTLP_HEADERS holds its headers.",
)
NO_REPORT = option("--no-report", is_flag=True, help="Write no report.html at the end.")

WITH_NOTES = option("--with-notes", is_flag=True, help="Send the graders' notes to the leaderboard too, as far "
                                                       "as they are"
                    " plain prose; without it, numbers alone.")  # fmt: skip

_GATE_OPTIONS = (
    option("--fail-under", type=click.FloatRange(0, 1), metavar="X", help="Exit with 11 if the score is below X."),
    option("--baseline", metavar="RUN|FILE", shell_complete=complete_run, help="Compare with a run, or with a file that"
           " `baseline save` wrote, and exit with 11 if this run is worse."),
    option("--fail-if", metavar="worse|score<X", multiple=True, help="The same as --baseline and --fail-under; may be"
           " repeated."),
    option("--margin", type=click.FloatRange(0, 1), metavar="M",
           help="The loss against the baseline that does not matter; with --until decided, the difference of variants"
           f" that does not.  [default: {defaults.DEFAULT_MARGIN:g}]"),
)  # fmt: skip


def gate_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the gate's options to a command; `take_gate` reads them."""
    for one in reversed(_GATE_OPTIONS):
        command = one(command)
    return command


_JUDGE_OPTIONS = (
    option("--judge", metavar="MODEL", help="Who grades what a check can't: openai/MODEL, openrouter/MODEL,"
           " anthropic/MODEL, a model of --judge-base-url, or openclaw:MODEL (an agent without tools)."),
    option("--judge-base-url", metavar="URL", help="An OpenAI-compatible endpoint for the judge."),
    option("--judge-api-key-env", metavar="NAME", help="The environment variable that holds the judge's key."),
    option("--judge-votes", type=click.IntRange(1, defaults.MAX_VOTES), help="How often the judge is asked about each"
           " trial; the median counts.  [default: 1]"),
    option("--judge-concurrency", type=click.IntRange(1, defaults.MAX_JUDGE_CONCURRENCY),
            help="Calls to the judge at once.  [default: 4]"),
    option("--no-judge-cache", is_flag=True, help="Ask the judge even what it has answered before."),
)  # fmt: skip


_USER_OPTIONS = (
    option("--user-model", metavar="MODEL", help="Who plays the user of tasks that have a simulated one: openai/MODEL,"
           " openrouter/MODEL, anthropic/MODEL, or a model of --user-base-url."),
    option("--user-base-url", metavar="URL", help="An OpenAI-compatible endpoint for the user's model."),
    option("--user-api-key-env", metavar="NAME", help="The environment variable that holds its key."),
)  # fmt: skip


def user_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the user's model to a command; `take_user` reads them."""
    for one in reversed(_USER_OPTIONS):
        command = one(command)
    return command


def judge_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the judge's options to a command; `take_judge` reads them."""
    for one in reversed(_JUDGE_OPTIONS):
        command = one(command)
    return command
