"""Relays requests of trials to providers, unchanged but for the key, and records them."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio
import h11
from anyio import CancelScope, create_memory_object_stream, create_task_group, to_thread

from pinchbench.wire.draft import Allowance, Draft
from pinchbench.wire.exchange import ExchangeEnd
from pinchbench.wire.facts import facts_of
from pinchbench.wire.http1 import LOST, ConnectionPool, CutError, Inbound, NotReachedError, Outbound
from pinchbench.wire.messages import CallUsed, Held, PaceChanged, Released, RetrySettings
from pinchbench.wire.pacing import Pacer
from pinchbench.wire.playback import NOT_RECORDED, play
from pinchbench.wire.reply_body import body_of
from pinchbench.wire.request_owner import Mark, owner_of
from pinchbench.wire.request_route import (
    Origin,
    Route,
    end_to_end,
    not_found,
    parse_route,
    recorded_headers,
    recorded_target,
    request_headers,
    response_head,
    with_key,
    with_model,
)
from pinchbench.wire.retries import NOT_REACHED, retry_after_s, retry_delay_s

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from anyio.abc import TaskGroup
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.model import Usage
    from pinchbench.wire.exchange import Exchange
    from pinchbench.wire.messages import Provider, WireEvent
    from pinchbench.wire.pacing import Pace, Permit
    from pinchbench.wire.playback import Choice, Playback
    from pinchbench.wire.request_route import Header
    from pinchbench.wire.transport import TransportStream

LOG = logging.getLogger(__name__)
# A slot has a handful. More would use up the files that the proxy may open, and so fail other trials.
MAX_CONNECTIONS = 512
HTTP_BAD_REQUEST = 400
HTTP_NOT_FOUND = 404
HTTP_TOO_MANY_REQUESTS = 429
HTTP_VERSION_NOT_SUPPORTED = 505
REASONS = {
    HTTP_BAD_REQUEST: b"Bad Request",
    HTTP_NOT_FOUND: b"Not Found",
    HTTP_VERSION_NOT_SUPPORTED: b"HTTP Version Not Supported",
}
TRIAL_OVER = "the trial ended first"
NO_TRIAL = "No trial has this address now."


class Recorder(Protocol):
    """Where a trial's exchanges go. Its calls may block: they are made in a thread, one at a time."""

    def append(self, exchange: Exchange) -> object:
        """Write one. Raises OSError."""

    def close(self) -> None:
        """End the recording. Raises OSError."""


@dataclass(kw_only=True, eq=False)
class TrialLease:
    """A trial that has a token. `turn` may be set. With `shared`, `mark` finds its requests among those of others."""

    token: str
    shared: str = ""
    mark: Mark | None = None
    trial: str
    turn: int
    recorder: Recorder | None
    playback: Playback | None = None
    drafts: MemoryObjectSendStream[Draft]
    exchanges: int = 0
    waiting: int = 0  # of its exchanges, for their turn
    is_held: bool = False
    open: set[CancelScope] = field(default_factory=set)
    ended: anyio.Event | None = None  # that all exchanges have, once the lease has been released
    written: anyio.Event = field(default_factory=anyio.Event)
    problem: str = ""


class _Upstream:
    """A provider, its connections and its pacing."""

    def __init__(self, provider: Provider, changed: Callable[[Pace], None]) -> None:
        self.provider = provider
        self.origin = Origin.parse(provider.base_url)
        self.pool = ConnectionPool(self.origin)
        self.pacer = Pacer(provider.max_requests, changed=changed)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Call:
    """A request on its way. `overflow` is the first part of its body that is not kept: the rest is still to be read."""

    inbound: Inbound
    head: h11.Request
    target: bytes
    headers: list[Header]
    lease: TrialLease
    upstream: _Upstream
    draft: Draft
    overflow: bytes


