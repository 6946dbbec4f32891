"""A run's way to the leaderboard: what would be sent of it, the sending, and the account for that."""

from __future__ import annotations

import hashlib
import os
import uuid
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.errors import ConfigError, NotForTheLeaderboardError, ResultsError
from pinchbench.publish.leaderboard.account import (
    Account,
    account_file,
    server_url,
)
from pinchbench.publish.leaderboard.leaderboard_api import USUAL, open_leaderboard
from pinchbench.publish.leaderboard.payload import encode, make_payload, obstacles
from pinchbench.publish.leaderboard.public_names import private_names
from pinchbench.results.paths import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.http_client import RetryPolicy
    from pinchbench.model.task import Suite
    from pinchbench.publish.leaderboard.account import SavedAccount
    from pinchbench.publish.leaderboard.leaderboard_api import StoredResult
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.paths import RunFiles


def submission_id(files: RunFiles) -> str:
    """Return the id of a run at every leaderboard: sending it again makes no second entry. Blocks.

    It is made from run.json, which no resumption changes. Raises ResultsError when that can't be read.
    """
    try:
        digest = hashlib.sha256(files.provenance.read_bytes()).digest()
    except OSError as error:
        raise ResultsError(f"{files.provenance} can't be read: {error.strerror}.") from error
    return str(uuid.UUID(bytes=digest[:16], version=4))  # the version that the leaderboard takes


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedUpload:
    """A run ready to be sent: `body` is every byte of it."""

    submission_id: str
    body: bytes = field(repr=False)


def pack(run: PastRun, bundled: Suite, env: Mapping[str, str]) -> PreparedUpload:
    """Make of a run what would be sent. Blocks.

    `bundled` is the bundled suite, `env` the environment, whose keys are kept out. Nothing is sent that an agent or a
    judge wrote. Raises NotForTheLeaderboardError, naming every reason, for a run that may not go, and ResultsError when
    its run.json can't be read.
    """
    private = private_names(run, env)
    if found := obstacles(run, bundled.by_id, private):
        raise NotForTheLeaderboardError(f"{run.files.name} is not for the leaderboard: {'; '.join(found)}.")
    payload = make_payload(run, submission_id=submission_id(run.files), known=bundled.by_id, private=private)
    return PreparedUpload(submission_id=str(payload["submission_id"]), body=encode(payload))


async def send(parcel: PreparedUpload, account: Account, *, retry_policy: RetryPolicy = USUAL) -> StoredResult:
    """Send a run.

    Raises LeaderboardError when it was not taken. A cancellation leaves at once; the same call later makes no second
    entry.
    """
    async with open_leaderboard(account, retry_policy=retry_policy) as leaderboard:
        return await leaderboard.send(parcel.body, submission_id=parcel.submission_id)


def no_token(run: PastRun) -> str:
    """The one sentence for a user without an account."""
    return (
        "Not uploaded: there is no token for the leaderboard; get one with `pinchbench-async upload --register`, then:"
        f" pinchbench-async upload {run.files.argument}"
    )


def outcome_words(taken: StoredResult) -> str:
    """What has become of a result that was sent, without its address."""
    place = f", on rank {taken.rank}" if taken.rank is not None else ""
    if taken.percentile is not None:
        place += f" (percentile {taken.percentile:g})"
    official = " as an official result" if taken.official else ""
    if taken.is_new:
        return f"The result is on the leaderboard{official}{place}."
    return f"The result was on the leaderboard already{official}{place}, as it was sent first."


def check_place(env: Mapping[str, str], *, force: bool) -> Path:
    """Where the token will be kept, its folder made, accessible to this user only. Blocks.

    Raises ConfigError when there is one already and `force` is not set, ResultsError when none can be kept there.
    """
    path = account_file(env)
    folder = path.parent
    try:
        # one that is there stays as it is: PINCHBENCH_CONFIG may name a folder that others use as well
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"{folder}, where the token is to be kept, can't be made: {error.strerror}.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ResultsError(f"The token is to be kept in {folder}, where you may not write.")
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
        saved = await leaderboard.register()
    await to_thread.run_sync(partial(write_json, path, saved, mode=0o600))
    return saved
