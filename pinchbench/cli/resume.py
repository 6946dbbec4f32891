"""`resume`: run what is left of a run that ended early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_model, complete_openclaw, complete_run
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CLUSTER, CONTEXT, FOLDER, NO_REPORT, NOTIFY, OTLP, RELAY, gate_options, option
from pinchbench.cli.sections import GATE, JUDGE, LIMITS, MODEL, USER, SectionedCommand

if TYPE_CHECKING:
    from collections.abc import Callable


def _setting(*names: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - click's own types
    """Define an option of a resumed run: its default is the value the run was started with, not the environment's."""
    return click.option(*names, **{"default": None, **settings})


_RESUME_SETTINGS = (
    _setting("--concurrency", type=click.IntRange(1, defaults.MAX_CONCURRENCY), help="Trials at once."),
    _setting("--openclaw", metavar="PATH|VERSION", shell_complete=complete_openclaw, help="Which OpenClaw."),
    _setting("--tasks-dir", type=FOLDER, help="Where the suite is now."),
    _setting("--run-root", type=FOLDER, help="Where workspaces go."),
    _setting("--infra-retries", type=click.IntRange(0, defaults.MAX_INFRA_RETRIES), help="Retries of a trial."),
    _setting("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="For the whole run."),
    _setting("--max-tokens", type=click.IntRange(1), metavar="N", help="For the whole run."),
    _setting("--max-hours", type=click.FloatRange(0, min_open=True), metavar="H", help="From now on."),
    _setting("--model", shell_complete=complete_model, help="Another model than the run's needs --accept-changes."),
    _setting("--thinking", type=click.Choice(defaults.THINKING_LEVELS), help="Another value than the run's "
                                                                             "needs --accept-changes."),
    _setting("--timeout-multiplier", type=click.FloatRange(0, defaults.MAX_TIMEOUT_MULTIPLIER, min_open=True),
             help="Another value than the run's needs --accept-changes."),
    _setting("--base-url", metavar="URL", help="Another value than the run's needs --accept-changes."),
    _setting("--api-key-env", metavar="NAME", help="The environment variable that holds that endpoint's key."),
    _setting("--pass-env", metavar="NAME", multiple=True, help="An environment variable that the agents get "
                                                               "too; may be repeated."),
    _setting("--price-in", type=click.FloatRange(0), metavar="USD", help="Another value than the run's needs "
                                                                         "--accept-changes."),
    _setting("--price-out", type=click.FloatRange(0), metavar="USD", help="Another value than the run's needs "
                                                                          "--accept-changes."),
    _setting("--accept-unknown-model", is_flag=True, help="Run a model that OpenClaw's catalogue does not list."),
    _setting("--user-model", metavar="MODEL", help="Another user's model than the run's needs --accept-changes."),
    _setting("--user-base-url", metavar="URL", help="An OpenAI-compatible endpoint for the user's model."),
    _setting("--user-api-key-env", metavar="NAME", help="The environment variable that holds its key."),
    _setting("--judge", metavar="MODEL", help="Another judge than the run's needs --accept-changes; so do its "
                                              "options."),
    _setting("--judge-base-url", metavar="URL", help="An OpenAI-compatible endpoint for the judge."),
    _setting("--judge-api-key-env", metavar="NAME", help="The environment variable that holds the judge's key."),
    _setting("--judge-votes", type=click.IntRange(1, defaults.MAX_VOTES), help="How often the judge is asked."),
    _setting("--judge-concurrency", type=click.IntRange(1, defaults.MAX_JUDGE_CONCURRENCY), help="Calls at once."),
    _setting("--no-judge-cache", is_flag=True, help="Ask the judge even what it has answered before."),
    _setting("--retry-timeouts", is_flag=True, help="Another value than the run's needs --accept-changes."),
    _setting("--retry-timeouts-alone", is_flag=True, help="Another value than the run's needs --accept-changes."),
    _setting("--no-fail-fast", is_flag=True, help="Go on whatever fails."),
    _setting("--no-wire", is_flag=True, help="Do not record the requests between OpenClaw and the model."),
    _setting("--max-requests", type=click.IntRange(1, defaults.MAX_REQUESTS), metavar="N", help="Requests at once."),
    _setting("--no-preflight", is_flag=True, help="Do not ask the endpoints of the model, the judge and "
                                                  "the user's model one question first."),
    _setting("-v", "--verbose", is_flag=True, help="Show the agents' stdout and stderr as they come."),
)  # fmt: skip


def _resume_settings(command: Callable[..., None]) -> Callable[..., None]:
    for one in reversed(_RESUME_SETTINGS):
        command = one(command)
    return command


SECTIONS = {
    "What is left of the run": (
        "--accept-changes",
        "--take-over",
        "--concurrency",
        "--cluster",
        "--relay",
        *MODEL,
        "--tasks-dir",
    ),
    "Simulated users": USER,
    "Judging": JUDGE,
    "Gate": GATE,
    "Limits": LIMITS,
    "OpenClaw and places": ("--openclaw", "--output-dir", "--run-root"),
}


@click.command(cls=SectionedCommand, sections=SECTIONS, context_settings=CONTEXT)
@click.argument("run", metavar="[RUN]", required=False, shell_complete=complete_run)
@click.option("--accept-changes", is_flag=True, help="Go on although tasks, settings or releases are others now.")
@click.option(
    "--take-over",
    is_flag=True,
    help="Go on although the run's lock names a runner of another machine or container, which has surely ended.",
)
@_resume_settings
@CLUSTER
@RELAY
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where RUN is looked for.")  # fmt: skip
@gate_options
@NOTIFY
@OTLP
@NO_REPORT
@option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of its path.")
@performs("resume.resume_run")
def resume(**_options: Any) -> None:  # noqa: ANN401
    """Go on with a run that was ended early, whatever ended it.

    RUN is a run's id, its folder, or its results file, or the folder of an experiment; without it, the newest
    unfinished run. Trials that have
    finished are not run again. Settings are those of the run, unless given here; the environment changes none.

    \b
    pinchbench-async resume
    pinchbench-async resume 20260102-030405-9f3a --concurrency 8 --max-cost 20
    """  # noqa: D301 - as above
