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
from pinchbench.wire.transport import NewConnections, connect
from pinchbench.wire.wire_messages import DestinationRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    import h11

    from pinchbench.wire.proxy import Proxy
    from pinchbench.wire.transport import TransportStream


VALID = timedelta(days=30)  # longer than any run
EARLY = timedelta(days=1)  # clocks that are wrong


class Authority:
    """Issues a certificate for a host. No key leaves this process unencrypted."""

    def __init__(self, host: str) -> None:
        """Make the keys and certificates."""
        self.host = host
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pinchbench-async, for one run")])
        self._certificate = self._issue_own()
        self.context = self._context(host)  # the settings of TLS for a server that stands in for the host

    @property
    def pem(self) -> bytes:
        """The authority's certificate, which clients have to trust."""
        return self._certificate.public_bytes(Encoding.PEM)

    def _issue_own(self) -> x509.Certificate:
        return (
            self._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def _context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)]), key)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        # OpenSSL's binding reads keys from files only, which others may read who are the same user.
        password = secrets.token_hex()
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode()))
        with tempfile.NamedTemporaryFile() as file:
            file.write(pem + certificate.public_bytes(Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name, password=password)
        return context

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - EARLY)
            .not_valid_after(now + VALID)
        )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


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
        self,
        proxy: Proxy,
        authority: Authority,
        *,
        refused: Callable[[DestinationRefused], None] | None = None,
    ) -> None:
        """Serve clients.

        Args:
            proxy: Answers the requests to the provider.
            authority: Has a certificate for the provider's host.
            refused: Called with each other host, to which connections are then refused; None to pass them on.
        """
        self._proxy = proxy
        self._authority = authority
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
            if target.port == HTTPS_PORT and target.host == self._authority.host:
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
            inner = await stream.start_tls(self._authority.context)
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
