"""An HTTP proxy (CONNECT) that reads requests to providers at their own addresses, and passes other connections on."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import h11
from anyio import CancelScope, create_task_group, fail_after

from pinchbench.wire.http1 import LOST, Inbound
from pinchbench.wire.request_route import response_head
from pinchbench.wire.transport import connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.wire.certificates import Authority
    from pinchbench.wire.proxy import Proxy
    from pinchbench.wire.transport import TransportStream

CONNECT_LIMIT_S = 30.0
HANDSHAKE_LIMIT_S = 30.0
PIECE_BYTES = 64 * 1024
HTTPS_PORT = 443
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
        self, proxy: Proxy, authority: Authority, providers: dict[str, str], *, passes: Callable[[str], bool]
    ) -> None:
        """Serve clients.

        Args:
            proxy: Answers the requests to providers.
            authority: Has certificates for the hosts of `providers`.
            providers: The ids of providers by host.
            passes: Whether connections to other hosts are passed on for the client with this token.
        """
        self._proxy = proxy
        self._authority = authority
        self._providers = providers
        self._passes = passes

    async def serve(self, stream: TransportStream) -> None:
        """Connect a client with what it asks for, until either of them closes. Closes the connection in any case."""
        async with stream:
            try:
                head = await Inbound(stream).next_request()
                target = _target(head) if head is not None else None
                if target is None:
                    await _refuse(stream, BAD_REQUEST)
                elif not self._proxy.knows(target.token):
                    await _refuse(stream, PROXY_LOGIN)
                elif target.port == HTTPS_PORT and target.host in self._providers:
                    await self._read(stream, target)
                elif self._passes(target.token):
                    await _pass_on(stream, target)
                else:
                    await _refuse(stream, FORBIDDEN)
            except (h11.RemoteProtocolError, TimeoutError, *LOST):
                return

    async def _read(self, stream: TransportStream, target: Target) -> None:
        """End TLS, and answer the requests inside."""
        await stream.send(response_head(200, b"Connection established", ()))
        with fail_after(HANDSHAKE_LIMIT_S):
            inner = await stream.start_tls(self._authority.context(target.host))
        await self._proxy.serve(inner, token=target.token, provider=self._providers[target.host])


def _target(head: h11.Request) -> Target | None:
    host, _, port = head.target.decode("latin-1").rpartition(":")
    if head.method != b"CONNECT" or not host or not port.isdigit():
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


async def _pass_on(client: TransportStream, target: Target) -> None:
    try:
        with fail_after(CONNECT_LIMIT_S):
            server = await connect(target.host, target.port)
    except (OSError, TimeoutError):
        await _refuse(client, BAD_GATEWAY)
        return
    async with server, create_task_group() as group:
        await client.send(response_head(200, b"Connection established", ()))
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
