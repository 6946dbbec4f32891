"""The result JSON as a type: each key with its unit and meaning, and the one function that reads a result file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

# msgspec reads the annotations at run time
from pinchbench.decoding import json_decoder
from pinchbench.defaults import FailureEvent  # noqa: TC001
from pinchbench.errors import ResultsError
from pinchbench.files.beneath import open_regular
from pinchbench.model.ending import Reason, Status, Stop  # noqa: TC001
from pinchbench.model.facts import Finding, LoadFacts, ReplayFacts, SandboxFacts, UserFacts, WireFacts  # noqa: TC001
from pinchbench.model.grade import CheckGrade, JudgeGrade, Ungraded  # noqa: TC001
from pinchbench.model.task import GradingType  # noqa: TC001
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.control_state import ControlEntry  # noqa: TC001
from pinchbench.results.failure_sheet import EventTotal  # noqa: TC001
from pinchbench.results.judge_agreement import JudgeAgreement  # noqa: TC001
from pinchbench.results.node_times import NodeTimes  # noqa: TC001
from pinchbench.results.records import ProbeFacts  # noqa: TC001
from pinchbench.results.statistics import Estimate  # noqa: TC001

if TYPE_CHECKING:
    from pathlib import Path

FRACTION = "in 0-1"
EVENTS = "what went wrong, as the checks counted it in valid trials; missing where they count nothing"


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many planned trials are excluded from a mean, by reason; each is counted once."""

    ungraded: Annotated[int, Meta(description="trials that are valid and have no score")]
    infrastructure: Annotated[
        int, Meta(description="trials that failed for infrastructure reasons or were interrupted")
    ]
    untrusted: Annotated[
        int,
        Meta(
            description="trials whose evidence was tampered with, or whose agent has seen answers; the key is missing"
            " for none"
        ),
    ] = 0
    prerequisite_missing: Annotated[
        int, Meta(description="trials that were not run because a prerequisite is missing; the key is missing for none")
    ] = 0
    skipped: Annotated[
        int,
        Meta(
            description="trials that were not run, or not to their end, because the user has skipped them; the"
            " key is missing for none"
        ),
    ] = 0
    not_run: Annotated[int, Meta(description="trials that have not ended")]

    @property
    def total(self) -> int:
        """The sum over all reasons."""
        missing = self.prerequisite_missing + self.skipped + self.not_run
        return self.ungraded + self.infrastructure + self.untrusted + missing


class TotalLeftOut(LeftOut, frozen=True, kw_only=True, omit_defaults=True):
    """How many planned trials are excluded from a mean over several tasks."""

    tasks_without_score: Annotated[int, Meta(description="tasks none of whose trials has a score")]


class GradeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The grade of an attempt. Without a score, `ungraded` holds the reason."""

    grading_type: GradingType
    attempt: Annotated[int, Meta(description="the attempt that was graded, from 1")] = 1
    score: Annotated[float | None, Meta(description=FRACTION)] = None
    ungraded: Annotated[Ungraded | None, Meta(description="why there is no score")] = None
    breakdown: Annotated[dict[str, float], Meta(description="points by criterion, each in 0-1")] = {}
    notes: tuple[str, ...] = ()
    check: Annotated[CheckGrade | None, Meta(description="the part of the task's own check")] = None
    judge: Annotated[JudgeGrade | None, Meta(description="the judge's part")] = None
    digest: Annotated[str, Meta(description="SHA-256 of the task as it was graded")] = ""
    graded_at: Annotated[float, Meta(description="seconds since the epoch (UTC)")] = 0.0


class TrialEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One repetition of a task: the attempt that counts, with its grade."""

    repetition: Annotated[int, Meta(description="from 1")]
    status: Status
    counts: Annotated[
        bool,
        Meta(description="whether the attempt is valid: false for an infrastructure failure or untrusted evidence"),
    ]
    possibly_caused_by_agent: Annotated[
        bool, Meta(description="whether the agent may have caused that there is no score")
    ] = False
    reason: Annotated[Reason, Meta(description="why the attempt ended as it did")]
    digest: Annotated[str, Meta(description="SHA-256 of the task as it was run")]
    slot: Annotated[int, Meta(description="the slot that ran it, from 1")] = 0
    attempt: Annotated[int, Meta(description="the number of the attempt, from 1")] = 1
    timed_out: bool = False
    exit_code: int | None = None
    started_at: Annotated[float, Meta(description="seconds since the epoch (UTC)")] = 0.0
    ended_at: Annotated[float, Meta(description="seconds since the epoch (UTC)")] = 0.0
    execution_time_s: Annotated[float, Meta(description="the agent's own time, in seconds")] = 0.0
    setup_s: Annotated[float, Meta(description="set-up before the agent, in seconds")] = 0.0
    timeout_s: Annotated[float, Meta(description="the task's limit, multiplier included, in seconds")] = 0.0
    agent_id: Annotated[str, Meta(description="OpenClaw's id of the agent")] = ""
    session_ids: Annotated[tuple[str, ...], Meta(description="OpenClaw's ids of its sessions")] = ()
    store: Annotated[str, Meta(description="the kind of session store that the transcript was read from")] = ""
    workspace: Annotated[str, Meta(description="the path of the workspace")] = ""
    evidence: Annotated[str, Meta(description="the folder of its evidence, relative to the run's folder")] = ""
    transcript_length: Annotated[int, Meta(description="entries of the transcript")] = 0
    damaged_lines: Annotated[int, Meta(description="lines of the transcript that could not be read")] = 0
    tool_calls: int = 0
    models: Annotated[tuple[str, ...], Meta(description="the models that answered, by the transcript")] = ()
    usage: Usage = Usage()
    cost_known: Annotated[
        bool | UnsetType,
        Meta(
            description="false where tokens were used at a price that is not known: `cost_usd` is 0 then; else missing"
        ),
    ] = UNSET
    cpu_s: Annotated[float, Meta(description="CPU time of OpenClaw and all it started, in seconds")] = 0.0
    peak_rss_bytes: Annotated[int, Meta(description="resident memory of its largest process, in bytes")] = 0
    leftovers: Annotated[tuple[str, ...], Meta(description="commands that outlived the agent and were ended")] = ()
    not_kept: Annotated[tuple[str, ...], Meta(description="files that the workspace's archive excludes, and why")] = ()
    asleep_s: Annotated[float, Meta(description="time for which the machine was suspended, in seconds")] = 0.0
    rate_limits: Annotated[int, Meta(description="answers of 429 that the transcript shows")] = 0
    level: Annotated[str, Meta(description="the level of containment")] = ""
    node: Annotated[str | UnsetType, Meta(description="where it ran in a cluster; missing in a run of one machine")] = (
        UNSET
    )
    note: str = ""
    wire: Annotated[
        WireFacts | UnsetType,
        Meta(description="what the provider was asked and said, measured between OpenClaw and it; missing without"),
    ] = UNSET
    replay: Annotated[
        ReplayFacts | UnsetType,
        Meta(description="how its requests compare with the recorded ones that it replays; missing without"),
    ] = UNSET
    sandbox: Annotated[
        SandboxFacts | UnsetType,
        Meta(description="what its sandbox allowed, and what the agent attempted beyond; missing without"),
    ] = UNSET
    load: Annotated[
        LoadFacts | UnsetType,
        Meta(description="how long processes waited for the machine meanwhile; missing where it was not measured"),
    ] = UNSET
    services: Annotated[
        tuple[str, ...] | UnsetType,
        Meta(description="how services of the task ended before the agent did; missing where none did"),
    ] = UNSET
    user: Annotated[
        UserFacts | UnsetType,
        Meta(description="what the task's simulated user said and used; missing where it has none, or was not reached"),
    ] = UNSET
    findings: Annotated[
        tuple[Finding, ...] | UnsetType,
        Meta(description="how OpenClaw's store differs from what the wire saw, at most 50; missing where it does not"),
    ] = UNSET
    unwitnessed: Annotated[
        bool | UnsetType,
        Meta(description="true where, without a wire, OpenClaw's store alone says what the agent did; else missing"),
    ] = UNSET
    reused_from: Annotated[
        str | UnsetType, Meta(description="the folder's name of the run that made it; missing for this run's own")
    ] = UNSET
    grade: GradeEntry | None = None

    @property
    def score(self) -> float | None:
        """The score that goes into means, in 0-1; None if there is none or the attempt is not valid."""
        score = self.grade.score if self.counts and self.grade is not None else None
        return score if score is not None and 0.0 <= score <= 1.0 else None


