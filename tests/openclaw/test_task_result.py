"""The reason of a trial's end, and the seed's ten keys."""

from pathlib import Path

import pytest

from pinchbench.model.ending import Reason
from pinchbench.model.usage import Usage
from pinchbench.openclaw.task_result import CAPTURE_BYTES, LastTurn, TaskResult, decide
from pinchbench.openclaw.transcript import Complaints, TranscriptFacts
from pinchbench.process.spec import EndReason, ProcessEnd
from pinchbench.results.evidence_files import Evidence

GOOD = TranscriptFacts(events=4, usage=Usage(requests=2), models=("mock/m1",), answered=True)
EMPTY = TranscriptFacts()
REFUSED = TranscriptFacts(events=3, error="401 invalid")
OVERFLOWED = TranscriptFacts(usage=Usage(requests=9), error="400 This model's maximum context length is 8192 tokens")
UNASKED = LastTurn(found=True, asked=0)
ABSENT, SILENT, CALLED = LastTurn(found=False), LastTurn(found=True), LastTurn(found=True, calls=2)
ANSWERED = LastTurn(found=True, calls=2, answered=True)
TWICE = LastTurn(found=True, asked=2, calls=3, answered=True)
FELL_BACK = TranscriptFacts(events=3, usage=Usage(requests=2), models=("a/b", "c/d"), fallback=True)

NONE = Complaints()
LIMITED = Complaints(provider="429 Rate limit reached", rate_limits=3, telling_line="retry 3/9")
TOO_LONG = Complaints(provider="400 prompt is too long: 210000 tokens")
IDLE = Complaints(provider="LLM idle timeout (120s): no response from model")
OFFLINE = Complaints(provider="Connection error. (ECONNREFUSED)")
CUT_OFF = TranscriptFacts(error="Connection error.")
LOCKED = Complaints(locked="another OpenClaw process owns state-lifecycle")
LOST = Complaints(gateway="Gateway agent call connection closed")
ELSEWHERE = Complaints(gateway="EMBEDDED FALLBACK: with fresh session s2", other_session=True)
UNKNOWN = Complaints(telling_line="Unknown agent id")
TIMED_OUT = EndReason.TIMED_OUT


def end(reason: EndReason = EndReason.EXITED, code: int | None = 0, *, not_found: bool = False) -> ProcessEnd:
    return ProcessEnd(reason=reason, exit_code=code, not_found=not_found, error="it says why")


