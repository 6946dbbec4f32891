"""A model behind an OpenAI-compatible endpoint: requests, retries and errors."""

from __future__ import annotations

import json
import os
import random
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio
import httpx2
import stamina
from anyio import to_thread

from pinchbench.chat.endpoint import ChatRefusedError, ChatUnreachableError, Reply
from pinchbench.chat.openai_api import (
    LONGEST_RETRY_AFTER_S,
    MAX_BODY_BYTES,
    MAX_TOKENS,
    NO_CREDIT,
    Answer,
    Complaint,
    RequestOptions,
    effective_status,
    is_lasting,
    is_worth_a_retry,
    may_be_lasting,
    one_line,
    read_complaint,
    read_completion,
    request_body,
)
from pinchbench.endpoints import TransientError, careful_logs, is_loopback, retry_after_s
from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from pinchbench.chat.endpoint import Message
    from pinchbench.config.chat import ChatConfig

READ_TIMEOUT_S = 300.0  # a reasoning model may send nothing for minutes
CONNECT_TIMEOUT_S = 10.0
CALL_LIMIT_S = 900.0  # endpoints that send spaces to keep the connection alive never reach the read timeout
ATTEMPTS = 6
FIRST_WAIT_S = 1.0  # doubled with each attempt: 31 s in all
LONGEST_WAIT_S = 60.0
JITTER_S = 1.0  # so that calls rejected at the same time are not retried at the same time
BLOT = "[the key]"
SHORTEST_SECRET = 8  # placeholders for local servers (`EMPTY`, `none`) are ordinary words


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """Timeouts in seconds, and the number of requests for one reply."""

    connect_s: float = CONNECT_TIMEOUT_S
    read_s: float = READ_TIMEOUT_S
    call_s: float = CALL_LIMIT_S
    attempts: int = ATTEMPTS
    first_wait_s: float = FIRST_WAIT_S
    longest_wait_s: float = LONGEST_WAIT_S
    jitter_s: float = JITTER_S


