"""What `doctor` does."""

from __future__ import annotations

import io
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from pinchbench import defaults
from pinchbench.cli.actions.cluster import take_cluster
from pinchbench.cli.deferred import action
from pinchbench.cli.output import print_result, say
from pinchbench.doctor import text as report
from pinchbench.doctor.config import DoctorConfig
from pinchbench.doctor.doctor import examine
from pinchbench.doctor.text import print_finding
from pinchbench.errors import UnfitError
from pinchbench.report.terminal.console import report_console

if TYPE_CHECKING:
    from pinchbench.model.finding import Finding


def examine_machine(*, isolation: str, as_json: bool, cluster: str | None, **options: Any) -> None:  # noqa: ANN401
    """Find out whether a run would work here, and what to do if not."""
    config = DoctorConfig(**options, isolation=defaults.Isolation(isolation))
    show = _ignore if as_json else _show
    look = partial(examine, config, show=show, say=say)
    if (chosen := take_cluster(cluster)) is None:
        findings, nodes = anyio.run(look), None
    else:
        examine_cluster = action("doctor_cluster.examine_cluster")
        findings, nodes = examine_cluster(look, config.openclaw, chosen, show=show, as_json=as_json)
    if as_json:
        told = [report.record(one) for one in findings]
        print_result(json.dumps(told if nodes is None else {"findings": told, "nodes": nodes}))
    sentence = report.verdict(findings)
    if any(one.level == "problem" for one in findings):
        raise UnfitError(sentence)
    say(sentence)


def _ignore(finding: Finding) -> None:
    """Ignore a finding: all are printed at the end."""


def _show(finding: Finding) -> None:
    text = io.StringIO()
    print_finding(report_console(text, is_terminal=sys.stdout is not None and sys.stdout.isatty()), finding)
    print_result(text.getvalue().rstrip("\n"))
