"""A run's way to the leaderboard: what would be sent of it, the requests and their answers."""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import httpx2
from anyio import to_thread

from pinchbench.errors import ConfigError, LeaderboardError, NotForTheLeaderboardError, ResultsError
from pinchbench.http_client import HEADERS, Answer, HttpClient, RetryPolicy, TransientError, open_client
from pinchbench.json_values import amount_at, count_at, object_at, text_at
from pinchbench.publish.leaderboard.account import (
    OFFICIAL_VARIABLE,
    SERVER_VARIABLE,
    TOKEN_VARIABLE,
    Account,
    SavedAccount,
    account_file,
    is_key,
    server_url,
)
from pinchbench.publish.leaderboard.payload import encode, make_payload, obstacles
from pinchbench.publish.leaderboard.public_names import private_names
from pinchbench.results.paths import RunFiles, write_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from pathlib import Path

    from pinchbench.model.task import Suite
    from pinchbench.results.finished_run import PastRun

MAX_ANSWER_BYTES = 64 * 1024
MAX_MESSAGE = 300  # characters of an answer that are passed on
# somebody waits for the end of a run; a body of 1 MB is taken and ranked in seconds
USUAL = RetryPolicy(read_s=30.0, total_s=120.0, attempts=5, longest_wait_s=20.0)

T = TypeVar("T")
_LINK = re.compile(r"https?://[!-~]{1,500}")


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResult:
    """A result that stands on the leaderboard. `is_new`: it did not before."""

    is_new: bool
    status: str = ""
    official: bool | None = None
    rank: int | None = None
    percentile: float | None = None
    leaderboard_url: str = ""

    def __str__(self) -> str:
        """Say what has become of a result that was sent, without its address."""
        place = f", on rank {self.rank}" if self.rank is not None else ""
        if self.percentile is not None:
            place += f" (percentile {self.percentile:g})"
        official = " as an official result" if self.official else ""
        if self.is_new:
            return f"The result is on the leaderboard{official}{place}."
        return f"The result was on the leaderboard already{official}{place}, as it was sent first."


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedUpload:
    """A run ready to be sent: `body` is every byte of it."""

    submission_id: str
    body: bytes = field(repr=False)


def submission_id(files: RunFiles) -> str:
    """Return the id of a run at every leaderboard: sending it again makes no second entry. Blocks.

    It is made from run.json, which no resumption changes. Raises ResultsError when that can't be read.
    """
    try:
        digest = hashlib.sha256(files.provenance.read_bytes()).digest()
    except OSError as error:
        raise ResultsError(f"{files.provenance} can't be read: {error.strerror}.") from error
    return str(uuid.UUID(bytes=digest[:16], version=4))  # the version that the leaderboard takes


def pack(run: PastRun, bundled: Suite, env: Mapping[str, str]) -> PreparedUpload:
    """Make of a run what would be sent. Blocks.

    `bundled` is the bundled suite, `env` the environment, whose keys are kept out. Nothing is sent that an agent or a
    judge wrote. Raises NotForTheLeaderboardError, naming every reason, for a run that may not go, and ResultsError when
    its run.json can't be read.
    """
    private = private_names(run, env)
    if found := [*obstacles(run, bundled.by_id, private)]:
        raise NotForTheLeaderboardError(f"{run.files.name} is not for the leaderboard: {'; '.join(found)}.")
    payload = make_payload(run, submission_id=submission_id(run.files), known=bundled.by_id, private=private)
    return PreparedUpload(submission_id=str(payload["submission_id"]), body=encode(payload))


async def send(parcel: PreparedUpload, account: Account, *, retry_policy: RetryPolicy = USUAL) -> StoredResult:
    """Send a run; the same again is harmless, as the leaderboard knows it by its id.

    Raises LeaderboardError when it was refused, or not answered within the limit. A cancellation drops the connection;
    the leaderboard may have taken the result.
    """
    async with _leaderboard(account, retry_policy) as board:
        headers = key_headers(account)
        return await board.post("/api/results", parcel.body, headers, partial(board.read_taken, parcel.submission_id))


async def register(env: Mapping[str, str], *, force: bool = False, retry_policy: RetryPolicy = USUAL) -> SavedAccount:
    """Get a token and save it.

    Raises ConfigError when there is one and `force` is not set, LeaderboardError when the leaderboard gives none,
    ResultsError when it can't be kept. A cancellation drops the connection; an account may have been made.
    """
    server = server_url(env)
    path = await to_thread.run_sync(partial(_check_place, env, force=force))
    async with _leaderboard(Account(server=server), retry_policy) as board:
        saved = await board.post("/api/register", b"{}", {}, board.read_registered)
    await to_thread.run_sync(partial(write_json, path, saved, mode=0o600))
    return saved


def _check_place(env: Mapping[str, str], *, force: bool) -> Path:
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


