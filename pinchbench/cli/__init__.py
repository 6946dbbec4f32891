"""The command line: `pinchbench-async`, whose default command is `run`."""

from __future__ import annotations

import errno
import io
import os
import sys

import click

from pinchbench.cli.output import abandon_stdout, say
from pinchbench.cli.program import cli
from pinchbench.errors import INTERRUPTED, ConfigError, PinchBenchError, ResultsError, exit_code_of, expected_error

__all__ = ["cli", "main"]


def main() -> None:
    """Run the program and exit with its exit code. The only place that exits and that unwraps exception groups."""
    if not hasattr(os, "fork"):
        click.echo("Error: this program runs on Linux and macOS; on Windows, use it inside WSL.", err=True)
        sys.exit(ConfigError.exit_code)
    try:
        cli.main(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            from pinchbench.cli.options import suggesting

            error = suggesting(error)
        words = io.StringIO()
        error.show(words)
        say(words.getvalue().rstrip("\n"))
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        abandon_stdout()  # click's own output, such as help; an error with a file names it
        say(f"Error: The output could not be printed: {error.strerror}.")
        sys.exit(ResultsError.exit_code)
    except (PinchBenchError, ExceptionGroup) as error:
        from pinchbench.redaction import known_secrets, mask  # `--help` must not wait for it

        expected = expected_error(error)
        if expected is None:
            raise
        say(f"Error: {mask(str(expected), known_secrets(os.environ))}")
        sys.exit(exit_code_of(expected))
