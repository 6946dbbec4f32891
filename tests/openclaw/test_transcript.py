"""Transcripts in any state: whole records are found, the rest is kept, the numbers are right."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pinchbench.model.usage import Usage
from pinchbench.openclaw.transcript import TranscriptFacts, TranscriptReader, describe
from pinchbench.transcript_lines import parse_line

STAMP = "2026-01-01T00:00:00.000Z"
USAGE = {"input": 80, "output": 10, "cacheRead": 20, "cacheWrite": 5, "totalTokens": 115, "cost": {"total": 0.25}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
KEYS = ("role", "content", "provider", "model", "stopReason", "errorMessage", "usage", "arguments", "type")


def message(role: str, content: object = "", **more: object) -> bytes:
    return record("message", message={"role": role, "content": content, **more})


def record(kind: str, **more: object) -> bytes:
    return json.dumps({"type": kind, "id": "1", "timestamp": STAMP, **more}, separators=(",", ":")).encode()


def answer(text: str = "Done.", **more: object) -> bytes:
    fields: dict[str, object] = {"provider": "mock", "model": "m1", "usage": USAGE, "stopReason": "stop", **more}
    return message("assistant", [{"type": "text", "text": text}], **fields)


def call(name: str = "exec", **arguments: object) -> bytes:
    part = {"type": "toolCall", "id": "c", "name": name, "arguments": arguments}
    return message("assistant", [part], provider="mock", model="m1", usage=USAGE, stopReason="toolUse")


def facts(*lines: bytes) -> TranscriptFacts:
    reader = TranscriptReader()
    for line in lines:
        reader.feed(line)
    return reader.facts


@settings(max_examples=50)
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5), max_size=4))
@example([{"role": "assistant", "stopReason": []}])
@example([{"role": "assistant", "content": [], "usage": {"input": 10**400, "cost": {"total": 10**400}}}])
@example([{"role": "assistant", "usage": {"input": True, "output": float("nan"), "cost": {"total": float("inf")}}}])
@example([{"role": "assistant", "stopReason": "error", "errorMessage": "\ud800"}])
@example([{"role": "assistant", "content": "\ud800", "provider": "\ud800"}])
def test_no_record_is_too_odd_to_be_counted(messages: list[dict[str, object]]) -> None:
    reader = TranscriptReader()
    for one in messages:
        for event in reader.feed(record("message", message=one)):
            describe(event).encode()  # what is shown and journaled can be written
    counted = reader.facts
    assert counted.events == len(messages)
    for text in (counted.error, counted.final_text, *counted.models):
        text.encode()


@given(st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=2), max_size=5), st.data())
def test_spliced_records_come_apart_whole(more: list[dict[str, object]], data: st.DataObject) -> None:
    lines = [record("custom", number=number, more=one) for number, one in enumerate(more)]
    parsed = parse_line(b"".join(lines))
    assert [json.dumps(event) for event in parsed.events] == [json.dumps(json.loads(line)) for line in lines]
    if lines:
        cut = data.draw(st.integers(1, len(lines[0]) - 1))
        torn = parse_line(lines[0][:cut] + b"".join(lines))
        whole = [event for event in torn.events if "raw" not in event]
        assert [event.get("number") for event in whole][-len(lines) :] == list(range(len(lines)))
        assert torn.damaged


def test_a_torn_record_before_a_whole_one_is_kept_as_text() -> None:
    whole = answer()
    parsed = parse_line(whole[:60] + whole)
    assert parsed.damaged
    assert parsed.events[0]["raw"] == whole[:60].decode()
    assert parsed.events[0]["parse_error"]
    assert parsed.events[1:] == (json.loads(whole),)


@pytest.mark.parametrize("line", [b"nonsense", b"[1]", b"42", b'"text"', b"null", b'{"type":"message"'])
def test_a_line_that_is_no_object_is_damage_with_its_text_kept(line: bytes) -> None:
    [event] = parse_line(line).events
    assert event["raw"] == line.decode()
    assert facts(line) == TranscriptFacts(events=1, damaged=1)


def test_usage_is_summed_over_the_calls_of_the_model() -> None:
    counted = facts(record("session"), message("user", "Hi"), call(path="a"), message("toolResult"), answer())
    assert counted.usage == Usage(
        requests=2,
        input_tokens=160,
        output_tokens=20,
        cache_read_tokens=40,
        cache_write_tokens=10,
        total_tokens=230,
        cost_usd=0.5,
    )
    assert (counted.events, counted.damaged, counted.tool_calls, counted.user_messages) == (5, 0, 1, 1)
    assert counted.models == ("mock/m1",)
    assert (counted.answered, counted.final_text) == (True, "Done.")


@pytest.mark.parametrize(
    ("lines", "answered"),
    [
        ([answer()], True),
        ([call()], False),
        ([call(), message("toolResult")], False),
        ([answer(), message("user", "and now?")], False),
        ([answer(stopReason="aborted")], False),
        ([answer(stopReason="error")], False),
        ([answer(stopReason="length")], True),
        ([answer(), answer(provider="openclaw")], True),
    ],
)
def test_only_a_final_answer_counts_as_answered(lines: list[bytes], answered: bool) -> None:
    assert facts(*lines).answered is answered


def test_an_error_of_the_provider_stands_until_a_later_call_succeeds() -> None:
    refused = answer(stopReason="error", errorMessage="401 invalid api key")
    assert facts(refused).error == "401 invalid api key"
    assert facts(refused).usage.requests == 0
    assert facts(answer(), refused).error == "401 invalid api key"
    assert facts(refused, answer()).error == ""
    assert facts(answer(stopReason="error")).error == "the provider answered with an error"


def test_errors_about_too_many_requests_are_counted() -> None:
    def refused(text: str, code: str = "", kind: str = "") -> bytes:
        return answer(stopReason="error", errorMessage=text, errorCode=code, errorType=kind)

    limited = refused("429 Rate limit reached for m1: too many requests per min.")
    coded = refused("Provider returned error", code="rate_limit_exceeded")
    overloaded = refused("Provider returned error", kind="overloaded_error")
    assert facts(limited, answer(), coded, overloaded).rate_limits == 3
    assert facts(refused("401 invalid api key"), refused("402 Insufficient credits"), answer("429")).rate_limits == 0


def test_a_second_model_or_openclaws_note_is_a_fallback() -> None:
    assert not facts(answer(), answer()).fallback
    assert facts(answer(), answer(model="m2")).fallback
    assert facts(answer(), answer(model="m2")).models == ("mock/m1", "mock/m2")
    note = "Continue where you left off. The previous model attempt failed."
    assert facts(message("user", note)).fallback
    assert facts(message("user", [{"type": "text", "text": note}])).fallback
    assert not facts(answer(note)).fallback


def test_a_transcript_says_where_the_session_works() -> None:
    lines = [record("session", cwd="/w/a"), answer()]
    assert (facts(*lines).cwds, facts(answer()).cwds) == (("/w/a",), ())
    assert facts(record("session"), record("session", cwd=None)).cwds == ()
    assert facts(*lines, record("session", cwd="/w/\ud800"), *lines).cwds == ("/w/a", "/w/\ufffd")


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        (call("write", path="out.txt", content="x"), "write out.txt"),
        (call("exec", timeout=5, command="ls -l"), "exec ls -l"),
        (call("status"), "status"),
        (answer("All done."), "All done."),
        (message("user", "Hi"), ""),
        (record("session"), ""),
        (record("message", message="odd"), ""),
    ],
)
def test_an_event_is_described_in_one_line(line: bytes, reported: str) -> None:
    assert describe(json.loads(line)) == reported
