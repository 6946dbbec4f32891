"""`publish` and `upload`: write a run as one file that others can check, or send it to the public leaderboard."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import anyio
import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, option
from pinchbench.cli.output import print_result, say
from pinchbench.config.settings import absolute_path
from pinchbench.errors import ConfigError
from pinchbench.report.text import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.publish.bundle.public_copy import Published, TextRemover
    from pinchbench.publish.leaderboard.account import Account
    from pinchbench.publish.leaderboard.sending import PreparedUpload
    from pinchbench.results.finished_run import PastRun

SHOWN = 5  # files that are left out


@click.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN")
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
              help="The file to write; its name ends in .tar.  [default: next to the run's results file]")  # fmt: skip
@click.option("--take-out", metavar="WORD", multiple=True, help="A further word to take out; may be repeated.")
@click.option("--keep", metavar="WORD", multiple=True, help="A word to keep, although it is a private name.")
@OUTPUT_DIR
def publish(
    *, run: str, output: Path | None, take_out: tuple[str, ...], keep: tuple[str, ...], output_dir: Path
) -> None:
    """Write a run as one file that others can check without the model.

    RUN is a run's id, its folder, or its results file. The file, a bundle, holds run.json, the journal, the recorded
    requests and replies, what each trial and each grading has left, and the result. Keys and private names are
    overwritten with asterisks first: names of yours and of this machine, and of hosts and home folders in the run's
    settings. What was taken out is printed, and listed in the bundle without the words themselves. It is not found
    within pictures and compressed files of a workspace.

    `verify FILE` names every file with an altered byte, and `regrade FILE` grades the trials again.

    \b
    pinchbench-async publish 20260102-030405-9f3a -o run.tar
    pinchbench-async publish 20260102-030405-9f3a --take-out hyrule --keep api.example.com
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.publish.bundle.bundle_file import SUFFIX, write_bundle
    from pinchbench.publish.bundle.public_copy import copy_publicly
    from pinchbench.results.evidence_files import file_digest
    from pinchbench.results.finished_run import read_run
    from pinchbench.results.paths import find_run, whole_file

    past = read_run(find_run(run, absolute_path(output_dir, option="--output-dir")))
    path = past.files.output_dir / f"{past.files.name}{SUFFIX}"
    if output is not None:
        path = absolute_path(output, option="--output")
    if path.suffix != SUFFIX:
        raise ConfigError(f"The name of a bundle ends in {SUFFIX}: --output {path.with_suffix(SUFFIX)}.")
    remove = _remover(past, take_out, keep)
    with TemporaryDirectory(prefix="pinchbench-") as folder, whole_file(path) as file:
        files, published = copy_publicly(past, Path(folder), remove)
        write_bundle(files.output_dir, file)
    for line in _lines(published, remove):
        say(line)
    say(f"Its SHA-256: {file_digest(path)}")
    print_result(path)


def _remover(past: PastRun, take_out: tuple[str, ...], keep: tuple[str, ...]) -> TextRemover:
    from pinchbench.openclaw.homes.credentials import read_user_state
    from pinchbench.openclaw.homes.user_state import secrets_of
    from pinchbench.publish.bundle.public_copy import TextRemover
    from pinchbench.publish.leaderboard.public_names import private_names

    private = private_names(past, os.environ)
    kept = {word.casefold() for word in keep}
    names = private.names | {word.casefold() for word in take_out}
    return TextRemover(names=names - kept, keys=(*private.secrets, *secrets_of(read_user_state(os.environ))))


def _lines(published: Published, remove: TextRemover) -> Iterator[str]:
    """Yield what was taken out, with the names themselves: this is for the eyes of the user alone."""
    places, files = Counter[str](), Counter[str]()
    for one in published.taken_out:
        places[one.what] += one.places
        files[one.what] += 1
    for what in sorted(places):
        shown = f"{remove.labels[what]!r}" if what in remove.labels else "Keys"
        yield f"{shown}: taken out at {many(places[what], 'place')} in {many(files[what], 'file')}"
    if not places:
        yield "No keys and no private names were found."
    if left_out := published.left_out:
        shown = ", ".join(one.file for one in left_out[:SHOWN]) + ("…" if len(left_out) > SHOWN else "")
        yield f"Left out, as published.json says why: {many(len(left_out), 'file')}: {shown}"


