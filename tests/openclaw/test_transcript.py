"""Reading the events of a session, and the errors on stderr."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pinchbench.model.usage import Usage
from pinchbench.openclaw.transcript import (
    ComplaintReader,
    Complaints,
    TranscriptFacts,
    TranscriptReader,
    describe,
    is_rate_limit,
)
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


END = "[agent/embedded] embedded run agent end: runId=f2b9 isError=true model=m1 provider=mock"
LIMITED = f"{END} error=\u26a0\ufe0f Rate limit reached for m1. rawError=429 Rate limit reached for m1."
CLOSED = "Gateway agent call connection closed; the Gateway may still be running this turn."
UNREACHABLE = "Gateway not reachable at ws://127.0.0.1:60383 (ECONNREFUSED)."
ALONE = (
    "EMBEDDED FALLBACK: Gateway agent failed; running embedded agent: GatewayTransportError: gateway closed"
    " (1006 abnormal closure (no close frame)): no close reason"
)

LANE = "2026-04-14T08:10:28.396+02:00 [diagnostic] lane task error: lane=cron-nested durationMs=9912"
LOCKED = "another OpenClaw process owns state-lifecycle"
MAINTENANCE = f'[state/db] Shared-state WAL maintenance failed error="{LOCKED}" path=/state/state/openclaw.sqlite'

LOST_LOG = "[openclaw] log file append failed; records dropped; check that the path is a writable regular file; file=/x"


def heard(*lines: str) -> Complaints:
    reader = ComplaintReader()
    for line in lines:
        reader.feed(line)
    return reader.complaints


@pytest.mark.parametrize(
    ("line", "words", "rate_limits"),
    [
        (f"{END} error=Authentication failed. rawError=401 Incorrect API key.", "401 Incorrect API key.", 0),
        (f"{END} error=a billing error. rawError=402 Insufficient credits.", "402 Insufficient credits.", 0),
        (LIMITED, "429 Rate limit reached for m1.", 1),
        (f"{END} error=The AI service. rawError=503 The engine is overloaded.", "503 The engine is overloaded.", 1),
        (f"{END} error=LLM request failed.", "LLM request failed.", 0),
        ("[agent/embedded] embedded run agent end: runId=f2b9 isError=false", "", 0),
        ("[agent/embedded] transient same-model retry 1/9 for mock/m1 reason=rate_limit: delayMs=958", "", 0),
        ("[model-fallback/decision] model fallback decision: reason=rate_limit detail=429 Rate limit", "", 0),
        ("", "", 0),
    ],
)
def test_a_failed_call_is_reported_once_and_in_the_providers_own_words(line: str, words: str, rate_limits: int) -> None:
    complaints = heard(line)
    assert (complaints.provider, complaints.rate_limits, complaints.telling_line) == (words, rate_limits, line)


@pytest.mark.parametrize(
    ("before", "reason", "reported"),
    [
        (LIMITED, "rate_limit", "429, retry 2 of 9"),
        (f"{END} error=It failed. rawError=503 Overloaded.", "overloaded", "503, retry 2 of 9"),
        (f"{END} error=LLM request failed. rawError=Connection error.", "network_error", "network error, retry 2 of 9"),
        ("", "timeout", "timeout, retry 2 of 9"),
    ],
)
def test_a_retry_is_reported_with_its_reason_its_number_and_its_time(before: str, reason: str, reported: str) -> None:
    reader = ComplaintReader()
    reader.feed(before)
    reader.feed(f"[agent/embedded] transient same-model retry 2/9 for mock/m1 reason={reason}: delayMs=2843")
    assert reader.retry is not None
    assert (str(reader.retry), reader.retry.delay_s) == (reported, 2.843)


def test_an_answer_of_the_model_ends_what_its_provider_failed_with_and_the_count_stays() -> None:
    reader = ComplaintReader()
    reader.feed(LIMITED, at=10.0)
    reader.answered(at=9.5)  # read late: it came before
    assert reader.complaints.provider == "429 Rate limit reached for m1."
    reader.answered(at=12.0)
    assert (reader.complaints.provider, reader.complaints.rate_limits) == ("", 1)
    reader.feed(LIMITED, at=13.0)
    assert (reader.complaints.provider, reader.complaints.rate_limits) == ("429 Rate limit reached for m1.", 2)


@pytest.mark.parametrize(
    ("lines", "telling"),
    [
        (('Thinking level "high" is not supported for local/m1. Use one of: off.', LOST_LOG), 0),
        (("Starting.", "Stopping."), 1),
        (("Error: Cannot find module 'x'", "    at Module._load (node:internal)", "Node.js v24.16.0"), 0),
        (("Error: first", "Invalid config: second", "bye"), 1),
    ],
)
def test_the_line_that_tells_why_is_found_among_others(lines: tuple[str, ...], telling: int) -> None:
    assert heard(*lines).telling_line == lines[telling].strip()


@pytest.mark.parametrize(
    ("lines", "gateway", "other_session"),
    [
        ([CLOSED, UNREACHABLE, "Gateway target: ws://127.0.0.1:60383"], f"{CLOSED} {UNREACHABLE}", False),
        ([ALONE], ALONE, False),
        (
            ["EMBEDDED FALLBACK: Gateway agent timed out; running embedded agent with fresh session s2"],
            "EMBEDDED",
            True,
        ),
        (["gateway agent requires credentials before opening a websocket"], "gateway agent requires", False),
        (["Gateway agent connection closed during handshake; retrying in 500ms before embedded fallback"], "", False),
        (["[tools] exec failed: the gateway closed early"], "", False),
    ],
)
def test_a_gateway_that_is_lost_or_absent_is_reported(lines: list[str], gateway: str, *, other_session: bool) -> None:
    complaints = heard(*lines)
    assert complaints.gateway.startswith(gateway)
    assert bool(complaints.gateway) == bool(gateway)
    assert complaints.other_session is other_session


@pytest.mark.parametrize(
    ("line", "full"),
    [
        ("Error: ENOSPC: no space left on device, write", True),
        ("SqliteError: database or disk is full", True),
        ("[tools] exec failed: dd: ENOSPC: no space left on device, write", False),
        ("the disk is fine", False),
    ],
)
def test_a_full_disk_is_reported_by_openclaw_and_not_by_a_command_of_the_agent(line: str, *, full: bool) -> None:
    assert heard(line).full_disk == (line if full else "")


@pytest.mark.parametrize(
    ("words", "limited"),
    [
        ("429 Rate limit reached for m1", True),
        ("Too Many Requests", True),
        ("529 overloaded_error", True),
        ("429 You exceeded your current quota, please check your plan and billing details.", False),
        ("429 You exceeded your current quota. Limit: 15 requests per minute, please retry in 20s.", True),
        ("429 Rate limit reached. Add a payment method to your account, see billing.", True),
        ("402 Insufficient credits", False),
        ("400 maximum context length is 4290 tokens", False),
    ],
)
def test_too_many_requests_are_reported_from_too_little_money(words: str, *, limited: bool) -> None:
    assert is_rate_limit(words) is limited


@pytest.mark.parametrize(
    ("line", "locked"),
    [
        (f'{LANE} error="{LOCKED}" errorName=StateDatabaseCoordinatorContentionError', LOCKED),
        (f'{LANE} error="cron: job execution timed out" errorName=Error', ""),
        (MAINTENANCE, ""),
        (f'[tools] exec failed: {LANE} error="{LOCKED}"', ""),
    ],
)
def test_a_turn_that_is_not_run_as_the_state_is_locked_is_reported(line: str, locked: str) -> None:
    assert heard(line, MAINTENANCE).locked == locked
