"""What the exchanges of a trial measure."""

import pytest
from msgspec.structs import replace

from pinchbench.model.usage import Usage
from pinchbench.wire.exchange import Chunk, Exchange, ExchangeEnd
from pinchbench.wire.exchange_facts import read_all
from pinchbench.wire.measure import measure
from wire.exchanges import CHAT, exchange, sse


def usage(tokens: int, cost: float | None = None) -> dict[str, object]:
    said = {"prompt_tokens": 10, "completion_tokens": tokens, "prompt_tokens_details": {"cached_tokens": 4}}
    return {"choices": [], "usage": said if cost is None else {**said, "cost": cost}}


def call(
    number: int,
    *,
    began_at: float,
    first_s: float = 1.0,
    last_s: float = 3.0,
    ended_s: float = 4.0,
    said: dict[str, object] | None = None,
    replies: int = 0,
    model: str = "m",
    turn: int = 0,
    system: str = "",
) -> Exchange:
    """Build a complete call whose first and last content came then."""
    messages = [
        *([{"role": "system", "content": system}] if system else []),
        {"role": "user", "content": "hi"},
        *[{"role": "assistant", "content": "a"}] * replies,
    ]
    piece = {"model": model, "choices": [{"delta": {"content": "a"}}]}
    chunks = (
        Chunk(at_s=first_s, data=sse(piece)),
        Chunk(at_s=last_s, data=sse(piece)),
        Chunk(at_s=ended_s, data=sse(*([said] if said else []), end="[DONE]")),
    )
    whole = exchange(CHAT, {"messages": messages}, chunks, number=number, turn=turn)
    return replace(whole, began_at=began_at, ended_s=ended_s)


def test_tokens_and_cost_are_those_of_the_provider() -> None:
    found = measure(
        read_all([call(1, began_at=0, said=usage(20, 0.5)), call(2, began_at=10, said=usage(30)), call(3, began_at=20)])
    )
    zeros: dict[str, object] = {"usage": {"prompt_tokens": None, "completion_tokens": 0}}

    assert measure(read_all([call(1, began_at=0, said=zeros)])).facts.unreported == 1
    assert (found.facts.calls, found.facts.unreported) == (3, 1)
    assert found.facts.usage == Usage(
        requests=2, input_tokens=12, output_tokens=50, cache_read_tokens=8, total_tokens=70, cost_usd=0.5
    )


def test_runs_of_automations_are_what_nobody_asked_for() -> None:
    sessions = ("agent:a:main | sessionId=s", "agent:a:cron:j", "agent:a:cron:j | sessionId=t")
    calls = [
        call(number, began_at=10.0 * number, said=usage(20 * number), system=f"Runtime: session={session} | host=h")
        for number, session in enumerate(sessions, start=1)
    ]
    assert measure(read_all(calls)).facts.unasked_tokens == 50 + 70
    assert measure(read_all(calls[:1])).facts.unasked_tokens == 0


def test_times_to_the_first_token_leave_out_what_the_wire_held_back() -> None:
    calls = [call(number, began_at=10.0 * number, first_s=number + 0.5) for number in range(1, 21)]
    held = [replace(one, sent_s=0.5, queued_s=0.5) for one in calls]

    found = measure(read_all(held))

    assert (found.facts.first_token_s, found.facts.queued_s) == (10.5, 10.0)


def test_output_speed_is_that_from_the_first_content_on() -> None:
    at_once = call(2, began_at=10, first_s=1.0, last_s=1.0, said=usage(999))

    assert measure(read_all([call(1, began_at=0, said=usage(20)), at_once])).facts.output_tokens_per_s == 10.0
    assert measure(read_all([at_once])).facts.output_tokens_per_s is None


def test_time_in_the_model_is_counted_once_where_calls_overlap() -> None:
    calls = [call(1, began_at=0), call(2, began_at=2), call(3, began_at=10), replace(call(4, began_at=20), turn=1)]

    found = measure(read_all(calls))

    assert found.facts.model_s == 6 + 4 + 4
    assert found.facts.between_s == 4.0  # what is between two turns is not the agent's time


def test_the_queue_of_the_wire_is_neither_in_the_model_nor_in_a_gap() -> None:
    held = replace(call(2, began_at=5), sent_s=1.0, queued_s=1.0)

    found = measure(read_all([call(1, began_at=0), held]))

    assert (found.facts.model_s, found.facts.between_s, found.facts.queued_s) == (4 + 3, 1.0, 1.0)


def test_failed_calls_are_named() -> None:
    limited = exchange(CHAT, {}, b'{"error": {"message": "slow down"}}', number=1, status=429, began_at=0)
    cut_off = exchange(CHAT, {}, sse({"choices": []}), number=2, end=ExchangeEnd.CUT, began_at=5)
    last = replace(
        exchange(CHAT, {"messages": [{"role": "assistant"}]}, (), number=4, status=0, began_at=20),
        end=ExchangeEnd.NOT_REACHED,
        error="no route",
    )

    found = measure(read_all([last, call(3, began_at=10), cut_off, limited]))

    assert [(one.exchange.number, one.error) for one in found.failed] == [(1, "slow down"), (2, ""), (4, "no route")]
    assert found.facts.failed == (429, 200, 0)
    assert found.facts.calls == 4


def prompts(*reported: tuple[int, int], filler: str = "some words ") -> list[Exchange]:
    """Return calls whose prompts have so many characters, and for which so many tokens were reported."""
    ending = {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}
    return [
        exchange(
            CHAT,
            {"messages": [{"role": "user", "content": (filler * size)[:size]}]},
            sse(ending, {"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 1}}, end="[DONE]"),
            number=number,
        )
        for number, (size, tokens) in enumerate(reported)
    ]


@pytest.mark.parametrize(
    ("reported", "window"),
    [
        ([(43_000, 4096), (50_000, 4096), (60_000, 3900)], 4096),
        ([(20_000, 4000), (50_000, 4096), (60_000, 3900), (70_000, 4000)], 4096),
        ([(27_000, 4096), (28_000, 4000), (29_000, 3900)], 4096),
        # honest, too few to tell, not counted at all, without what was cached, a window that holds more, and only what
        # follows a system prompt that was cached
        ([(43_000, 9_800), (50_000, 11_000), (60_000, 13_000)], 0),
        ([(43_000, 4096), (50_000, 4096)], 0),
        ([(43_000, 10), (50_000, 10), (60_000, 10)], 0),
        ([(43_000, 9_800), (90_000, 9_800), (150_000, 9_800), (151_000, 300)], 0),
        ([(43_000, 4096), (50_000, 4096), (60_000, 4096), (70_000, 16_000)], 0),
        ([(43_000, 1500), (45_000, 2000), (47_000, 2600)], 0),
    ],
)
def test_a_server_that_reads_a_fraction_of_each_long_prompt_truncates_them(
    reported: list[tuple[int, int]], window: int
) -> None:
    assert measure(read_all(prompts(*reported))).truncated_to == window
    assert measure(read_all(prompts(*reported, filler="-" * 1000))).truncated_to == 0, (
        "few tokens make up such a prompt"
    )
