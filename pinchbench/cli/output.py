"""Output of commands: results to stdout, everything else to stderr."""

from __future__ import annotations

import io
import os
import shutil
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from pinchbench.errors import ResultsError
from pinchbench.report.text import folded, plain_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rich.console import Console

    from pinchbench.results.finished_run import PastRun


def print_result(text: object, *, stands_in: Path | None = None) -> None:
    """Print a result to stdout; a reader that has closed the pipe is not an error.

    Raises ResultsError on any other failure, such as a full disk.
    """
    try:
        click.echo(text)
    except OSError as error:
        abandon_stdout()
        if isinstance(error, BrokenPipeError):
            return
        kept = f"; it is in {stands_in}" if stands_in else ""
        raise ResultsError(f"The result could not be printed: {error.strerror}{kept}.") from error


def drawn(draw: Callable[[Console], None], *, on_stderr: bool = False) -> str:
    """Return what a function draws on a console as wide and colourful as stdout, without the last line's end.

    With `on_stderr`, as that.
    """
    from pinchbench.report.terminal.console import report_console

    text, shown = io.StringIO(), sys.stderr if on_stderr else sys.stdout
    draw(report_console(text, is_terminal=shown is not None and shown.isatty()))
    return text.getvalue().rstrip("\n")


def abandon_stdout() -> None:
    """Drop what could not be written to stdout, so that the interpreter's final flush does not fail too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def say(text: str) -> None:
    """Print to stderr, without control characters; a failure to write is ignored.

    On a terminal, lines are broken between words; in a log they are kept whole.
    """
    lines = plain_lines(text)
    with suppress(OSError):
        if sys.stderr is not None and sys.stderr.isatty():
            lines = folded(lines, shutil.get_terminal_size().columns)
        click.echo(lines, err=True)


def warn_of_altered(runs: Iterable[PastRun], *, evidence: bool = False) -> None:
    """Warn about runs whose files were changed, and how; with `evidence`, the trials' files are checked as well."""
    from pinchbench.errors import AlteredRunError
    from pinchbench.results.verification import changed_evidence

    for run in runs:
        found = [*run.differences, *(changed_evidence(run.files, run.journal) if evidence else ())]
        if found:
            say(f"Warning: {AlteredRunError.of(found, run=run.files.folder)}")
