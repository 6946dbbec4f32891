"""Whose doing the end of an attempt is, and what graders read, by what the wire saw of its calls."""

import json
from pathlib import Path
from typing import Any

import pytest
from anyio import sleep
from msgspec.structs import replace

from fakes import SeenEvents
from pinchbench.model.ending import Reason
from pinchbench.model.facts import FindingKind, WireFacts
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialEvents, TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.evidence_files import Evidence
from pinchbench.runner.trial.wire_facts import CAUSABLE, TrialMeter, not_excused, read_wire, with_start, witnessed
from pinchbench.transcripts import read_conversation
from pinchbench.wire.exchange import Exchange, ExchangeEnd
from pinchbench.wire.exchange_facts import read_all
from pinchbench.wire.measure import Measurements, measure
from pinchbench.wire.recording import RecordingWriter
from pinchbench.wire.wire_messages import CallUsed, Held, LimitExceeded, RequestRefused
from wire.exchanges import CHAT, SSE, exchange, sse

pytestmark = pytest.mark.virtual_clock

ANSWER = sse({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}, end="[DONE]")
FORGED = "503 Service Unavailable"
PROVIDER, MODEL, TIMED_OUT = Reason.PROVIDER_ERROR, Reason.MODEL_ERROR, Reason.TIMED_OUT


def an_outcome(reason: Reason, note: str = "", **facts: Any) -> Outcome:
    return Outcome(key=TrialKey(task_id="t", repetition=1), reason=reason, digest="d", note=note, **facts)


def replied(number: int = 1, turn: int = 0) -> Exchange:
    return exchange(CHAT, {}, ANSWER, number=number, turn=turn, began_at=number * 10)


def refused(message: str, number: int = 2, status: int = 400) -> Exchange:
    body = b'{"error": {"message": "%s"}}' % message.encode()
    return exchange(CHAT, {}, body, number=number, status=status, began_at=number * 10, reply_headers=())


def left(number: int = 2, *, body: bytes = b"", after_s: float = 120.0) -> Exchange:
    chunks = body or ()
    began_at = number * 10
    return exchange(CHAT, {}, chunks, number=number, end=ExchangeEnd.CLIENT_LEFT, began_at=began_at, ended_s=after_s)


OVERFLOWED = refused("prompt is too long")
BUSY = refused("Too many tokens, please wait")
GONE = replace(left(body=b""), status=0, end=ExchangeEnd.NOT_REACHED, error="connection refused")
CUT = replace(left(body=ANSWER[:20]), end=ExchangeEnd.CUT)
HALF = left(body=ANSWER[:20])
ENDED, ENDED_SO = (
    left(body=sse({"error": {"message": words}})) for words in ("Too many requests", "prompt is too long")
)
SILENT, IMPATIENT = left(), left(after_s=5.0)


@pytest.mark.parametrize(
    ("reason", "exchanges", "decided"),
    [
        # a complete reply that OpenClaw could not use, or words that no provider sent
        (PROVIDER, [replied()], MODEL),
        (Reason.NO_MODEL_CALL, [replied()], MODEL),
        (Reason.NONZERO_EXIT, [replied()], Reason.NONZERO_EXIT),
        (PROVIDER, [BUSY, replied(3)], MODEL),
        (PROVIDER, [replied(), IMPATIENT], MODEL),
        # what the wire saw fail
        (PROVIDER, [replied(), OVERFLOWED], MODEL),
        (MODEL, [replied(), BUSY], PROVIDER),
        (Reason.NONZERO_EXIT, [replied(), BUSY], PROVIDER),
        (Reason.NONZERO_EXIT, [replied(), OVERFLOWED], MODEL),
        (PROVIDER, [replied(), GONE], PROVIDER),
        (MODEL, [replied(), CUT], PROVIDER),
        (PROVIDER, [replied(), SILENT], PROVIDER),
        (PROVIDER, [replied(), HALF], MODEL),
        (PROVIDER, [replied(), ENDED], PROVIDER),
        (PROVIDER, [replied(), ENDED_SO], MODEL),
        (PROVIDER, [replied(), replace(ENDED_SO, end=ExchangeEnd.CUT)], MODEL),
        # nothing at all
        (PROVIDER, [], PROVIDER),
        (PROVIDER, [left(1)], PROVIDER),
        # not about calls
        (Reason.COMPLETED, [replied(), BUSY], Reason.COMPLETED),
        (Reason.KILLED_BY_SIGNAL, [replied(), BUSY], Reason.KILLED_BY_SIGNAL),
    ],
)
def test_the_wire_decides_whose_doing_a_failure_is(reason: Reason, exchanges: list[Exchange], decided: Reason) -> None:
    assert witnessed(an_outcome(reason, FORGED), measure(read_all(exchanges)), turn=0)[0] is decided