def key_headers(account: Account) -> dict[str, str]:
    """The headers that say who sends a result."""
    official = {"X-PinchBench-Official-Key": account.official_key} if account.official_key else {}
    return {"X-PinchBench-Token": account.token, **official}


def common_headers() -> dict[str, str]:
    """The headers of every request; none of them is a secret."""
    return {**HEADERS, "X-PinchBench-Version": version("pinchbench-async")}


@asynccontextmanager
async def _leaderboard(account: Account, policy: RetryPolicy) -> AsyncGenerator[_Leaderboard]:
    """Open a client for the leaderboard of an account, which sends no keys by itself; it is closed with the block."""
    async with open_client(
        account.server, whose="the leaderboard", headers=common_headers(), secrets=account.secrets, policy=policy
    ) as client:
        yield _Leaderboard(client=client, server=account.server)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Leaderboard:
    """Sends requests to the leaderboard, as often as it takes within the client's limits, and reads its answers."""

    client: HttpClient
    server: str

    async def post(self, path: str, body: bytes, headers: Mapping[str, str], read: Callable[[Answer], T]) -> T:
        tried = 0

        async def once(limit_s: float) -> T:
            nonlocal tried
            tried += 1
            url = f"{self.server}{path}"
            answer = await self.client.send(url, body, most_bytes=MAX_ANSWER_BYTES, limit_s=limit_s, headers=headers)
            if answer.status == httpx2.codes.TOO_MANY_REQUESTS or httpx2.codes.is_server_error(answer.status):
                said = f" ({said})" if (said := self._complaint(answer)) else ""
                raise TransientError(f"it answered with status {answer.status}{said}", wait_s=answer.retry_after_s())
            if not httpx2.codes.is_success(answer.status):
                raise self._refusal(answer)
            return read(answer)

        try:
            return await self.client.persist(once)
        except TransientError as error:
            times = "once" if tried == 1 else f"{tried} times"
            later = f" It wants to be asked again in {_span(error.wait_s)}." if error.wait_s else ""
            raise LeaderboardError(
                f"The leaderboard at {self.server} was asked {times}; the last time {error}.{later}"
            ) from error

    def _complaint(self, answer: Answer) -> str:
        """Return the server's error message on one line, with keys masked, also where JSON has escaped them."""
        members = object_at(answer.json())
        said = text_at(members, "error", "detail", "message") or text_at(members.get("error"), "message")
        if not said and not answer.body.lstrip().startswith(b"<"):
            said = answer.text
        return " ".join(self.client.mask(said).split())[:MAX_MESSAGE]  # before it is cut: half a key is not recognised

    def _refusal(self, answer: Answer) -> LeaderboardError:
        said = f" ({said})" if (said := self._complaint(answer)) else ""
        advice = ""
        if answer.status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            advice = (
                f" Check {TOKEN_VARIABLE} and {OFFICIAL_VARIABLE}, or get a new token: pinchbench-async "
                "upload --register --force"
            )
        elif answer.status == httpx2.codes.NOT_FOUND:
            advice = f" Check {SERVER_VARIABLE}."
        elif httpx2.codes.is_redirect(answer.status):
            place = urlsplit(self.client.mask(answer.location))
            advice = (
                f" It points to {place.scheme}://{place.netloc}; keys go to no other address than {SERVER_VARIABLE}."
            )
        return LeaderboardError(f"The leaderboard at {self.server} refused: status {answer.status}{said}.{advice}")

    def read_registered(self, answer: Answer) -> SavedAccount:
        members = answer.json()
        token, api_key, claim = (text_at(members, name) for name in ("token", "api_key", "claim_url"))
        if not is_key(token):
            # no second try: the next one would make a second account
            raise LeaderboardError(f"The leaderboard at {self.server} made an account, but gave no token for it.")
        key = api_key if is_key(api_key) else ""
        return SavedAccount(server=self.server, token=token, api_key=key, claim_url=_link(claim))

    def read_taken(self, submission_id: str, answer: Answer) -> StoredResult:
        members = object_at(answer.json())
        if not members or members.get("submission_id", submission_id) != submission_id:
            raise TransientError("its answer could not be read")
        official, percentile = members.get("official"), amount_at(members, "percentile")
        link = _link(text_at(members, "leaderboard_url"))
        return StoredResult(
            is_new=answer.status == httpx2.codes.CREATED,
            status=self.client.mask(text_at(members, "status"))[:MAX_MESSAGE],
            official=official if isinstance(official, bool) else None,
            rank=count_at(members, "rank") or None,
            percentile=percentile if percentile is not None and percentile <= 100 else None,  # noqa: PLR2004
            leaderboard_url=link if self.client.mask(link) == link else "",
        )


def _span(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"  # noqa: PLR2004


def _link(text: str) -> str:
    return text if _LINK.fullmatch(text) else ""
