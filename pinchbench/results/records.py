"""Journal records, those of the runner and those of what a user asks of a run, and their JSON encoding (pure)."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET

from pinchbench.decoding import Maybe, doc, json_decoder
from pinchbench.model.ending import Stop  # noqa: TC001
from pinchbench.model.grade import Grade  # noqa: TC001
from pinchbench.model.outcome import Outcome  # noqa: TC001
from pinchbench.model.trial import TrialKey  # noqa: TC001
from pinchbench.model.usage import Usage
from pinchbench.results.manifest import TaskFacts  # noqa: TC001
from pinchbench.results.node_times import Hardware  # noqa: TC001


class RunPaused(msgspec.Struct, frozen=True, kw_only=True, tag="run_paused", tag_field="type"):
    """No trial starts from now on, in later sessions either, until `RunContinued`. Running ones go on."""

    at: float


class RunContinued(msgspec.Struct, frozen=True, kw_only=True, tag="run_continued", tag_field="type"):
    """Trials start again."""

    at: float


class ConcurrencySet(msgspec.Struct, frozen=True, kw_only=True, tag="concurrency", tag_field="type"):
    """At most so many trials run at once from now on, in later sessions too unless these say otherwise."""

    at: float
    concurrency: int


class BudgetSet(msgspec.Struct, frozen=True, kw_only=True, tag="budget", tag_field="type"):
    """Limits of the whole run in US dollars and in tokens, in later sessions too unless these say otherwise."""

    at: float
    max_cost: Maybe[float] = UNSET
    max_tokens: Maybe[int] = UNSET


class TrialStopped(msgspec.Struct, frozen=True, kw_only=True, tag="trial_stopped", tag_field="type"):
    """The running attempt at a trial is ended; the trial needs no further attempt."""

    at: float
    key: TrialKey


class TrialsSkipped(msgspec.Struct, frozen=True, kw_only=True, tag="trials_skipped", tag_field="type"):
    """These trials, which were waiting, need no further attempt."""

    at: float
    keys: tuple[TrialKey, ...]


class TrialRequeued(msgspec.Struct, frozen=True, kw_only=True, tag="trial_requeued", tag_field="type"):
    """A trial needs another attempt, whatever became of it so far; `why` is the user's reason."""

    at: float
    key: TrialKey
    why: str


class NoteAdded(msgspec.Struct, frozen=True, kw_only=True, tag="note", tag_field="type"):
    """A user's note on a run, or on one of its trials. The text or the tags may be empty."""

    at: float
    text: str
    key: TrialKey | None = None
    tags: tuple[str, ...] = ()


class GradeOverridden(msgspec.Struct, frozen=True, kw_only=True, tag="grade_overridden", tag_field="type"):
    """A user's own score, in 0-1, of an attempt, next to the measured one; `why` is never empty. The latest counts."""

    at: float
    key: TrialKey
    attempt: int
    score: float
    why: str


AboutRun = RunPaused | RunContinued | ConcurrencySet | BudgetSet
Control = AboutRun | TrialStopped | TrialsSkipped | TrialRequeued | NoteAdded | GradeOverridden


SCHEMA_VERSION = 1


class RunStarted(msgspec.Struct, frozen=True, kw_only=True, tag="run_started", tag_field="type"):
    """The first record of a journal. `run_json` is the SHA-256 of run.json; empty in runs of releases that had none."""

    schema: int = SCHEMA_VERSION
    run_id: str
    model: str
    at: float
    trials: int
    run_json: str = ""


class TrialStarted(msgspec.Struct, frozen=True, kw_only=True, tag="trial_started", tag_field="type"):
    """A slot started a trial. If no outcome follows, the runner died while the trial ran.

    `node` is where, in a cluster; it is missing in a run of one machine, and in those of older releases.
    """

    key: TrialKey
    slot: int
    attempt: int
    at: float
    node: Maybe[str] = UNSET


