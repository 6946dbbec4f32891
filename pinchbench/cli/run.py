"""`run`, the default command: run a suite on one model, or show what would be run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_model, complete_openclaw
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import (
    CLUSTER,
    CONTEXT,
    FOLDER,
    FORM,
    MAX_REQUESTS,
    MEAN_ACROSS_SUITES,
    NO_PREFLIGHT,
    NO_REPORT,
    NO_WIRE,
    NOTIFY,
    OTLP,
    PROBES,
    RELAY,
    SUITE_FORMAT,
    TASKS_DIR,
    UNTIL,
    WIRE_RETRIES,
    WITH_NOTES,
    gate_options,
    judge_options,
    option,
    suite_option,
    user_options,
)
from pinchbench.cli.sections import GATE, JUDGE, LIMITS, MODEL, USER, SectionedCommand

SECTIONS = {
    "What is run": (
        *MODEL,
        "--suite",
        "--tasks-dir",
        "--suite-format",
        "--mean-across-suites",
        "--form",
        "--runs",
        "--until",
        "--concurrency",
        "--cluster",
        "--relay",
        "--seed",
        "--probes",
        "--skip-broken",
    ),
    "What the agents have": ("--skills", "--workspace-files", "--openclaw-config", "--env"),
    "Judging": (*JUDGE, "--pass-threshold"),
    "Simulated users": USER,
    "Gate": GATE,
    "Limits": LIMITS,
    "What agents can reach": ("--isolation", "--sandbox", "--network", "--sandbox-allow"),
    "Limits of a trial": ("--max-memory", "--max-processes", "--max-disk"),
    "OpenClaw and places": ("--openclaw", "--output-dir", "--run-root"),
}


@click.command(cls=SectionedCommand, sections=SECTIONS, context_settings=CONTEXT)
@option("--model", required=True, multiple=True, shell_complete=complete_model,
        help="Model as OpenClaw names it, such as anthropic/claude-sonnet-4-6. Built in, without a provider:"
        " demo/oracle plays the solutions, demo/null does nothing. Several are run side by side and compared with the"
        " first.")  # fmt: skip
@suite_option("all, core, hard, automated-only, a category, task ids; commas mix. short:N: N tasks that rank models as"
              " all do, chosen by the runs in --output-dir. NAME or NAME:…: an added suite, or tasks of it. May be"
              " repeated: several suites in one run, each with its own score.")  # fmt: skip
@TASKS_DIR
@SUITE_FORMAT
@MEAN_ACROSS_SUITES
@FORM
@option("--concurrency", type=click.IntRange(1, defaults.MAX_CONCURRENCY), default=1, show_default=True,
        help="Trials at once; about 1 GB of memory each, or 0.3 GB in a gateway that takes 1 to 2 GB.")  # fmt: skip
@CLUSTER
@RELAY
@option("--runs", type=click.IntRange(1, defaults.MAX_RUNS),
        help="Repetitions of each task (default: 1, or what the task states).")  # fmt: skip
@UNTIL
@option("--timeout-multiplier", type=click.FloatRange(0, defaults.MAX_TIMEOUT_MULTIPLIER, min_open=True), default=1.0,
        show_default=True, help="Scales every task's time limit.")  # fmt: skip
@option("--thinking", type=click.Choice(defaults.THINKING_LEVELS), help="OpenClaw's thinking level.")
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where results go.")  # fmt: skip
@option("--run-root", type=FOLDER, default=defaults.DEFAULT_RUN_ROOT, show_default=True,
        help="Where workspaces go; they are kept.")  # fmt: skip
@option("--openclaw", metavar="PATH|VERSION", shell_complete=complete_openclaw, help="Which OpenClaw (default: "
                                                                                     "the one on PATH, else the "
                                                                                     "newest that"
        " `pinchbench-async openclaw install` installed).")  # fmt: skip
@option("--isolation", type=click.Choice([one.value for one in defaults.Isolation]), default="auto",
        show_default=True, help="private: an OpenClaw state of its own for each trial. gateway: one private "
                                "OpenClaw gateway"
        " for all. auto: one of these two. shared: agents in your own ~/.openclaw, through your gateway.")  # fmt: skip
@option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint for the model's provider.")
@option("--api-key-env", metavar="NAME", help="The environment variable that holds that endpoint's key.")
@option("--pass-env", metavar="NAME", multiple=True, help="An environment variable that the agents get too; "
                                                          "beside what every"
        " program needs they get only the key of their model. May be repeated.")  # fmt: skip
@option("--skills", type=FOLDER, help="A folder of skills that the agents have beside OpenClaw's own.")
@option("--workspace-files", type=FOLDER, help="A folder whose content, such as AGENTS.md, each workspace has beside"
        " the task's files.")  # fmt: skip
@option("--openclaw-config", type=click.Path(path_type=Path, dir_okay=False, exists=True), metavar="FILE",
        help="Settings, as in openclaw.json, that are merged into that of the agents.")  # fmt: skip
@option("--env", metavar="NAME=VALUE", multiple=True, help="An environment variable that the agents get, without a key."
        " May be repeated.")  # fmt: skip
@option("--price-in", type=click.FloatRange(0), metavar="USD", help="What a million tokens sent to that endpoint cost.")
@option("--price-out", type=click.FloatRange(0), metavar="USD", help="What a million tokens of its answers cost.")
@option("--accept-unknown-model", is_flag=True, help="Run a model that OpenClaw's catalogue does not list.")
@judge_options
@user_options
@option("--pass-threshold", type=click.FloatRange(0, 1, min_open=True), default=defaults.DEFAULT_PASS_THRESHOLD,
        show_default=True, help="The score from which a trial counts as passed.")  # fmt: skip
@option("--infra-retries", type=click.IntRange(0, defaults.MAX_INFRA_RETRIES), default=2, show_default=True,
        help="How many times a trial is retried after an infrastructure failure.")  # fmt: skip
@option("--retry-timeouts", is_flag=True, help="Retry trials that timed out as well.")
@option("--retry-timeouts-alone", is_flag=True, help="Retry trials that timed out while the machine was busy once,"
        " when no other trial runs.")  # fmt: skip
@option("--no-fail-fast", is_flag=True, help="Neither pause nor end the run when many trials fail for the same"
        " infrastructure reason.")  # fmt: skip
@option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="End the run before it costs more,"
        " the judge included.")  # fmt: skip
@option("--max-tokens", type=click.IntRange(1), metavar="N", help="End the run before it uses more tokens.")
@option("--max-hours", type=click.FloatRange(0, min_open=True), metavar="H", help="End the run after this time.")
@option("--seed", type=click.IntRange(0, defaults.MAX_SEED), metavar="N", help="Shuffle the trials that are "
                                                                               "expected to take"
        " equally long; the same number gives the same order.")  # fmt: skip
@option("--skip-broken", is_flag=True, help="Leave broken task files out instead of stopping.")
@NO_PREFLIGHT
@option("--sandbox", type=click.Choice([one.value for one in defaults.Sandbox]), default="auto", show_default=True,
        help="namespaces: each trial sees its workspace, the system and OpenClaw alone, and nothing of you. landlock:"
        " it can neither read nor change anything else. auto: the first that the machine allows, unless --isolation"
        " asks for a gateway. none: agents run as you.")  # fmt: skip
@option("--network", type=click.Choice([one.value for one in defaults.Network]), default="auto", show_default=True,
        help="What a sandboxed trial can connect to. model: the model alone, or everything if its task states"
        " `network: true`. none: the model alone; tasks that state it are not run. auto: model, if the wire has the"
        " model's endpoint, else open.")  # fmt: skip
@option("--sandbox-allow", metavar="PATH[:rw]", multiple=True, help="A path that sandboxed trials see too,"
        " writable with :rw. May be repeated.")  # fmt: skip
@option("--max-memory", type=click.FloatRange(defaults.LEAST_MAX_MEMORY), metavar="GIB", show_default=True,
        default=defaults.DEFAULT_MAX_MEMORY, help="Memory of a trial's processes together; one that exceeds a limit of"
        " these is ended, and graded.")  # fmt: skip
@option("--max-processes", type=click.IntRange(defaults.LEAST_MAX_PROCESSES), metavar="N", show_default=True,
        default=defaults.DEFAULT_MAX_PROCESSES, help="Its processes and threads at once.")  # fmt: skip
@option("--max-disk", type=click.FloatRange(defaults.LEAST_MAX_DISK), metavar="GIB", show_default=True,
        default=defaults.DEFAULT_MAX_DISK, help="The size of its workspace and its home.")  # fmt: skip
@PROBES
@NO_WIRE
@MAX_REQUESTS
@WIRE_RETRIES
@gate_options
@NOTIFY
@OTLP
@NO_REPORT
@WITH_NOTES
@option("--no-upload", is_flag=True, help="Never offer the result to the public leaderboard.")
@option("--dry-run", is_flag=True, help="Show what would be run and how long it can take; start nothing.")
@option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of its path.")
@option("-v", "--verbose", is_flag=True, help="Show the agents' stdout and stderr as they come.")
@performs("run.run_suite")
def run(**_options: Any) -> None:  # noqa: ANN401
    """Run a suite (the default command).

    \b
    pinchbench-async --model anthropic/claude-sonnet-4-6 --concurrency 4
    pinchbench-async --model demo/oracle --suite core,task_05_outage_brief --runs 3
    pinchbench-async --model local/qwen3 --base-url http://127.0.0.1:8000/v1 --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
