"""Passes a request on to its provider when it is its trial's turn, and the reply back as it arrives."""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import anyio
from anyio import CancelScope, create_task_group, current_time
from anyio.lowlevel import checkpoint_if_cancelled

from pinchbench.http_client import retry_after_s
from pinchbench.redaction import is_key
from pinchbench.wire.exchange import Draft, ExchangeEnd
from pinchbench.wire.http1 import LOST, ConnectionPool, CutError, Inbound, NotReachedError, Outbound
from pinchbench.wire.redact import Masking, masked
from pinchbench.wire.reply_body import body_of
from pinchbench.wire.request_route import Header, Origin, end_to_end, error_response, recorded_headers, response_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import h11
    from anyio.abc import TaskGroup

    from pinchbench.wire.lease import TrialLease
    from pinchbench.wire.wire_messages import Provider

# Of the window, per refusal. Simulated, .85 and .1 used 88% of a moving limit, .9 and .1 90%, .9 and .2 93%.
DECREASE = 0.9
# Requests that each success adds: the window grows by this share while as many requests as fit are answered once.
INCREASE = 0.2
MAX_PAUSE_S = 120.0  # a longer `Retry-After` is a quota that is used up: the request is refused, and the trial sees it


class Window:
    """How many requests may be in flight: additive increase, multiplicative decrease (pure).

    There is no window before the first refusal, unless `max_requests` is set: a provider without a limit is not slowed.
    """

    def __init__(self, max_requests: int | None = None) -> None:
        """Start with `max_requests`, which it never exceeds."""
        self._max = max_requests
        self.size: float | None = max_requests
        self._decreased_at = float("-inf")
        self.paused_until = float("-inf")

    def has_room(self, in_flight: int, *, now: float) -> bool:
        """Whether another request may be sent."""
        return now >= self.paused_until and (self.size is None or in_flight < self.requests)

    @property
    def requests(self) -> int:
        """Its size in whole requests, once there is one."""
        return max(1, int(self.size or 0))

    def succeed(self) -> None:
        """Count a request that was not refused."""
        if self.size is not None:
            size = self.size + INCREASE
            self.size = size if self._max is None else min(size, self._max)

    def refuse(self, *, began_at: float, in_flight: int, now: float, retry_after_s: float | None) -> bool:
        """Count a 429, and return whether it made the window smaller.

        Requests that were sent before the last decrease do not make it smaller once more: they met the old window.

        Args:
            began_at: When the refused request was sent.
            in_flight: The number of requests in flight, the refused one included.
            now: The time, on the clock of `began_at`.
            retry_after_s: What the provider asked for; no request is sent before.
        """
        if retry_after_s is not None:
            self.paused_until = max(self.paused_until, now + min(retry_after_s, MAX_PAUSE_S))
        if began_at < self._decreased_at:
            return False
        self._decreased_at = now
        size = in_flight if self.size is None else min(self.size, in_flight)
        self.size = max(1.0, size * DECREASE)
        return True


