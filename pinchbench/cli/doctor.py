"""`doctor`: check that this machine, its OpenClaw, the model and the judge are ready for a run."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import option, setting_options
from pinchbench.cli.output import drawn, print_result, say
from pinchbench.cli.settings_file import WithDefaults, read_settings
from pinchbench.errors import UnfitError

if TYPE_CHECKING:
    from pinchbench.model.finding import Finding


@click.command(cls=WithDefaults, context_settings=CONTEXT)
@setting_options("doctor")
@click.option("--offline", is_flag=True, help="Ask neither the model nor the judge.")
@option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(*, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Check whether a run would work here, and say what to do if not.

    Looks at Python, OpenClaw, Node, keys (present or not; never shown), memory, disks, limits, and what the tasks need.
    Nothing is changed. A --model and each --judge are asked one question, which
    costs what a short question costs; demo/oracle costs nothing. Exits with code 1 if there is a problem.

    \b
    pinchbench-async doctor
    pinchbench-async doctor --model anthropic/claude-sonnet-4-6 --judge openai/gpt-5.5 --concurrency 8
    pinchbench-async doctor --model local/qwen3 --base-url http://127.0.0.1:8000/v1 --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.config.served import chat_at, run_at
    from pinchbench.doctor import bounded_check as report
    from pinchbench.doctor.examination import DoctorConfig, examine

    endpoints = read_settings().endpoints
    if options["model"] is not None and options["base_url"] is None:
        at = run_at(endpoints, options["model"])
        options |= {name: at.get(name) for name in ("base_url", "api", "api_key_env", "served") if name in at}
    judges = tuple(chat_at(endpoints, model, option="--judge") for model in options.pop("judge"))
    config = DoctorConfig(**options, judges=judges)
    show = (lambda _: None) if as_json else _show  # all are printed at the end
    findings = anyio.run(partial(examine, config, show=show, say=say))
    if as_json:
        print_result(json.dumps([report.record(finding) for finding in findings]))
    sentence = report.verdict(findings)
    if any(finding.level == "problem" for finding in findings):
        raise UnfitError(sentence)
    say(sentence)


def _show(finding: Finding) -> None:
    from pinchbench.doctor.bounded_check import print_finding

    print_result(drawn(lambda console: print_finding(console, finding)))
