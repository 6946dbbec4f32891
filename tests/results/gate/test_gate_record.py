"""A gate's verdict, kept next to the run."""

from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.results.gate.gate_record import GATE_JSON, gate_lines, read_gate, write_gate
from pinchbench.results.gate.gate_run import Gate
from pinchbench.results.verification import check_run

GATE = Gate(least_score=0.8, margin=0.05)


def _run(folder: Path) -> PastRun:
    return read_run(write_run(folder, PlannedRun(trials={"task": (Made(score=0.5),)})))


def test_it_is_read_as_it_was_written_and_verify_does_not_mind(tmp_path: Path) -> None:
    run = _run(tmp_path)
    before = check_run(run.files)
    record = GATE.judge(run, is_complete=False)
    assert read_gate(run) is None
    write_gate(run.files, record)
    assert read_gate(run) == record
    assert check_run(run.files) == before
    assert [*gate_lines(record)] == [
        "Gate, score<0.8: failed. The score 0.500 is below 0.8.",
        "The run is incomplete, and its exit code says so, whatever the gate says.",
    ]


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_no_verdict_is_ignored(tmp_path: Path, data: bytes) -> None:
    run = _run(tmp_path)
    (run.files.folder / GATE_JSON).write_bytes(data)
    assert read_gate(run) is None
