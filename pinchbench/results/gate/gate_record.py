"""What a gate demands of a run, and its verdict, kept next to the run."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET

from pinchbench.decoding import decode_json
from pinchbench.results.paths import RunFiles, write_json
from pinchbench.results.result_json import JournalEnd  # noqa: TC001 - msgspec reads the annotations at run time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.results.finished_run import PastRun

GATE_JSON = "gate.json"


class GateVerdict(StrEnum):
    """What a gate comes to."""

    PASSED = "passed"
    FAILED = "failed"
    CANNOT_TELL = "cannot_tell"
    NOT_APPLICABLE = "not_applicable"


class RuleVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule of the gate, such as `worse` or `score<0.8`, came to, in a sentence."""

    rule: str
    verdict: GateVerdict
    sentence: str


class BaselineVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison with the baseline: B - A over `tasks` tasks, with the 95% interval and the one-sided p.

    `quarantined` and `unpaired` are the tasks that were not compared, with the reason.
    """

    name: str
    model: str
    margin: float
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    tasks: int
    trials: int
    repetitions_needed: int | None
    quarantined: dict[str, str]
    unpaired: dict[str, str]
    warnings: tuple[str, ...]

    @property
    def not_compared(self) -> dict[str, str]:
        """Why tasks were not compared, by their ids: those in quarantine first."""
        return {name: f"in quarantine; {why}" for name, why in self.quarantined.items()} | self.unpaired


class GateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A gate's verdict: the severest of its rules'. `journal` is the end of the journal that it was made from."""

    schema: Literal[1] = 1
    verdict: GateVerdict
    is_complete: bool
    rules: tuple[RuleVerdict, ...]
    baseline: BaselineVerdict | None
    journal: JournalEnd


def gate_lines(record: GateRecord) -> Iterator[str]:
    """Yield a gate's verdict in sentences: each rule's, and what was not compared."""
    for rule in record.rules:
        yield f"Gate, {rule.rule}: {rule.verdict.replace('_', ' ')}. {rule.sentence}"
    if (baseline := record.baseline) is not None:
        if baseline.quarantined:
            names = list(baseline.quarantined)
            yield f"Not compared: {counted(len(names), 'task')} in quarantine ({', '.join(names)})."
        for why in dict.fromkeys(baseline.unpaired.values()):
            names = [name for name, reason in baseline.unpaired.items() if reason == why]
            yield f"Not compared: {', '.join(names)} ({why})."
        yield from baseline.warnings
    if not record.is_complete:
        yield "The run is incomplete, and its exit code says so, whatever the gate says."


def counted(number: int, noun: str) -> str:
    """Return `1 task`, `2 tasks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def write_gate(files: RunFiles, record: GateRecord) -> None:
    """Keep a verdict in the run's folder. Blocks. Raises ResultsError if it can't be written."""
    write_json(files.folder / GATE_JSON, record)


def read_gate(run: PastRun) -> GateRecord | None:
    """Return the verdict on a run; None without one, or if trials or grades came after it. Blocks."""
    try:
        record = decode_json((run.files.folder / GATE_JSON).read_bytes(), GateRecord)
    except (OSError, ValueError, RecursionError):
        return None
    return record if run.data.journal is not UNSET and record.journal == run.data.journal else None
