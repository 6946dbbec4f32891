"""What `openclaw` does."""

from __future__ import annotations

from pinchbench.cli.output import print_result, say
from pinchbench.openclaw.install import DEFAULT_RELEASE, install, installed, managed


def install_release(*, version: str | None) -> None:
    """Install an OpenClaw release (default: the newest one this program was tested with) and a Node that suits it."""
    wanted = version or DEFAULT_RELEASE
    if managed(wanted) is None:
        say(f"Installing OpenClaw {wanted} with npm; this takes about a minute.")
    print_result(install(wanted).program)


def list_releases() -> None:
    """List the releases that are installed, newest first."""
    for found in installed():
        print_result(f"{found.version}  {found.program}")