class Proxy:
    """Serves the connections of clients. Leases, and what they record, live in a task group of the caller's."""

    def __init__(
        self,
        providers: Iterable[Provider],
        *,
        retries: RetrySettings,
        report: Callable[[WireEvent], None],
        group: TaskGroup,
        allowance: Allowance | None = None,
        reports_usage: bool = False,
    ) -> None:
        """Take the providers. `report` must not block. Raises ValueError if a base URL is not one of HTTP."""
        self._reports_usage = reports_usage
        self._retries = retries
        self._report = report
        self._group = group
        self._allowance = allowance or Allowance()
        self._leases: dict[str, TrialLease] = {}
        self._connections = 0
        self._upstreams = {one.id: _Upstream(one, self._reporter(one.id)) for one in providers}

    def _reporter(self, provider: str) -> Callable[[Pace], None]:
        def changed(pace: Pace) -> None:
            event = PaceChanged(provider=provider, window=pace.window, in_flight=pace.in_flight, waiting=pace.waiting)
            self._report(event)

        return changed

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens with a lease."""
        return tuple(self._leases)

    def lease(
        self,
        token: str,
        *,
        trial: str,
        turn: int = 0,
        recorder: Recorder | None = None,
        shared: str = "",
        mark: str = "",
        playback: Playback | None = None,
    ) -> None:
        """Let a token's requests pass. Raises ValueError if it has a lease already."""
        if token in self._leases:
            raise ValueError("the token has a lease already")
        # Bounded by the allowance of the drafts in it.
        send, receive = create_memory_object_stream[Draft](float("inf"))
        lease = TrialLease(
            token=token,
            shared=shared,
            mark=Mark(mark) if mark else None,
            trial=trial,
            turn=turn,
            recorder=recorder,
            playback=playback,
            drafts=send,
        )
        self._leases[token] = lease
        self._group.start_soon(self._write, lease, receive)

    def set_turn(self, token: str, turn: int) -> None:
        """Count requests for another turn from now on. Nothing happens if the token has no lease."""
        if lease := self._leases.get(token):
            lease.turn = turn

    async def release(self, token: str) -> Released:
        """Stop answering a token, cut its exchanges, and wait until they are recorded."""
        lease = self._leases.pop(token, None)
        if lease is None:
            return Released(token=token, exchanges=0, problem="the token had no lease")
        if lease.open:
            lease.ended = anyio.Event()
            for scope in lease.open:
                scope.cancel()
            await lease.ended.wait()
        lease.drafts.close()
        await lease.written.wait()
        return Released(token=token, exchanges=lease.exchanges, problem=lease.problem)

    async def close(self) -> None:
        """Close idle connections to the providers."""
        for upstream in self._upstreams.values():
            await upstream.pool.close()

    async def _write(self, lease: TrialLease, drafts: MemoryObjectReceiveStream[Draft]) -> None:
        with drafts, lease.drafts:
            async for draft in drafts:
                try:
                    if lease.recorder is not None:
                        used = await to_thread.run_sync(_append, lease.recorder, draft, self._reports_usage)
                        if used is not None:
                            self._report(CallUsed(trial=lease.trial, usage=used))
                except OSError as error:
                    lease.problem = f"an exchange could not be recorded: {error}"
                finally:
                    draft.discard()
        try:
            if lease.recorder is not None:
                await to_thread.run_sync(lease.recorder.close)
        except OSError as error:
            lease.problem = lease.problem or f"the recording could not be closed: {error}"
        lease.written.set()

    def knows(self, token: str) -> bool:
        """Whether a running trial has this token, or shares it."""
        return token in self._leases or any(one.shared == token for one in self._leases.values() if one.shared)

    async def serve(self, stream: TransportStream, *, token: str = "", provider: str = "") -> None:
        """Answer a client until it, or its provider, closes the connection. Closes it in any case.

        With a token, the client believes to speak to the provider itself, and its requests have no address of a slot.
        """
        async with stream:
            if self._connections >= MAX_CONNECTIONS:
                return
            self._connections += 1
            try:
                inbound = Inbound(stream)
                while (head := await inbound.next_request()) is not None:
                    if not await self._answer(inbound, head, token=token, provider=provider):
                        return
            except (h11.RemoteProtocolError, *LOST):
                return
            except Exception:
                LOG.exception("A connection was closed because of an error in the proxy.")
            finally:
                self._connections -= 1

    async def _answer(self, inbound: Inbound, head: h11.Request, *, token: str, provider: str) -> bool:
        """Answer a request; return whether the connection stays open."""
        target = head.target.decode("latin-1")
        route = Route(token=token, provider=provider, rest=target) if token else parse_route(target)
        lease = self._leases.get(route.token) if route else None
        sharing = [one for one in self._leases.values() if one.shared and one.shared == route.token] if route else []
        if route is None or (lease is None and not sharing) or (lease is not None and lease.shared):
            return await _refuse(inbound, HTTP_NOT_FOUND, NO_TRIAL)
        upstream = self._upstreams.get(route.provider)
        if upstream is None:
            return await _refuse(inbound, HTTP_NOT_FOUND, f"The wire has no provider {route.provider}.")
        if head.http_version < b"1.1":
            return await _refuse(inbound, HTTP_VERSION_NOT_SUPPORTED, "The wire speaks HTTP/1.1 only.")
        draft = Draft(self._allowance, provider=route.provider, method=head.method.decode("latin-1"))
        overflow = None
        if lease is None:  # whose request it is, only its body tells
            overflow = await _read_request(inbound, draft)
            lease = owner_of(sharing, route.rest, b"".join(draft.request))
            if lease is None:  # a gateway's own, such as for the list of models, or a title
                lease = next((one for one in sharing if one.mark is None), None)
            if lease is None or lease.token not in self._leases:
                draft.discard()
                return await _refuse(inbound, HTTP_NOT_FOUND, NO_TRIAL)
        return await self._exchange(inbound, head, route, lease, upstream, draft=draft, overflow=overflow)

    async def _exchange(
        self,
        inbound: Inbound,
        head: h11.Request,
        route: Route,
        lease: TrialLease,
        upstream: _Upstream,
        *,
        draft: Draft,
        overflow: bytes | None,
    ) -> bool:
        lease.exchanges += 1
        provider, token = upstream.provider, route.token
        draft.assign(number=lease.exchanges, trial=lease.trial, turn=lease.turn)
        target = upstream.origin.path + (route.rest or "/")
        draft.path = recorded_target(target.replace(token, provider.key), key=provider.key)
        headers = request_headers(head.headers.raw_items(), origin=upstream.origin, token=token, key=provider.key)
        draft.request_headers = recorded_headers(headers, key=provider.key)
        stays_open = False
        with self._ending(lease, draft):
            try:
                if overflow is None:
                    overflow = await _read_request(inbound, draft)
                if lease.playback is not None:
                    choice = await lease.playback.choose(draft)
                    draft.divergence = choice.divergence
                    if not choice.is_live:
                        return await _play(choice, inbound, draft)
                if provider.model and not overflow:
                    headers = _ask_for(provider.model, draft, headers)
                call = _Call(
                    inbound=inbound,
                    head=head,
                    target=with_key(target, token=token, key=provider.key).encode("latin-1"),
                    headers=headers,
                    lease=lease,
                    upstream=upstream,
                    draft=draft,
                    overflow=overflow,
                )
                stays_open = await self._relay(call)
            except (h11.RemoteProtocolError, *LOST):
                draft.finish(ExchangeEnd.CLIENT_LEFT, "the client closed the connection")
        return stays_open

    @contextmanager
    def _ending(self, lease: TrialLease, draft: Draft) -> Generator[None]:
        """Hand the exchange over to the recording at the end of the block, however it ends."""
        with CancelScope() as scope:
            lease.open.add(scope)
            self._tell_held(lease)
            try:
                yield
            except anyio.get_cancelled_exc_class():
                draft.finish(ExchangeEnd.CLIENT_LEFT, TRIAL_OVER)
                raise
            finally:
                draft.finish(ExchangeEnd.CUT, "an error in the proxy ended it")  # unless it has ended already
                lease.open.discard(scope)
                self._tell_held(lease)
                self._report(draft.event())
                lease.drafts.send_nowait(draft)
                if not lease.open and lease.ended is not None:
                    lease.ended.set()

    async def _relay(self, call: _Call) -> bool:
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

    async def _try_until_passed_on(self, call: _Call, group: TaskGroup) -> bool:
        draft, pacer = call.draft, call.upstream.pacer
        while True:
            permit = await self._admitted(call)
            draft.queued_s += permit.queued_s
            with pacer.released(permit):
                result = await self._try(call, permit, group)
            if isinstance(result, bool):
                return result
            await anyio.sleep(result)

    async def _admitted(self, call: _Call) -> Permit:
        """Wait until the request may be sent."""
        lease = call.lease
        lease.waiting += 1
        try:
            return await call.upstream.pacer.acquire(lease.trial, waits=partial(self._tell_held, lease))
        finally:
            lease.waiting -= 1
            self._tell_held(lease)

    def _tell_held(self, lease: TrialLease) -> None:
        """Report when a trial begins or ceases to wait for nothing but its turn."""
        is_held = 0 < lease.waiting == len(lease.open)
        if is_held is not lease.is_held:
            lease.is_held = is_held
            self._report(Held(trial=lease.trial, is_held=is_held))

    async def _try(self, call: _Call, permit: Permit, group: TaskGroup) -> bool | float:
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

    def _judge(self, call: _Call, permit: Permit, response: h11.Response) -> float | None:
        """Tell the pacing what came back; return after how many seconds to ask again, None for not at all."""
        after_s = retry_after_s(response.headers, now=time.time())
        if response.status_code == HTTP_TOO_MANY_REQUESTS:
            permit.refuse(after_s)
        else:
            permit.succeed()
        return self._delay_s(call, response.status_code, after_s)

    def _delay_s(self, call: _Call, status: int, after_s: float | None) -> float | None:
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


