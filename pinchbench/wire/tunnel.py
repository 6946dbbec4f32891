"""An HTTP proxy (CONNECT) that reads requests to providers at their own addresses, and passes other connections on."""

from __future__ import annotations

import base64
import binascii
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import h11
from anyio import CancelScope, create_task_group, fail_after

from pinchbench.wire.http1 import LOST, Inbound
from pinchbench.wire.messages import DestinationRefused
from pinchbench.wire.request_route import response_head
from pinchbench.wire.transport import connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.wire.certificates import Authority
    from pinchbench.wire.proxy import Proxy
    from pinchbench.wire.transport import TransportStream

LOG = logging.getLogger(__name__)
# Agents' package managers open a few dozen. More would use up the files that the wire may open, and so end it.
MAX_CONNECTIONS = 1024
CONNECT_LIMIT_S = 30.0
HANDSHAKE_LIMIT_S = 30.0
PIECE_BYTES = 64 * 1024
HTTPS_PORT, LAST_PORT = 443, 65535
BAD_REQUEST, FORBIDDEN, PROXY_LOGIN, BAD_GATEWAY = 400, 403, 407, 502
REASONS = {
    BAD_REQUEST: b"Bad Request",
    FORBIDDEN: b"Forbidden",
    PROXY_LOGIN: b"Proxy Authentication Required",
    BAD_GATEWAY: b"Bad Gateway",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What a client asks to be connected with, and the token with which it logs in."""

    host: str
    port: int
    token: str


class Tunnel:
    """Serves the connections of clients that use it as their proxy for HTTPS."""

    def __init__(
        self,
        proxy: Proxy,
        authority: Authority,
        providers: dict[str, str],
        *,
        refused: Callable[[DestinationRefused], None] | None = None,
    ) -> None:
        """Serve clients.

        Args:
            proxy: Answers the requests to providers.
            authority: Has certificates for the hosts of `providers`.
            providers: The ids of providers by host.
            refused: Called with each other host, to which connections are then refused; None to pass them on.
        """
        self._proxy = proxy
        self._authority = authority
        self._providers = providers
        self._refused = refused
        self._connections = 0

    async def serve(self, stream: TransportStream) -> None:
        """Connect a client with what it asks for, until either of them closes. Closes the connection in any case."""
        async with stream:
            if self._connections >= MAX_CONNECTIONS:
                return
            self._connections += 1
            try:
                await self._connect(stream)
            except (h11.RemoteProtocolError, TimeoutError, *LOST):
                return
            except Exception:
                LOG.exception("A connection was closed because of an error in the tunnel.")
            finally:
                self._connections -= 1

    async def _connect(self, stream: TransportStream) -> None:
        inbound = Inbound(stream)
        head = await inbound.next_request()
        target = _target(head) if head is not None else None
        if target is None:
            await _refuse(stream, BAD_REQUEST)
        elif not self._proxy.knows(target.token):
            await _refuse(stream, PROXY_LOGIN)
        elif target.port == HTTPS_PORT and target.host in self._providers:
            await self._read(stream, target, early=inbound.early)
        elif self._refused is None:
            await _pass_on(stream, target, early=inbound.early)
        else:
            self._refused(DestinationRefused(trial=self._proxy.trial_of(target.token), host=target.host))
            await _refuse(stream, FORBIDDEN)

    async def _read(self, stream: TransportStream, target: Target, *, early: bytes) -> None:
        """End TLS, and answer the requests inside."""
        if early:  # asyncio can not take what has been received already for the beginning of TLS
            await _refuse(stream, BAD_REQUEST)
            return
        stream.pause_reading()  # until TLS reads: a client may begin with it at once
        await stream.send(response_head(200, b"Connection established", ()))
        with fail_after(HANDSHAKE_LIMIT_S):
            inner = await stream.start_tls(self._authority.context(target.host))
        await self._proxy.serve(inner, token=target.token, provider=self._providers[target.host])


def _target(head: h11.Request) -> Target | None:
    host, _, port = head.target.decode("latin-1").rpartition(":")
    is_port = len(port) <= len(str(LAST_PORT)) and port.isdecimal() and int(port) <= LAST_PORT
    if head.method != b"CONNECT" or not host or not is_port:
        return None
    return Target(host=host.strip("[]").lower(), port=int(port), token=_token(head))


def _token(head: h11.Request) -> str:
    """Return the password with which a client logs in; empty without."""
    said = next((value for name, value in head.headers if name == b"proxy-authorization"), b"")
    scheme, _, text = said.partition(b" ")
    if scheme.lower() != b"basic":
        return ""
    try:
        return base64.b64decode(text, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


async def _refuse(stream: TransportStream, status: int) -> None:
    login = [(b"Proxy-Authenticate", b'Basic realm="wire"')] if status == PROXY_LOGIN else []
    await stream.send(response_head(status, REASONS[status], [*login, (b"Content-Length", b"0")]))


async def _pass_on(client: TransportStream, target: Target, *, early: bytes) -> None:
    try:
        with fail_after(CONNECT_LIMIT_S):
            server = await connect(target.host, target.port)
    except (OSError, TimeoutError, UnicodeError):  # the last for what is no name of a host
        await _refuse(client, BAD_GATEWAY)
        return
    async with server, create_task_group() as group:
        await client.send(response_head(200, b"Connection established", ()))
        if early:
            await server.send(early)
        group.start_soon(_copy, client, server, group.cancel_scope)
        group.start_soon(_copy, server, client, group.cancel_scope)


async def _copy(source: TransportStream, sink: TransportStream, scope: CancelScope) -> None:
    """Copy bytes until the source ends, and say so; an error ends the connection in both directions."""
    try:
        while True:
            await sink.send(await source.receive(PIECE_BYTES))
    except anyio.EndOfStream:
        try:
            await sink.send_eof()
        except (*LOST, OSError):
            scope.cancel()
    except LOST:
        scope.cancel()
