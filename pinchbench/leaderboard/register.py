"""A new account at the leaderboard, saved for this user alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.errors import ConfigError
from pinchbench.leaderboard.account import (
    Account,
    SavedAccount,
    account_file,
    prepare_folder,
    server_url,
    write_private,
)
from pinchbench.leaderboard.client import USUAL, open_leaderboard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.leaderboard.client import RetryPolicy


def check_place(env: Mapping[str, str], *, force: bool) -> Path:
    """Where the token will be kept, its folder made. Blocks.

    Raises ConfigError when there is one already and `force` is not set, ResultsError when none can be kept there.
    """
    path = account_file(env)
    prepare_folder(path)
    if path.exists() and not force:
        raise ConfigError(f"There is a token already, in {path}. --force replaces it with one of a new account.")
    return path


async def register(env: Mapping[str, str], *, force: bool = False, retry_policy: RetryPolicy = USUAL) -> SavedAccount:
    """Get a token and save it.

    Raises ConfigError when there is one and `force` is not set, LeaderboardError when the leaderboard gives none,
    ResultsError when it can't be kept.
    """
    server = server_url(env)
    path = await to_thread.run_sync(lambda: check_place(env, force=force))
    async with open_leaderboard(Account(server=server), retry_policy=retry_policy) as leaderboard:
        made = await leaderboard.register()
    saved = SavedAccount(server=server, token=made.token, api_key=made.api_key, claim_url=made.claim_url)
    await to_thread.run_sync(write_private, path, saved)
    return saved
