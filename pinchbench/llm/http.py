"""A model behind an OpenAI-compatible endpoint: requests, retries and errors."""

from __future__ import annotations

import json
import os
import re
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx2
from msgspec import structs

from pinchbench.errors import ConfigError
from pinchbench.http_client import BLOT, Answer, HttpClient, RetryPolicy, TransientError, open_client
from pinchbench.llm.openai_api import (
    LONGEST_RETRY_AFTER_S,
    MAX_BODY_BYTES,
    MAX_TOKENS,
    NO_CREDIT,
    ChatRefusedError,
    ChatUnreachableError,
    Complaint,
    Reply,
    RequestOptions,
    one_line,
    read_complaint,
    read_completion,
    request_body,
)
from pinchbench.redaction import is_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from pinchbench.config.asked_models import AskedModel
    from pinchbench.llm.openai_api import Message


class HttpEndpoint:
    """A model behind `POST {base_url}/chat/completions`; created by `open_endpoint`, which owns its client.

    Parameters that the endpoint turns out not to support are omitted from then on. The key is kept in the client's
    headers, and otherwise only to mask it.
    """

    def __init__(self, client: HttpClient, config: AskedModel, *, secret: str) -> None:
        """`secret` is the key if it has to be masked where the endpoint echoes it, otherwise empty."""
        self.model = config.model
        self._config = config
        self._client = client
        self._base_url = (config.base_url or "").rstrip("/")
        self._secret = secret
        self._temperature = 0 if config.is_steady else None
        self._options = RequestOptions(temperature=config.is_steady)
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
        request_options, calls = self._options, 0
        while True:
            body = request_body(self.model, conversation, schema, request_options)
            answer, calls = await self._persist(body, calls)
            complaint = read_complaint(answer)
            if httpx2.codes.is_success(complaint.status):
                break
            lower = request_options.lowered(complaint)
            if lower is None:
                lasting = self._is_lasting(complaint, conversation)
                raise self._refusal(answer, complaint, lasting=lasting, calls=calls)
            request_options = lower
        self._has_answered = True
        # only now: a request that is finally refused may have named parameters that were not the cause
        self._options = self._options.meet(request_options)
        reply = read_completion(answer, calls=calls)
        if reply.cost_usd is None and self._config.prices is not None and reply.usage.has_tokens:
            cost_usd = reply.usage.cost_at(self._config.prices)
            reply = replace(reply, cost_usd=cost_usd, usage=structs.replace(reply.usage, cost_usd=cost_usd))
        return replace(reply, text=self._client.mask(reply.text), model=self._client.mask(reply.model))

    async def _persist(self, body: Mapping[str, object], calls: int) -> tuple[Answer, int]:
        """Send a request until it is answered with success or a refusal; count its calls after those before."""
        content = json.dumps(body, ensure_ascii=False).encode()

        async def send(limit_s: float) -> Answer:
            nonlocal calls
            calls += 1
            return await self._send(content, limit_s=limit_s)

        try:
            return await self._client.persist(send), calls
        except TransientError as error:
            times = "once" if calls == 1 else f"{calls} times"
            said = f"{self._who} was asked {times} and gave no answer; the last time {error}."
            raise ChatUnreachableError(said, calls=calls) from error

    async def _send(self, content: bytes, *, limit_s: float) -> Answer:
        """Send a request once. Raises TransientError if it should be retried."""
        url = f"{self._base_url}/chat/completions"
        answer = self._without_key(await self._client.send(url, content, most_bytes=MAX_BODY_BYTES, limit_s=limit_s))
        complaint = read_complaint(answer)
        if complaint.is_worth_a_retry:
            raise TransientError(
                f"it answered with status {complaint.status} ({self._client.mask(complaint.message)})",
                wait_s=answer.retry_after_s(longest_s=LONGEST_RETRY_AFTER_S),
            )
        return answer

    def _is_lasting(self, complaint: Complaint, conversation: Sequence[Message]) -> bool:
        """Return whether every other question would be refused too. Votes on one trial ask the same, and count once."""
        if complaint.is_lasting:
            return True
        if self._has_answered or not complaint.may_be_lasting:
            return False
        self._turned_away.add(hash(tuple(conversation)))
        return len(self._turned_away) > 1

    def _refusal(self, answer: Answer, complaint: Complaint, *, lasting: bool, calls: int) -> ChatRefusedError:
        status = complaint.status
        what = f"status {status} ({complaint.message})" if complaint.message else f"status {status}"
        option, key_name = self._config.option, self._config.api_key_env
        advice = ""
        if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            wanted = " It may want a key: name its variable with `api-key-env`."
            advice = f" Check the key in {key_name}." if key_name else wanted
        elif status in (httpx2.codes.NOT_FOUND, httpx2.codes.METHOD_NOT_ALLOWED):
            advice = f" Check {option} and its base-url."
        elif httpx2.codes.is_redirect(status):
            advice = f" It points to {one_line(answer.location)}; give the final address as its base-url."
        elif status == httpx2.codes.PAYMENT_REQUIRED or NO_CREDIT.search(complaint.whole):
            advice = " The account has no credit left."
        return ChatRefusedError(
            self._client.mask(f"{self._who} refused: {what}.{advice}"), lasting=lasting, calls=calls
        )

    @property
    def _who(self) -> str:
        return f"{self._config.whose.capitalize()} at {self._base_url}"

    def _without_key(self, answer: Answer) -> Answer:
        """Mask the key before any text is cut: half a key would not be recognised."""
        if not self._secret:
            return answer
        body = answer.body.replace(self._secret.encode(), BLOT.encode())
        return replace(answer, body=body, location=self._client.mask(answer.location))


@asynccontextmanager
async def open_endpoint(
    config: AskedModel, *, retry_policy: RetryPolicy = RetryPolicy()
) -> AsyncGenerator[HttpEndpoint]:
    """Open a client for the endpoint of `config`; it is closed with the block.

    Proxies of the environment are used, except for hosts on this machine. Raises ConfigError if the address, the key or
    the environment's proxy and certificate settings can't be used.
    """
    secret = os.environ.get(config.api_key_env, "").strip() if config.api_key_env else ""
    if config.api_key_env and not re.fullmatch(r"[!-~]+", secret):
        raise ConfigError(f"The value of {config.api_key_env} is no API key: it is empty or has spaces or other signs.")
    try:
        httpx2.URL(config.base_url or "")
    except httpx2.InvalidURL as error:
        raise ConfigError(f"The base-url of {config.option} is not a URL: {error}.") from error
    masked = secret if is_key(secret) else ""
    async with open_client(
        config.base_url or "",
        whose=config.whose,
        headers={"Authorization": f"Bearer {secret}"} if secret else {},
        secrets=[masked],
        policy=retry_policy,
    ) as client:
        yield HttpEndpoint(client, config, secret=masked)
