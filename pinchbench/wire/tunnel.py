"""An HTTP proxy (CONNECT) that reads requests to the provider, with its own certificate, and passes on the rest."""

from __future__ import annotations

import base64
import binascii
import secrets
import ssl
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope, create_task_group, fail_after
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from pinchbench.wire.http1 import LOST, Inbound, served
from pinchbench.wire.request_route import response_head
from pinchbench.wire.transport import NewConnections, TransportStream, connect
from pinchbench.wire.wire_messages import DestinationRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    import h11

    from pinchbench.wire.proxy import Proxy


VALID = timedelta(days=30)  # longer than any run
EARLY = timedelta(days=1)  # clocks that are wrong


class Certificate:
    """A self-signed certificate for one host: clients that trust it trust nothing else.

    Attributes:
        host: the host.
        pem: the certificate, without its key.
        context: the settings of TLS for a server that stands in for the host.
    """

    def __init__(self, host: str) -> None:
        """Create it. Its key does not leave this process unencrypted."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pinchbench-async, for one run")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - EARLY)
            .not_valid_after(now + VALID)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(key, hashes.SHA256())
        )
        self.host = host
        self.pem = certificate.public_bytes(Encoding.PEM)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.set_alpn_protocols(["http/1.1"])
        # OpenSSL's binding reads keys from files only, which others may read who are the same user.
        password = secrets.token_hex()
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode()))
        with tempfile.NamedTemporaryFile() as file:
            file.write(pem + self.pem)
            file.flush()
            self.context.load_cert_chain(file.name, password=password)


# Of each home or gateway; more would use up the files that the wire may open.
MAX_CONNECTIONS = 256  # agents' package managers open a few dozen
HEAD_LIMIT_S = 30.0
CONNECT_LIMIT_S = 30.0
HANDSHAKE_LIMIT_S = 30.0
PIECE_BYTES = 64 * 1024
HTTPS_PORT, LAST_PORT = 443, 65535


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What a client asks to be connected with, and the token with which it logs in."""

    host: str
    port: int
    token: str


class Tunnel:
    """Serves the connections of clients that use it as their proxy for HTTPS."""

    def __init__(
        self, proxy: Proxy, certificate: Certificate, *, refused: Callable[[DestinationRefused], None] | None = None
    ) -> None:
        """Serve clients.

        Args:
            proxy: Answers the requests to the provider.
            certificate: That of the provider's host.
            refused: Called with each other host, to which connections are then refused; None to pass them on.
        """
        self._proxy = proxy
        self._certificate = certificate
        self._refused = refused
        self._new = NewConnections()
        self._connections = Counter[str]()  # by token

    async def serve(self, stream: TransportStream) -> None:
        """Connect a client with what it asks for, until either of them closes. Closes the connection in any case."""
        async with stream:
            with served(stream, self._new):
                inbound = Inbound(stream)
                with fail_after(HEAD_LIMIT_S):
                    head = await inbound.next_request()
                self._new.discard(stream)
                target = _target(head) if head is not None else None
                if target is None:
                    await _refuse(stream, HTTPStatus.BAD_REQUEST)
                elif not self._proxy.trial_of(target.token):
                    self._proxy.name_ended(target.token, stream)
                    await _refuse(stream, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED)
                elif self._connections[target.token] >= MAX_CONNECTIONS:
                    await _refuse(stream, HTTPStatus.TOO_MANY_REQUESTS)
                else:
                    await self._connect(stream, target, early=inbound.early)

    async def _connect(self, stream: TransportStream, target: Target, *, early: bytes) -> None:
        self._connections[target.token] += 1
        try:
            if target.port == HTTPS_PORT and target.host == self._certificate.host:
                await self._read(stream, target, early=early)
            elif self._refused is None:
                await _pass_on(stream, target, early=early)
            else:
                self._refused(DestinationRefused(trial=self._proxy.trial_of(target.token), host=target.host))
                await _refuse(stream, HTTPStatus.FORBIDDEN)
        finally:
            self._connections[target.token] -= 1

    async def _read(self, stream: TransportStream, target: Target, *, early: bytes) -> None:
        """End TLS, and answer the requests inside."""
        if early:  # asyncio can not take what has been received already for the beginning of TLS
            await _refuse(stream, HTTPStatus.BAD_REQUEST)
            return
        stream.pause_reading()  # until TLS reads: a client may begin with it at once
        await stream.send(response_head(200, b"Connection established", ()))
        with fail_after(HANDSHAKE_LIMIT_S):
            inner = await stream.start_tls(self._certificate.context)
        await self._proxy.serve(inner, token=target.token)


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


async def _refuse(stream: TransportStream, status: HTTPStatus) -> None:
    login = (
        [(b"Proxy-Authenticate", b'Basic realm="wire"')] if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED else []
    )
    await stream.send(response_head(status, status.phrase.encode(), [*login, (b"Content-Length", b"0")]))


async def _pass_on(client: TransportStream, target: Target, *, early: bytes) -> None:
    try:
        with fail_after(CONNECT_LIMIT_S):
            server = await connect(target.host, target.port)
    except (OSError, TimeoutError, UnicodeError):  # the last for what is no name of a host
        await _refuse(client, HTTPStatus.BAD_GATEWAY)
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