class Pacer:
    """Admits requests to one provider. Each trial has a queue, and the queues take turns. Not thread-safe."""

    def __init__(self, max_requests: int | None = None, *, changed: Callable[[int], None] | None = None) -> None:
        """`changed` is called with the window when a refusal has changed it."""
        self._window = Window(max_requests)
        self._in_flight = 0
        self._queues: OrderedDict[str, deque[anyio.Event]] = OrderedDict()
        self._changed = changed

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return sum(map(len, self._queues.values()))

    async def acquire(self, trial: str, *, waits: Callable[[], None] | None = None) -> float:
        """Wait for this trial's turn, and return when it came, on the clock of anyio.

        The caller must call `succeed` or `refuse` and then `release`, unless it is cancelled while it waits. `waits` is
        called if it is not this trial's turn at once.
        """
        if self._queues or not self._has_room():
            if waits is not None:
                waits()
            await self._wait(trial)
        else:
            self._in_flight += 1
        return anyio.current_time()

    def release(self) -> None:
        """End a request."""
        self._in_flight -= 1
        self._admit()

    def succeed(self) -> None:
        """Count a request that was not refused."""
        self._window.succeed()
        self._admit()

    def refuse(self, began_at: float, retry_after_s: float | None) -> None:
        """Count a 429 for a request that was sent at `began_at`."""
        is_smaller = self._window.refuse(
            began_at=began_at, in_flight=self._in_flight, now=anyio.current_time(), retry_after_s=retry_after_s
        )
        if is_smaller and self._changed is not None:
            self._changed(self._window.requests)

    async def _wait(self, trial: str) -> None:
        admitted = anyio.Event()
        self._queues.setdefault(trial, deque()).append(admitted)
        try:
            while not admitted.is_set():
                # Nobody else wakes the queue at the end of a pause: each waiter does.
                paused_until = self._window.paused_until
                is_paused = anyio.current_time() < paused_until
                with CancelScope(deadline=paused_until if is_paused else math.inf):
                    await admitted.wait()
                self._admit()
        except BaseException:
            if admitted.is_set():
                self.release()
            else:
                self._forget(trial, admitted)
            raise

    def _has_room(self) -> bool:
        return self._window.has_room(self._in_flight, now=anyio.current_time())

    def _admit(self) -> None:
        while self._queues and self._has_room():
            trial, queue = next(iter(self._queues.items()))
            queue.popleft().set()
            self._in_flight += 1
            self._queues.move_to_end(trial)
            if not queue:
                del self._queues[trial]

    def _forget(self, trial: str, admitted: anyio.Event) -> None:
        queue = self._queues[trial]
        queue.remove(admitted)
        if not queue:
            del self._queues[trial]


REDIRECTS = frozenset({301, 302, 303, 307, 308})
SAME_METHOD = frozenset({307, 308})  # the others turn a POST into a GET, which no model answers
MAX_REDIRECTS = 5


def requested_wait_s(headers: Iterable[Header], now: datetime) -> float | None:
    """Return the wait that `Retry-After-Ms` or `Retry-After` requests, in seconds from now."""
    values = {name.lower(): value.decode("latin-1") for name, value in headers}
    wait_ms = retry_after_s(values.get(b"retry-after-ms", ""), now)
    return wait_ms / 1000 if wait_ms is not None else retry_after_s(values.get(b"retry-after", ""), now)


class RedirectError(Exception):
    """A provider redirects a request to where the wire does not follow. The message is a sentence."""


