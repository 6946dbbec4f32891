"""`openclaw`: releases that this program keeps for itself."""

from __future__ import annotations

import click

from pinchbench.cli.options import CONTEXT
from pinchbench.cli.output import print_result, say


@click.group(context_settings=CONTEXT)
def openclaw() -> None:
    """Install OpenClaw for this program, beside any other on the machine.

    \b
    pinchbench-async openclaw install
    pinchbench-async openclaw list
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@openclaw.command("install", context_settings=CONTEXT)
@click.argument("version", required=False)
def openclaw_install(*, version: str | None) -> None:
    """Install an OpenClaw release (default: the newest one this program was tried with) and a Node that suits it.

    Both go into the user's cache folder. A release that is there already is not fetched again.

    \b
    pinchbench-async openclaw install
    pinchbench-async openclaw install 2026.6.5
    pinchbench-async --model demo/oracle --openclaw 2026.6.5
    """  # noqa: D301 - as above
    from pinchbench.openclaw.install import DEFAULT_RELEASE, install, managed  # noqa: PLC0415 - `--help` must not wait for it

    wanted = version or DEFAULT_RELEASE
    if managed(wanted) is None:
        say(f"Installing OpenClaw {wanted} with npm; this takes about a minute.")
    print_result(install(wanted).program)


@openclaw.command("list", context_settings=CONTEXT)
def openclaw_list() -> None:
    """List the releases that are installed, newest first.

    \b
    pinchbench-async openclaw list
    """  # noqa: D301 - as above
    from pinchbench.openclaw.install import installed  # noqa: PLC0415 - `--help` must not wait for it

    for found in installed():
        print_result(f"{found.version}  {found.program}")
