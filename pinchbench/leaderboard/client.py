"""Requests to the leaderboard: sent once, or as often as it takes within a limit, and what comes back."""

from __future__ import annotations

import json
import random
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx2
import stamina
from anyio import to_thread

from pinchbench.endpoints import TransientError, careful_logs, is_loopback, retry_after_s
from pinchbench.errors import ConfigError, LeaderboardError
from pinchbench.leaderboard.account import OFFICIAL_VARIABLE, SERVER_VARIABLE, TOKEN_VARIABLE, is_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from pinchbench.leaderboard.account import Account

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 30.0  # a body of 1 MB is taken and ranked in seconds
TOTAL_LIMIT_S = 120.0  # with all attempts and the waiting between them: somebody waits for the end of a run
ATTEMPTS = 5
FIRST_WAIT_S = 1.0  # doubled with each attempt
LONGEST_WAIT_S = 20.0
JITTER_S = 1.0
MAX_ANSWER_BYTES = 64 * 1024
MAX_RANK = 2**53
MAX_MESSAGE = 300  # characters of an answer that are passed on
BLOT = "[the key]"

TOKEN_HEADER = "X-PinchBench-Token"  # noqa: S105 - its name
VERSION_HEADER = "X-PinchBench-Version"
OFFICIAL_HEADER = "X-PinchBench-Official-Key"

T = TypeVar("T")
_LINK = re.compile(r"https?://[!-~]{1,500}")


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How long the leaderboard is waited for, and how often it is asked: seconds, and requests at most."""

    connect_s: float = CONNECT_TIMEOUT_S
    read_s: float = READ_TIMEOUT_S
    total_s: float = TOTAL_LIMIT_S
    attempts: int = ATTEMPTS
    first_wait_s: float = FIRST_WAIT_S
    longest_wait_s: float = LONGEST_WAIT_S
    jitter_s: float = JITTER_S


USUAL = RetryPolicy()


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """A new account. `claim_url` is where its owner makes it theirs."""

    token: str
    api_key: str
    claim_url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResult:
    """A result that stands on the leaderboard. `is_new`: it did not before."""

    is_new: bool
    status: str = ""
    official: bool | None = None
    rank: int | None = None
    percentile: float | None = None
    leaderboard_url: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    status: int
    body: bytes
    retry_after: str
    location: str

    def members(self) -> Mapping[str, object]:
        """The body's JSON object; empty when it is none."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def complaint(self, blot: Callable[[str], str]) -> str:
        """Return the server's error message on one line, with keys masked, also where JSON has escaped them."""
        members = self.members()
        said = members.get("error") or members.get("detail") or members.get("message")
        if isinstance(said, dict):
            said = said.get("message")
        if not isinstance(said, str):
            said = "" if self.body.lstrip().startswith(b"<") else self.body.decode("utf-8", "replace")
        return " ".join(blot(said).split())[:MAX_MESSAGE]  # before it is cut: half a key is no longer recognised


