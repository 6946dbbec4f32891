"""What `register` does."""

from __future__ import annotations

import os
from functools import partial

import anyio

from pinchbench.cli.output import print_result, say
from pinchbench.leaderboard.account import TOKEN_VARIABLE, account_file
from pinchbench.leaderboard.register import register as get_account


def register_account(*, force: bool) -> None:
    """Get a token for the public leaderboard."""
    saved = anyio.run(partial(get_account, dict(os.environ), force=force))
    say(f"The token is kept in {account_file(os.environ)}.")
    if os.environ.get(TOKEN_VARIABLE):
        say(f"{TOKEN_VARIABLE} is set, and is used instead of it.")
    if saved.claim_url:
        say("Open this address to make the account yours:")
        print_result(saved.claim_url)
    else:
        say("The leaderboard named no address at which to claim the account.")
