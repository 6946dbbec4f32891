"""The tunnel: requests to providers at their own hosts are read, and other connections are passed on."""

import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio import connect_tcp, create_task_group, create_tcp_listener, fail_after
from anyio.abc import ByteReceiveStream, SocketAttribute, SocketStream
from anyio.lowlevel import checkpoint

from pinchbench.wire.exchange import Exchange, ExchangeEnd
from pinchbench.wire.proxy import Proxy
from pinchbench.wire.transport import TransportStream, serve_clients
from pinchbench.wire.tunnel import Certificate, Tunnel
from pinchbench.wire.wire_messages import Configure, DestinationRefused, Provider
from scripted_provider import OK_HEAD, Asked, always, chunk, reply, scripted_provider
from wire.kept import Kept

KEY = "sk-planted-0123456789abcdef"
TOKEN = "slot-token-0123456789"
HOST = "api.provider.example"
LIMIT_S = 60


class RunningTunnel:
    """A tunnel to a provider, whose host does not exist."""

    def __init__(self, proxy: Proxy, port: int, certificate: Certificate, kept: Kept) -> None:
        self.port = port
        self._proxy = proxy
        self._certificate = certificate
        self._kept = kept

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self._certificate.pem.decode())

    def client(self, token: str = TOKEN) -> httpx2.AsyncClient:
        proxy = f"http://slot:{token}@127.0.0.1:{self.port}"
        return httpx2.AsyncClient(proxy=proxy, verify=self.trusting(), trust_env=False, timeout=LIMIT_S)

    async def recorded(self) -> list[Exchange]:
        with fail_after(LIMIT_S):
            await self._proxy.release(TOKEN)
        return self._kept.exchanges


@asynccontextmanager
async def running_tunnel(
    base_url: str, *, refused: list[DestinationRefused] | None = None
) -> AsyncGenerator[RunningTunnel]:
    provider = Provider(id="own", base_url=base_url, key=KEY, host=HOST)
    with fail_after(LIMIT_S):
        async with await create_tcp_listener(local_host="127.0.0.1") as listener, create_task_group() as group:
            proxy = Proxy(Configure(provider=provider, folder=""), report=lambda _: None, group=group)
            kept = Kept(KEY, TOKEN)
            proxy.lease(TOKEN, trial="task/1", recorder=kept)
            certificate = Certificate(HOST)
            tunnel = Tunnel(proxy, certificate, refused=refused.append if refused is not None else None)
            group.start_soon(serve_clients, listener, tunnel.serve)
            yield RunningTunnel(proxy, listener.extra(SocketAttribute.local_port), certificate, kept)
            for token in proxy.tokens:
                await proxy.release(token)
            await proxy.close()
            group.cancel_scope.cancel()


async def test_a_request_to_the_host_of_a_provider_is_relayed_with_its_key_and_recorded_without() -> None:
    async def answer(_: Asked, stream: SocketStream) -> bool:
        await stream.send(OK_HEAD + chunk(b"data: 1\n\n"))
        await stream.send(chunk(b"data: 2\n\n") + b"0\r\n\r\n")
        return True

    async with scripted_provider(answer) as provider, running_tunnel(provider.url) as tunnel:
        async with tunnel.client() as http:
            headers = {"x-api-key": TOKEN, "anthropic-beta": "kept-as-sent"}
            first = await http.post(f"https://{HOST}/v1/messages?beta=true", content=b'{"a": 1}', headers=headers)
            second = await http.get(f"https://{HOST}/v1/models", headers=headers)
        exchanges = await tunnel.recorded()

    assert [first.text, second.text] == ["data: 1\n\ndata: 2\n\n"] * 2
    asked = provider.asked[0]
    assert (asked.method, asked.target, asked.body) == ("POST", "/v1/messages?beta=true", b'{"a": 1}')
    assert (asked.header("x-api-key"), asked.header("anthropic-beta")) == (KEY, "kept-as-sent")
    assert [(one.path, one.request) for one in exchanges] == [
        ("/v1/messages?beta=true", b'{"a": 1}'),
        ("/v1/models", b""),
    ]
    assert KEY not in repr(exchanges)
    assert TOKEN not in repr(exchanges)


async def _all_of(stream: ByteReceiveStream) -> bytes:
    said = b""
    try:
        while True:
            said += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return said


def _connect(target: str) -> bytes:
    """Return the head with which a client asks to be connected."""
    login = b64encode(f"slot:{TOKEN}".encode()).decode()
    return f"CONNECT {target} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic {login}\r\n\r\n".encode()


async def _say_path(asked: Asked, stream: SocketStream) -> bool:
    await stream.send(reply(asked.target.encode()))
    return False


@pytest.mark.parametrize("is_early", [False, True], ids=["once connected", "before it is connected"])
async def test_another_host_is_connected_unread_whenever_the_client_begins_to_send(*, is_early: bool) -> None:
    request = b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
    async with (
        scripted_provider(_say_path) as server,
        running_tunnel("http://127.0.0.1:9") as tunnel,
        await connect_tcp("127.0.0.1", tunnel.port) as stream,
    ):
        await stream.send(_connect(f"127.0.0.1:{server.port}") + request * is_early)
        if not is_early:
            assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
            await stream.send(request)
        said = await _all_of(stream)  # it closes when the server does
        assert said.endswith(b"/hello")
        assert await tunnel.recorded() == []


