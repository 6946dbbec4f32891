"""`doctor`: check that this machine, its OpenClaw, the model and the judge are ready for a run."""

from __future__ import annotations

from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, SUITE_FORMAT, TASKS_DIR, option, suite_option


@click.command(context_settings=CONTEXT)
@option("--model", help="The model that is going to be run: its key is looked for, and it is asked one question.")
@option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint for the model's provider.")
@option("--api-key-env", metavar="NAME", help="The environment variable that holds that endpoint's key.")
@option("--judge", "judge_model", metavar="MODEL", help="The judge that is going to be asked; as for `run`.")
@option("--judge-base-url", metavar="URL", help="An OpenAI-compatible endpoint for the judge.")
@option("--judge-api-key-env", metavar="NAME", help="The environment variable that holds the judge's key.")
@option("--concurrency", type=click.IntRange(1, defaults.MAX_MACHINE_SLOTS), default=1, show_default=True,
        help="Trials at once that the machine is to be fit for.")  # fmt: skip
@option("--openclaw", metavar="PATH|VERSION", help="Which OpenClaw; as for `run`.")
@option("--isolation", type=click.Choice([one.value for one in defaults.Isolation]), default="auto",
        show_default=True, help="As for `run`.")  # fmt: skip
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where results would go.")  # fmt: skip
@option("--run-root", type=FOLDER, default=defaults.DEFAULT_RUN_ROOT, show_default=True,
        help="Where workspaces would go.")  # fmt: skip
@TASKS_DIR
@SUITE_FORMAT
@suite_option("Which tasks are going to be run: what they need is looked for.")
@option("--cluster", metavar="ray[://HOST:PORT]", help="Examine each node of the Ray cluster too.")
@option("--offline", is_flag=True, help="Ask neither the model nor the judge.")
@option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@performs("doctor.examine_machine")
def doctor(**_options: Any) -> None:  # noqa: ANN401
    """Find out whether a run would work here, and what to do if not.

    Looks at Python, OpenClaw, Node, keys (present or not; never shown), memory, disks, limits, what the tasks need and
    what dead runs have left. Nothing is changed or removed. A --model and a --judge are asked one question each, which
    costs what a short question costs; demo/oracle costs nothing. With --cluster, each node is examined too, and
    compared with this machine. Leaves with exit code 1 when there is a problem.

    \b
    pinchbench-async doctor
    pinchbench-async doctor --model anthropic/claude-sonnet-4-6 --judge openai/gpt-5.5 --concurrency 8
    pinchbench-async doctor --cluster ray
    pinchbench-async doctor --model local/qwen3 --base-url http://127.0.0.1:8000/v1 --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
