"""What `history` does."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

from pinchbench.cli.output import print_result, say
from pinchbench.errors import ResultsError
from pinchbench.report.terminal import history as report
from pinchbench.report.terminal.console import report_console
from pinchbench.results.paths import no_folder
from pinchbench.results.run_list import past_runs, records

if TYPE_CHECKING:
    from pathlib import Path


def list_runs(*, model: str, output_dir: Path, as_json: bool) -> None:
    """List the runs of an output folder, the newest first."""
    if not output_dir.is_dir():
        raise ResultsError(no_folder(output_dir))
    runs = past_runs(output_dir, model=model)
    if as_json:
        print_result(json.dumps(records(runs)))
        return
    if not runs:
        say(report.no_runs(str(output_dir), model=model))
        return
    table = io.StringIO()
    console = report_console(table, is_terminal=sys.stdout is not None and sys.stdout.isatty())
    report.print_history(console, runs)
    print_result(table.getvalue().rstrip("\n"))
    if legend := report.legend(runs):
        say(legend)
