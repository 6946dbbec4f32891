"""`demo`: a first run that needs no account."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.output import say


@click.command(context_settings=CONTEXT)
@click.pass_context
def demo(context: click.Context) -> None:
    """Run the core of the suite with the scripted model that is built in.

    It needs no account and no key. OpenClaw is installed for this program first, if it is not there yet.

    \b
    pinchbench-async demo
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.cli.run import run
    from pinchbench.openclaw.install import DEFAULT_RELEASE, install, managed

    if managed(DEFAULT_RELEASE) is None:
        say(f"Installing OpenClaw {DEFAULT_RELEASE} with npm; this takes about a minute.")
        install(DEFAULT_RELEASE)
    if which("pinchbench-async") is None:
        say(f"This program is {Path(sys.argv[0]).absolute()}; `pipx install .` puts it on PATH.")
    args = ["--model", "demo/oracle", "--suite", "core", "--concurrency", "4", "--openclaw", DEFAULT_RELEASE]
    with run.make_context("run", args, parent=context) as inner:
        run.invoke(inner)
