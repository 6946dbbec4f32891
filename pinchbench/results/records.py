"""Journal records and their JSON (pure)."""

from __future__ import annotations

import msgspec

# msgspec reads the annotations at run time
from pinchbench.model import Grade, Outcome, Stop, TrialKey  # noqa: TC001
from pinchbench.results.facts import TaskFacts  # noqa: TC001

SCHEMA_VERSION = 1


class RunStarted(msgspec.Struct, frozen=True, kw_only=True, tag="run_started", tag_field="type"):
    """The first record of a journal. `run_json` is the SHA-256 of run.json; empty in runs of releases that kept none."""

    schema: int = SCHEMA_VERSION
    run_id: str
    model: str
    at: float
    trials: int
    run_json: str = ""


class TrialStarted(msgspec.Struct, frozen=True, kw_only=True, tag="trial_started", tag_field="type"):
    """A slot took a trial. Not followed by an outcome: the runner died while it ran."""

    key: TrialKey
    slot: int
    attempt: int
    at: float


class TrialFinished(msgspec.Struct, frozen=True, kw_only=True, tag="outcome", tag_field="type"):
    """What became of an attempt at a trial. `retried`: another one was to follow."""

    outcome: Outcome
    retried: bool = False


class GradeGiven(msgspec.Struct, frozen=True, kw_only=True, tag="grade", tag_field="type"):
    """A trial was graded. The latest grade of a trial counts; the earlier ones stay."""

    grade: Grade


class PaceSet(msgspec.Struct, frozen=True, kw_only=True, tag="pace", tag_field="type"):
    """How many trials may run at once from now on; 0 while the run is paused, or `is_end`. `why` is a sentence."""

    at: float
    limit: int
    why: str
    is_end: bool = False


class RunFinished(msgspec.Struct, frozen=True, kw_only=True, tag="run_finished", tag_field="type"):
    """The last record of a runner that came to its end; a run that is resumed afterwards has more.

    `interrupted` names the signal, if one ended it; `stopped` says why the run ended itself early, and `stop` of
    which kind that was.
    """

    at: float
    interrupted: str | None = None
    stopped: str = ""
    stop: Stop | None = None


class RunResumed(msgspec.Struct, frozen=True, kw_only=True, tag="run_resumed", tag_field="type"):
    """A runner goes on with a run; `trials` are left to be run.

    `config` and `versions` hold from here on, as in run.json. `tasks` holds the tasks that have changed, as they are now:
    what was run of them before counts no more. `gone` are those that are no longer in the suite. `changes` names in words what differs from the run so far.
    """

    at: float
    trials: int
    config: dict[str, object]
    versions: dict[str, str]
    tasks: dict[str, TaskFacts] = {}
    gone: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


class RegradeStarted(msgspec.Struct, frozen=True, kw_only=True, tag="regrade_started", tag_field="type"):
    """Trials of a run are graded again; `judge` holds the judge's options by name, None without one."""

    at: float
    trials: int
    judge: dict[str, object] | None = None


Record = RunStarted | RunResumed | TrialStarted | TrialFinished | GradeGiven | PaceSet | RunFinished | RegradeStarted

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