class ScoreSummary(msgspec.Struct, frozen=True, kw_only=True, rename={"minimum": "min", "maximum": "max"}):
    """The scores of one task's trials."""

    n: Annotated[int, Meta(description="trials with a score")]
    mean: Annotated[float | None, Meta(description=FRACTION)]
    sd: Annotated[float | None, Meta(description="sample standard deviation (n - 1); null for fewer than two")]
    minimum: Annotated[float | None, Meta(description=FRACTION)]
    maximum: Annotated[float | None, Meta(description=FRACTION)]


class TaskEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A task with its repetitions. The first six keys are those of PinchBench's own runner."""

    task_id: str
    status: Annotated[Status, Meta(description="`success` only when every trial succeeded")]
    timed_out: Annotated[bool, Meta(description="whether a trial timed out")]
    execution_time: Annotated[float, Meta(description="the agent's own time, mean over the trials, in seconds")]
    transcript_length: Annotated[int, Meta(description="entries of the first trial's transcript")]
    workspace: Annotated[str, Meta(description="the path of the first trial's workspace")]
    reason: Annotated[Reason, Meta(description="that of the first trial that did not succeed, else of the first")]
    category: str | None
    grading_type: GradingType | None
    score: Annotated[float | None, Meta(description="mean over its trials with a score, in 0-1")]
    scores: ScoreSummary
    left_out: LeftOut
    ungraded: Annotated[dict[str, int], Meta(description="number of ungraded trials by reason")]
    usage: Annotated[Usage, Meta(description="of the agents, over the attempts that count")]
    cost_known: Annotated[
        bool | UnsetType,
        Meta(
            description="false where tokens were used at a price that is not known: `cost_usd` is 0 then; else missing"
        ),
    ] = UNSET
    events: Annotated[dict[FailureEvent, EventTotal] | UnsetType, Meta(description=EVENTS)] = UNSET
    runs: Annotated[tuple[TrialEntry, ...], Meta(description="its trials by repetition")]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of trials."""

    planned: int
    finished: Annotated[int, Meta(description="ended by themselves")]
    not_run: int
    success: int
    timeout: int
    error: int
    left_out: Annotated[
        int, Meta(description="infrastructure failures, untrusted, interrupted or without a prerequisite")
    ]
    reasons: Annotated[dict[str, int], Meta(description="number of trials by reason")]


class CausedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial without a score, which the agent may have caused."""

    task_id: str
    repetition: int
    reasons: Annotated[tuple[str, ...], Meta(description="of each attempt")]

    @property
    def key(self) -> TrialKey:
        """The trial's task and repetition."""
        return TrialKey(task_id=self.task_id, repetition=self.repetition)


class CausedByAgent(msgspec.Struct, frozen=True, kw_only=True):
    """Trials without a score, which the agent may have caused. They are among the excluded ones."""

    trials: tuple[CausedTrial, ...] = ()
    score_if_zero: Annotated[
        float | None, Meta(description="the mean with each of them as 0, in 0-1; null where there are none")
    ] = None

    @property
    def keys(self) -> frozenset[TrialKey]:
        """The keys of these trials."""
        return frozenset(trial.key for trial in self.trials)


class ProbeTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The probes of a run. What they used is in no other total."""

    sent: int
    failed: int
    usage: Annotated[Usage, Meta(description="of all probes")]
    cost_usd: Annotated[float | None, Meta(description="of those with a price; null if none has one")]
    without_cost: Annotated[int, Meta(description="answered probes without a price")]
    probes: tuple[ProbeFacts, ...]


class UserTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What simulated users said and used, over all attempts."""

    models: Annotated[tuple[str, ...], Meta(description="the models that played them; none for a script")]
    trials: Annotated[int, Meta(description="trials that have one")]
    messages: Annotated[int, Meta(description="that they wrote after the prompts")]
    calls: int
    usage: Usage
    cost_usd: Annotated[float | None, Meta(description="null if no call had a price")]
    calls_without_cost: Annotated[int, Meta(description="calls whose price was not reported")]
    latency_s: Annotated[float, Meta(description="how long agents waited for them, summed, in seconds")]


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over tasks, and the trials it excludes."""

    score: Estimate
    left_out: TotalLeftOut


class CategoryTotals(Totals, frozen=True, kw_only=True):
    """A category: the mean over its tasks, and the trials it excludes."""

    possibly_caused_by_agent: CausedByAgent = CausedByAgent()


class PassRate(msgspec.Struct, frozen=True, kw_only=True):
    """How often trials pass, as a mean over tasks. Null if no task has k trials with a score."""

    pass_at_k: Annotated[float | None, Meta(description="one of k trials passes, in 0-1")]
    pass_hat_k: Annotated[float | None, Meta(description="all of k trials pass, in 0-1")]
    tasks: Annotated[int, Meta(description="tasks with k trials with a score")]


class PassRates(msgspec.Struct, frozen=True, kw_only=True):
    """How often trials reach the threshold."""

    threshold: Annotated[float, Meta(description="the score from which a trial passes, in 0-1")]
    k: Annotated[dict[str, PassRate], Meta(description="by k")]


class SuiteTotals(Totals, frozen=True, kw_only=True, rename={"passing": "pass"}):
    """One of several suites of a run, by its own rule."""

    suite_format: Annotated[str, Meta(description="of its tasks")]
    score_rule: Annotated[str, Meta(description="how it makes a task's score")]
    possibly_caused_by_agent: CausedByAgent = CausedByAgent()
    passing: PassRates
    events: Annotated[dict[FailureEvent, EventTotal] | UnsetType, Meta(description=EVENTS)] = UNSET


class AutomatedOnly(msgspec.Struct, frozen=True, kw_only=True):
    """The checks' results for hybrid trials without a judge's score. In no other mean."""

    tasks: int
    trials: int
    mean: Annotated[float | None, Meta(description="mean over tasks")]


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Means of parts of grades."""

    automated_only: AutomatedOnly


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of retries on the score."""

    trials: Annotated[int, Meta(description="trials with more than one attempt that ended by itself")]
    attempts: Annotated[int, Meta(description="attempts beyond the first of each trial")]
    recovered: Annotated[int, Meta(description="trials whose first attempt was not valid and a later one is")]
    first_attempts: Annotated[Totals, Meta(description="the score of the first attempts alone")]
    other_attempts_usage: Annotated[Usage, Meta(description="of the attempts that do not count")]


class JudgeTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What judging used, separate from the agents' usage. Models, prompt versions and trials are those that count."""

    models: tuple[str, ...]
    prompt_versions: tuple[str, ...]
    trials: int
    calls: Annotated[int, Meta(description="requests that were sent, over all gradings")]
    cached: Annotated[int, Meta(description="votes that came from the cache")]
    usage: Usage
    cost_usd: Annotated[float | None, Meta(description="US dollars; null where no call's price is known")]
    calls_without_cost: Annotated[int, Meta(description="calls whose price is not known")]
    latency_s: Annotated[float, Meta(description="seconds")]
    certificates: Annotated[
        tuple[str, ...] | UnsetType,
        Meta(description="identifier, day and faults; an empty text for grades without one. Missing if none has one"),
    ] = UNSET
    agreement: Annotated[
        JudgeAgreement | UnsetType, Meta(description="of several judges, on the trials that count; missing with one")
    ] = UNSET


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of the run; null if unlimited."""

    max_cost: Annotated[float | int | None, Meta(description="US dollars")] = None
    max_tokens: int | None = None
    max_hours: Annotated[float | int | None, Meta(description="of each session, in hours")] = None


class JournalEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the journal from which the result was made."""

    records: Annotated[int, Meta(description="chained records")]
    digest: Annotated[str, Meta(description="that of the last one")]


