"""`suite`: add, list and remove suites of other tasks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import option
from pinchbench.cli.output import print_result, say
from pinchbench.errors import SuiteError
from pinchbench.report.text import many, plain

SHOWN_COMMIT = 12  # characters


@click.command(context_settings=CONTEXT)
@click.argument("name", required=False)
@click.argument("source", metavar="[PATH]", required=False)
@click.option(
    "--remove", is_flag=True, help="Remove the suite's files. Its runs stay, but can't be resumed or regraded."
)
@option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def suite(*, name: str | None, source: str | None, remove: bool, as_json: bool) -> None:
    """Add a suite of other tasks for `--suite NAME[:selection]`, or list the suites that were added.

    The folder PATH is copied into the user's data folder. The files are pinned by a digest of all of them: a run
    refuses them when they have changed, and the list says so. Format and licence are recorded. Nothing of the suite is
    executed.

    \b
    pinchbench-async suite claw ../claw-bench
    pinchbench-async suite
    pinchbench-async --model MODEL --suite claw:email
    pinchbench-async suite claw --remove
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.authoring.added_suites import remove_pack

    if name is None:
        if remove:
            raise click.UsageError("--remove needs the name of a suite.")
        _list_packs(as_json=as_json)
    elif remove:
        if source is not None:
            raise click.UsageError("--remove takes a name alone.")
        say(f"Removed {remove_pack(name)}.")
    elif source is None:
        raise click.UsageError(f"Say where the suite {name} comes from: its folder. `suite` alone lists suites.")
    else:
        _add(name, Path(source))


def _add(name: str, source: Path) -> None:
    from pinchbench.authoring.added_suites import add_pack

    pack, remarks = add_pack(name, source)
    if remarks:
        say(remarks)
    say(
        f"{many(len(pack.tasks), 'task')} in the format {pack.format}. "
        + (f"Licence: {pack.licence}." if pack.licence else "No file states a licence.")
        + f" `--suite {name}` names them."
    )
    print_result(pack.folder)


def _list_packs(*, as_json: bool) -> None:
    from pinchbench.files.user_data import pack_names
    from pinchbench.suite.named import read_pack

    problems: list[str] = []
    rows: list[dict[str, object]] = []
    names = pack_names()
    for name in names:
        try:
            pack = read_pack(name)
        except SuiteError as error:
            problems.append(str(error))
            continue
        if pack is None:
            continue
        if change := pack.find_change():
            problems.append(f"The suite {name} has changed since it was added: {change}.")
        if as_json:
            rows.append({**msgspec.to_builtins(pack), "folder": str(pack.folder), "changed": change})
            continue
        commit = (
            f"@{pack.commit[:SHOWN_COMMIT]}" if pack.commit else f", {datetime.fromtimestamp(pack.added_at, UTC):%F}"
        )
        licence = pack.licence or "no licence stated"
        print_result(
            plain(f"{name}  {pack.format}  {many(len(pack.tasks), 'task')}  {pack.source}{commit}  ({licence})")
            + ("  changed" if change else "")
        )
    if as_json:
        print_result(json.dumps(rows))
    elif not names:
        say("No suite was added; `pinchbench-async suite NAME PATH` adds one.")
    if problems:
        raise SuiteError("\n".join(problems))
