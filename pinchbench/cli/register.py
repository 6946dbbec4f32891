"""`register`: create an account on the public leaderboard."""

from __future__ import annotations

from typing import Any

import click

from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT


@click.command(context_settings=CONTEXT)
@click.option("--force", is_flag=True, help="Replace the token that is there with one of a new account.")
@performs("register.register_account")
def register(**_options: Any) -> None:  # noqa: ANN401
    """Get a token for the public leaderboard.

    The token is kept in your config folder, for you alone, and never shown. The address at which the account becomes
    yours is printed to stdout. PINCHBENCH_TOKEN, where it is set, wins over the token that is kept.

    \b
    pinchbench-async register
    PINCHBENCH_SERVER_URL=http://127.0.0.1:8000 pinchbench-async register
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