class Leaderboard:
    """The leaderboard of an account; `open_leaderboard` makes it, and owns its client."""

    def __init__(self, client: httpx2.AsyncClient, account: Account, retry_policy: RetryPolicy) -> None:
        """The client sends no keys by itself."""
        self._client = client
        self._account = account
        self._patience = retry_policy

    async def register(self) -> Registered:
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

    async def _persist(self, path: str, body: bytes, headers: Mapping[str, str], read: Callable[[_Answer], T]) -> T:
        retry_policy = self._patience
        due = anyio.current_time() + retry_policy.total_s
        tried = 0

        def wait_s(error: Exception) -> bool | float:
            if not isinstance(error, TransientError):
                return False
            usual_s = min(retry_policy.longest_wait_s, retry_policy.first_wait_s * 2 ** (tried - 1))
            wanted_s = max(error.wait_s or 0.0, usual_s)
            wanted_s += random.uniform(0, retry_policy.jitter_s)  # noqa: S311 - jitter, no secret
            return wanted_s if anyio.current_time() + wanted_s < due else False

        try:
            async for attempt in stamina.retry_context(on=wait_s, attempts=retry_policy.attempts, timeout=None):
                with attempt:
                    tried += 1
                    return read(await self._post(path, body, headers, due=due))
        except TransientError as error:
            times = "once" if tried == 1 else f"{tried} times"
            later = f" It wants to be asked again in {_span(error.wait_s)}." if error.wait_s else ""
            raise LeaderboardError(
                f"The leaderboard at {self._account.server} was asked {times}; the last time {error}.{later}"
            ) from error
        raise AssertionError("the last attempt returns or raises")

    async def _post(self, path: str, body: bytes, headers: Mapping[str, str], *, due: float) -> _Answer:
        """Send a request once. Raises TransientError when it is worth another attempt, LeaderboardError when not."""
        try:
            with anyio.fail_after(max(0.0, due - anyio.current_time())):
                async with self._client.stream(
                    "POST", f"{self._account.server}{path}", content=body, headers=dict(headers)
                ) as response:
                    answer = await _read(response)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise TransientError("it did not answer in time") from error
        except httpx2.RequestError as error:
            why = self._blot(" ".join(str(error).split()))[:MAX_MESSAGE] or type(error).__name__
            raise TransientError(f"the connection failed ({why})") from error
        if answer.status == httpx2.codes.TOO_MANY_REQUESTS or httpx2.codes.is_server_error(answer.status):
            said = answer.complaint(self._blot)
            raise TransientError(
                f"it answered with status {answer.status}{f' ({said})' if said else ''}",
                wait_s=retry_after_s(answer.retry_after, datetime.now(UTC)),
            )
        if not httpx2.codes.is_success(answer.status):
            raise self._refusal(answer)
        return answer

    def _refusal(self, answer: _Answer) -> LeaderboardError:
        said = answer.complaint(self._blot)
        advice = ""
        if answer.status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            advice = (
                f" Check {TOKEN_VARIABLE} and {OFFICIAL_VARIABLE}, or get a new token: pinchbench-async "
                f"register --force"
            )
        elif answer.status == httpx2.codes.NOT_FOUND:
            advice = f" Check {SERVER_VARIABLE}."
        elif httpx2.codes.is_redirect(answer.status):
            place = urlsplit(self._blot(answer.location))
            advice = (
                f" It points to {place.scheme}://{place.netloc}; keys go to no other address than {SERVER_VARIABLE}."
            )
        reason = f"status {answer.status} ({said})" if said else f"status {answer.status}"
        return LeaderboardError(f"The leaderboard at {self._account.server} refused: {reason}.{advice}")

    def _read_registered(self, answer: _Answer) -> Registered:
        members = answer.members()
        token, api_key, claim = (members.get(name) for name in ("token", "api_key", "claim_url"))
        if not isinstance(token, str) or not is_key(token):
            # no second try: the next one would make a second account
            raise LeaderboardError(
                f"The leaderboard at {self._account.server} made an account, but gave no token for it."
            )
        return Registered(
            token=token, api_key=api_key if isinstance(api_key, str) and is_key(api_key) else "", claim_url=_link(claim)
        )

    def _read_taken(self, answer: _Answer, *, submission_id: str) -> StoredResult:
        members = answer.members()
        if not members or members.get("submission_id", submission_id) != submission_id:
            raise TransientError("its answer could not be read")
        status, official = members.get("status"), members.get("official")
        rank, percentile = members.get("rank"), members.get("percentile")
        link = _link(members.get("leaderboard_url"))
        return StoredResult(
            is_new=answer.status == httpx2.codes.CREATED,
            status=self._blot(status)[:MAX_MESSAGE] if isinstance(status, str) else "",
            official=official if isinstance(official, bool) else None,
            rank=rank if isinstance(rank, int) and not isinstance(rank, bool) and 0 < rank <= MAX_RANK else None,
            percentile=float(percentile)
            if isinstance(percentile, int | float) and not isinstance(percentile, bool) and 0 <= percentile <= 100  # noqa: PLR2004
            else None,
            leaderboard_url=link if self._blot(link) == link else "",
        )

    def _blot(self, text: str) -> str:
        for secret in self._account.secrets:
            text = text.replace(secret, BLOT)
        return text


def key_headers(account: Account) -> dict[str, str]:
    """The headers that say who sends a result."""
    official = {OFFICIAL_HEADER: account.official_key} if account.official_key else {}
    return {TOKEN_HEADER: account.token, **official}


def common_headers() -> dict[str, str]:
    """The headers of every request; none of them is a secret."""
    return {
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "pinchbench-async",
        VERSION_HEADER: version("pinchbench-async"),
    }


def _span(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"  # noqa: PLR2004


def _link(value: object) -> str:
    return value if isinstance(value, str) and _LINK.fullmatch(value) else ""


async def _read(response: httpx2.Response) -> _Answer:
    pieces: list[bytes] = []
    left = MAX_ANSWER_BYTES
    async for piece in response.aiter_bytes():
        pieces.append(piece[:left])
        left -= len(piece)
        if left < 0:
            break
    return _Answer(
        status=response.status_code,
        body=b"".join(pieces),
        retry_after=response.headers.get("retry-after", ""),
        location=response.headers.get("location", ""),
    )


@asynccontextmanager
async def open_leaderboard(account: Account, *, retry_policy: RetryPolicy = USUAL) -> AsyncGenerator[Leaderboard]:
    """Open a client for the leaderboard of an account; it is closed with the block.

    Proxies of the environment are used, except for a server on this machine; redirects are not followed. Raises
    ConfigError when the environment's proxy and certificate settings can't be used.
    """
    try:
        make_client = partial(
            httpx2.AsyncClient,
            headers=common_headers(),
            timeout=httpx2.Timeout(
                connect=retry_policy.connect_s, read=retry_policy.read_s, write=retry_policy.read_s, pool=None
            ),
            follow_redirects=False,
            trust_env=not is_loopback(urlsplit(account.server).hostname or ""),
        )
        client = await to_thread.run_sync(make_client)  # it reads and checks some hundred certificates
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        # not the error's own words: a proxy's address may hold a password
        raise ConfigError(
            "The proxy or certificate settings of the environment (HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE …) can't be"
            f" used for the leaderboard: {type(error).__name__}."
        ) from None
    async with client:
        with careful_logs(account.secrets):
            yield Leaderboard(client, account, retry_policy)