class HttpEndpoint:
    """A model behind `POST {base_url}/chat/completions`; created by `open_endpoint`, which owns its client.

    Parameters that the endpoint turns out not to support are omitted from then on. The key is kept in the client's
    headers, and otherwise only to mask it.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient,
        config: ChatConfig,
        *,
        retry_policy: RetryPolicy,
        secret: str,
    ) -> None:
        """`secret` is the key, which is masked wherever the endpoint echoes it."""
        self.model = config.model
        self._config = config
        self._client = client
        self._base_url = config.base_url.rstrip("/")
        self._patience = retry_policy
        self._secret = secret
        self._temperature = 0 if config.is_steady else None
        self._wishes = RequestOptions(temperature=config.is_steady)
        self._has_answered = False
        self._turned_away: set[int] = set()  # hashes of the refused questions

    def describe(self) -> Mapping[str, object]:
        """Return the model, the address and the requested parameters."""
        return {
            "kind": "chat/completions",
            "model": self.model,
            "base_url": self._base_url,
            "temperature": self._temperature,
            "max_tokens": MAX_TOKENS,
        }

    async def ask(self, conversation: Sequence[Message], schema: Mapping[str, object]) -> Reply:
        """Return a reply, after retries and, if parameters are refused, with fewer of them.

        A cancellation closes the connection immediately.

        Raises:
            ChatUnreachableError: every attempt met a transient failure: no connection, no answer in time, a dropped
                connection, a status 408, 409, 425, 429 or 5xx.
            ChatRefusedError: any other status but success. It is not lasting if it concerns this question, or may do
                so: a 403, 404 or 405 counts as lasting from the second question on, if none was ever answered.
        """
        request_options, tally = self._wishes, _Tally()
        while True:
            answer = await self._persist(request_body(self.model, conversation, schema, request_options), tally)
            status = effective_status(answer)
            if httpx2.codes.is_success(status):
                break
            complaint = read_complaint(answer)
            lower = request_options.lowered(status, complaint)
            if lower is None:
                lasting = self._is_lasting(status, complaint, conversation)
                raise self._refusal(status, answer, complaint, lasting=lasting, calls=tally.calls)
            request_options = lower
        self._has_answered = True
        # only now: a request that is finally refused may have named parameters that were not the cause
        self._wishes = self._wishes.meet(request_options)
        reply = read_completion(answer, calls=tally.calls)
        return replace(reply, text=self._blot(reply.text), model=self._blot(reply.model))

    async def _persist(self, body: Mapping[str, object], tally: _Tally) -> Answer:
        """Send a request until it is answered with success or a refusal."""
        content = json.dumps(body, ensure_ascii=False).encode()
        retry_policy = self._patience
        try:
            async for attempt in stamina.retry_context(
                on=self._wait_s,
                attempts=retry_policy.attempts,
                timeout=None,
                wait_initial=retry_policy.first_wait_s,
                wait_max=retry_policy.longest_wait_s,
                wait_jitter=retry_policy.jitter_s,
            ):
                with attempt:
                    tally.calls += 1
                    return await self._send(content, usual_s=attempt.next_wait)
        except TransientError as error:
            times = "once" if tally.calls == 1 else f"{tally.calls} times"
            raise ChatUnreachableError(
                f"{self._who} was asked {times} and gave no answer; the last time {error}.",
                calls=tally.calls,
            ) from error
        raise AssertionError("the last attempt returns or raises")

    def _wait_s(self, error: Exception) -> bool | float:
        """Return whether to retry, and in how many seconds if the endpoint has specified it."""
        if not isinstance(error, TransientError):
            return False
        if error.wait_s is None:
            return True
        return error.wait_s + random.uniform(0, self._patience.jitter_s)  # noqa: S311 - jitter, no secret

    async def _send(self, content: bytes, *, usual_s: float) -> Answer:
        """Send a request once. Raises TransientError if it should be retried.

        A requested delay is honoured, but is never shorter than `usual_s`: many endpoints always request one second,
        and all attempts would be used up within a few.
        """
        try:
            with anyio.fail_after(self._patience.call_s):
                async with self._client.stream(
                    "POST", f"{self._base_url}/chat/completions", content=content
                ) as response:
                    answer = self._without_key(await _read_answer(response))
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise TransientError("it did not answer in time") from error
        except httpx2.RequestError as error:
            why = self._blot(one_line(error)) or type(error).__name__
            raise TransientError(f"the connection failed ({why})") from error
        status = effective_status(answer)
        complaint = read_complaint(answer) if not httpx2.codes.is_success(status) else Complaint()
        if is_worth_a_retry(status, complaint):
            asked_s = retry_after_s(answer.retry_after, datetime.now(UTC), longest_s=LONGEST_RETRY_AFTER_S)
            raise TransientError(
                f"it answered with status {status} ({self._blot(complaint.message)})",
                wait_s=max(asked_s, usual_s) if asked_s is not None else None,
            )
        return answer

    def _is_lasting(self, status: int, complaint: Complaint, conversation: Sequence[Message]) -> bool:
        """Return whether every other question would be refused too. Votes on one trial ask the same, and count once."""
        if is_lasting(status, complaint):
            return True
        if self._has_answered or not may_be_lasting(status, complaint):
            return False
        self._turned_away.add(hash(tuple(conversation)))
        return len(self._turned_away) > 1

    def _refusal(
        self, status: int, answer: Answer, complaint: Complaint, *, lasting: bool, calls: int
    ) -> ChatRefusedError:
        what = f"status {status} ({complaint.message})" if complaint.message else f"status {status}"
        option, prefix, key_name = self._config.option, self._config.prefix, self._config.api_key_env
        advice = ""
        if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            advice = f" Check the key in {key_name}." if key_name else f" It may want {prefix}-api-key-env."
        elif status in (httpx2.codes.NOT_FOUND, httpx2.codes.METHOD_NOT_ALLOWED):
            advice = f" Check {option} and {prefix}-base-url."
        elif httpx2.codes.is_redirect(status):
            advice = f" It points to {one_line(answer.location)}; give {prefix}-base-url the final address."
        elif status == httpx2.codes.PAYMENT_REQUIRED or NO_CREDIT.search(complaint.whole):
            advice = " The account has no credit left."
        return ChatRefusedError(
            self._blot(f"{self._who} refused: {what}.{advice}"),
            lasting=lasting,
            calls=calls,
        )

    @property
    def _who(self) -> str:
        return f"{self._config.whose.capitalize()} at {self._base_url}"

    def _without_key(self, answer: Answer) -> Answer:
        """Mask the key before any text is cut: half a key would not be recognised."""
        if len(self._secret) < SHORTEST_SECRET:
            return answer
        body = answer.body.replace(self._secret.encode(), BLOT.encode())
        return replace(answer, body=body, location=self._blot(answer.location))

    def _blot(self, text: str) -> str:
        """Mask the key where the endpoint has echoed it."""
        return text.replace(self._secret, BLOT) if len(self._secret) >= SHORTEST_SECRET else text


@dataclass(slots=True)
class _Tally:
    """The number of requests sent for one reply."""

    calls: int = 0


async def _read_answer(response: httpx2.Response) -> Answer:
    pieces: list[bytes] = []
    left = MAX_BODY_BYTES
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
    )


@asynccontextmanager
async def open_endpoint(
    config: ChatConfig, *, retry_policy: RetryPolicy = RetryPolicy()
) -> AsyncGenerator[HttpEndpoint]:
    """Open a client for the endpoint of `config`; it is closed with the block.

    Proxies of the environment are used, except for hosts on this machine. Raises ConfigError if the address, the key or
    the environment's proxy and certificate settings can't be used.
    """
    secret = os.environ.get(config.api_key_env, "").strip() if config.api_key_env else ""
    if config.api_key_env and not re.fullmatch(r"[!-~]+", secret):
        raise ConfigError(f"The value of {config.api_key_env} is no API key: it is empty or has spaces or other signs.")
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "pinchbench-async"}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    try:
        host = httpx2.URL(config.base_url).host
    except httpx2.InvalidURL as error:
        raise ConfigError(f"{config.prefix}-base-url is not a URL: {error}.") from error
    try:
        make_client = partial(
            httpx2.AsyncClient,
            headers=headers,
            timeout=httpx2.Timeout(
                connect=retry_policy.connect_s, read=retry_policy.read_s, write=retry_policy.read_s, pool=None
            ),
            follow_redirects=False,
            trust_env=not is_loopback(host),
        )
        client = await to_thread.run_sync(make_client)  # it reads and checks hundreds of certificates
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        # the error's own text is omitted: a proxy's address may hold a password
        raise ConfigError(
            "The proxy or certificate settings of the environment (HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE …) can't be"
            f" used for {config.whose}: {type(error).__name__}."
        ) from None
    async with client:
        with careful_logs([secret]):
            yield HttpEndpoint(client, config, retry_policy=retry_policy, secret=secret)
