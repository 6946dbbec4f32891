"""`upload`: submit a run to the public leaderboard."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, option
from pinchbench.cli.output import print_result, say
from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.publish.leaderboard.account import Account
    from pinchbench.publish.leaderboard.sending import PreparedUpload


@click.command(context_settings=CONTEXT)
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--register", is_flag=True, help="First get a token for the leaderboard, if there is none.")
@click.option("--force", is_flag=True, help="With --register: replace the token that is there.")
@click.option("--dry-run", is_flag=True, help="Print exactly what would be sent; send nothing.")
@OUTPUT_DIR
@option("--json", "as_json", is_flag=True, help="Print the leaderboard's answer as JSON instead of its address.")
def upload(
    *,
    run: str | None,
    register: bool,
    force: bool,
    dry_run: bool,
    output_dir: Path,
    as_json: bool,
) -> None:
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
    from pinchbench.publish.leaderboard.sending import no_token, pack
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
        say(no_token(past))
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
    from pinchbench.publish.leaderboard.leaderboard_api import common_headers, key_headers

    names = ", ".join({**common_headers(), **key_headers(account)})
    say(f"POST {account.server}/api/results, {len(parcel.body)} bytes; headers: {names}.")
    if not account.token:
        say("There is no token yet: `pinchbench-async upload --register` gets one.")
    say("Nothing was sent.")
    print_result(parcel.body.decode())


def _send(parcel: PreparedUpload, account: Account, *, as_json: bool) -> None:
    from pinchbench.publish.leaderboard.sending import outcome_words, send

    say(f"Sending the result to the leaderboard at {account.server}.")  # takes up to two minutes
    taken = anyio.run(partial(send, parcel, account))
    say(outcome_words(taken))
    if as_json:
        said = ("is_new", "status", "official", "rank", "percentile", "leaderboard_url")
        record = {name: getattr(taken, name) for name in said}
        print_result(json.dumps({"submission_id": parcel.submission_id, **record}))
    elif taken.leaderboard_url:
        print_result(taken.leaderboard_url)