class NodeUsed(msgspec.Struct, frozen=True, kw_only=True, tag="node_used", tag_field="type"):
    """A node of a cluster makes trials of the run from now on.

    `name` is that of one node in a run. `id` is the cluster's own, by which a resumed run knows the node again; older
    releases did not record it.
    """

    at: float
    name: str
    hardware: Hardware
    id: Maybe[str] = UNSET


class TrialFinished(msgspec.Struct, frozen=True, kw_only=True, tag="outcome", tag_field="type"):
    """The outcome of an attempt at a trial. `retried`: another attempt was to follow."""

    outcome: Outcome
    retried: bool = False


class GradeGiven(msgspec.Struct, frozen=True, kw_only=True, tag="grade", tag_field="type"):
    """A trial was graded. The latest grade of a trial counts; earlier ones are kept."""

    grade: Grade


class PaceSet(msgspec.Struct, frozen=True, kw_only=True, tag="pace", tag_field="type"):
    """How many trials may run at once from now on; 0 while the run is paused, or at `is_end`. `why` is a sentence."""

    at: float
    limit: int
    why: str
    is_end: bool = False


class ProbeFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One probe. What the model did not say, and what a failed probe could not measure, is missing."""

    at: Annotated[float, doc("when it was sent, seconds since the epoch (UTC)")]
    point: Annotated[int, doc("the point of the run at which it was sent, from 0")]
    duration_s: Annotated[float, doc("until the answer, or the failure, was complete, in seconds")]
    first_token_s: Annotated[float | None, doc("until the first token, in seconds")] = None
    usage: Annotated[Usage, doc("as the model reported it")] = Usage()
    cost_usd: Annotated[float | None, doc("missing where no price is known")] = None
    answer: Annotated[str, doc("SHA-256 of the answer's text")] = ""
    model: Annotated[str, doc("the model that answered, as the provider names it")] = ""
    fingerprint: Annotated[str, doc("of the provider's configuration, as it states it")] = ""
    error: Annotated[str, doc("why there is no complete answer")] = ""


class ProbeEnded(msgspec.Struct, frozen=True, kw_only=True, tag="probe", tag_field="type"):
    """An earlier release asked the model a small question; `at` is when the answer, or the failure, was complete."""

    at: float
    probe: ProbeFacts


class RunFinished(msgspec.Struct, frozen=True, kw_only=True, tag="run_finished", tag_field="type"):
    """The last record of a runner that ended normally; a run that is resumed afterwards has more.

    `interrupted` names the signal that ended it, if any; `stopped` says why the run ended itself early, and `stop` is
    the kind of that reason.
    """

    at: float
    interrupted: str | None = None
    stopped: str = ""
    stop: Stop | None = None


class RunResumed(msgspec.Struct, frozen=True, kw_only=True, tag="run_resumed", tag_field="type"):
    """A runner continues a run; `trials` are left to run.

    `config` and `versions` hold from here on, as in run.json. `tasks` holds the changed tasks in their present form:
    earlier attempts at them no longer count. `gone` are the tasks that are no longer in the suite. `changes` describes
    the differences from the run so far. `additions` is as in run.json.
    """

    at: float
    trials: int
    config: dict[str, object]
    versions: dict[str, str]
    tasks: dict[str, TaskFacts] = {}
    gone: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    additions: dict[str, str] = {}


class RegradeStarted(msgspec.Struct, frozen=True, kw_only=True, tag="regrade_started", tag_field="type"):
    """Trials of a run are regraded; `judge` holds the judge's options by name, None without a judge."""

    at: float
    trials: int
    judge: dict[str, object] | None = None


Sessions = RunStarted | RunResumed | RegradeStarted | NodeUsed | PaceSet | RunFinished
Record = Sessions | TrialStarted | TrialFinished | GradeGiven | ProbeEnded | Control

_encoder = msgspec.json.Encoder()
_decoder = json_decoder(Record)


def encode(record: Record) -> bytes:
    """Return a record as one line of JSON, including its newline."""
    return _encoder.encode(record) + b"\n"


def decode(line: bytes) -> Record:
    """Decode one line. Raises ValueError, with the position, if it is not a whole record of a known kind."""
    try:
        record: Record = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return record