@pytest.mark.parametrize(
    ("how", "facts", "turn", "complaints", "reason", "said"),
    [
        (end(), GOOD, CALLED, NONE, Reason.COMPLETED, ""),
        (end(EndReason.NOT_STARTED, None, not_found=True), EMPTY, ABSENT, NONE, Reason.COMMAND_NOT_FOUND, "why"),
        (end(EndReason.NOT_STARTED, None), EMPTY, ABSENT, NONE, Reason.AGENT_NOT_STARTED, "why"),
        (end(EndReason.GUARDIAN_LOST, None), GOOD, CALLED, NONE, Reason.GUARDIAN_LOST, "why"),
        (end(EndReason.STOPPED, -15), GOOD, CALLED, NONE, Reason.INTERRUPTED, ""),
        (end(EndReason.STOPPED, -15), EMPTY, ABSENT, NONE, Reason.INTERRUPTED, ""),
        (end(code=3), EMPTY, ABSENT, NONE, Reason.AGENT_NOT_STARTED, "exit code 3"),
        (end(code=0), EMPTY, ABSENT, NONE, Reason.NO_TRANSCRIPT, "no session"),
        (end(TIMED_OUT, -15), EMPTY, ABSENT, NONE, Reason.NO_TRANSCRIPT, "no session"),
        (end(), REFUSED, SILENT, NONE, Reason.PROVIDER_ERROR, "401 invalid"),
        (end(code=1), REFUSED, SILENT, NONE, Reason.PROVIDER_ERROR, "401 invalid"),
        (end(TIMED_OUT, -15), REFUSED, SILENT, NONE, Reason.PROVIDER_ERROR, "401 invalid"),
        (end(), FELL_BACK, CALLED, NONE, Reason.MODEL_FALLBACK, "a/b, c/d"),
        (end(TIMED_OUT, -15), FELL_BACK, CALLED, NONE, Reason.MODEL_FALLBACK, "a/b, c/d"),
        (end(TIMED_OUT, -15), GOOD, CALLED, NONE, Reason.TIMED_OUT, ""),
        (end(TIMED_OUT, 0), GOOD, CALLED, NONE, Reason.TIMED_OUT, ""),
        (end(TIMED_OUT, -15), EMPTY, SILENT, NONE, Reason.TIMED_OUT, "not replied once"),
        (end(TIMED_OUT, -15), EMPTY, UNASKED, NONE, Reason.NO_MODEL_CALL, "not asked"),
        (end(EndReason.OUTPUT_LIMIT, -15), GOOD, CALLED, NONE, Reason.OUTPUT_LIMIT, "stdout and stderr"),
        (end(EndReason.RESOURCE_LIMIT, -9), GOOD, CALLED, NONE, Reason.RESOURCE_LIMIT, "the trial used it says why"),
        (end(EndReason.RESOURCE_LIMIT, -9), GOOD, SILENT, NONE, Reason.RESOURCE_LIMIT, "the trial used it says why"),
        (end(EndReason.RESOURCE_LIMIT, -9), EMPTY, SILENT, NONE, Reason.NO_MODEL_CALL, "OpenClaw used it says why"),
        (end(EndReason.RESOURCE_LIMIT, -9), REFUSED, SILENT, NONE, Reason.PROVIDER_ERROR, "401 invalid"),
        (end(), EMPTY, SILENT, NONE, Reason.NO_MODEL_CALL, "no answer of a model"),
        (end(code=1), EMPTY, SILENT, NONE, Reason.NO_MODEL_CALL, "no answer of a model"),
        (end(code=-9), GOOD, CALLED, NONE, Reason.KILLED_BY_SIGNAL, "signal 9"),
        (end(code=3), GOOD, CALLED, NONE, Reason.NONZERO_EXIT, "exit code 3"),
        (end(TIMED_OUT, -15), GOOD, ANSWERED, NONE, Reason.COMPLETED, "did not exit"),
        (end(), GOOD, SILENT, NONE, Reason.NO_MODEL_CALL, "no answer of a model"),
        (end(), GOOD, ABSENT, NONE, Reason.NO_TRANSCRIPT, "no session"),
        (end(code=1), GOOD, ABSENT, NONE, Reason.AGENT_NOT_STARTED, "exit code 1"),
        (end(code=1), OVERFLOWED, CALLED, NONE, Reason.MODEL_ERROR, "maximum context length"),
        (end(TIMED_OUT, -15), GOOD, SILENT, NONE, Reason.TIMED_OUT, ""),
        # a provider that fails without a word in the transcript
        (end(TIMED_OUT, 143), EMPTY, SILENT, LIMITED, Reason.PROVIDER_ERROR, "429 Rate limit reached (still so"),
        (end(TIMED_OUT, 143), GOOD, CALLED, LIMITED, Reason.PROVIDER_ERROR, "429 Rate limit reached (still so"),
        (end(TIMED_OUT, 143), GOOD, SILENT, LIMITED, Reason.PROVIDER_ERROR, "429"),
        (end(TIMED_OUT, 143), EMPTY, ABSENT, LIMITED, Reason.PROVIDER_ERROR, "429"),
        (end(TIMED_OUT, 143), GOOD, ANSWERED, LIMITED, Reason.COMPLETED, "did not exit"),
        (end(code=1), GOOD, CALLED, LIMITED, Reason.PROVIDER_ERROR, "429"),
        (end(code=0), GOOD, CALLED, LIMITED, Reason.PROVIDER_ERROR, "429"),
        (end(code=0), GOOD, ANSWERED, LIMITED, Reason.COMPLETED, ""),
        (end(code=1), EMPTY, SILENT, LIMITED, Reason.PROVIDER_ERROR, "429"),
        (end(code=1), EMPTY, ABSENT, LIMITED, Reason.PROVIDER_ERROR, "429"),
        (end(code=-9), GOOD, CALLED, LIMITED, Reason.KILLED_BY_SIGNAL, "signal 9"),
        (end(EndReason.STOPPED, -15), GOOD, CALLED, LIMITED, Reason.INTERRUPTED, ""),
        # OpenClaw itself ended the call: that is the model's silence
        (end(TIMED_OUT, 143), EMPTY, SILENT, IDLE, Reason.TIMED_OUT, "not replied once"),
        (end(TIMED_OUT, 143), GOOD, CALLED, IDLE, Reason.TIMED_OUT, ""),
        # what the agent asked can't be served: that is the agent's affair
        (end(TIMED_OUT, 143), GOOD, CALLED, TOO_LONG, Reason.TIMED_OUT, ""),
        (end(code=1), GOOD, CALLED, TOO_LONG, Reason.NONZERO_EXIT, "exit code 1"),
        # both tell of the same failure; stderr knows what lies beneath
        (end(code=1), CUT_OFF, SILENT, OFFLINE, Reason.PROVIDER_ERROR, "Connection error. (ECONNREFUSED)"),
        (end(code=1), REFUSED, SILENT, OFFLINE, Reason.PROVIDER_ERROR, "401 invalid"),
        # a gateway that is lost or was never there
        (end(code=1), GOOD, CALLED, LOST, Reason.GATEWAY_LOST, "connection closed"),
        (end(code=1), EMPTY, ABSENT, LOST, Reason.GATEWAY_LOST, "connection closed"),
        (end(TIMED_OUT, 143), GOOD, CALLED, LOST, Reason.GATEWAY_LOST, "connection closed"),
        (end(code=0), GOOD, TWICE, LOST, Reason.GATEWAY_LOST, "connection closed"),
        (end(code=0), GOOD, ANSWERED, ELSEWHERE, Reason.GATEWAY_LOST, "fresh session"),
        (end(code=0), GOOD, ANSWERED, LOST, Reason.COMPLETED, ""),
        (end(code=1), REFUSED, SILENT, LOST, Reason.PROVIDER_ERROR, "401 invalid"),
        (end(code=0), GOOD, ANSWERED, LOCKED, Reason.GATEWAY_LOST, "state was locked: another OpenClaw process"),
        (end(TIMED_OUT, 143), GOOD, CALLED, LOCKED, Reason.GATEWAY_LOST, "did not run a turn"),
        # nothing is known but OpenClaw's last words
        (end(code=1), EMPTY, ABSENT, UNKNOWN, Reason.AGENT_NOT_STARTED, "Unknown agent id"),
        (end(code=1), EMPTY, SILENT, UNKNOWN, Reason.NO_MODEL_CALL, "Unknown agent id"),
        (end(code=1), GOOD, CALLED, UNKNOWN, Reason.NONZERO_EXIT, "exit code 1: Unknown agent id"),
    ],
)
def test_every_end_has_its_reason_and_what_openclaw_complains_of_is_not_the_models_doing(
    *, how: ProcessEnd, facts: TranscriptFacts, turn: LastTurn, complaints: Complaints, reason: Reason, said: str
) -> None:
    decided, note = decide(how, facts, turn, complaints, lingered=False)
    assert decided is reason
    assert said in note
    assert bool(said) == bool(note)


