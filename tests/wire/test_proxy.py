"""The proxy relays requests and replies unchanged, and records them."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
import httpx2
import pytest
from anyio import connect_tcp, create_task_group, create_tcp_listener, fail_after
from anyio.abc import SocketAttribute, SocketStream

from fakes import until
from pinchbench.wire.exchange import Exchange, ExchangeEnd
from pinchbench.wire.lease import TrialLease
from pinchbench.wire.proxy import Proxy
from pinchbench.wire.transport import serve_clients
from pinchbench.wire.wire_messages import (
    CallFailed,
    CallUsed,
    Configure,
    Held,
    LimitExceeded,
    PaceChanged,
    Provider,
    RequestRefused,
    WireEvent,
)
from scripted_provider import OK_HEAD, Answer, Asked, ScriptedProvider, always, chunk, reply, scripted_provider, stall
from wire.kept import Kept

KEY = "sk-planted-0123456789abcdef"
TOKEN = "slot-token-0123456789"
LIMIT_S = 60


@dataclass(kw_only=True)
class RunningProxy:
    """A proxy between a client and a provider."""

    proxy: Proxy
    port: int
    kept: Kept
    provider: ScriptedProvider
    http: httpx2.AsyncClient
    events: list[WireEvent] = field(default_factory=list)

    def url(self, rest: str = "/v1/chat/completions") -> str:
        return f"http://127.0.0.1:{self.port}/s/{TOKEN}{rest}"

    async def recorded(self) -> list[Exchange]:
        """End the lease, and return what was recorded."""
        with fail_after(LIMIT_S):
            assert await self.proxy.release(TOKEN) == ""
        assert self.kept.closed
        return self.kept.exchanges


OK = always(reply(b"ok"))


@asynccontextmanager
async def running_proxy(
    answer: Answer = OK,
    *,
    base_url: str = "",
    path: str = "",
    max_requests: int | None = None,
    reports_usage: bool = False,
    max_recording_bytes: int | None = None,
    key: str = KEY,
) -> AsyncGenerator[RunningProxy]:
    """Run a proxy in front of a provider that answers so, or of the one at `base_url`."""
    events: list[WireEvent] = []
    with fail_after(LIMIT_S):
        async with (
            scripted_provider(answer) as provider,
            await create_tcp_listener(local_host="127.0.0.1") as listener,
            client() as http,
            create_task_group() as group,
        ):
            origin = base_url or provider.url + path
            configure = Configure(
                provider=Provider(id="openai", base_url=origin, key=key, max_requests=max_requests),
                folder="",
                reports_usage=reports_usage,
                max_recording_bytes=max_recording_bytes,
            )
            proxy = Proxy(configure, report=events.append, group=group)
            kept = Kept(KEY, TOKEN)
            proxy.lease(TOKEN, trial="task/1", recorder=kept)
            proxy.set_turn(TOKEN, 2)
            group.start_soon(serve_clients, listener, proxy.serve)
            port = listener.extra(SocketAttribute.local_port)
            yield RunningProxy(proxy=proxy, port=port, kept=kept, provider=provider, http=http, events=events)
            for token in proxy.tokens:
                await proxy.release(token)
            await proxy.close()
            group.cancel_scope.cancel()


@asynccontextmanager
async def client() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, timeout=LIMIT_S) as one:
        yield one


async def test_a_request_arrives_unchanged_but_for_host_and_key() -> None:
    async with running_proxy(always(reply(b'{"ok":true}', headers=(("X-Request-Id", "abc"),))), path="/base") as wire:
        response = await wire.http.post(
            wire.url("/v1/chat/completions?a=%20b&key=other"),
            content=b'{"model":"m"}',
            headers={
                "Authorization": f"Bearer {TOKEN}",
                "X-Custom": "Kept As Sent",
                "Accept-Encoding": "br, GZIP;q=0.9, deflate, zstd",
            },
        )
        (asked,) = wire.provider.asked
        (exchange,) = await wire.recorded()
    assert response.json() == {"ok": True}
    assert response.headers["x-request-id"] == "abc"
    assert (asked.method, asked.target) == ("POST", "/base/v1/chat/completions?a=%20b&key=other")
    assert asked.body == b'{"model":"m"}'
    assert asked.header("host") == f"127.0.0.1:{wire.provider.port}"
    assert asked.header("authorization") == f"Bearer {KEY}"
    assert ("X-Custom", "Kept As Sent") in asked.headers
    assert asked.header("accept-encoding") == "GZIP;q=0.9, deflate"  # what can be read
    assert asked.header("connection") is None
    assert exchange.path == "/base/v1/chat/completions?a=%20b&key=[key]"
    assert (exchange.number, exchange.turn, exchange.status, exchange.end) == (1, 2, 200, ExchangeEnd.COMPLETE)
    assert (exchange.request, exchange.reply) == (b'{"model":"m"}', b'{"ok":true}')
    assert 0 <= exchange.sent_s <= exchange.chunks[0].at_s <= exchange.ended_s
    assert KEY not in repr(exchange)
    assert TOKEN not in repr(exchange)


@pytest.mark.parametrize("name", ["x-api-key", "x-goog-api-key", "api-key"])
async def test_the_key_replaces_the_token_where_the_client_sent_it(name: str) -> None:
    async with running_proxy(always(reply(b""))) as wire:
        path = "/v1beta/models/m:streamGenerateContent"
        await wire.http.post(wire.url(f"{path}?alt=sse&key={TOKEN}"), headers={name: TOKEN})
        (asked,) = wire.provider.asked
        (exchange,) = await wire.recorded()
    assert asked.header(name) == KEY
    assert asked.header("authorization") is None
    assert asked.target == f"{path}?alt=sse&key={TOKEN}"  # the key goes into no address
    assert KEY not in repr(exchange)
    assert TOKEN not in repr(exchange)


async def test_chunks_arrive_one_by_one_and_are_recorded_with_their_times() -> None:
    go_on = [anyio.Event(), anyio.Event()]
    parts = [b'data: {"t":"\xe2\x82', b'\xac"}\n\n', b"data: [DONE]\n\n"]  # a character split over two chunks

    async def answer(_: Asked, stream: SocketStream) -> bool:
        await stream.send(OK_HEAD + chunk(parts[0]))
        for event, part in zip(go_on, parts[1:], strict=True):
            await event.wait()
            await stream.send(chunk(part))
        await stream.send(b"0\r\n\r\n")
        return True

    async with running_proxy(answer) as wire:
        got = []
        async with wire.http.stream("POST", wire.url(), content=b"{}") as response:
            async for part in response.aiter_raw():
                got.append(part)
                if len(got) < len(parts):
                    go_on[len(got) - 1].set()
        (exchange,) = await wire.recorded()
    assert got == parts
    assert [one.data for one in exchange.chunks] == parts
    assert [one.at_s for one in exchange.chunks] == sorted(one.at_s for one in exchange.chunks)
    assert exchange.end is ExchangeEnd.COMPLETE


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (429, (("Retry-After", "3"),), b'{"error":{"message":"slow down"}}'),
        (500, (), b"<html>It broke</html>"),
        (401, (("WWW-Authenticate", "Bearer"),), b""),
    ],
)
async def test_errors_arrive_unchanged_and_are_reported(
    status: int, headers: tuple[tuple[str, str], ...], body: bytes
) -> None:
    async with running_proxy(always(reply(body, status=status, headers=headers))) as wire:
        response = await wire.http.post(wire.url(), content=b"{}")
        (exchange,) = await wire.recorded()
    assert (response.status_code, response.content) == (status, body)
    assert all(response.headers[name] == value for name, value in headers)
    assert (exchange.status, exchange.reply, len(wire.provider.asked)) == (status, body, 1)
    failed = [event for event in wire.events if isinstance(event, CallFailed)]
    assert failed == [CallFailed(trial="task/1", number=1, status=status)]
    assert len([event for event in wire.events if isinstance(event, PaceChanged)]) == (status == 429)


async def test_a_cut_stream_is_cut_for_the_client_too() -> None:
    async with running_proxy(always(OK_HEAD + chunk(b"data: 1\n\n") + b"20\r\ndata: ", closes=True)) as wire:
        with pytest.raises(httpx2.RemoteProtocolError):
            await wire.http.post(wire.url(), content=b"{}")
        (exchange,) = await wire.recorded()
    assert (exchange.end, exchange.status, exchange.reply) == (ExchangeEnd.CUT, 200, b"data: 1\n\ndata: ")
    assert exchange.error


@pytest.mark.parametrize("closes", ["refuses", "closes", "speaks no HTTP"])
async def test_without_a_reply_the_connection_is_closed(closes: str) -> None:
    async def answer(_: Asked, stream: SocketStream) -> bool:
        if closes == "speaks no HTTP":
            await stream.send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        return False

    base_url = "http://127.0.0.1:1" if closes == "refuses" else ""
    async with running_proxy(answer, base_url=base_url) as wire:
        with pytest.raises(httpx2.RemoteProtocolError, match="disconnected"):
            await wire.http.post(wire.url(), content=b"{}")
        (exchange,) = await wire.recorded()
    assert (exchange.end, exchange.status, exchange.request) == (ExchangeEnd.NOT_REACHED, 0, b"{}")
    assert exchange.error


async def test_a_client_that_leaves_closes_the_providers_connection() -> None:
    async with running_proxy(stall) as wire:
        async with wire.http.stream("POST", wire.url(), content=b"{}") as response:
            await anext(response.aiter_raw())
        await wire.provider.left.wait()
        (exchange,) = await wire.recorded()
    assert (exchange.end, exchange.reply) == (ExchangeEnd.CLIENT_LEFT, b"data: 1\n\n")


async def test_a_stalled_stream_stalls_until_the_trial_ends() -> None:
    async with running_proxy(stall) as wire:
        async with wire.http.stream("POST", wire.url(), content=b"{}") as response:
            parts = response.aiter_raw()
            await anext(parts)
            (exchange,) = await wire.recorded()
            with pytest.raises(httpx2.RemoteProtocolError):
                await anext(parts)
        await wire.provider.left.wait()
        gone = await wire.http.post(wire.url(), content=b"{}")
    assert exchange.error == "the trial ended first"
    assert gone.status_code == 404
    assert gone.json()["error"]["message"] == "No trial has this address now."


async def test_the_address_of_a_trial_that_has_ended_is_refused_and_named() -> None:
    following = TOKEN[::-1]
    async with running_proxy(always(reply(b"{}"))) as wire:
        await wire.recorded()
        statuses = [(await wire.http.post(wire.url(), content=b"{}")).status_code]
        wire.proxy.lease(following, trial="task/2", recorder=Kept())
        statuses += [
            (await wire.http.post(wire.url().replace(TOKEN, token), content=b"{}")).status_code
            for token in (following, TOKEN)
        ]
    assert statuses == [404, 200, 404]
    refused = [(event.trial, event.what) for event in wire.events if isinstance(event, RequestRefused)]
    ended = "the address of task/1, which has ended"
    assert refused == [("", ended), ("task/2", ended)]


async def test_connections_are_used_again_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinchbench.wire.http1.IDLE_LIMIT_S", 600.0)

    async def answer(asked: Asked, stream: SocketStream) -> bool:
        await stream.send(OK_HEAD + chunk(asked.body) + b"0\r\n\r\n")
        return True

    async with running_proxy(answer) as wire:
        for number in range(5):
            assert (await wire.http.post(wire.url(), content=str(number))).text == str(number)
        exchanges = await wire.recorded()
    assert wire.provider.connections == 1
    assert [one.number for one in exchanges] == [1, 2, 3, 4, 5]


async def test_a_stale_connection_loses_no_request() -> None:
    async def answer(asked: Asked, stream: SocketStream) -> bool:
        # A second request on a connection is read, and the connection closed: as if it had been idle for too long.
        if asked.connection == 0 and asked.body == b"1":
            return False
        await stream.send(reply(asked.body))
        return True

    async with running_proxy(answer) as wire:
        answers = [(await wire.http.post(wire.url(), content=str(number))).text for number in range(3)]
        exchanges = await wire.recorded()
    assert answers == ["0", "1", "2"]
    assert [one.status for one in exchanges] == [200] * 3


async def test_a_request_that_a_kept_connection_has_begun_to_answer_is_not_sent_again() -> None:
    async def answer(asked: Asked, stream: SocketStream) -> bool:
        if asked.connection == 0 and asked.body == b"1":
            await stream.send(OK_HEAD[:20])
            return False
        await stream.send(reply(asked.body))
        return True

    async with running_proxy(answer) as wire:
        assert (await wire.http.post(wire.url(), content="0")).text == "0"
        with pytest.raises(httpx2.RemoteProtocolError):
            await wire.http.post(wire.url(), content="1")
        exchanges = await wire.recorded()
    assert [asked.body for asked in wire.provider.asked] == [b"0", b"1"]
    assert [one.end for one in exchanges] == [ExchangeEnd.COMPLETE, ExchangeEnd.NOT_REACHED]


async def test_streams_at_once_all_complete() -> None:
    async def answer(asked: Asked, stream: SocketStream) -> bool:
        await stream.send(OK_HEAD)
        for number in range(20):
            await stream.send(chunk(asked.body + b":%d;" % number))
            await anyio.lowlevel.checkpoint()
        await stream.send(b"0\r\n\r\n")
        return asked.body[-1:] in b"02468"  # half of the connections are closed after a reply that allows another

    got: dict[int, bytes] = {}

    async def ask(http: httpx2.AsyncClient, url: str, number: int) -> None:
        got[number] = (await http.post(url, content=str(number))).content

    async with running_proxy(answer) as wire:
        for _ in range(3):
            async with create_task_group() as group:
                for number in range(24):
                    group.start_soon(ask, wire.http, wire.url(), number)
            assert got == {n: b"".join(b"%d:%d;" % (n, part) for part in range(20)) for n in range(24)}
        exchanges = await wire.recorded()
    assert len(exchanges) == 3 * 24
    assert {one.end for one in exchanges} == {ExchangeEnd.COMPLETE}


async def test_no_more_requests_are_in_flight_than_allowed() -> None:
    flying = most = 0
    all_fly = anyio.Event()

    async def answer(_: Asked, stream: SocketStream) -> bool:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        if flying == 3:
            all_fly.set()
        await all_fly.wait()  # the first ones stay for those that may come meanwhile
        for _turn in range(10):
            await anyio.lowlevel.checkpoint()
        flying -= 1
        await stream.send(reply(b"ok"))
        return True

    async with running_proxy(answer, max_requests=3) as wire:
        async with create_task_group() as group:
            for _ in range(12):
                group.start_soon(wire.http.post, wire.url())
        exchanges = await wire.recorded()
    assert most == 3
    assert len(exchanges) == 12
    assert any(one.queued_s > 0 for one in exchanges)
    assert all(one.queued_s <= one.sent_s for one in exchanges)


async def test_a_client_that_leaves_the_queue_leaves_nothing_behind() -> None:
    go_on = anyio.Event()

    async def answer(_: Asked, stream: SocketStream) -> bool:
        await go_on.wait()
        await stream.send(reply(b"ok"))
        return True

    async with running_proxy(answer, max_requests=1) as wire, create_task_group() as group:
        group.start_soon(wire.http.post, wire.url())
        while not wire.provider.asked:
            await anyio.lowlevel.checkpoint()
        waits = await connect_tcp("127.0.0.1", wire.port)
        async with waits:
            await waits.send(b"POST /s/%s/responses HTTP/1.1\r\nHost: a\r\n\r\n" % TOKEN.encode())
            upstream = wire.proxy._upstream
            while not upstream.pacer.waiting:
                await anyio.lowlevel.checkpoint()
        while upstream.pacer.waiting:
            await anyio.lowlevel.checkpoint()
        go_on.set()
        assert (await wire.http.post(wire.url())).text == "ok"


@pytest.mark.parametrize(
    ("limit", "used"),
    [
        ("exchange.BODY_BYTES", "a request or reply of more than 0 MiB"),
        ("proxy.MAX_LINE_BYTES", "more than 2.79e-08 GiB of requests and replies"),
        ("", "9.5e-08 GiB of disk space for its requests; the limit is 2.79e-08 GiB"),
    ],
)
async def test_a_trial_that_sends_too_much_is_answered_no_more_and_its_neighbour_is(
    monkeypatch: pytest.MonkeyPatch, limit: str, used: str
) -> None:
    if limit:
        monkeypatch.setattr(f"pinchbench.wire.{limit}", 30)

    async with running_proxy(max_recording_bytes=None if limit else 30) as wire:
        wire.proxy.lease("other-token", trial="task/2", recorder=Kept())
        with suppress(httpx2.RemoteProtocolError):  # if it is cut
            await wire.http.post(wire.url(), json="x" * 100)
        await until(lambda: any(isinstance(event, LimitExceeded) for event in wire.events))
        refused = await wire.http.post(wire.url(), content=b"{}")
        neighbour = await wire.http.post(wire.url().replace(TOKEN, "other-token"), content=b"{}")
    exceeded = [event for event in wire.events if isinstance(event, LimitExceeded)]
    assert exceeded == [LimitExceeded(trial="task/1", used=used)]
    assert (refused.status_code, neighbour.status_code) == (403, 200)
    assert refused.json()["error"]["message"] == f"The trial has used {used}."


async def test_a_trial_with_too_many_connections_loses_what_it_has_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinchbench.wire.proxy.MAX_TRIAL_CONNECTIONS", 1)
    unfinished = b"POST /s/%s/responses HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n" % TOKEN.encode()

    async with running_proxy(base_url="http://127.0.0.1:1") as wire, await connect_tcp("127.0.0.1", wire.port) as first:
        await first.send(unfinished)
        await until(lambda: bool(wire.proxy._leases[TOKEN].open))
        async with await connect_tcp("127.0.0.1", wire.port) as second:
            await second.send(unfinished)
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await first.receive()
        (exchange,) = await wire.recorded()
    assert exchange.error == "the trial used more than 1 connections at a time"


async def test_a_connection_without_a_request_is_closed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinchbench.wire.proxy.HEAD_LIMIT_S", 0.0)
    async with running_proxy(base_url="http://127.0.0.1:1") as wire, await connect_tcp("127.0.0.1", wire.port) as lone:
        await lone.send(b"POST /s/")
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await lone.receive()


async def test_a_trial_is_held_while_all_that_it_waits_for_is_its_turn() -> None:
    go_on = anyio.Event()

    async def answer(_: Asked, stream: SocketStream) -> bool:
        await go_on.wait()
        await stream.send(reply(b"ok"))
        return True

    async with running_proxy(answer, max_requests=1) as wire:
        wire.proxy.lease("other-token", trial="task/2", recorder=Kept())
        pacer = wire.proxy._upstream.pacer
        async with create_task_group() as group:
            group.start_soon(wire.http.post, wire.url())
            while not wire.provider.asked:
                await anyio.lowlevel.checkpoint()
            group.start_soon(wire.http.post, wire.url())  # the first trial has a request at the provider meanwhile
            group.start_soon(wire.http.post, wire.url().replace(TOKEN, "other-token"))
            while pacer.waiting < 2:
                await anyio.lowlevel.checkpoint()
            held = [event for event in wire.events if isinstance(event, Held)]
            go_on.set()
        released = [event for event in wire.events if isinstance(event, Held)][len(held) :]
    assert held == [Held(trial="task/2", is_held=True)]
    assert Held(trial="task/2", is_held=False) in released
    assert [event.is_held for event in released if event.trial == "task/1"] in ([], [True, False])


REPORTED = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
UNREPORTED = {"choices": [{"message": {"content": "ä" * 20}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("said", "is_asked", "used"),
    # a token for every four bytes of the request and of the text
    [(REPORTED, False, []), (REPORTED, True, [(7, False)]), (UNREPORTED, True, [(1013 + 10, True)])],
    ids=["not asked for", "as reported", "an estimate by the bytes"],
)
async def test_what_a_call_used_is_reported_on_request(
    said: object, is_asked: bool, used: list[tuple[int, bool]]
) -> None:
    answer = always(reply(json.dumps(said).encode(), headers=(("Content-Type", "application/json"),)))
    async with running_proxy(answer, path="/v1", reports_usage=is_asked) as wire:
        body = {"model": "m", "messages": [{"role": "user", "content": "x" * 4000}]}
        await wire.http.post(wire.url("/chat/completions"), json=body)
        await wire.recorded()
    found = [event for event in wire.events if isinstance(event, CallUsed)]
    assert [(one.usage.total_tokens, one.is_estimate) for one in found] == used


async def test_what_is_not_for_the_runs_model_is_refused_reported_and_not_recorded() -> None:
    async with running_proxy() as wire:
        tools = [{"type": "function", "function": {"name": "exec"}}]
        own = {"model": "as-openclaw-calls-it", "messages": [], "tools": tools}
        encoded = wire.url("/chat/completion%73")
        answers = [
            await wire.http.post(wire.url(), json=own),
            await wire.http.post(wire.url(), json={**own, "model": "stronger"}),
            await wire.http.post(encoded, json={**own, "model": "stronger"}),
            await wire.http.post(encoded, json=own),
            await wire.http.post(wire.url(), json={**own, "model": "small", "tools": []}),  # such as for a recap
            await wire.http.post(wire.url("/v1/files"), content=b"{}"),
            await wire.http.get(wire.url(f"/v1/models?key={TOKEN}")),
        ]
        exchanges = await wire.recorded()
    assert [one.status_code for one in answers] == [200, 403, 403, 200, 403, 403, 200]
    assert answers[1].json()["error"]["message"].startswith("The wire does not pass requests for stronger on")
    assert [one.path for one in exchanges] == [
        "/v1/chat/completions",
        "/chat/completions",
        "/v1/models?key=[key]",
    ]
    assert [asked.target for asked in wire.provider.asked][2] == f"/v1/models?key={TOKEN}"
    refused = [event.what for event in wire.events if isinstance(event, RequestRefused)]
    assert refused == ["model stronger", "model stronger", "POST /v1/files"]


async def test_a_redirect_is_followed_within_the_provider_and_an_error_beyond() -> None:
    async def answer(asked: Asked, stream: SocketStream) -> bool:
        if asked.target == "/chat/completions":
            place = "/moved/chat/completions" if asked.body == b"{}" else f"https://elsewhere.example/?key={KEY}"
            await stream.send(reply(b"moved", status=307, headers=(("Location", place),)))
        else:
            await stream.send(reply(asked.body))
        return True

    async with running_proxy(answer) as wire:
        followed = await wire.http.post(wire.url("/chat/completions"), content=b"{}")
        refused = await wire.http.post(wire.url("/chat/completions"), content=b"[]")
        exchanges = await wire.recorded()
    assert (followed.status_code, followed.text) == (200, "{}")
    assert [asked.body for asked in wire.provider.asked] == [b"{}", b"{}", b"[]"]
    assert (refused.status_code, "location" in refused.headers) == (404, False)
    assert "redirects to another server, https://elsewhere.example/." in refused.json()["error"]["message"]
    assert [(one.status, one.end) for one in exchanges] == [(200, ExchangeEnd.COMPLETE), (0, ExchangeEnd.NOT_REACHED)]


async def test_a_key_in_a_reply_does_not_reach_the_client() -> None:
    async def answer(_: Asked, stream: SocketStream) -> bool:
        await stream.send(
            OK_HEAD.replace(b"OK", KEY.encode()).replace(b"\r\n\r\n", f"\r\nEcho: {KEY}".encode()) + b"\r\n\r\n"
        )
        body = chunk(f"data: {KEY} and {KEY[:-1]}\n\n".encode())
        for at in range(0, len(body), 7):
            await stream.send(body[at : at + 7])
            await anyio.lowlevel.checkpoint()
        await stream.send(b"0\r\n\r\n")
        return True

    async with running_proxy(answer) as wire:
        response = await wire.http.post(wire.url(), content=b"{}")
    stars = "*" * len(KEY)
    assert response.text == f"data: {stars} and {KEY[:-1]}\n\n"
    assert (response.headers["echo"], response.extensions["reason_phrase"]) == (stars, stars.encode())


# Sends a request from a process of its own, as a command of the agent would, and prints the status.
COMMAND = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
connection.request("POST", sys.argv[2], "{}")
print(connection.getresponse().status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the owner of a connection can't be seen")
async def test_only_the_process_that_asks_first_in_a_turn_is_answered() -> None:
    async def ask_elsewhere(wire: RunningProxy) -> int:
        path = wire.url().partition(f":{wire.port}")[2]
        done = await anyio.run_process([sys.executable, "-I", "-c", COMMAND, str(wire.port), path])
        return int(done.stdout)

    async with running_proxy() as wire:
        answered = [(await wire.http.post(wire.url(), content=b"{}")).status_code, await ask_elsewhere(wire)]
        wire.proxy.set_turn(TOKEN, 1)
        answered.append(await ask_elsewhere(wire))
        async with client() as later:
            answered.append((await later.post(wire.url(), content=b"{}")).status_code)
        exchanges = await wire.recorded()
    assert answered == [200, 403, 200, 403]
    assert len(exchanges) == 2
    refused = [event.what for event in wire.events if isinstance(event, RequestRefused)]
    assert [what.rpartition(" ")[0] for what in refused] == ["a connection by"] * 2


async def test_a_trial_that_ends_while_a_connection_is_looked_at_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_proxy() as wire:

        def end_it(*_: object) -> str:
            anyio.from_thread.run(wire.proxy.release, TOKEN)
            return ""

        monkeypatch.setattr("pinchbench.wire.lease.find_owner", lambda *_, **__: 0)  # none so soon
        monkeypatch.setattr(TrialLease, "find_foreign", end_it)
        response = await wire.http.post(wire.url(), content=b"{}")
    assert response.status_code == 404
    assert wire.provider.asked == []


async def test_a_key_that_is_a_word_garbles_nothing_of_what_was_said() -> None:
    async def answer(asked: Asked, stream: SocketStream) -> bool:
        assert asked.header("authorization") == "Bearer chat"
        await stream.send(reply(b"a chat", headers=(("Content-Type", "text/chat"),)))
        return True

    async with running_proxy(answer, key="chat") as wire:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        response = await wire.http.post(wire.url(), content=b"{}", headers=headers)
        (exchange,) = await wire.recorded()
    assert (response.text, response.headers["content-type"]) == ("a chat", "text/chat")
    assert (exchange.path, exchange.reply) == ("/v1/chat/completions", b"a chat")
    assert ("content-type", "text/chat") in exchange.reply_headers
