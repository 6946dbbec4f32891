"""The client for all that this program asks over HTTP: timeouts, retries, bounded answers, masked keys, quiet logs."""

from __future__ import annotations

import ipaddress
import json
import logging
import math
import random
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urlsplit

import anyio
from anyio import to_thread

from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Mapping

    import httpx2

LOGGERS = ("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy")
BLOT = "[the key]"
HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "pinchbench-async"}
MAX_MESSAGE = 500  # characters of an error that are passed on

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """Timeouts in seconds, and the number of requests for one answer."""

    connect_s: float = 10.0
    read_s: float = 300.0  # a reasoning model may send nothing for minutes
    # of one request: endpoints that send spaces to keep the connection alive never reach the read timeout
    call_s: float = 900.0
    total_s: float = math.inf  # of all of them with the delays in between
    attempts: int = 6
    first_wait_s: float = 1.0  # the delay, doubled with each attempt up to `longest_wait_s`; 31 s in all
    longest_wait_s: float = 60.0
    jitter_s: float = 1.0  # up to so much is added, so that what was rejected together is not retried together


class TransientError(Exception):
    """A request failed in a way that a retry may fix; `wait_s` is the delay the server asked for, if any."""

    def __init__(self, what: str, *, wait_s: float | None = None) -> None:
        """`what` goes on with a sentence on the last attempt."""
        super().__init__(what)
        self.wait_s = wait_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An HTTP response with a bounded body; `whole` is false if there was more."""

    status: int
    body: bytes
    whole: bool = True
    retry_after: str = ""
    location: str = ""
    content_type: str = ""

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> object:
        """Return the body as JSON, or None if it is not valid JSON."""
        try:
            return cast("object", json.loads(self.body))
        except (ValueError, RecursionError):
            return None

    def retry_after_s(self, *, longest_s: float = math.inf) -> float | None:
        """Return the delay that the server asks for; see `retry_after_s`."""
        return retry_after_s(self.retry_after, datetime.now(UTC), longest_s=longest_s)


class HttpClient:
    """Sends requests to one server; created by `open_client`, which owns its connections."""

    def __init__(self, client: httpx2.AsyncClient, policy: RetryPolicy, secrets: Collection[str]) -> None:
        """`secrets` are masked in errors."""
        self.raw = client
        self._policy = policy
        self._secrets = secrets

    async def send(
        self,
        url: str,
        content: bytes | None = None,
        *,
        most_bytes: int,
        limit_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """POST `content`, or GET without any, once; read at most `most_bytes` of what is answered within `limit_s`.

        Raises TransientError without an answer. A cancellation closes the connection.
        """
        import httpx2  # noqa: PLC0415 - a tenth of a second that only requests need

        method = "GET" if content is None else "POST"
        try:
            with anyio.fail_after(limit_s):
                async with self.raw.stream(method, url, content=content, headers=headers) as response:
                    return await _read_answer(response, most_bytes)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise TransientError("it did not answer in time") from error
        except httpx2.RequestError as error:
            why = self.mask(" ".join(str(error).split()))[:MAX_MESSAGE] or type(error).__name__
            raise TransientError(f"the connection failed ({why})") from error

    async def persist(self, call: Callable[[float], Awaitable[T]]) -> T:
        """Call until there is no TransientError, as often as the policy allows; then raise the last one.

        `call` gets the seconds that it may take. A delay that the server has asked for is honoured, but is never
        shorter than the usual one: many servers always ask for one second, and all attempts would be used up in a few.
        """
        policy = self._policy
        due = anyio.current_time() + policy.total_s
        attempt = 0
        while True:
            attempt += 1
            try:
                return await call(max(0.0, min(policy.call_s, due - anyio.current_time())))
            except TransientError as error:
                usual_s = min(policy.longest_wait_s, policy.first_wait_s * 2 ** (attempt - 1))
                wait_s = max(error.wait_s or 0.0, usual_s)
                wait_s += random.uniform(0, policy.jitter_s)  # noqa: S311 - jitter, no secret
                if attempt == policy.attempts or anyio.current_time() + wait_s >= due:
                    raise
            await anyio.sleep(wait_s)

    def mask(self, text: str) -> str:
        """Mask the keys where the server has echoed them."""
        for secret in self._secrets:
            text = text.replace(secret, BLOT)
        return text


async def _read_answer(response: httpx2.Response, most_bytes: int) -> Answer:
    pieces: list[bytes] = []
    left = most_bytes
    async for piece in response.aiter_bytes():
        pieces.append(piece[:left])
        left -= len(piece)
        if left < 0:
            break
    return Answer(
        status=response.status_code,
        body=b"".join(pieces),
        whole=left >= 0,
        retry_after=response.headers.get("retry-after", ""),
        location=response.headers.get("location", ""),
        content_type=response.headers.get("content-type", ""),
    )


@asynccontextmanager
async def open_client(
    url: str,
    *,
    whose: str,
    headers: Mapping[str, str] | None = None,
    secrets: Collection[str] = (),
    policy: RetryPolicy = RetryPolicy(),
) -> AsyncGenerator[HttpClient]:
    """Open a client for the server of a URL; it is closed with the block. `secrets` are kept out of errors and logs.

    Proxies of the environment are used, except for hosts on this machine; redirects are not followed. Raises
    ConfigError, which says that it is about `whose` server, if the environment's proxy and certificate settings can't
    be used.
    """
    import httpx2  # noqa: PLC0415 - a tenth of a second that only requests need

    secrets = tuple(filter(None, secrets))
    try:
        make_client = partial(
            httpx2.AsyncClient,
            headers={**HEADERS, **(headers or {})},
            timeout=httpx2.Timeout(connect=policy.connect_s, read=policy.read_s, write=policy.read_s, pool=None),
            follow_redirects=False,
            trust_env=not is_loopback(urlsplit(url).hostname or ""),
        )
        client = await to_thread.run_sync(make_client)  # it reads and checks hundreds of certificates
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        # the error's own text is omitted: a proxy's address may hold a password
        raise ConfigError(
            "The proxy or certificate settings of the environment (HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE …) can't be"
            f" used for {whose}: {type(error).__name__}."
        ) from None
    async with client:
        with careful_logs(secrets):
            yield HttpClient(client, policy, secrets)


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine (pure)."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def retry_after_s(value: str, now: datetime, *, longest_s: float = math.inf) -> float | None:
    """Read a `Retry-After` header, seconds or an HTTP date, as seconds from now: 0 to `longest_s` (pure).

    None: it says nothing, or that there is no end to it.
    """
    try:
        seconds = float(value)
    except ValueError:
        try:
            due = parsedate_to_datetime(value)
            seconds = (due if due.tzinfo else due.replace(tzinfo=UTC)).timestamp() - now.timestamp()
        except (ValueError, TypeError, OverflowError):
            return None
    wait_s = max(0.0, min(seconds, longest_s)) if not math.isnan(seconds) else math.inf
    return wait_s if math.isfinite(wait_s) else None


@contextmanager
def careful_logs(secrets: Collection[str]) -> Generator[None]:
    """Keep keys out of the logs of the HTTP client's libraries within the block: they log the headers of responses."""

    def accept(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        return not any(secret and secret in message for secret in secrets)

    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(accept)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(accept)