def test_an_agent_that_is_stopped_after_its_answer_has_completed() -> None:
    decided, note = decide(end(EndReason.STOPPED, -15), GOOD, CALLED, lingered=True)
    assert decided is Reason.COMPLETED
    assert "did not exit" in note


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("401 Incorrect API key provided", Reason.PROVIDER_ERROR),
        ("402 Insufficient credits", Reason.PROVIDER_ERROR),
        ("404 The model m1 does not exist", Reason.PROVIDER_ERROR),
        ("429 Too many tokens per minute", Reason.PROVIDER_ERROR),
        ("500 The context window service failed", Reason.PROVIDER_ERROR),
        ("503 The upstream took too long", Reason.PROVIDER_ERROR),
        ("HTTP 529 overloaded", Reason.PROVIDER_ERROR),
        ("Connection error.", Reason.PROVIDER_ERROR),
        ("terminated", Reason.PROVIDER_ERROR),
        ("Stream ended without finish_reason", Reason.PROVIDER_ERROR),
        ("400 prompt is too long: 210000 tokens", Reason.MODEL_ERROR),
        ("400 blocked by content filter", Reason.MODEL_ERROR),
        ("403 m1 requires moderation and your input was flagged", Reason.MODEL_ERROR),
    ],
)
def test_a_status_of_the_provider_counts_more_than_words_that_sound_like_the_agents_doing(
    error: str, reason: Reason
) -> None:
    decided = decide(end(code=1), TranscriptFacts(usage=Usage(requests=2), error=error), CALLED, lingered=False)
    assert decided == (reason, error)


