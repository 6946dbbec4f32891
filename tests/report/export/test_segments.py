"""Which requests continue a conversation."""

from __future__ import annotations

import pytest

from pinchbench.report.export.segments import segments_of
from pinchbench.wire.exchange import ExchangeEnd
from wire.exchanges import CHAT, exchange, sse

USER = {"role": "user", "content": "Read it."}
FUNCTION = {"name": "read", "arguments": '{"path": "a", "lines": 1}'}


def _asked(*messages: object) -> object:
    return {"model": "m", "messages": list(messages)}


def _said(*, end: str = "[DONE]") -> bytes:
    delta = {
        "content": "I read\n it.",
        "reasoning_content": "hm",
        "tool_calls": [{"index": 0, "id": "call_1", "function": FUNCTION}],
    }
    return sse({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": end and "stop"}]}, end=end)


def _echo(arguments: str = FUNCTION["arguments"], text: str = "I read it.") -> object:
    call = {"id": "call1", "type": "function", "function": {**FUNCTION, "arguments": arguments}}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


@pytest.mark.parametrize(
    ("echo", "count"),
    [
        pytest.param(_echo(), 1, id="without its reasoning, other white space, another id of the call"),
        pytest.param(_echo('{"lines":1,"path":"a"}'), 1, id="arguments in another order"),
        pytest.param(_echo('{"lines":2,"path":"a"}'), 2, id="other arguments"),
        pytest.param(_echo(text="I wrote it."), 2, id="another text"),
        pytest.param({"role": "user", "content": "I read it."}, 2, id="a user's message"),
    ],
)
def test_a_request_that_repeats_the_reply_continues_it(echo: object, count: int) -> None:
    found = segments_of(
        [
            exchange(CHAT, _asked(USER), _said(), number=1),
            exchange(CHAT, _asked(USER, echo, USER), _said(), number=2),
        ]
    )

    assert len(found.segments) == count
    assert [call.prompt for call in found.segments[-1].calls][-1] == 3


def test_failed_calls_are_counted_and_do_not_break_a_conversation() -> None:
    found = segments_of(
        [
            exchange(CHAT, _asked(USER), _said(), number=1),
            exchange(CHAT, _asked(USER, _echo(), USER), b"", number=2, status=500),
            exchange(CHAT, _asked(USER, _echo(), USER), _said(end=""), number=3, end=ExchangeEnd.CUT),
            exchange("/v1/models", number=4),
            exchange(CHAT, _asked(USER, _echo(), USER), _said(), number=5),
        ]
    )

    (segment,) = found.segments
    assert [call.number for call in segment.calls] == [1, 5]
    assert found.failed == 2


def test_a_message_that_openclaw_only_ends_a_request_with_belongs_to_that_call_alone() -> None:
    running = {"role": "user", "content": "Active exec sessions: none"}
    found = segments_of(
        [
            exchange(CHAT, _asked(USER, running), _said(), number=1),
            exchange(CHAT, _asked(USER, _echo(), USER, running), _said(), number=2),
        ]
    )

    (segment,) = found.segments
    first, second = segment.calls
    assert (first.prompt, [one.text for one in first.transient]) == (1, ["Active exec sessions: none"])
    assert (second.prompt, second.transient) == (4, ())
    assert [one.text for one in segment.messages] == ["Read it.", "I read it.", "Read it.", running["content"]]
