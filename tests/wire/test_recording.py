"""Recordings: what is written is read back, whatever ends their writer, and they are small."""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pinchbench.wire import recording
from pinchbench.wire.exchange import Chunk, Exchange, ExchangeEnd
from pinchbench.wire.recording import RecordingReader, RecordingWriter
from wire.exchanges import CHAT, cut, exchange, sse

SECRET = "sk-live-0123456789abcdef"
TEXTS = st.text(max_size=20)
SECONDS = st.integers(0, 10**10).map(lambda count: count / 1_000_000)
# Bodies that begin and end alike, cut within characters too, as the requests of a conversation do.
BODIES = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda head, middle, tail: "ä".encode() * head + middle + "🦀".encode() * tail,
        st.integers(0, 60),
        st.binary(max_size=5) | st.text(max_size=5).map(str.encode),
        st.integers(0, 60),
    ),
)
HEADERS = st.lists(st.tuples(st.sampled_from(["a", "traceparent", "retry-after"]), TEXTS), max_size=3).map(tuple)
EXCHANGES = st.builds(
    Exchange,
    number=st.integers(1, 1000),
    began_at=st.floats(0, 4e9),
    turn=st.integers(0, 9),
    provider=TEXTS,
    method=st.sampled_from(["POST", "GET"]),
    path=st.sampled_from([CHAT, "/", "/ü\0"]),
    request_headers=HEADERS,
    request=BODIES,
    sent_s=SECONDS,
    queued_s=SECONDS,
    status=st.integers(0, 599),
    reply_headers=HEADERS,
    chunks=st.lists(st.builds(Chunk, at_s=SECONDS, data=BODIES), max_size=4).map(tuple),
    ended_s=SECONDS,
    end=st.sampled_from(ExchangeEnd),
    error=TEXTS,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "wire.jsonl.zst"


def record(path: Path, exchanges: Sequence[Exchange], secrets: Sequence[str] = ()) -> None:
    with RecordingWriter(path, secrets) as writer:
        for one in exchanges:
            writer.append(one)


def read(path: Path) -> tuple[list[Exchange], str]:
    """Return the exchanges, and why they are not all."""
    reader = RecordingReader(path)
    return [*reader], reader.problem


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(exchanges=st.lists(EXCHANGES, max_size=12))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, exchanges: list[Exchange]) -> None:
    path = tmp_path_factory.mktemp("wire") / "wire.jsonl.zst"

    record(path, exchanges)

    assert read(path) == (exchanges, "")


def conversation(turns: int, *, said: str = "Please read the file and tell me what is in it. ") -> list[Exchange]:
    """Build a conversation that grows by a call and its result each time, after which a note follows."""
    rng = random.Random(1)
    messages: list[object] = [{"role": "system", "content": said * 200}, {"role": "user", "content": said}]
    exchanges = []
    for number in range(1, turns + 1):
        note = {"role": "user", "content": "Active sessions: none"}
        request = {"model": "m", "messages": [*messages, note], "stream": True, "tools": [{"name": "read"}] * 50}
        words = [f"{rng.randrange(16**8):08x} " for _ in range(40)]
        reply = sse(*({"choices": [{"delta": {"content": word}}]} for word in words), end="[DONE]")
        exchanges.append(exchange(CHAT, request, cut(reply, 100), number=number))
        messages += [{"role": "assistant", "content": "".join(words)}, {"role": "tool", "content": words[0] * 9}]
    return exchanges


@pytest.mark.parametrize("interleaved", [1, 3])
def test_conversations_are_compressed_against_themselves(path: Path, interleaved: int) -> None:
    alone = conversation(40)
    record(path, [one for one in alone for _ in range(interleaved)])

    whole = sum(len(one.request) for one in alone)
    replies = sum(len(one.reply) for one in alone)
    assert path.stat().st_size < interleaved * (whole + replies) / 15
    assert [one.number for one in RecordingReader(path)] == [one.number for one in alone for _ in range(interleaved)]


def test_a_cut_anywhere_loses_one_exchange_and_says_so(path: Path) -> None:
    whole = conversation(3)
    record(path, whole[:2])
    before = path.stat().st_size
    record(path.with_name("whole"), whole)
    data = path.with_name("whole").read_bytes()

    for size in (before + 1, before + 5, before + 30, len(data) - 1):
        path.write_bytes(data[:size])
        exchanges, problem = read(path)
        assert exchanges == whole[:2]
        assert "exchange 3 is cut off" in problem


def test_no_file_that_is_there_is_written_to(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))

    with pytest.raises(FileExistsError):
        RecordingWriter(path)


@pytest.mark.parametrize(
    "line",
    [
        b"{}\n",
        b"not JSON\n",
        b'{"number":1,"began_at":0,"provider":"p","method":"POST","path":"/","request":{"back":9}}\n',
        b'{"number":1,"began_at":0,"provider":"p","method":"POST","path":"/","sizes":[1,2],"gaps_us":[1]}\n',
    ],
)
def test_a_line_that_is_no_exchange_is_a_problem(path: Path, line: bytes) -> None:
    path.write_bytes(zstandard.ZstdCompressor().compress(line))

    assert "damaged after 0 exchanges" in read(path)[1]


def test_secrets_are_masked_before_requests_are_compared(path: Path) -> None:
    whole = conversation(3, said=f"The key is {SECRET}. ")
    record(path, whole, [SECRET])

    masked = [replace(one, request=one.request.replace(SECRET.encode(), b"*" * len(SECRET))) for one in whole]
    assert read(path)[0] == masked


@pytest.mark.parametrize("cut_at", range(1, len(SECRET)))
def test_a_secret_that_goes_on_where_an_earlier_request_ended_is_masked(path: Path, cut_at: int) -> None:
    begin = b"x" * 200 + SECRET[:cut_at].encode()
    record(path, [exchange(CHAT, begin), exchange(CHAT, begin + SECRET[cut_at:].encode() + b"y" * 200)], [SECRET])

    assert read(path)[0][1].request == b"x" * 200 + b"*" * len(SECRET) + b"y" * 200


def write_a_piece_until_the_disk_is_full() -> Callable[[int, bytes], int]:
    write_really = os.write
    written: list[int] = []

    def write(file: int, data: bytes) -> int:
        if written:
            raise OSError(28, "No space left on device")
        written.append(write_really(file, data[:10]))
        return 10

    return write


def test_a_full_disk_leaves_what_was_written_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = conversation(3)

    with RecordingWriter(path) as writer:
        writer.append(whole[0])
        with monkeypatch.context() as patch:
            patch.setattr("os.write", write_a_piece_until_the_disk_is_full())
            with pytest.raises(OSError, match="No space left"):
                writer.append(whole[1])
        writer.append(whole[2])

    assert read(path) == ([whole[0], whole[2]], "")


def test_the_memory_for_earlier_requests_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "EARLIER_BYTES", 1000)
    whole = [exchange(CHAT, b"a" * 600, number=number) for number in range(1, 30)]
    with RecordingWriter(path) as writer:
        for one in whole:
            writer.append(one)
            assert sum(map(len, writer._earlier)) <= 1000

    assert read(path)[0] == whole
