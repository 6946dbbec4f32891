"""Passes a request on to its provider, and the reply back as it arrives."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio
import h11
from anyio import CancelScope, create_task_group

from pinchbench.wire.exchange import ExchangeEnd
from pinchbench.wire.http1 import LOST, ConnectionPool, CutError, Inbound, NotReachedError, Outbound
from pinchbench.wire.pacing import Pacer
from pinchbench.wire.reply_body import body_of
from pinchbench.wire.request_route import Origin, end_to_end, recorded_headers, response_head
from pinchbench.wire.retries import NOT_REACHED, retry_after_s, retry_delay_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from pinchbench.wire.draft import Draft
    from pinchbench.wire.lease import TrialLease
    from pinchbench.wire.messages import Provider, RetrySettings
    from pinchbench.wire.pacing import Pace, Permit
    from pinchbench.wire.request_route import Header

HTTP_TOO_MANY_REQUESTS = 429


class Upstream:
    """A provider, its connections and its pacing."""

    def __init__(self, provider: Provider, changed: Callable[[Pace], None]) -> None:
        """Take a provider. Raises ValueError if its base URL is not one of HTTP."""
        self.provider = provider
        self.origin = Origin.parse(provider.base_url)
        self.pool = ConnectionPool(self.origin)
        self.pacer = Pacer(provider.max_requests, changed=changed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request on its way. `overflow` is the first part of its body that is not kept: the rest is still to be read."""

    inbound: Inbound
    head: h11.Request
    target: bytes
    headers: list[Header]
    lease: TrialLease
    upstream: Upstream
    draft: Draft
    overflow: bytes


class Relay:
    """Passes requests on, again if a retry may help, and their replies as they arrive."""

    def __init__(self, retries: RetrySettings, tell_held: Callable[[TrialLease], None]) -> None:
        """Take what is retried. `tell_held` is called when a trial may begin or cease to wait for its turn."""
        self._retries = retries
        self._tell_held = tell_held

    async def relay(self, call: Call) -> bool:
        """Ask the provider, pass its reply on, and return whether the client's connection stays open."""
        stays_open = False
        async with create_task_group() as group:
            if not call.overflow:
                group.start_soon(_watch, call, group.cancel_scope)
            try:
                stays_open = await self._try_until_passed_on(call, group)
            except LOST:
                call.draft.finish(ExchangeEnd.CLIENT_LEFT, "the client closed the connection")
            group.cancel_scope.cancel()
        return stays_open

    async def _try_until_passed_on(self, call: Call, group: TaskGroup) -> bool:
        draft, pacer = call.draft, call.upstream.pacer
        while True:
            permit = await self._admitted(call)
            draft.queued_s += permit.queued_s
            with pacer.released(permit):
                result = await self._try(call, permit, group)
            if isinstance(result, bool):
                return result
            await anyio.sleep(result)

    async def _admitted(self, call: Call) -> Permit:
        """Wait until the request may be sent."""
        lease = call.lease
        lease.waiting += 1
        try:
            return await call.upstream.pacer.acquire(lease.trial, waits=partial(self._tell_held, lease))
        finally:
            lease.waiting -= 1
            self._tell_held(lease)

    async def _try(self, call: Call, permit: Permit, group: TaskGroup) -> bool | float:
        """Ask the provider; return after how many seconds to ask again, or whether the connection stays open."""
        fresh = bool(call.overflow)
        while True:
            try:
                async with call.upstream.pool.connection(fresh=fresh) as connection:
                    group.start_soon(_upload, call, connection, group.cancel_scope)
                    try:
                        response = await connection.head()
                    except NotReachedError:
                        if not connection.is_reused:
                            raise
                        # The provider closed an idle connection just then, as it may: nobody else is to know.
                        fresh = True
                        continue
                    delay_s = self._judge(call, permit, response)
                    return await _pass_on(call, connection, response) if delay_s is None else delay_s
            except NotReachedError as error:
                delay_s = self._delay_s(call, NOT_REACHED, None)
                if delay_s is not None:
                    return delay_s
                call.draft.finish(ExchangeEnd.NOT_REACHED, str(error))
                return False

    def _judge(self, call: Call, permit: Permit, response: h11.Response) -> float | None:
        """Tell the pacing what came back; return after how many seconds to ask again, None for not at all."""
        after_s = retry_after_s(response.headers, now=time.time())
        if response.status_code == HTTP_TOO_MANY_REQUESTS:
            permit.refuse(after_s)
        else:
            permit.succeed()
        return self._delay_s(call, response.status_code, after_s)

    def _delay_s(self, call: Call, status: int, after_s: float | None) -> float | None:
        if call.overflow:  # its body is gone
            return None
        draft = call.draft
        delay_s = retry_delay_s(
            status,
            tried=len(draft.retried) + 1,
            elapsed_s=draft.elapsed_s,
            retry_after_s=after_s,
            settings=self._retries,
        )
        if delay_s is not None:
            draft.retried.append(status)
        return delay_s


async def _watch(call: Call, scope: CancelScope) -> None:
    await call.inbound.wait_until_closed()
    call.draft.finish(ExchangeEnd.CLIENT_LEFT, "the client closed the connection")
    scope.cancel()


async def _upload(call: Call, connection: Outbound, scope: CancelScope) -> None:
    """Send the request. A provider that stops reading says why in its reply, or else in closing the connection."""
    draft = call.draft
    try:
        await connection.send_head(call.head.method, call.target, call.headers)
        for part in draft.request:
            await connection.send_body(part)
        if part := call.overflow:
            while part:
                await connection.send_body(part)
                part = await _receive_rest(call)
                draft.add_request(part)
            if not call.inbound.is_complete:
                draft.finish(ExchangeEnd.CLIENT_LEFT, "the client closed the connection within the request")
                scope.cancel()
                return
        await connection.end_request()
    except LOST:
        return
    draft.sent_s = draft.elapsed_s
    if call.overflow:
        await _watch(call, scope)


async def _receive_rest(call: Call) -> bytes:
    """Return the next part of the body; nothing at its end, or when the client has gone."""
    try:
        return await call.inbound.receive_body()
    except (h11.RemoteProtocolError, *LOST):
        return b""


async def _pass_on(call: Call, connection: Outbound, response: h11.Response) -> bool:
    """Pass a reply on as it arrives; return whether the client's connection stays open."""
    draft, client = call.draft, call.inbound.stream
    headers = end_to_end(response.headers.raw_items())
    draft.status = response.status_code
    draft.reply_headers = recorded_headers(headers, key=call.upstream.provider.key)
    body = body_of(call.head.method, response)
    if not body.has_end:
        headers.append((b"Connection", b"close"))
    await client.send(response_head(response.status_code, bytes(response.reason), headers))
    try:
        await connection.forward_body(body, client, draft.add_chunk)
    except CutError as error:
        draft.finish(ExchangeEnd.CUT, str(error))
        return False
    draft.finish()
    return body.has_end and call.inbound.keeps_alive
