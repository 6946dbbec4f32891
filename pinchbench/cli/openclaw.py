"""`openclaw`: manage the OpenClaw releases that this program has installed for itself."""

from __future__ import annotations

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.output import print_result, say


@click.group(context_settings=CONTEXT)
def openclaw() -> None:
    """Install OpenClaw for this program, separate from any other on the machine.

    \b
    pinchbench-async openclaw install
    pinchbench-async openclaw install --list
    pinchbench-async openclaw models sonnet
    pinchbench-async openclaw exec -- doctor
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@openclaw.command("install", context_settings=CONTEXT)
@click.argument("version", required=False)
@click.option("--list", "lists", is_flag=True, help="List the releases that are installed instead, newest first.")
def openclaw_install(*, version: str | None, lists: bool) -> None:
    """Install an OpenClaw release (default: the newest one this program was tested with) and a Node that suits it.

    Both go into the user's cache folder. A release that is there already is not fetched again.

    \b
    pinchbench-async openclaw install
    pinchbench-async openclaw install 2026.6.5
    pinchbench-async --model demo/oracle --openclaw 2026.6.5
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.openclaw.install import DEFAULT_RELEASE, install, installed, managed

    if lists:
        for found in installed():
            print_result(f"{found.version}  {found.program}")
        return
    wanted = version or DEFAULT_RELEASE
    if managed(wanted) is None:
        say(f"Installing OpenClaw {wanted} with npm; this takes about a minute.")
    print_result(install(wanted).program)


# Everything after the first word, and whatever is no option of ours, is OpenClaw's.
PASSED_ON = {**CONTEXT, "ignore_unknown_options": True, "allow_interspersed_args": False}


@openclaw.command("exec", context_settings=PASSED_ON, options_metavar="")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[VERSION] -- ARGUMENTS...")
def openclaw_exec(*, arguments: tuple[str, ...]) -> None:
    """Run OpenClaw itself, with the Node that suits it: an installed release, or without VERSION the one that runs use.

    It takes this program's place: input, output, signals and exit code are its own.

    \b
    pinchbench-async openclaw exec -- models auth
    pinchbench-async openclaw exec 2026.6.5 -- agents list
    """  # noqa: D301
    from pinchbench.openclaw.find import replace_process
    from pinchbench.openclaw.install import RELEASE

    version = None
    if arguments[1:2] == ("--",):
        version, _, *rest = arguments
    elif RELEASE.fullmatch("".join(arguments[:1])):
        version, *rest = arguments
    else:
        rest = [*arguments]
    replace_process(version, rest)


@openclaw.command("models", context_settings=CONTEXT)
@click.argument("text", required=False)
@click.option("--openclaw", "choice", metavar="VERSION|PATH", help="Another OpenClaw than the one that runs use.")
def openclaw_models(*, text: str | None, choice: str | None) -> None:
    """List the names for --model that an OpenClaw release knows; with TEXT, only those that contain it.

    Names are read from the release itself, without the network. Some providers, such as openrouter, name their models
    themselves: any name that they know works there, as PROVIDER/NAME.

    \b
    pinchbench-async openclaw models
    pinchbench-async openclaw models anthropic/
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.openclaw.find import locate_openclaw
    from pinchbench.openclaw.model_catalogue import read_catalogue

    catalogue = read_catalogue(locate_openclaw(choice).program)
    wanted = (text or "").casefold()
    names = [name for name in catalogue.names if wanted in name.casefold()]
    for name in names:
        print_result(name)
    if not names and wanted:
        say(f"No name contains {text!r}.")
    if others := [name for name in catalogue.open_providers if wanted.partition("/")[0] in name.casefold()]:
        say(f"Providers that name their models themselves: {', '.join(others)}.")
