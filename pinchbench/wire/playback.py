"""Answers the requests of a trial with the recorded replies of another run of it."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import anyio
import msgspec
from anyio import to_thread

from pinchbench.defaults import DivergencePolicy
from pinchbench.wire.exchange import Chunk, Draft, Exchange, ExchangeEnd
from pinchbench.wire.exchange_facts import request_facts
from pinchbench.wire.normalise import home_of, workspace_of
from pinchbench.wire.recording import RecordingReader
from pinchbench.wire.redact import substituted
from pinchbench.wire.reply_body import LAST_CHUNK, WITHOUT_BODY, chunked
from pinchbench.wire.reply_matching import Choice, Replay
from pinchbench.wire.request_route import response_head

if TYPE_CHECKING:
    from typing import Self

    from pinchbench.wire.http1 import Inbound
    from pinchbench.wire.wire_messages import ReplaySource

FRAMING = frozenset({"transfer-encoding", "content-length"})
NOT_RECORDED = "The recording has no reply to this request, and the replay stops at a divergence."


class Playback:
    """The recorded replies of one trial. Requests may come in parallel; they are matched one at a time."""

    def __init__(self, replay: Replay, source: ReplaySource) -> None:
        """Serve what was recorded as the source says."""
        self._replay = replay
        self._source = source
        self._lock = anyio.Lock()
        self._is_live = False
        self._recorded_places: dict[str, str] = {}
        self._places: dict[str, str] = {}

    @classmethod
    def open(cls, source: ReplaySource) -> Self:
        """Read the recording of a trial. Blocks. Raises OSError, and ValueError if the recording is damaged."""
        recording = RecordingReader(Path(source.path))
        replay = Replay(recording, source.simulated)
        if recording.problem:
            raise ValueError(recording.problem)
        return cls(replay, source)

    async def choose(self, draft: Draft) -> Choice:
        """Return what a request that has been read gets. Once a model has answered, it answers all later requests."""
        async with self._lock:
            if self._is_live:
                return Choice(is_live=True)
            choice = await to_thread.run_sync(self._match, draft)
            self._is_live = choice.is_live
            return choice

    def _match(self, draft: Draft) -> Choice:
        choice = self._choose(draft)
        if choice.exchange is None:
            return choice
        return replace(choice, exchange=self._moved(choice.exchange, draft))

    def _moved(self, exchange: Exchange, draft: Draft) -> Exchange:
        """Return an exchange whose reply names this run's paths instead of the recorded ones."""
        self._recorded_places.update(_places(exchange.path, exchange.request))
        self._places.update(_places(draft.path, b"".join(draft.request)))
        moved = {
            _in_json(path): _in_json(self._places[what])
            for what, path in self._recorded_places.items()
            if self._places.get(what, path) != path
        }
        reply = substituted(exchange.reply, moved) if moved else exchange.reply
        if reply == exchange.reply:
            return exchange
        return msgspec.structs.replace(exchange, chunks=(Chunk(at_s=exchange.ended_s, data=reply),))

    def _choose(self, draft: Draft) -> Choice:
        found = self._replay.match(draft.path, b"".join(draft.request), at=draft.began_at, turn=draft.turn)
        if found.exchange is not None and self._forks_at(found.exchange, draft.turn):
            return replace(found, exchange=None, is_live=True)
        is_refused = found.divergence is not None and self._source.policy is DivergencePolicy.STOP
        return replace(found, exchange=None) if is_refused else found

    def _forks_at(self, recorded: Exchange, turn: int) -> bool:
        at, in_turn = self._source.fork_at, self._source.fork_turn
        return (at is not None and recorded.number >= at) or (in_turn is not None and turn >= in_turn)


def _places(path: str, body: bytes) -> dict[str, str]:
    """Return the paths that differ between runs, as far as a request's system prompt names them."""
    system = request_facts(path, body).system
    found = {"workspace": workspace_of(system), "home": home_of(system)}
    return {what: where for what, where in found.items() if where}


def _in_json(text: str) -> bytes:
    return msgspec.json.encode(text)[1:-1]


async def play(choice: Choice, inbound: Inbound, draft: Draft) -> bool:
    """Send a recorded reply, and end as the recorded exchange did; return whether the connection stays open.

    Without one, the request is refused.

    The chunks are sent without the pauses between them. Where the client had left before the end, it is waited for
    until it leaves again, or the trial ends.
    """
    exchange = choice.exchange
    if exchange is None:
        draft.status = HTTPStatus.BAD_REQUEST
        stays_open = await inbound.refuse(HTTPStatus.BAD_REQUEST, NOT_RECORDED)
        draft.finish(ExchangeEnd.NOT_REACHED, NOT_RECORDED)
        return stays_open
    draft.served = exchange.number
    if exchange.status:
        await _send(exchange, inbound, draft)
    match exchange.end:
        case ExchangeEnd.COMPLETE:
            draft.finish()
            return inbound.keeps_alive
        case ExchangeEnd.CLIENT_LEFT:
            await inbound.stream.wait_until_ended()
            draft.finish(ExchangeEnd.CLIENT_LEFT, "the client closed the connection, as it did when it was recorded")
        case ExchangeEnd.CUT | ExchangeEnd.NOT_REACHED:
            draft.finish(exchange.end, exchange.error)
        case _:
            assert_never(exchange.end)
    return False


async def _send(exchange: Exchange, inbound: Inbound, draft: Draft) -> None:
    draft.status, draft.reply_headers = exchange.status, exchange.reply_headers
    kept = [(name, value) for name, value in exchange.reply_headers if name not in FRAMING]
    has_body = exchange.status not in WITHOUT_BODY
    headers = [*kept, *([("transfer-encoding", "chunked")] if has_body else [])]
    raw = [(name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in headers]
    await inbound.stream.send(response_head(exchange.status, b"", raw))
    for chunk in exchange.chunks if has_body else ():
        draft.add_chunk(chunk.data)
        await inbound.stream.send(chunked(chunk.data))
    if has_body and exchange.end is ExchangeEnd.COMPLETE:
        await inbound.stream.send(LAST_CHUNK)