async def test_a_handshake_that_begins_before_the_tunnel_expects_it_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    has_begun, flush = anyio.Event(), TransportStream.flush

    async def flush_late(stream: TransportStream) -> None:
        await flush(stream)
        await has_begun.wait()

    monkeypatch.setattr(TransportStream, "flush", flush_late)
    async with running_tunnel("http://127.0.0.1:9") as tunnel, await connect_tcp("127.0.0.1", tunnel.port) as stream:
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = tunnel.trusting().wrap_bio(received, sent, server_hostname=HOST)
        await stream.send(_connect(f"{HOST}:443"))
        assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
        with pytest.raises(ssl.SSLWantReadError):
            tls.do_handshake()
        await stream.send(sent.read())
        for _ in range(10):  # the loop looks ten times for what has arrived
            await checkpoint()
        has_begun.set()
        received.write(await stream.receive())
        tls.do_handshake()
        assert tls.version() == "TLSv1.3"


@pytest.mark.parametrize("target", ["127.0.0.1:65536", f"127.0.0.1:{'9' * 5000}", "127.0.0.1", f"{'a' * 300}:443"])
async def test_a_target_that_does_not_exist_ends_only_its_own_connection(target: str) -> None:
    async with scripted_provider(_say_path) as provider, running_tunnel(provider.url) as tunnel:
        async with await connect_tcp("127.0.0.1", tunnel.port) as stream:
            await stream.send(_connect(target))
            assert (await _all_of(stream)).split(b" ")[1] in {b"400", b"502"}
        async with tunnel.client() as http:
            assert (await http.get(f"https://{HOST}/still/models")).text == "/still/models"


async def test_connections_of_a_home_beyond_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinchbench.wire.tunnel.MAX_CONNECTIONS", 1)
    async with scripted_provider(_say_path) as server, running_tunnel("http://127.0.0.1:9") as tunnel:
        async with await connect_tcp("127.0.0.1", tunnel.port) as first:
            await first.send(_connect(f"127.0.0.1:{server.port}"))
            assert (await first.receive()).startswith(b"HTTP/1.1 200 ")
            async with await connect_tcp("127.0.0.1", tunnel.port) as second:
                await second.send(_connect(f"127.0.0.1:{server.port}"))
                assert (await _all_of(second)).startswith(b"HTTP/1.1 429 ")
        while not await _is_connected(tunnel, server.port):  # until the first one's end has been seen
            pass


async def _is_connected(tunnel: RunningTunnel, port: int) -> bool:
    async with await connect_tcp("127.0.0.1", tunnel.port) as stream:
        await stream.send(_connect(f"127.0.0.1:{port}"))
        return (await stream.receive()).startswith(b"HTTP/1.1 200 ")


async def test_a_reply_that_the_provider_cuts_is_cut_for_the_client_and_recorded_as_cut() -> None:
    async with (
        scripted_provider(always(OK_HEAD + chunk(b"data: 1\n\n"), closes=True)) as provider,
        running_tunnel(provider.url) as tunnel,
    ):
        async with tunnel.client() as http:
            with pytest.raises(httpx2.RemoteProtocolError):
                await http.post(f"https://{HOST}/v1/messages", content=b"{}")
        [exchange] = await tunnel.recorded()
    assert (exchange.end, exchange.reply) == (ExchangeEnd.CUT, b"data: 1\n\n")


def test_a_key_of_a_certificate_is_never_readable_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[bytes] = []
    load = ssl.SSLContext.load_cert_chain

    def noting(context: ssl.SSLContext, name: str, **options: Any) -> None:
        files.append(Path(name).read_bytes())
        load(context, name, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", noting)
    Certificate(HOST)
    [content] = files
    assert b"ENCRYPTED PRIVATE KEY" in content


async def test_a_host_that_is_no_provider_is_refused_and_named_where_nothing_is_passed_on() -> None:
    refused: list[DestinationRefused] = []
    async with running_tunnel("http://127.0.0.1:9", refused=refused) as tunnel, tunnel.client() as http:
        with pytest.raises(httpx2.ProxyError, match="403"):
            await http.get("https://elsewhere.example/")
    assert refused == [DestinationRefused(trial="task/1", host="elsewhere.example")]


async def test_a_client_that_does_not_trust_the_certificate_ends_only_its_own_connection() -> None:
    async with scripted_provider(always(reply(b"ok"))) as provider, running_tunnel(provider.url) as tunnel:
        proxy = f"http://slot:{TOKEN}@127.0.0.1:{tunnel.port}"
        async with httpx2.AsyncClient(proxy=proxy, trust_env=False, timeout=LIMIT_S) as distrusting:
            with pytest.raises(httpx2.ConnectError):
                await distrusting.get(f"https://{HOST}/")
        async with tunnel.client() as http:
            assert (await http.get(f"https://{HOST}/models")).text == "ok"
