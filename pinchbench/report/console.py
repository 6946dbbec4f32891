"""The terminal that reports are written to: plain where there is none, and never the end of a run."""

from __future__ import annotations

import os

from rich.console import Console

LOG_COLUMNS = 160  # a log or a pipe has no width of its own, and rows must not be folded there


class ReportConsole(Console):
    """A console whose reader may go away (`| head`, a closed terminal): it falls silent, and the run goes on."""

    def on_broken_pipe(self) -> None:
        """Write to nowhere from now on; rich itself would leave the program here."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)


def report_console(*, stderr: bool = True) -> ReportConsole:
    """Make a console on stderr (stdout belongs to results), or on stdout for what is itself the result."""
    console = ReportConsole(stderr=stderr, highlight=False)
    return console if console.is_terminal else ReportConsole(stderr=stderr, highlight=False, width=LOG_COLUMNS)
