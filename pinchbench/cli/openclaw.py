"""`openclaw` and `doctor`: manage the OpenClaw releases of this program, and check what is ready for a run."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import option, setting_options
from pinchbench.cli.output import drawn, print_result, say
from pinchbench.cli.settings_file import WithDefaults, read_settings
from pinchbench.errors import UnfitError

if TYPE_CHECKING:
    from pinchbench.model.finding import Finding


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


@click.command(cls=WithDefaults, context_settings=CONTEXT)
@setting_options("doctor")
@click.option("--offline", is_flag=True, help="Ask neither the model nor the judge.")
@option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(*, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Check whether a run would work here, and say what to do if not.

    Looks at Python, OpenClaw, Node, keys (present or not; never shown), memory, disks, limits, and what the tasks need.
    Nothing is changed. A --model and each --judge are asked one question, which
    costs what a short question costs; demo/oracle costs nothing. Exits with code 1 if there is a problem.

    \b
    pinchbench-async doctor
    pinchbench-async doctor --model anthropic/claude-sonnet-4-6 --judge openai/gpt-5.5 --concurrency 8
    pinchbench-async doctor --model local/qwen3 --base-url http://127.0.0.1:8000/v1 --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    import anyio

    from pinchbench.config.served import chat_at, run_at
    from pinchbench.doctor import bounded_check as report
    from pinchbench.doctor.examination import DoctorConfig, examine

    endpoints = read_settings().endpoints
    if options["model"] is not None and options["base_url"] is None:
        at = run_at(endpoints, options["model"])
        options |= {name: at.get(name) for name in ("base_url", "api", "api_key_env", "served") if name in at}
    judges = tuple(chat_at(endpoints, model, option="--judge") for model in options.pop("judge"))
    config = DoctorConfig(**options, judges=judges)
    show = (lambda _: None) if as_json else _show  # all are printed at the end
    findings = anyio.run(partial(examine, config, show=show, say=say))
    if as_json:
        print_result(json.dumps([report.record(finding) for finding in findings]))
    sentence = report.verdict(findings)
    if any(finding.level == "problem" for finding in findings):
        raise UnfitError(sentence)
    say(sentence)


def _show(finding: Finding) -> None:
    from pinchbench.doctor.bounded_check import print_finding

    print_result(drawn(lambda console: print_finding(console, finding)))
