"""Prepare a gate before a run, and apply it when the run has ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pinchbench.config.settings import SETTINGS, absolute_path
from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinchbench.results.finished_run import Result
    from pinchbench.results.gate.gate_record import GateVerdict
    from pinchbench.results.gate.gate_run import Gate


def apply_gate(gate: Gate, result: Result, report: Callable[[str], None]) -> GateVerdict:
    """Apply a gate to a run, keep its verdict in the run's folder and report it. Blocks. Raises ResultsError."""
    from pinchbench.results.finished_run import read_run
    from pinchbench.results.gate.gate_record import gate_lines, write_gate
    from pinchbench.results.paths import RunFiles

    files = RunFiles(output_dir=result.path.parent, name=result.folder.name)
    record = gate.judge(read_run(files), is_complete=result.complete)
    write_gate(files, record)
    for line in gate_lines(record):
        report(plain(line))
    return record.verdict


def take_gate(options: dict[str, Any], output_dir: Path) -> Gate | None:
    """Remove the gate's options from those of a command, and read the baseline; None if no gate was asked for. Blocks.

    Raises ConfigError if an option can't be used, and ResultsError if the baseline can't be read: before a run begins.
    """
    baseline, fail_under, margin = (options.pop(name) for name in ("baseline", "fail_under", "margin"))
    SETTINGS["fail-under"].check(fail_under)
    SETTINGS["margin"].check(margin)
    if baseline is None and fail_under is None:
        return None
    from pinchbench.results.gate.baseline_file import find_baseline
    from pinchbench.results.gate.gate_run import Gate

    gate = Gate(least_score=fail_under, margin=DEFAULT_MARGIN if margin is None else margin)
    if baseline is None:
        return gate
    side, stability = find_baseline(baseline, absolute_path(output_dir, option="--output-dir"))
    return replace(gate, name=baseline, baseline=side, stability=stability)