def _append(recorder: Recorder, draft: Draft, reads_usage: bool) -> Usage | None:
    """Record an exchange; return what it used, if that is to be read and the provider reported it."""
    exchange = draft.exchange()
    recorder.append(exchange)
    return facts_of(exchange).reply.usage if reads_usage else None


async def _refuse(inbound: Inbound, status: int, reason: str) -> bool:
    # else closing would reset the connection, and the client not see why
    while not inbound.is_complete and await inbound.receive_body():
        pass
    body = not_found(reason)
    headers = [
        (b"Content-Type", b"application/json"),
        (b"Content-Length", str(len(body)).encode()),
        (b"Connection", b"close"),
    ]
    await inbound.stream.send(response_head(status, REASONS[status], headers) + body)
    return False


async def _play(choice: Choice, inbound: Inbound, draft: Draft) -> bool:
    """Serve what a replay has for a request; return whether the connection stays open."""
    if choice.exchange is not None:
        return await play(choice.exchange, inbound, draft)
    draft.status = HTTP_BAD_REQUEST
    stays_open = await _refuse(inbound, HTTP_BAD_REQUEST, NOT_RECORDED)
    draft.finish(ExchangeEnd.NOT_REACHED, NOT_RECORDED)
    return stays_open


def _ask_for(model: str, draft: Draft, headers: list[Header]) -> list[Header]:
    """Put another model into a request that has been read; return its headers."""
    body = with_model(b"".join(draft.request), model)
    draft.replace_request(body)
    size = str(len(body)).encode()
    return [(name, size if name.lower() == b"content-length" else value) for name, value in headers]


async def _read_request(inbound: Inbound, draft: Draft) -> bytes:
    """Read the request as far as it is kept; return the first part beyond."""
    while data := await inbound.receive_body():
        if not draft.add_request(data):
            return data
    return b""


async def _watch(call: _Call, scope: CancelScope) -> None:
    await call.inbound.wait_until_closed()
    call.draft.finish(ExchangeEnd.CLIENT_LEFT, "the client closed the connection")
    scope.cancel()


async def _upload(call: _Call, connection: Outbound, scope: CancelScope) -> None:
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


async def _receive_rest(call: _Call) -> bytes:
    """Return the next part of the body; nothing at its end, or when the client has gone."""
    try:
        return await call.inbound.receive_body()
    except (h11.RemoteProtocolError, *LOST):
        return b""


async def _pass_on(call: _Call, connection: Outbound, response: h11.Response) -> bool:
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
