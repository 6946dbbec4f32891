"""Relays requests of trials to providers, unchanged but for the key, and records them."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio
import h11
from anyio import CancelScope, create_memory_object_stream, fail_after, to_thread

from pinchbench.wire.allow_list import NotAllowedError, canonical_target, named_models, require_endpoint, require_models
from pinchbench.wire.exchange import Draft, ExchangeEnd
from pinchbench.wire.forward import Call, Upstream, relay
from pinchbench.wire.http1 import LOST, Inbound, served
from pinchbench.wire.lease import TrialLease
from pinchbench.wire.playback import Playback, play
from pinchbench.wire.request_route import parse_route, recorded_headers, request_headers
from pinchbench.wire.transport import NewConnections, TransportStream
from pinchbench.wire.wire_messages import CallUsed, Held, LimitExceeded, PaceChanged, RequestRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from anyio.abc import TaskGroup
    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.wire.recording import RecordingWriter
    from pinchbench.wire.wire_messages import Configure, Provider, WireEvent

MAX_TRIAL_CONNECTIONS = 128  # OpenClaw has a handful
HEAD_LIMIT_S = 30.0  # for the head of a connection's first request
GIB = 1024**3
MAX_LINE_BYTES = GIB  # of a trial's recording without its compression, which readers have to hold
TRIAL_OVER = "the trial ended first"
NOT_OPENCLAW = "The wire answers OpenClaw's own process alone."
NO_TRIAL = "No trial has this address now."


class Proxy:
    """Serves the connections of clients. Leases, and what they record, live in a task group of the caller's."""

    def __init__(self, configure: Configure, *, report: Callable[[WireEvent], None], group: TaskGroup) -> None:
        """`report` must not block. Raises ValueError if the provider's base URL is not one of HTTP."""
        provider = configure.provider
        self._configure = configure
        self._report = report
        self._group = group
        self._leases: dict[str, TrialLease] = {}
        self._ended: dict[str, str] = {}  # trials by the tokens that they had
        self._new = NewConnections()
        self._upstream = Upstream(provider, lambda window: report(PaceChanged(provider=provider.id, window=window)))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens with a lease."""
        return tuple(self._leases)

    def lease(self, token: str, *, trial: str, recorder: RecordingWriter, playback: Playback | None = None) -> None:
        """Let a token's requests pass. Raises ValueError if it has a lease already."""
        if token in self._leases:
            raise ValueError("the token has a lease already")
        # Bounded by the allowance of the drafts in it.
        send, receive = create_memory_object_stream[Draft](float("inf"))
        lease = TrialLease(token=token, trial=trial, recorder=recorder, playback=playback, drafts=send)
        self._leases[token] = lease
        self._group.start_soon(self._write, lease, receive)

    def set_turn(self, token: str, turn: int) -> None:
        """Count requests for another turn from now on. Nothing happens if the token has no lease."""
        if lease := self._leases.get(token):
            lease.begin_turn(turn)

    async def release(self, token: str) -> str:
        """Stop answering a token, cut its exchanges, and wait until they are recorded; return what went wrong."""
        lease = self._leases.pop(token, None)
        if lease is None:
            return "the token had no lease"
        self._ended[token] = lease.trial
        if lease.open:
            lease.ended = anyio.Event()
            for scope in lease.open:
                scope.cancel()
            await lease.ended.wait()
        lease.drafts.close()
        await lease.written.wait()
        return lease.problem

    async def close(self) -> None:
        """Close idle connections to the provider."""
        await self._upstream.pool.close()

    async def _write(self, lease: TrialLease, drafts: MemoryObjectReceiveStream[Draft]) -> None:
        with drafts, lease.drafts:
            async for draft in drafts:
                try:
                    used, is_estimate = await to_thread.run_sync(lease.record, draft, self._configure.reports_usage)
                    if used is not None:
                        self._report(CallUsed(trial=lease.trial, usage=used, is_estimate=is_estimate))
                    self._limit_recording(lease)
                except OSError as error:
                    lease.problem = f"an exchange could not be recorded: {error}"
                finally:
                    draft.discard()
        try:
            await to_thread.run_sync(lease.recorder.close)
        except OSError as error:
            lease.problem = lease.problem or f"the recording could not be closed: {error}"
        lease.written.set()

    def trial_of(self, token: str) -> str:
        """Return the name of the running trial that has this token; empty if none does."""
        lease = self._leases.get(token)
        return lease.trial if lease is not None else ""

    async def serve(self, stream: TransportStream, *, token: str = "") -> None:
        """Answer a client until it, or its provider, closes the connection. Closes it in any case.

        With a token, the client believes to speak to the provider itself, and its requests have no address of a slot.
        """
        async with stream:
            try:
                with served(stream, self._new):
                    inbound = Inbound(stream)
                    with fail_after(HEAD_LIMIT_S):
                        head = await inbound.next_request()
                    while head is not None and await self._answer(inbound, head, token=token):
                        head = await inbound.next_request()
            finally:
                for lease in self._leases.values():
                    lease.connections.discard(stream)

    async def _answer(self, inbound: Inbound, head: h11.Request, *, token: str) -> bool:
        """Answer a request; return whether the connection stays open."""
        target = head.target.decode("latin-1")
        token, rest = (token, target) if token else parse_route(target)
        lease = self._leases.get(token)
        if lease is None:
            self.name_ended(token, inbound.stream)
            return await inbound.refuse(HTTPStatus.NOT_FOUND, NO_TRIAL)
        if head.http_version < b"1.1":
            return await inbound.refuse(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "The wire speaks HTTP/1.1 only.")
        draft = Draft(lease.allowance, provider=self._upstream.provider.id, method=head.method.decode("latin-1"))
        is_own = await self._owns_connection(lease, inbound.stream)
        if self._leases.get(lease.token) is not lease:  # it may have been released meanwhile
            return await inbound.refuse(HTTPStatus.NOT_FOUND, NO_TRIAL)
        if not is_own:
            return await inbound.refuse(HTTPStatus.FORBIDDEN, NOT_OPENCLAW)
        return await self._exchange(inbound, head, rest or "/", lease, draft)

    def name_ended(self, token: str, stream: TransportStream) -> None:
        """Report a request with the token of a trial that has ended, for the trial that makes it if that is known."""
        if (trial := self._ended.get(token)) is None:
            return
        asking = ""
        with suppress(OSError):  # it has been closed
            asking = next((one.trial for one in self._leases.values() if one.knows(stream.socket)), "")
        self._report(RequestRefused(trial=asking, what=f"the address of {trial}, which has ended"))

    async def _exchange(self, inbound: Inbound, head: h11.Request, rest: str, lease: TrialLease, draft: Draft) -> bool:
        upstream, provider, token = self._upstream, self._upstream.provider, lease.token
        if lease.exceeded:
            return await inbound.refuse(HTTPStatus.FORBIDDEN, f"The trial has used {lease.exceeded}.")
        try:
            rest = canonical_target(rest)
            require_endpoint(head.method.decode("latin-1"), rest, provider.api)
        except NotAllowedError as error:
            return await self._forbid(inbound, lease, error)
        lease.exchanges += 1
        exceed = partial(self._exceed, lease)
        draft.assign(number=lease.exchanges, trial=lease.trial, turn=lease.turn, exceed=exceed)
        target = upstream.origin.path + rest
        draft.path = target
        headers = request_headers(head.headers.raw_items(), origin=upstream.origin, token=token, key=provider.key)
        draft.request_headers = recorded_headers(headers)
        stays_open = False
        with self._ending(lease, draft):
            try:
                if not await inbound.read_rest(draft.add_request):
                    draft.finish(ExchangeEnd.CLIENT_LEFT, f"the trial used {lease.exceeded}")
                    return False
                if lease.playback is not None:
                    choice = await lease.playback.choose(draft)
                    draft.divergence = choice.divergence
                    if not choice.is_live:
                        return await play(choice, inbound, draft)
                _require_model(lease, draft, rest, provider)
                if provider.model:
                    headers = draft.ask_for(provider.model, headers)
                call = Call(
                    inbound=inbound,
                    head=head,
                    target=target.encode("latin-1"),
                    headers=headers,
                    lease=lease,
                    upstream=upstream,
                    draft=draft,
                    report_held=partial(self._report_held, lease),
                )
                stays_open = await relay(call)
            except NotAllowedError as error:
                draft.is_refused = True
                return await self._forbid(inbound, lease, error)
            except (h11.RemoteProtocolError, *LOST):
                draft.finish(ExchangeEnd.CLIENT_LEFT, "the client closed the connection")
        return stays_open

    async def _forbid(self, inbound: Inbound, lease: TrialLease, error: NotAllowedError) -> bool:
        """Refuse a request that is not for the run's model, and report it if OpenClaw does not ask so by itself."""
        if error.named:
            self._report(RequestRefused(trial=lease.trial, what=error.named))
        return await inbound.refuse(HTTPStatus.FORBIDDEN, str(error))

    @contextmanager
    def _ending(self, lease: TrialLease, draft: Draft) -> Generator[None]:
        """Hand the exchange over to the recording at the end of the block, however it ends."""
        with CancelScope() as scope:
            lease.open.add(scope)
            self._report_held(lease)
            try:
                yield
            except anyio.get_cancelled_exc_class():
                draft.finish(
                    ExchangeEnd.CLIENT_LEFT, f"the trial used {lease.exceeded}" if lease.exceeded else TRIAL_OVER
                )
                raise
            finally:
                draft.finish(ExchangeEnd.CUT, "an error in the proxy ended it")  # unless it has ended already
                lease.open.discard(scope)
                self._report_held(lease)
                if draft.is_refused:
                    draft.discard()
                else:
                    if failure := draft.failure:
                        self._report(failure)
                    lease.drafts.send_nowait(draft)
                if not lease.open and lease.ended is not None:
                    lease.ended.set()

    async def _owns_connection(self, lease: TrialLease, stream: TransportStream) -> bool:
        """Whether a connection is the trial's; count it then, and report it if it is another process's."""
        if stream in lease.connections:
            return True
        try:
            foreign = await lease.foreign_client(stream.socket)
        except OSError:  # it has been closed
            return False
        if foreign:
            self._report(RequestRefused(trial=lease.trial, what=f"a connection by {foreign}"))
            return False
        self._new.discard(stream)
        lease.connections.add(stream)
        if len(lease.connections) > MAX_TRIAL_CONNECTIONS:
            self._exceed(lease, f"more than {MAX_TRIAL_CONNECTIONS} connections at a time")
        return True

    def _limit_recording(self, lease: TrialLease) -> None:
        limit, size = self._configure.max_recording_bytes, lease.recorder.size_bytes
        if limit is not None and size > limit:
            self._exceed(
                lease, f"{size / GIB:.3g} GiB of disk space for its requests; the limit is {limit / GIB:.3g} GiB"
            )
        if lease.recorder.line_bytes > MAX_LINE_BYTES:
            self._exceed(lease, f"more than {MAX_LINE_BYTES / GIB:.3g} GiB of requests and replies")

    def _exceed(self, lease: TrialLease, used: str) -> None:
        """Cut the exchanges of a trial that has used too much, and answer it no more. Others are not affected."""
        if not lease.exceeded:
            lease.exceeded = used
            self._report(LimitExceeded(trial=lease.trial, used=used))
            for scope in lease.open:
                scope.cancel()

    def _report_held(self, lease: TrialLease) -> None:
        """Report when a trial begins or ceases to wait for nothing but its turn."""
        is_held = 0 < lease.waiting == len(lease.open)
        if is_held is not lease.is_held:
            lease.is_held = is_held
            self._report(Held(trial=lease.trial, is_held=is_held))


def _require_model(lease: TrialLease, draft: Draft, target: str, provider: Provider) -> None:
    """Raise NotAllowedError unless a request is for the run's model.

    That is the configured one, or the one that the trial's first request names, which OpenClaw sends before the agent
    can do anything: it may have a name of its own for the model.
    """
    named, has_tools = named_models(target, b"".join(draft.request), draft.request_headers)
    if named and not lease.model:
        lease.model = named[0]
    require_models(named, (lease.model, provider.serves), has_tools=has_tools)