@pytest.mark.parametrize(
    ("note", "body", "told"),
    [
        ("Connection error.", b"<html>Sign in</html>", "Connection error. (web page: Sign in)"),
        ("The model was unloaded.", sse({"error": "The model was unloaded"}), "The model was unloaded."),
        ("Provider finish_reason: eos", sse({"choices": [{"finish_reason": "eos"}]}), "Provider finish_reason: eos"),
    ],
)
def test_the_note_says_what_the_wire_saw_where_openclaw_does_not(note: str, body: bytes, told: str) -> None:
    found = measure(read_all([exchange(CHAT, {}, body, reply_headers=())]))
    assert witnessed(an_outcome(PROVIDER, note), found, turn=0) == (PROVIDER, told)


@pytest.mark.parametrize(
    ("reason", "exchanges", "decided"),
    [
        (TIMED_OUT, [replied()], TIMED_OUT),
        (TIMED_OUT, [replied(), SILENT], TIMED_OUT),
        (TIMED_OUT, [left(1, body=b": ping\n\n")], TIMED_OUT),
        (TIMED_OUT, [replied(), OVERFLOWED], TIMED_OUT),
        (PROVIDER, [replied()], TIMED_OUT),
        (PROVIDER, [left(1, body=b": ping\n\n")], TIMED_OUT),
        (TIMED_OUT, [replied(), BUSY], PROVIDER),
        (TIMED_OUT, [replied(), BUSY, left(3)], PROVIDER),
        (TIMED_OUT, [left(1), left(2)], Reason.NO_REPLY),
        (Reason.NO_MODEL_CALL, [left(1)], Reason.NO_REPLY),
    ],
)
def test_the_wire_decides_whose_doing_a_timeout_is(reason: Reason, exchanges: list[Exchange], decided: Reason) -> None:
    assert witnessed(an_outcome(reason, timed_out=True), measure(read_all(exchanges)), turn=0)[0] is decided


@pytest.mark.parametrize(
    ("reason", "decided"),
    [
        (Reason.COMPLETED, Reason.PROMPT_TRUNCATED),
        (TIMED_OUT, Reason.PROMPT_TRUNCATED),
        (Reason.INTERRUPTED, Reason.INTERRUPTED),
    ],
)
def test_what_a_model_did_with_truncated_prompts_says_nothing_about_it(reason: Reason, decided: Reason) -> None:
    found = Measurements(facts=WireFacts(calls=3), last=3, truncated_to=4096)
    assert witnessed(an_outcome(reason), found, turn=0)[0] is decided
    assert not Reason.PROMPT_TRUNCATED.is_valid


@pytest.mark.parametrize(
    ("reason", "exchanges", "exit_code", "decided"),
    [
        *((reason, [replied()], 0, Reason.COMPLETED) for reason in sorted(CAUSABLE)),
        *((reason, [replied()], 1, Reason.NONZERO_EXIT) for reason in sorted(CAUSABLE)),
        *((reason, [left(1)], 1, reason) for reason in sorted(CAUSABLE)),  # before the agent could do anything
        (Reason.NO_MODEL_CALL, [replied()], 1, Reason.NONZERO_EXIT),
        (Reason.NO_MODEL_CALL, [replied()], 0, Reason.NO_MODEL_CALL),
        (Reason.AGENT_NOT_STARTED, [replied()], None, Reason.AGENT_NOT_STARTED),
        (Reason.GUARDIAN_LOST, [replied()], 1, Reason.GUARDIAN_LOST),
        (Reason.COMPLETED, [replied()], 0, Reason.COMPLETED),
    ],
)
def test_what_an_agent_can_cause_is_no_excuse_once_the_model_has_replied(
    reason: Reason, exchanges: list[Exchange], exit_code: int | None, decided: Reason
) -> None:
    found = measure(read_all(exchanges))
    assert not_excused(an_outcome(reason, exit_code=exit_code), found).reason is decided
    assert not_excused(an_outcome(reason, exit_code=exit_code), found, is_ours=True).reason is reason
    if reason in CAUSABLE and found.last:
        assert not_excused(an_outcome(reason, exit_code=exit_code, timed_out=True), found).reason is TIMED_OUT


