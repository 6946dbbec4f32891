"""Requests to the leaderboard: sent once, or as often as it takes within a limit, and what comes back."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import httpx2

from pinchbench.errors import LeaderboardError
from pinchbench.http_client import HEADERS, RetryPolicy, TransientError, open_client
from pinchbench.json_values import amount_at, count_at, object_at, text_at
from pinchbench.publish.leaderboard.account import (
    OFFICIAL_VARIABLE,
    SERVER_VARIABLE,
    TOKEN_VARIABLE,
    SavedAccount,
    is_key,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from pinchbench.http_client import Answer, HttpClient
    from pinchbench.publish.leaderboard.account import Account

MAX_ANSWER_BYTES = 64 * 1024
MAX_MESSAGE = 300  # characters of an answer that are passed on

TOKEN_HEADER = "X-PinchBench-Token"  # noqa: S105 - its name
VERSION_HEADER = "X-PinchBench-Version"
OFFICIAL_HEADER = "X-PinchBench-Official-Key"

T = TypeVar("T")
_LINK = re.compile(r"https?://[!-~]{1,500}")


# somebody waits for the end of a run; a body of 1 MB is taken and ranked in seconds
USUAL = RetryPolicy(read_s=30.0, total_s=120.0, attempts=5, longest_wait_s=20.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResult:
    """A result that stands on the leaderboard. `is_new`: it did not before."""

    is_new: bool
    status: str = ""
    official: bool | None = None
    rank: int | None = None
    percentile: float | None = None
    leaderboard_url: str = ""


class Leaderboard:
    """The leaderboard of an account; `open_leaderboard` makes it, and owns its client."""

    def __init__(self, client: HttpClient, account: Account) -> None:
        """The client sends no keys by itself."""
        self._client = client
        self._account = account

    async def register(self) -> SavedAccount:
        """Make a new account.

        Raises LeaderboardError when that fails. A cancellation drops the connection; an account may have been made.
        """
        return await self._persist("/api/register", b"{}", {}, self._read_registered)

    async def send(self, body: bytes, *, submission_id: str) -> StoredResult:
        """Send a result; the same again is harmless, as the leaderboard knows it by its id.

        Raises LeaderboardError when it was refused, or not answered within the limit. A cancellation drops the
        connection; the leaderboard may have taken the result.
        """
        return await self._persist(
            "/api/results", body, key_headers(self._account), partial(self._read_taken, submission_id=submission_id)
        )

    async def _persist(self, path: str, body: bytes, headers: Mapping[str, str], read: Callable[[Answer], T]) -> T:
        tried = 0

        async def post(limit_s: float) -> T:
            nonlocal tried
            tried += 1
            return read(await self._post(path, body, headers, limit_s=limit_s))

        try:
            return await self._client.persist(post)
        except TransientError as error:
            times = "once" if tried == 1 else f"{tried} times"
            later = f" It wants to be asked again in {_span(error.wait_s)}." if error.wait_s else ""
            raise LeaderboardError(
                f"The leaderboard at {self._account.server} was asked {times}; the last time {error}.{later}"
            ) from error

    async def _post(self, path: str, body: bytes, headers: Mapping[str, str], *, limit_s: float) -> Answer:
        """Send a request once. Raises TransientError when it is worth another attempt, LeaderboardError when not."""
        url = f"{self._account.server}{path}"
        answer = await self._client.send(url, body, most_bytes=MAX_ANSWER_BYTES, limit_s=limit_s, headers=headers)
        if answer.status == httpx2.codes.TOO_MANY_REQUESTS or httpx2.codes.is_server_error(answer.status):
            said = self._complaint(answer)
            raise TransientError(
                f"it answered with status {answer.status}{f' ({said})' if said else ''}",
                wait_s=answer.retry_after_s(),
            )
        if not httpx2.codes.is_success(answer.status):
            raise self._refusal(answer)
        return answer

    def _complaint(self, answer: Answer) -> str:
        """Return the server's error message on one line, with keys masked, also where JSON has escaped them."""
        members = object_at(answer.json())
        said = text_at(members, "error", "detail", "message") or text_at(members.get("error"), "message")
        if not said and not answer.body.lstrip().startswith(b"<"):
            said = answer.text
        return " ".join(self._client.mask(said).split())[:MAX_MESSAGE]  # before it is cut: half a key is not recognised

    def _refusal(self, answer: Answer) -> LeaderboardError:
        said = self._complaint(answer)
        advice = ""
        if answer.status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            advice = (
                f" Check {TOKEN_VARIABLE} and {OFFICIAL_VARIABLE}, or get a new token: pinchbench-async "
                "upload --register --force"
            )
        elif answer.status == httpx2.codes.NOT_FOUND:
            advice = f" Check {SERVER_VARIABLE}."
        elif httpx2.codes.is_redirect(answer.status):
            place = urlsplit(self._client.mask(answer.location))
            advice = (
                f" It points to {place.scheme}://{place.netloc}; keys go to no other address than {SERVER_VARIABLE}."
            )
        reason = f"status {answer.status} ({said})" if said else f"status {answer.status}"
        return LeaderboardError(f"The leaderboard at {self._account.server} refused: {reason}.{advice}")

    def _read_registered(self, answer: Answer) -> SavedAccount:
        members = answer.json()
        token, api_key, claim = (text_at(members, name) for name in ("token", "api_key", "claim_url"))
        if not is_key(token):
            # no second try: the next one would make a second account
            raise LeaderboardError(
                f"The leaderboard at {self._account.server} made an account, but gave no token for it."
            )
        return SavedAccount(
            server=self._account.server,
            token=token,
            api_key=api_key if is_key(api_key) else "",
            claim_url=_link(claim),
        )

    def _read_taken(self, answer: Answer, *, submission_id: str) -> StoredResult:
        members = object_at(answer.json())
        if not members or members.get("submission_id", submission_id) != submission_id:
            raise TransientError("its answer could not be read")
        official, percentile = members.get("official"), amount_at(members, "percentile")
        link = _link(text_at(members, "leaderboard_url"))
        return StoredResult(
            is_new=answer.status == httpx2.codes.CREATED,
            status=self._client.mask(text_at(members, "status"))[:MAX_MESSAGE],
            official=official if isinstance(official, bool) else None,
            rank=count_at(members, "rank") or None,
            percentile=percentile if percentile is not None and percentile <= 100 else None,  # noqa: PLR2004
            leaderboard_url=link if self._client.mask(link) == link else "",
        )


def key_headers(account: Account) -> dict[str, str]:
    """The headers that say who sends a result."""
    official = {OFFICIAL_HEADER: account.official_key} if account.official_key else {}
    return {TOKEN_HEADER: account.token, **official}


def common_headers() -> dict[str, str]:
    """The headers of every request; none of them is a secret."""
    return {**HEADERS, VERSION_HEADER: version("pinchbench-async")}


def _span(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"  # noqa: PLR2004


def _link(text: str) -> str:
    return text if _LINK.fullmatch(text) else ""


@asynccontextmanager
async def open_leaderboard(account: Account, *, retry_policy: RetryPolicy = USUAL) -> AsyncGenerator[Leaderboard]:
    """Open a client for the leaderboard of an account; it is closed with the block.

    Proxies of the environment are used, except for a server on this machine; redirects are not followed. Raises
    ConfigError when the environment's proxy and certificate settings can't be used.
    """
    async with open_client(
        account.server,
        whose="the leaderboard",
        headers=common_headers(),
        secrets=account.secrets,
        policy=retry_policy,
    ) as client:
        yield Leaderboard(client, account)