@click.command(context_settings=CONTEXT)
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--register", is_flag=True, help="First get a token for the leaderboard, if there is none.")
@click.option("--force", is_flag=True, help="With --register: replace the token that is there.")
@click.option("--dry-run", is_flag=True, help="Print exactly what would be sent; send nothing.")
@OUTPUT_DIR
@option("--json", "as_json", is_flag=True, help="Print the leaderboard's answer as JSON instead of its address.")
def upload(*, run: str | None, register: bool, force: bool, dry_run: bool, output_dir: Path, as_json: bool) -> None:
    """Send a run to the public leaderboard.

    RUN is a run's id, its folder, or its results file. Only a complete, graded run of the whole bundled suite goes
    there. Numbers are sent, with the names of the model, of releases, and of the bundled tasks; no text that an agent,
    a judge or a check wrote. --dry-run shows all that is sent. Sending a run again makes no second entry.

    --register gets a token first, which is kept in your config folder, for you alone, and never shown; without RUN,
    that is all. The address at which the account becomes yours is printed to stdout. PINCHBENCH_TOKEN, where it is set,
    wins over the token that is kept.

    \b
    pinchbench-async upload --register
    pinchbench-async upload 20260102-030405-9f3a --dry-run
    pinchbench-async upload results/anthropic-claude-sonnet-4_20260102-030405-9f3a.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.files.user_data import bundled_tasks_dir
    from pinchbench.publish.leaderboard.account import read_account
    from pinchbench.publish.leaderboard.sending import pack
    from pinchbench.results.finished_run import read_run
    from pinchbench.results.paths import find_run
    from pinchbench.results.verification import refuse_altered
    from pinchbench.suite.loading import load_suite

    if force and not register:
        raise ConfigError("--force goes with --register.")
    if run is None and not register:
        raise ConfigError("Name the run that is to be sent; `history` lists them.")
    if register:
        _register(force=force)
    if run is None:
        return
    files = find_run(run, output_dir)
    past = read_run(files)
    refuse_altered(files)
    account = read_account(os.environ)
    if not account.token and not dry_run:
        say(
            "Not uploaded: there is no token for the leaderboard; get one with `pinchbench-async upload --register`,"
            f" then: pinchbench-async upload {files.argument}"
        )
        return
    parcel = pack(past, load_suite(bundled_tasks_dir()).suite, os.environ)
    if dry_run:
        _show(parcel, account)
        return
    _send(parcel, account, as_json=as_json)


def _register(*, force: bool) -> None:
    from pinchbench.publish.leaderboard.account import TOKEN_VARIABLE, account_file
    from pinchbench.publish.leaderboard.sending import register as get_account

    saved = anyio.run(partial(get_account, dict(os.environ), force=force))
    say(f"The token is kept in {account_file(os.environ)}.")
    if os.environ.get(TOKEN_VARIABLE):
        say(f"{TOKEN_VARIABLE} is set, and is used instead of it.")
    if saved.claim_url:
        say("Open this address to make the account yours:")
        print_result(saved.claim_url)
    else:
        say("The leaderboard named no address at which to claim the account.")


def _show(parcel: PreparedUpload, account: Account) -> None:
    from pinchbench.publish.leaderboard.sending import common_headers, key_headers

    names = ", ".join({**common_headers(), **key_headers(account)})
    say(f"POST {account.server}/api/results, {len(parcel.body)} bytes; headers: {names}.")
    if not account.token:
        say("There is no token yet: `pinchbench-async upload --register` gets one.")
    say("Nothing was sent.")
    print_result(parcel.body.decode())


def _send(parcel: PreparedUpload, account: Account, *, as_json: bool) -> None:
    from pinchbench.publish.leaderboard.sending import send

    say(f"Sending the result to the leaderboard at {account.server}.")  # takes up to two minutes
    taken = anyio.run(partial(send, parcel, account))
    say(str(taken))
    if as_json:
        said = ("is_new", "status", "official", "rank", "percentile", "leaderboard_url")
        record = {name: getattr(taken, name) for name in said}
        print_result(json.dumps({"submission_id": parcel.submission_id, **record}))
    elif taken.leaderboard_url:
        print_result(taken.leaderboard_url)
