"""Journal records and their JSON (pure)."""

from __future__ import annotations

import msgspec

from pinchbench.model import Grade, Outcome, TrialKey  # noqa: TC001 - msgspec reads the annotations at run time

SCHEMA_VERSION = 1


class RunStarted(msgspec.Struct, frozen=True, kw_only=True, tag="run_started", tag_field="type"):
    """The first record of a journal."""

    schema: int = SCHEMA_VERSION
    run_id: str
    model: str
    at: float
    trials: int


class TrialStarted(msgspec.Struct, frozen=True, kw_only=True, tag="trial_started", tag_field="type"):
    """A slot took a trial. Not followed by an outcome: the runner died while it ran."""

    key: TrialKey
    slot: int
    attempt: int
    at: float


class TrialFinished(msgspec.Struct, frozen=True, kw_only=True, tag="outcome", tag_field="type"):
    """What became of a trial."""

    outcome: Outcome


class GradeGiven(msgspec.Struct, frozen=True, kw_only=True, tag="grade", tag_field="type"):
    """A trial was graded. The latest grade of a trial counts; the earlier ones stay."""

    grade: Grade


class RunFinished(msgspec.Struct, frozen=True, kw_only=True, tag="run_finished", tag_field="type"):
    """The last record of a run whose runner came to its end.

    `interrupted` names the signal, if one ended it; `stopped` says why the run ended itself early.
    """

    at: float
    interrupted: str | None = None
    stopped: str = ""


class RegradeStarted(msgspec.Struct, frozen=True, kw_only=True, tag="regrade_started", tag_field="type"):
    """Trials of a run are graded again; `judge` holds the judge's options by name, None without one."""

    at: float
    trials: int
    judge: dict[str, object] | None = None


Record = RunStarted | TrialStarted | TrialFinished | GradeGiven | RunFinished | RegradeStarted

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)


def encode(record: Record) -> bytes:
    """One line of JSON, its newline included."""
    return _encoder.encode(record) + b"\n"


def decode(line: bytes) -> Record:
    """Read one line. Raises ValueError, saying where, when it is not a whole record of a known kind."""
    try:
        record: Record = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return record