FULL = "/tmp/x is on a file system with 0 bytes left"


@pytest.mark.parametrize(
    ("how", "facts", "turn", "reason"),
    [
        (end(code=1), GOOD, CALLED, Reason.DISK_FULL),
        (end(TIMED_OUT, 143), GOOD, CALLED, Reason.DISK_FULL),
        (end(EndReason.OUTPUT_LIMIT, -15), GOOD, CALLED, Reason.DISK_FULL),
        (end(EndReason.RESOURCE_LIMIT, -9), GOOD, CALLED, Reason.RESOURCE_LIMIT),  # it may have filled the disk
        (end(code=1), OVERFLOWED, CALLED, Reason.DISK_FULL),
        (end(code=1), EMPTY, ABSENT, Reason.DISK_FULL),
        (end(code=-9), GOOD, CALLED, Reason.DISK_FULL),
        (end(), GOOD, ANSWERED, Reason.COMPLETED),
        (end(EndReason.STOPPED, -15), GOOD, CALLED, Reason.INTERRUPTED),
        (end(EndReason.NOT_STARTED, None, not_found=True), EMPTY, ABSENT, Reason.COMMAND_NOT_FOUND),
        (end(code=1), REFUSED, SILENT, Reason.PROVIDER_ERROR),
    ],
)
def test_what_fails_on_a_full_disk_says_nothing_about_the_model(
    how: ProcessEnd, facts: TranscriptFacts, turn: LastTurn, reason: Reason
) -> None:
    decided, note = decide(how, facts, turn, lingered=False, full_disk=FULL)
    assert decided is reason
    assert note.startswith(FULL) == (reason is Reason.DISK_FULL)
    said = Complaints(full_disk=FULL)
    assert decide(how, facts, turn, said, lingered=False) == (decided, note)


def result(folder: Path, **changes: object) -> TaskResult:
    fields: dict[str, object] = {
        "agent_id": "bench-x",
        "task_id": "task_a",
        "reason": Reason.COMPLETED,
        "timed_out": False,
        "exit_code": 0,
        "execution_time_s": 1.5,
        "workspace": folder / "work",
        "evidence": Evidence(folder=folder),
        "session_ids": ("s",),
        "store": "jsonl",
        "facts": GOOD,
        **changes,
    }
    return TaskResult(**fields)  # type: ignore[arg-type]


def test_the_dict_has_the_ten_keys_of_the_seed(tmp_path: Path) -> None:
    evidence = Evidence(folder=tmp_path)
    evidence.stdout.write_bytes(b"out \xff")
    evidence.stderr.write_bytes(b"err")
    evidence.transcript.write_bytes(b'{"type":"session"}\n{"torn\n\n')
    reported = result(tmp_path).to_dict()
    assert reported == {
        "agent_id": "bench-x",
        "task_id": "task_a",
        "status": "success",
        "transcript": [{"type": "session"}, {"raw": '{"torn', "parse_error": reported["transcript"][1]["parse_error"]}],  # type: ignore[index]
        "workspace": str(tmp_path / "work"),
        "exit_code": 0,
        "timed_out": False,
        "execution_time": 1.5,
        "stdout": "out \ufffd",
        "stderr": "err",
    }


def test_of_very_much_output_the_end_is_reported(tmp_path: Path) -> None:
    with (tmp_path / "stdout.log").open("wb") as file:
        file.truncate(CAPTURE_BYTES)
        file.seek(0, 2)
        file.write(b"the end")
    out = result(tmp_path).to_dict()["stdout"]
    assert isinstance(out, str)
    assert len(out) == CAPTURE_BYTES
    assert out.endswith("the end")
