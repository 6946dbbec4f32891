"""What `run --dry-run` does."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

from pinchbench.cli.output import print_result, say
from pinchbench.report.terminal.console import report_console
from pinchbench.report.terminal.plan import print_plan, probes_told
from pinchbench.runner.prepare import prepare
from pinchbench.runner.scheduling.plan import makespan_s, worst_case_s

if TYPE_CHECKING:
    from pinchbench.config.run import RunConfig


def show_plan(config: RunConfig, *, as_json: bool) -> None:
    """Print the trials of a run in their order, and how long they can take."""
    prepared = prepare(config)
    for remark in prepared.remarks:
        say(remark)
    trials = [attempt.trial for attempt in prepared.attempts]
    expected_s = prepared.expected_s
    longest = worst_case_s(trials, concurrency=prepared.slots)
    likely: float | None = None
    if expected_s and trials:
        likely = makespan_s([expected_s[trial.key.task_id] for trial in trials], slots=prepared.slots)
    probes = None
    if config.probes is not None:
        from pinchbench.runner.expected_probes import expected_probes  # noqa: PLC0415 - decodes records, for few runs

        probes = expected_probes(config, len(trials))
    if as_json:
        rows = [
            {
                "task_id": trial.key.task_id,
                "repetition": trial.key.repetition,
                "timeout_s": trial.timeout_s,
                "expected_s": expected_s.get(trial.key.task_id),
            }
            for trial in trials
        ]
        print_result(
            json.dumps(
                {
                    "model": config.model,
                    "trials": rows,
                    "slots": prepared.slots,
                    "worst_case_s": longest,
                    "expected_s": likely,
                    **({} if probes is None else probes.record),
                    **({"user_messages": prepared.user_messages} if prepared.user_messages else {}),
                }
            )
        )
        return

    plan = io.StringIO()
    console = report_console(plan, is_terminal=sys.stdout is not None and sys.stdout.isatty())
    print_plan(
        console,
        trials,
        concurrency=config.concurrency,
        worst_case_s=longest,
        expected_s=expected_s,
        expected_run_s=likely,
        user_messages=prepared.user_messages,
        probes="" if probes is None else probes_told(probes.count, took_s=probes.took_s, cost_usd=probes.cost_usd),
    )
    print_result(plan.getvalue().rstrip("\n"))
