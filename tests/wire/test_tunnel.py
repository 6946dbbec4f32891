"""The tunnel: requests to providers at their own hosts are read, and other connections are passed on."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from anyio import connect_tcp, create_task_group, create_tcp_listener, fail_after
from anyio.abc import SocketAttribute

from pinchbench.wire.certificates import Authority
from pinchbench.wire.messages import Provider, RetrySettings
from pinchbench.wire.proxy import Proxy
from pinchbench.wire.transport import serve_clients
from pinchbench.wire.tunnel import Tunnel
from scripted_provider import OK_HEAD, Asked, chunk, reply, scripted_provider
from wire.kept import Kept

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.abc import SocketStream

    from pinchbench.wire.exchange import Exchange

pytestmark = pytest.mark.anyio

KEY = "sk-planted-0123456789abcdef"
TOKEN = "slot-token-0123456789"
HOST = "api.provider.example"
LIMIT_S = 20


class RunningTunnel:
    """A tunnel to a provider, whose host does not exist."""

    def __init__(self, proxy: Proxy, port: int, authority: Authority, kept: Kept) -> None:
        self.port = port
        self._proxy = proxy
        self._authority = authority
        self._kept = kept

    def client(self, token: str = TOKEN) -> httpx2.AsyncClient:
        trusting = ssl.create_default_context(cadata=self._authority.pem.decode())
        proxy = f"http://slot:{token}@127.0.0.1:{self.port}"
        return httpx2.AsyncClient(proxy=proxy, verify=trusting, trust_env=False, timeout=LIMIT_S)

    async def recorded(self) -> list[Exchange]:
        with fail_after(LIMIT_S):
            await self._proxy.release(TOKEN)
        return self._kept.exchanges


@asynccontextmanager
async def running_tunnel(base_url: str, *, passes: bool = True) -> AsyncGenerator[RunningTunnel]:
    provider = Provider(id="own", base_url=base_url, key=KEY, host=HOST)
    async with await create_tcp_listener(local_host="127.0.0.1") as listener, create_task_group() as group:
        proxy = Proxy([provider], retries=RetrySettings(), report=lambda _: None, group=group)
        kept = Kept()
        proxy.lease(TOKEN, trial="task/1", recorder=kept)
        authority = Authority([HOST])
        tunnel = Tunnel(proxy, authority, {HOST: "own"}, passes=lambda _: passes)
        group.start_soon(serve_clients, listener, tunnel.serve)
        yield RunningTunnel(proxy, listener.extra(SocketAttribute.local_port), authority, kept)
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


async def _all_of(stream: SocketStream) -> bytes:
    said = b""
    try:
        while True:
            said += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return said


async def test_another_host_is_connected_unread() -> None:
    async def answer(asked: Asked, stream: SocketStream) -> bool:
        await stream.send(reply(asked.target.encode()))
        return False

    async with (
        scripted_provider(answer) as server,
        running_tunnel("http://127.0.0.1:9") as tunnel,
        await connect_tcp("127.0.0.1", tunnel.port) as stream,
    ):
        login = "c2xvdDpzbG90LXRva2VuLTAxMjM0NTY3ODk="  # slot:TOKEN
        head = f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic {login}\r\n\r\n"
        with fail_after(LIMIT_S):
            await stream.send(head.encode())
            assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
            await stream.send(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
            said = await _all_of(stream)  # it closes when the server does
        assert said.endswith(b"/hello")
        assert await tunnel.recorded() == []


async def test_a_host_that_is_no_provider_is_refused_where_nothing_is_passed_on() -> None:
    async with running_tunnel("http://127.0.0.1:9", passes=False) as tunnel, tunnel.client() as http:
        with pytest.raises(httpx2.ProxyError, match="403"):
            await http.get("https://elsewhere.example/")


@pytest.mark.parametrize("token", ["", "another-token"])
async def test_without_the_token_of_a_trial_nothing_is_connected(token: str) -> None:
    async with running_tunnel("http://127.0.0.1:9") as tunnel, tunnel.client(token) as http:
        with pytest.raises(httpx2.ProxyError, match="407"):
            await http.get(f"https://{HOST}/")


async def test_a_host_that_can_not_be_reached_is_a_bad_gateway() -> None:
    async with running_tunnel("http://127.0.0.1:9") as tunnel, tunnel.client() as http:
        with pytest.raises(httpx2.ProxyError, match="502"):
            await http.get("https://127.0.0.1:1/")


async def test_a_client_that_does_not_trust_the_authority_ends_only_its_own_connection() -> None:
    async def answer(_: Asked, stream: SocketStream) -> bool:
        await stream.send(reply(b"ok"))
        return True

    async with scripted_provider(answer) as provider, running_tunnel(provider.url) as tunnel:
        proxy = f"http://slot:{TOKEN}@127.0.0.1:{tunnel.port}"
        async with httpx2.AsyncClient(proxy=proxy, trust_env=False, timeout=LIMIT_S) as distrusting:
            with pytest.raises(httpx2.ConnectError):
                await distrusting.get(f"https://{HOST}/")
        async with tunnel.client() as http:
            assert (await http.get(f"https://{HOST}/")).text == "ok"
