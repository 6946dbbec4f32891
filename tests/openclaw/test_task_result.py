"""The reason of a trial's end, and the seed's ten keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pinchbench.model import Reason, Usage
from pinchbench.openclaw.task_result import CAPTURE_BYTES, Evidence, LastTurn, TaskResult, decide
from pinchbench.openclaw.transcript import TranscriptFacts
from pinchbench.process.supervise import EndReason, ProcessEnd

if TYPE_CHECKING:
    from pathlib import Path

GOOD = TranscriptFacts(events=4, usage=Usage(requests=2), models=("mock/m1",), answered=True)
EMPTY = TranscriptFacts()
REFUSED = TranscriptFacts(events=3, error="401 invalid")
OVERFLOWED = TranscriptFacts(usage=Usage(requests=9), error="400 This model's maximum context length is 8192 tokens")
ABSENT, SILENT, CALLED = LastTurn(found=False), LastTurn(found=True), LastTurn(found=True, calls=2)
ANSWERED = LastTurn(found=True, calls=2, answered=True)
FELL_BACK = TranscriptFacts(events=3, usage=Usage(requests=2), models=("a/b", "c/d"), fallback=True)


def end(reason: EndReason = EndReason.EXITED, code: int | None = 0, *, not_found: bool = False) -> ProcessEnd:
    return ProcessEnd(reason=reason, exit_code=code, not_found=not_found, error="it says why")


@pytest.mark.parametrize(
    ("how", "facts", "turn", "lingered", "reason", "said"),
    [
        (end(), GOOD, CALLED, False, Reason.COMPLETED, ""),
        (end(EndReason.STOPPED, -15), GOOD, CALLED, True, Reason.COMPLETED, "did not exit"),
        (end(EndReason.NOT_STARTED, None, not_found=True), EMPTY, ABSENT, False, Reason.COMMAND_NOT_FOUND, "why"),
        (end(EndReason.NOT_STARTED, None), EMPTY, ABSENT, False, Reason.AGENT_NOT_STARTED, "why"),
        (end(EndReason.GUARDIAN_LOST, None), GOOD, CALLED, False, Reason.GUARDIAN_LOST, "why"),
        (end(EndReason.STOPPED, -15), GOOD, CALLED, False, Reason.INTERRUPTED, ""),
        (end(EndReason.STOPPED, -15), EMPTY, ABSENT, False, Reason.INTERRUPTED, ""),
        (end(code=3), EMPTY, ABSENT, False, Reason.AGENT_NOT_STARTED, "exit code 3"),
        (end(code=0), EMPTY, ABSENT, False, Reason.NO_TRANSCRIPT, "no session"),
        (end(EndReason.TIMED_OUT, -15), EMPTY, ABSENT, False, Reason.NO_TRANSCRIPT, "no session"),
        (end(), REFUSED, SILENT, False, Reason.PROVIDER_ERROR, "401 invalid"),
        (end(code=1), REFUSED, SILENT, False, Reason.PROVIDER_ERROR, "401 invalid"),
        (end(EndReason.TIMED_OUT, -15), REFUSED, SILENT, False, Reason.PROVIDER_ERROR, "401 invalid"),
        (end(), FELL_BACK, CALLED, False, Reason.MODEL_FALLBACK, "a/b, c/d"),
        (end(EndReason.TIMED_OUT, -15), FELL_BACK, CALLED, False, Reason.MODEL_FALLBACK, "a/b, c/d"),
        (end(EndReason.TIMED_OUT, -15), GOOD, CALLED, False, Reason.TIMED_OUT, ""),
        (end(EndReason.TIMED_OUT, 0), GOOD, CALLED, False, Reason.TIMED_OUT, ""),
        (end(EndReason.TIMED_OUT, -15), EMPTY, SILENT, False, Reason.NO_MODEL_CALL, "not answered once"),
        (end(EndReason.OUTPUT_LIMIT, -15), GOOD, CALLED, False, Reason.OUTPUT_LIMIT, "stdout and stderr"),
        (end(), EMPTY, SILENT, False, Reason.NO_MODEL_CALL, "no answer of a model"),
        (end(code=1), EMPTY, SILENT, False, Reason.NO_MODEL_CALL, "no answer of a model"),
        (end(code=-9), GOOD, CALLED, False, Reason.KILLED_BY_SIGNAL, "signal 9"),
        (end(code=3), GOOD, CALLED, False, Reason.NONZERO_EXIT, "exit code 3"),
        (end(EndReason.TIMED_OUT, -15), GOOD, ANSWERED, False, Reason.COMPLETED, "did not exit"),
        (end(), GOOD, SILENT, False, Reason.NO_MODEL_CALL, "no answer of a model"),
        (end(), GOOD, ABSENT, False, Reason.NO_TRANSCRIPT, "no session"),
        (end(code=1), GOOD, ABSENT, False, Reason.AGENT_NOT_STARTED, "exit code 1"),
        (end(code=1), OVERFLOWED, CALLED, False, Reason.MODEL_ERROR, "maximum context length"),
        (end(EndReason.TIMED_OUT, -15), GOOD, SILENT, False, Reason.TIMED_OUT, ""),
    ],
)
def test_every_end_has_its_reason(
    *, how: ProcessEnd, facts: TranscriptFacts, turn: LastTurn, lingered: bool, reason: Reason, said: str
) -> None:
    decided, note = decide(how, facts, turn, lingered=lingered)
    assert decided is reason
    assert said in note
    assert bool(said) == bool(note)


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
    told = result(tmp_path).to_dict()
    assert told == {
        "agent_id": "bench-x",
        "task_id": "task_a",
        "status": "success",
        "transcript": [{"type": "session"}, {"raw": '{"torn', "parse_error": told["transcript"][1]["parse_error"]}],  # type: ignore[index]
        "workspace": str(tmp_path / "work"),
        "exit_code": 0,
        "timed_out": False,
        "execution_time": 1.5,
        "stdout": "out \ufffd",
        "stderr": "err",
    }


def test_what_is_not_there_is_empty_and_an_unknown_exit_code_is_minus_one(tmp_path: Path) -> None:
    told = result(tmp_path, exit_code=None, reason=Reason.TIMED_OUT, timed_out=True).to_dict()
    assert (told["transcript"], told["stdout"], told["stderr"]) == ([], "", "")
    assert (told["exit_code"], told["status"], told["timed_out"]) == (-1, "timeout", True)


def test_of_very_much_output_the_end_is_told(tmp_path: Path) -> None:
    with (tmp_path / "stdout.log").open("wb") as file:
        file.truncate(CAPTURE_BYTES)
        file.seek(0, 2)
        file.write(b"the end")
    out = result(tmp_path).to_dict()["stdout"]
    assert isinstance(out, str)
    assert len(out) == CAPTURE_BYTES
    assert out.endswith("the end")


def test_every_reason_has_a_status() -> None:
    assert {reason: reason.status for reason in Reason}[Reason.COMPLETED] == "success"
    assert [reason for reason in Reason if reason.status == "success"] == [Reason.COMPLETED]
    assert [reason for reason in Reason if reason.status == "timeout"] == [Reason.TIMED_OUT]
