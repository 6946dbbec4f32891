"""`register`: create an account on the public leaderboard."""

from __future__ import annotations

import os
from functools import partial

import click

from pinchbench.cli.options import CONTEXT
from pinchbench.cli.output import print_result, say


@click.command(context_settings=CONTEXT)
@click.option("--force", is_flag=True, help="Replace the token that is there with one of a new account.")
def register(*, force: bool) -> None:
    """Get a token for the public leaderboard.

    The token is kept in your config folder, for you alone, and never shown. The address at which the account becomes
    yours is printed to stdout. PINCHBENCH_TOKEN, where it is set, wins over the token that is kept.

    \b
    pinchbench-async register
    PINCHBENCH_SERVER_URL=http://127.0.0.1:8000 pinchbench-async register
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    import anyio  # noqa: PLC0415 - `--help` must not wait for it

    from pinchbench.leaderboard.account import TOKEN_VARIABLE, account_file  # noqa: PLC0415 - as above
    from pinchbench.leaderboard.register import register as get_account  # noqa: PLC0415 - as above

    saved = anyio.run(partial(get_account, dict(os.environ), force=force))
    say(f"The token is kept in {account_file(os.environ)}.")
    if os.environ.get(TOKEN_VARIABLE):
        say(f"{TOKEN_VARIABLE} is set, and is used instead of it.")
    if saved.claim_url:
        say("Open this address to make the account yours:")
        print_result(saved.claim_url)
    else:
        say("The leaderboard named no address at which to claim the account.")
