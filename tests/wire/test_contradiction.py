"""A transcript is compared with what the model sent."""

from __future__ import annotations

import pytest

from pinchbench.wire.contradiction import Contradiction, first_contradiction
from pinchbench.wire.exchange import Exchange, ExchangeEnd
from pinchbench.wire.protocols.values import ToolCall
from wire.exchanges import CHAT, exchange, sse


def reply(
    number: int, text: str = "", *calls: tuple[str, str], end: ExchangeEnd = ExchangeEnd.COMPLETE, status: int = 200
) -> Exchange:
    """Build an exchange with this reply; one that did not end well has no end mark."""
    deltas: list[dict[str, object]] = [{"content": text}]
    for index, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": arguments}
        deltas.append({"tool_calls": [{"index": index, "id": f"call_{index}", "function": function}]})
    stream = sse(
        *({"choices": [{"delta": delta}]} for delta in deltas), end="[DONE]" if end is ExchangeEnd.COMPLETE else ""
    )
    return exchange(CHAT, {}, stream, number=number, end=end, status=status)


def call(name: str, arguments: str, call_id: str = "call0") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("  Hello\n\nyou ", "Hello you"),
        ("<think>hm</think>Hello", "Hello"),
        ("<think>hm", ""),
        ("<final>Hello</final>", "Hello"),
        ("Hello\ud800", "Hello\ufffd"),
        ("the password = next(word", "the password = ***"),
        ("the token sk-live-0123456789abcdef, and more", "the token sk-liv…cdef, and more"),
        ("-----BEGIN KEY-----\nabc\n-----END KEY-----", "-----BEGIN KEY-----\n…redacted…\n-----END KEY-----"),
        ("a sk-1 b sk-2 c", "a [key] b [key] c"),
    ],
)
def test_what_openclaw_rewrites_is_no_contradiction(sent: str, said: str) -> None:
    assert first_contradiction([reply(1, sent)], [(said, ())]) is None


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("Hello", "Hello!"),
        ("Hello", "Hell"),
        ("", "Hello"),
        ("a b c", "a *** d"),
        ("a b c", "d *** c"),
        ("ab", "a***ba"),
    ],
)
def test_another_text_is_a_contradiction(sent: str, said: str) -> None:
    assert first_contradiction([reply(1, sent)], [(said, ())]) is not None


def test_ids_and_the_form_of_arguments_do_not_count() -> None:
    sent = [reply(1, "", ("read", '{"b": 1, "a": "ü"}'), ("ls", ""))]

    said = [("", (call("read", '{"a":"\\u00fc","b":1}', "other"), call("ls", "{}")))]

    assert first_contradiction(sent, said) is None


@pytest.mark.parametrize(
    "calls",
    [
        (),
        (call("read", '{"a": 2}'),),
        (call("write", '{"a": 1}'),),
        (call("read", '{"a": 1}'), call("read", '{"a": 1}')),
    ],
)
def test_other_calls_are_a_contradiction_that_names_the_reply(calls: tuple[ToolCall, ...]) -> None:
    sent = [reply(1, "first"), reply(2, "x", ("read", '{"a": 1}'))]

    found = first_contradiction(sent, [("first", ()), ("", ()), ("x", calls)])

    assert found is not None
    assert (found.index, found.number, found.sent) == (2, 2, 'x read({"a": 1})')


def test_each_reply_explains_one_message_in_any_order() -> None:
    sent = [reply(1, "one"), reply(2, "two"), reply(3, "one")]

    assert first_contradiction(sent, [("two", ()), ("one", ()), ("one", ())]) is None
    assert first_contradiction(sent, [("two", ()), ("two", ())]) == Contradiction(
        index=1, said="two", sent="one", number=1
    )
    assert first_contradiction([], [("one", ())]) == Contradiction(index=0, said="one")


def test_a_cut_reply_explains_its_beginning_and_a_failed_one_nothing() -> None:
    cut_off = reply(1, "Hello you", ("read", '{"a": 1}'), ("write", '{"b": '), end=ExchangeEnd.CLIENT_LEFT)

    for text, calls in (
        ("Hello", ()),
        ("", (call("read", '{"a": 1}'),)),
        ("Hello you", (call("read", '{"a": 1}'), call("write", '{"b": null}'))),
    ):
        assert first_contradiction([cut_off], [(text, calls)]) is None
    assert first_contradiction([cut_off], [("you", ())]) is not None
    assert first_contradiction([cut_off], [("Hello", (call("read", '{"a": 2}'), call("write", "")))]) is not None
    assert first_contradiction([reply(1, "Hello", status=500)], [("Hello", ())]) is not None


def test_a_whole_reply_explains_a_message_before_a_cut_one_does() -> None:
    sent = [reply(1, "Hello you", end=ExchangeEnd.CUT), reply(2, "Hello")]

    assert first_contradiction(sent, [("Hello", ()), ("Hello you", ())]) is None


def test_arguments_that_are_no_json_are_not_compared() -> None:
    assert first_contradiction([reply(1, "", ("read", '{"a": 1'))], [("", (call("read", '{"a": 1}'),))]) is None
