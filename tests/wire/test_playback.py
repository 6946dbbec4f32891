"""A trial's requests get the replies of a recording, until it forks or diverges."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from anyio import create_task_group, create_tcp_listener, fail_after, move_on_after
from anyio.abc import SocketAttribute

from pinchbench.defaults import DivergencePolicy
from pinchbench.wire.exchange import Exchange, ExchangeEnd
from pinchbench.wire.playback import NOT_RECORDED, Playback
from pinchbench.wire.proxy import Proxy
from pinchbench.wire.recording import RecordingWriter
from pinchbench.wire.reply_matching import Replay
from pinchbench.wire.transport import serve_clients
from pinchbench.wire.wire_messages import Configure, Provider, ReplaySource
from scripted_provider import always, reply, scripted_provider
from wire.exchanges import CHAT, cut, exchange, sse
from wire.kept import Kept

TOKEN = "slot-token-0123456789"
NOBODY = "http://127.0.0.1:9"
LIMIT_S = 60


def asks(*said: str, system: str = "Be brief.", model: str = "m") -> dict[str, object]:
    """Build the request after the user and the model have said this by turns."""
    roles = ("user", "assistant")
    spoken = [{"role": roles[index % 2], "content": text} for index, text in enumerate(said)]
    return {"model": model, "messages": [{"role": "system", "content": system}, *spoken]}


def says(*texts: str) -> bytes:
    """Build a streamed reply, an event for each text."""
    return sse(*({"choices": [{"delta": {"content": text}}]} for text in texts), end="[DONE]")


RECORDED = (
    exchange(CHAT, asks("Write it."), says("I did."), number=1),
    exchange(CHAT, asks("Write it.", "I did.", "Read it."), says("It is there."), number=2, turn=1),
)


class Played:
    """A proxy that plays a recording to one trial."""

    def __init__(self, proxy: Proxy, port: int, kept: Kept, http: httpx2.AsyncClient) -> None:
        self._proxy = proxy
        self._url = f"http://127.0.0.1:{port}/s/{TOKEN}{CHAT}"
        self._kept = kept
        self._http = http

    async def ask(self, body: dict[str, object]) -> httpx2.Response:
        return await self._http.post(self._url, json=body)

    def stream(self, body: dict[str, object]) -> AbstractAsyncContextManager[httpx2.Response]:
        return self._http.stream("POST", self._url, json=body)

    async def recorded(self) -> list[Exchange]:
        with fail_after(LIMIT_S):
            await self._proxy.release(TOKEN)
        return self._kept.exchanges


@asynccontextmanager
async def played(
    exchanges: Sequence[Exchange] = RECORDED,
    *,
    policy: DivergencePolicy = DivergencePolicy.STOP,
    fork_at: int | None = None,
    fork_turn: int | None = None,
    turn: int = 0,
    base_url: str = NOBODY,
    model: str = "",
) -> AsyncGenerator[Played]:
    provider = Provider(id="mock", base_url=base_url, model=model)
    async with (
        await create_tcp_listener(local_host="127.0.0.1") as listener,
        httpx2.AsyncClient(trust_env=False, timeout=LIMIT_S) as http,
        create_task_group() as group,
    ):
        proxy = Proxy(Configure(provider=provider, folder=""), report=lambda _: None, group=group)
        kept = Kept()
        playback = Playback(
            Replay(exchanges), ReplaySource(path="", policy=policy, fork_at=fork_at, fork_turn=fork_turn)
        )
        proxy.lease(TOKEN, trial="task", recorder=kept, playback=playback)
        proxy.set_turn(TOKEN, turn)
        group.start_soon(serve_clients, listener, proxy.serve)
        yield Played(proxy, listener.extra(SocketAttribute.local_port), kept, http)
        for token in proxy.tokens:
            await proxy.release(token)
        await proxy.close()
        group.cancel_scope.cancel()


async def test_the_recorded_reply_is_served_and_recorded_as_such() -> None:
    async with played() as replay:
        answer = await replay.ask(asks("Write it."))
        [one] = await replay.recorded()

    assert (answer.status_code, answer.content) == (200, says("I did."))
    assert answer.headers["content-type"] == "text/event-stream"
    assert (one.served, one.divergence, one.status, one.reply) == (1, None, 200, says("I did."))


async def test_a_cut_reply_is_cut_again_and_a_missing_one_closes_the_connection() -> None:
    cut_off = exchange(CHAT, asks("Write it."), says("I d"), end=ExchangeEnd.CUT)
    nothing = exchange(CHAT, asks("Read it."), number=2, status=0, end=ExchangeEnd.NOT_REACHED)
    async with played([cut_off, nothing]) as replay:
        with pytest.raises(httpx2.RemoteProtocolError, match="incomplete"):
            await replay.ask(asks("Write it."))
        with pytest.raises(httpx2.RemoteProtocolError):
            await replay.ask(asks("Read it."))
        ends = [one.end for one in await replay.recorded()]

    assert ends == [ExchangeEnd.CUT, ExchangeEnd.NOT_REACHED]


async def test_a_request_that_the_client_had_given_up_waits_until_it_leaves_again() -> None:
    given_up = exchange(CHAT, asks("Write it."), says("I d"), end=ExchangeEnd.CLIENT_LEFT)
    async with played([given_up]) as replay:
        async with replay.stream(asks("Write it.")) as response:
            parts, said = response.aiter_raw(), b""
            while said != says("I d"):
                said += await anext(parts)
            with move_on_after(0.2) as scope:  # the reply neither goes on nor ends
                await anext(parts)
        [one] = await replay.recorded()

    assert scope.cancelled_caught
    assert (one.end, one.served) == (ExchangeEnd.CLIENT_LEFT, 1)


async def test_a_divergence_is_refused_and_named() -> None:
    async with played() as replay:
        answer = await replay.ask(asks("Write it.", system="Be verbose."))
        [one] = await replay.recorded()

    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == NOT_RECORDED
    assert (one.served, one.status, one.end) == (None, 400, ExchangeEnd.NOT_REACHED)
    assert one.divergence is not None
    assert "the system prompt changed" in one.divergence.summary
    assert "+Be verbose." in one.divergence.details


async def test_a_divergence_gets_the_reply_of_its_position_on_request() -> None:
    async with played(policy=DivergencePolicy.CONTINUE) as replay:
        first = await replay.ask(asks("Write it.", system="Be verbose."))
        second = await replay.ask(asks("Write it.", "I did.", "Read it.", system="Be verbose."))
        exchanges = await replay.recorded()

    assert [first.content, second.content] == [says("I did."), says("It is there.")]
    assert [one.divergence.repeated for one in exchanges if one.divergence] == [False, True]


@pytest.mark.parametrize(("fork_at", "fork_turn", "later_turn"), [(2, None, 0), (None, 1, 1)])
async def test_a_model_answers_from_the_fork_on(fork_at: int | None, fork_turn: int | None, later_turn: int) -> None:
    async with (
        scripted_provider(always(reply(b'{"choices": []}'))) as live,
        played(base_url=live.url, model="other", fork_at=fork_at, fork_turn=fork_turn) as replay,
    ):
        first = await replay.ask(asks("Write it."))
        replay._proxy.set_turn(TOKEN, later_turn)
        second = await replay.ask(asks("Write it.", "I did.", "Read it."))
        third = await replay.ask(asks("Write it."))
        exchanges = await replay.recorded()

    assert [one.status_code for one in (first, second, third)] == [200, 200, 200]
    assert [one.served for one in exchanges] == [1, None, None]
    assert [json.loads(one.body)["model"] for one in live.asked] == ["other", "other"]
    assert json.loads(exchanges[1].request)["model"] == "other"


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_a_served_reply_names_the_paths_of_this_run(size: int) -> None:
    def system(run: str) -> str:
        return f"Skills are in /tmp/b/{run}/.homes/slot-1/skills.\nWorking directory: /tmp/b/{run}/task\n"

    there = "/tmp/b/then/task"
    pieces = [there[:4], f"{there[4:]}/a.txt and /tmp/b/then/.homes/slot-1/skills/x"]
    recorded = exchange(CHAT, asks("Where?", system=system("then")), cut(says(*pieces), size))
    async with played([recorded]) as replay:
        answer = await replay.ask(asks("Where?", system=system("now")))

    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    said = "".join(event["choices"][0]["delta"]["content"] for event in events)
    assert said == "/tmp/b/now/task/a.txt and /tmp/b/now/.homes/slot-1/skills/x"


def test_a_damaged_recording_is_not_played(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl.zst"
    with RecordingWriter(path) as recording:
        for one in RECORDED:
            recording.append(one)
    path.write_bytes(path.read_bytes()[:-5])

    with pytest.raises(ValueError, match="cut off"):
        Playback.open(ReplaySource(path=str(path)))