class Aggregate(msgspec.Struct, frozen=True, kw_only=True, rename={"passing": "pass"}):
    """The result of a run. The first four keys are those of PinchBench's own runner.

    Keys that other releases added are ignored; those missing in older releases have a default.
    """

    model: Annotated[str, Meta(description="as OpenClaw names it")]
    run_id: str
    timestamp: Annotated[float, Meta(description="the end of the run, seconds since the epoch (UTC)")]
    tasks: Annotated[tuple[TaskEntry, ...], Meta(description="in the plan's order; those with an ended trial")]
    suite: str | None = None
    suite_format: Annotated[str | UnsetType, Meta(description="of the tasks; missing for PinchBench's own")] = UNSET
    score_rule: Annotated[
        str | UnsetType, Meta(description="how the suite makes a task's score; missing for PinchBench's own rule")
    ] = UNSET
    suites: Annotated[
        dict[str, SuiteTotals] | UnsetType,
        Meta(
            description="by name; missing in a run of one suite. With several, all means over tasks of more than one"
            " are null, and `pass` has no rates"
        ),
    ] = UNSET
    private: Annotated[
        bool | UnsetType, Meta(description="whether tasks are made of their user's own work; missing where none is")
    ] = UNSET
    form: Annotated[
        int | UnsetType, Meta(description="the seed of the fresh form of the tasks; missing for the public ones")
    ] = UNSET
    nodes: Annotated[
        dict[str, NodeTimes] | UnsetType, Meta(description="of a cluster, by name; missing in a run of one machine")
    ] = UNSET
    probes: Annotated[
        ProbeTotals | UnsetType, Meta(description="of the model, which earlier releases sent; missing for none")
    ] = UNSET
    interrupted: Annotated[str | None, Meta(description="the signal that ended the run early")] = None
    stopped: Annotated[str, Meta(description="why the run ended itself early, in words")] = ""
    stop: Annotated[Stop | None, Meta(description="of which kind that was")] = None
    not_needed: Annotated[
        int | UnsetType,
        Meta(description="trials without which the run's experiment was decided; not in `counts`. Missing for none"),
    ] = UNSET
    control: Annotated[
        ControlEntry | UnsetType, Meta(description="what the user has asked of the run; the key is missing for nothing")
    ] = UNSET
    limits: Limits = Limits()
    sessions: Annotated[
        tuple[tuple[float, float], ...], Meta(description="start and end of each, seconds since the epoch (UTC)")
    ] = ()
    changes: Annotated[tuple[str, ...], Meta(description="what was changed, and accepted, at a resumption")] = ()
    reused: Annotated[
        dict[str, int] | UnsetType,
        Meta(description="trials that count from earlier runs, by the names of their folders; missing for none"),
    ] = UNSET
    run: Annotated[str, Meta(description="the name of the run's folder")] = ""
    journal: Annotated[
        JournalEnd | UnsetType, Meta(description="the key is missing where an older release wrote the journal")
    ] = UNSET
    counts: Counts
    usage: Annotated[Usage, Meta(description="of the agents, over the attempts that count")]
    cost_known: Annotated[
        bool | UnsetType,
        Meta(
            description="false where tokens were used at a price that is not known: `cost_usd` is 0 then; else missing"
        ),
    ] = UNSET
    execution_time: Annotated[float, Meta(description="the agents' own times, summed, in seconds")]
    score: Estimate
    left_out: TotalLeftOut
    possibly_caused_by_agent: CausedByAgent = CausedByAgent()
    categories: Annotated[dict[str, CategoryTotals], Meta(description="by name")]
    passing: PassRates
    events: Annotated[dict[FailureEvent, EventTotal] | UnsetType, Meta(description=EVENTS)] = UNSET
    parts: Parts
    retries: Retries | None = None
    judge: Annotated[JudgeTotals | None, Meta(description="null when no judge was asked")] = None
    user: Annotated[
        UserTotals | UnsetType, Meta(description="simulated users, in no other figure; missing where there were none")
    ] = UNSET

    @property
    def trials(self) -> tuple[TrialEntry, ...]:
        """The trials of all tasks."""
        return tuple(trial for task in self.tasks for trial in task.runs)


_decoder = json_decoder(Aggregate)


def read_aggregate(path: Path) -> Aggregate:
    """Read a result file. Blocks. Raises ResultsError if it can't be read or is not a result of this runner."""
    try:
        with open_regular(path) as file:
            return _decoder.decode(file.read())
    except OSError as error:
        raise ResultsError(f"{path} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(
            f"{path} is not a result of this release: {error}. Where the run's folder is next to it, "
            f"`pinchbench-async resume {path.with_suffix('')}` writes it anew."
        ) from error
