"""What `openclaw models` does."""

from __future__ import annotations

from pinchbench.cli.output import print_result, say
from pinchbench.openclaw.catalogue import read_catalogue
from pinchbench.openclaw.probe import locate_openclaw


def list_models(*, text: str | None, choice: str | None) -> None:
    """List the names for --model that an OpenClaw release knows; with TEXT, only those that contain it."""
    catalogue = read_catalogue(locate_openclaw(choice).program)
    wanted = (text or "").casefold()
    names = [name for name in catalogue.names if wanted in name.casefold()]
    for name in names:
        print_result(name)
    if not names and wanted:
        say(f"No name contains {text!r}.")
    if others := [name for name in catalogue.open_providers if wanted.partition("/")[0] in name.casefold()]:
        say(f"Providers that name their models themselves: {', '.join(others)}.")
