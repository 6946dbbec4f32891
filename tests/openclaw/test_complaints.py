"""What OpenClaw says on stderr: real lines of both releases, and what must not be taken for one."""

import pytest

from pinchbench.openclaw.complaints import ComplaintReader, Complaints, is_rate_limit

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
