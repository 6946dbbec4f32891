"""The command line: `pinchbench-async`, whose default command is `run`."""

from __future__ import annotations

import io
import os
import sys

import click

from pinchbench.cli.output import say
from pinchbench.cli.program import cli
from pinchbench.errors import ConfigError, PinchBenchError, RunInterruptedError

__all__ = ["cli", "main"]


def _expected(error: BaseException) -> PinchBenchError | None:
    """Return the expected error that an exception is, or that a group consists of."""
    if isinstance(error, PinchBenchError):
        return error
    if isinstance(error, ExceptionGroup):
        found = [_expected(one) for one in error.exceptions]
        return found[0] if all(one is not None for one in found) else None
    return None


def main() -> None:
    """Run the program and exit with its exit code. The only place that exits and that unwraps exception groups."""
    if not hasattr(os, "fork"):
        click.echo("Error: this program runs on Linux and macOS; on Windows, use it inside WSL.", err=True)
        sys.exit(ConfigError.exit_code)
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except KeyboardInterrupt:
        sys.exit(130)
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        say(words.getvalue().rstrip("\n"))
        sys.exit(error.exit_code)
    except (PinchBenchError, ExceptionGroup) as error:
        from pinchbench.redaction import known_secrets, mask  # noqa: PLC0415 - `--help` must not wait for it

        expected = _expected(error)
        if expected is None:
            raise
        say(f"Error: {mask(str(expected), known_secrets(os.environ))}")
        if isinstance(expected, RunInterruptedError):
            sys.exit(128 + expected.signal)
        sys.exit(expected.exit_code)
