"""`replay`: run a recorded run again, with recorded replies instead of a model."""

from __future__ import annotations

from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_model, complete_openclaw, complete_run, complete_tasks
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CLUSTER, CONTEXT, FOLDER, NO_REPORT, RELAY, judge_options, option
from pinchbench.cli.sections import JUDGE, SectionedCommand

SECTIONS = {
    "What is replayed": ("--suite", "--tasks-dir", "--concurrency", "--cluster", "--relay", "--timeout-multiplier"),
    "Where it differs": ("--on-divergence", "--fork-at", "--fork-turn", "--model", "--base-url", "--api-key-env"),
    "Judging": JUDGE,
    "OpenClaw and places": ("--openclaw", "--isolation", "--output-dir", "--run-root"),
}


@click.command(cls=SectionedCommand, sections=SECTIONS, context_settings=CONTEXT)
@click.argument("run", metavar="RUN", shell_complete=complete_run)
@option("--suite", shell_complete=complete_tasks, help="Which tasks of the run, as for `run` (default: all).")
@click.option("--tasks-dir", type=FOLDER, help="The suite's folder (default: the one that was run).")
@option("--concurrency", type=click.IntRange(1, defaults.MAX_CONCURRENCY), help="Trials at once (default: as the run).")
@CLUSTER
@RELAY
@click.option("--timeout-multiplier", type=click.FloatRange(0, defaults.MAX_TIMEOUT_MULTIPLIER, min_open=True),
              help="Scales every task's time limit (default: as the run).")  # fmt: skip
@click.option("--on-divergence", type=click.Choice([one.value for one in defaults.DivergencePolicy]), default="stop",
              show_default=True, help="When a request is not the recorded one. stop: end the trial. continue: serve the"
              " reply of the same position anyway. live: ask a model from there on.")  # fmt: skip
@click.option("--fork-at", type=click.IntRange(1), metavar="K", help="Ask a model from the recorded request K on.")
@click.option("--fork-turn", type=click.IntRange(1), metavar="K", help="Ask a model from turn K of the task on.")
@click.option("--model", shell_complete=complete_model, help="The model that is asked then (default: the run's).")
@click.option("--base-url", metavar="URL", help="Its OpenAI-compatible endpoint (default: the run's).")
@click.option("--api-key-env", metavar="NAME", help="The environment variable that holds that endpoint's key.")
@judge_options
@option("--openclaw", metavar="PATH|VERSION", shell_complete=complete_openclaw, help="Which OpenClaw (default: the"
        " run's release).")  # fmt: skip
@click.option("--isolation", type=click.Choice(["private", "gateway"]), help="As for `run` (default: as the run).")
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where RUN is looked for; results go to `replays` beside it.")  # fmt: skip
@option("--run-root", type=FOLDER, default=defaults.DEFAULT_RUN_ROOT, show_default=True,
        help="Where workspaces go; they are kept.")  # fmt: skip
@NO_REPORT
@option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of its path.")
@performs("replay.replay_run")
def replay(**_options: Any) -> None:  # noqa: ANN401
    """Run the tasks of a run again while the recorded replies of its model are served.

    RUN is a run's id, its folder, or its results file. No provider is asked and no key is needed, unless a trial forks:
    then it goes on with a model from that request on. Each request that is not the recorded one is a divergence; `wire
    show` prints the difference.

    \b
    pinchbench-async replay 20260102-030405-9f3a --concurrency 8
    pinchbench-async replay 20260102-030405-9f3a --openclaw 2026.9.6 --on-divergence continue
    pinchbench-async replay 20260102-030405-9f3a --suite task_05_outage_brief --fork-at 4 \\
        --model local/qwen3 --base-url http://127.0.0.1:8000/v1
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