@pytest.mark.parametrize(
    ("reason", "began_at", "start_s", "note"),
    [
        (TIMED_OUT, 150.0, 46.0, "OpenClaw's own start took 46 of 120 s: lower --concurrency, or raise --timeout-m"),
        (TIMED_OUT, 130.0, 26.0, ""),
        (Reason.COMPLETED, 150.0, 46.0, ""),
        (TIMED_OUT, 100.0, 0.0, ""),
    ],
)
def test_openclaws_own_start_is_measured_and_named_where_it_took_much_of_a_trial_that_timed_out(
    reason: Reason, began_at: float, start_s: float, note: str
) -> None:
    outcome = an_outcome(reason, started_at=100.0, setup_s=4.0, timeout_s=120.0, wire=WireFacts(calls=2))
    found = measure(read_all([replace(replied(), began_at=began_at), replace(replied(2), began_at=began_at + 9)]))

    told = with_start(outcome, found)

    assert told.wire is not None
    assert (told.wire.start_s, told.note[: len(note)], bool(told.note)) == (start_s, note, bool(note))
    assert with_start(outcome, measure(read_all([]))) is outcome


FORGED_EVENT = json.dumps({"type": "message", "message": {"role": "assistant", "content": "42 passed"}}).encode()


def recorded(folder: Path, path: str = CHAT, *headers: tuple[str, str]) -> Evidence:
    """Make the evidence of a trial whose model said half a pair of surrogates, and whose store says something else."""
    evidence = Evidence(folder=folder)
    asked = {"model": "m", "messages": [{"role": "user", "content": "Test it."}]}
    delta = {
        "content": "\ud83d 41 passed",
        "tool_calls": [{"index": 0, "function": {"name": "exec", "arguments": "{}"}}],
    }
    with RecordingWriter(evidence.wire) as writer:
        said = sse({"choices": [{"delta": delta, "finish_reason": "tool_calls"}]}, end="[DONE]")
        writer.append(exchange(path, asked, said, reply_headers=headers or SSE))
    evidence.transcript.write_bytes(FORGED_EVENT)
    return evidence


def test_graders_get_what_the_wire_saw_and_the_store_is_kept(tmp_path: Path) -> None:
    evidence = recorded(tmp_path)

    read = read_wire(evidence)

    said = [one.text for one in read_conversation(evidence.transcript)]
    assert said == ["Test it.", "\ufffd 41 passed"]
    assert evidence.store.read_bytes() == FORGED_EVENT
    assert (read.events, read.tool_calls, len(read.findings)) == (2, 1, 2)


def test_graders_get_what_the_wire_saw_if_the_store_is_gone(tmp_path: Path) -> None:
    evidence = recorded(tmp_path)
    evidence.transcript.unlink()

    read = read_wire(evidence)

    assert [one.text for one in read_conversation(evidence.transcript)] == ["Test it.", "\ufffd 41 passed"]
    assert not evidence.store.exists()
    assert {one.kind for one in read.findings} == {FindingKind.MISSING}


def test_the_store_counts_where_a_reply_cannot_be_decompressed(tmp_path: Path) -> None:
    evidence = recorded(tmp_path, CHAT, ("content-encoding", "br"))

    read = read_wire(evidence)

    assert (evidence.transcript.read_bytes(), evidence.store.exists()) == (FORGED_EVENT, False)
    assert (read.events, read.findings) == (None, ())


def calls(tokens: int) -> CallUsed:
    return CallUsed(trial="t", usage=Usage(requests=1, total_tokens=tokens))


async def test_the_usage_of_calls_is_summed_up() -> None:
    seen = SeenEvents()
    meter = TrialMeter(seen)

    meter.take(calls(3))
    meter.take(calls(4))

    assert [usage.total_tokens for usage in seen.measured] == [3, 7]


async def test_held_time_is_summed_up_and_goes_on_while_it_is_held() -> None:
    meter = TrialMeter(TrialEvents())

    meter.take(Held(trial="t", is_held=True))
    await sleep(5)
    while_held = meter.held_s()
    await sleep(1)
    meter.take(Held(trial="t", is_held=False))
    await sleep(100)

    assert [while_held, meter.held_s()] == pytest.approx([5, 6])


async def test_what_the_wire_refused_is_noted_once_and_what_the_trial_used_too_much_of() -> None:
    meter = TrialMeter(TrialEvents())

    for what in ("POST /v1/files", "model stronger", "POST /v1/files"):
        meter.take(RequestRefused(trial="t", what=what))
    meter.take(LimitExceeded(trial="t", used="more than 128 connections"))

    assert (list(meter.refused_requests), meter.exceeded) == (
        ["POST /v1/files", "model stronger"],
        "more than 128 connections",
    )