class Upstream:
    """A provider, its connections and its pacing. `secret` is its key, if that is no word that may stand anywhere."""

    def __init__(self, provider: Provider, changed: Callable[[int], None]) -> None:
        """Take a provider. Raises ValueError if its base URL is not one of HTTP."""
        self.provider = provider
        self.origin = Origin.parse(provider.base_url)
        self.secret = provider.key if is_key(provider.key) else ""
        self.pool = ConnectionPool(self.origin)
        self.pacer = Pacer(provider.max_requests, changed=changed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request on its way. `report_held` is called when its trial may begin or cease to wait for its turn."""

    inbound: Inbound
    head: h11.Request
    target: bytes
    headers: list[Header]
    lease: TrialLease
    upstream: Upstream
    draft: Draft
    report_held: Callable[[], None]


async def relay(call: Call) -> bool:
    """Ask the provider, pass its reply on, and return whether the client's connection stays open."""
    stays_open = False
    async with create_task_group() as group:

        def end() -> None:
            call.draft.finish(ExchangeEnd.CLIENT_LEFT, "the client closed the connection")
            group.cancel_scope.cancel()

        with call.inbound.stream.watched(end):
            try:
                await checkpoint_if_cancelled()
                stays_open = await _ask(call, group)
            except LOST:
                end()
    return stays_open


async def _ask(call: Call, group: TaskGroup) -> bool:
    waits_since = current_time()
    began_at = await _admitted(call)
    call.draft.queued_s += began_at - waits_since
    try:
        return await _exchange(call, began_at, group)
    finally:
        call.upstream.pacer.release()


async def _admitted(call: Call) -> float:
    """Wait until the request may be sent; return when that is."""
    lease = call.lease
    lease.waiting += 1
    try:
        return await call.upstream.pacer.acquire(lease.trial, waits=call.report_held)
    finally:
        lease.waiting -= 1
        call.report_held()


async def _exchange(call: Call, began_at: float, group: TaskGroup) -> bool:
    """Ask the provider, pass its reply on, and return whether the client's connection stays open."""
    fresh, targets, pacer = False, [call.target], call.upstream.pacer
    while True:
        try:
            async with call.upstream.pool.connection(fresh=fresh) as connection:
                pieces = connection.pieces(call.head.method, targets[-1], call.headers, call.draft.request)
                if connection.write(pieces):
                    call.draft.sent_s = call.draft.elapsed_s
                else:
                    group.start_soon(_upload, call, connection, pieces)
                try:
                    response = await connection.head()
                except NotReachedError:
                    if not connection.was_stale:
                        raise
                    # the provider closed an idle connection just then, as it may: retry on a new connection
                    fresh = True
                    continue
                if response.status_code in REDIRECTS:
                    targets.append(redirected(call.upstream.origin, targets, response))
                    continue
                if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
                    pacer.refuse(began_at, requested_wait_s(response.headers, datetime.now(UTC)))
                else:
                    pacer.succeed()
                return await _pass_on(call, connection, response)
        except NotReachedError as error:
            call.draft.finish(ExchangeEnd.NOT_REACHED, str(error))
            return False
        except RedirectError as error:
            pacer.succeed()
            call.draft.finish(ExchangeEnd.NOT_REACHED, str(error))
            await call.inbound.stream.send(error_response(HTTPStatus.NOT_FOUND, str(error)))
            return False


def redirected(origin: Origin, targets: Sequence[bytes], response: h11.Response) -> bytes:
    """Return the target of a redirect within a provider, after those that were asked (pure). Raises RedirectError."""
    location = next((value for name, value in response.headers if name == b"location"), b"").decode("latin-1")
    at = urlsplit(urljoin(f"{origin.url}{targets[-1].decode('latin-1')}", location))
    place = f"{at.scheme}://{at.netloc}{at.path}"  # what follows may hold a key
    advice = "Name the address at which the model answers."
    if not location or response.status_code not in SAME_METHOD:
        raise RedirectError(f"The provider redirects to {place} by a {response.status_code}. {advice}")
    if Origin.parse(f"{at.scheme}://{at.netloc}").url != origin.url:
        raise RedirectError(f"The provider redirects to another server, {place}. {advice}")
    if len(targets) > MAX_REDIRECTS:
        raise RedirectError(f"The provider redirects again and again, at last to {place}. {advice}")
    return f"{at.path or '/'}{'?' if at.query else ''}{at.query}".encode("latin-1")


async def _upload(call: Call, connection: Outbound, pieces: Iterator[bytes]) -> None:
    """Send the rest of a request, until it or the connection ends.

    A provider that stops reading says why in its reply, or else in closing the connection.
    """
    with suppress(*LOST):
        await connection.send(pieces)
        call.draft.sent_s = call.draft.elapsed_s


async def _pass_on(call: Call, connection: Outbound, response: h11.Response) -> bool:
    """Pass a reply on as it arrives; return whether the client's connection stays open."""
    draft, client = call.draft, call.inbound.stream
    secret = call.upstream.secret.encode()
    headers = end_to_end((name, masked(value, secret)) for name, value in response.headers.raw_items())
    draft.status = response.status_code
    draft.reply_headers = recorded_headers(headers)
    body = body_of(call.head.method, response)
    if not body.has_end:
        headers.append((b"Connection", b"close"))
    await client.send(response_head(response.status_code, masked(bytes(response.reason), secret), headers))
    try:
        await connection.forward_body(body, client, draft.add_chunk, Masking(secret) if secret else None)
    except CutError as error:
        draft.finish(ExchangeEnd.CUT, str(error))
        return False
    draft.finish()
    return body.has_end and call.inbound.keeps_alive
