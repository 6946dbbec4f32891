"""The result JSON as a type: each key with its unit and meaning, and the one function that reads a result file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET

# msgspec reads the annotations at run time
from pinchbench.decoding import Maybe, doc
from pinchbench.defaults import FailureEvent
from pinchbench.model.ending import Reason, Status, Stop  # noqa: TC001
from pinchbench.model.facts import Finding, LoadFacts, ReplayFacts, SandboxFacts, UserFacts, WireFacts  # noqa: TC001
from pinchbench.model.grade import CheckGrade, JudgeGrade, Ungraded  # noqa: TC001
from pinchbench.model.task import GradingType  # noqa: TC001
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.control_state import ControlEntry  # noqa: TC001
from pinchbench.results.judge_agreement import JudgeAgreement  # noqa: TC001
from pinchbench.results.node_times import NodeTimes  # noqa: TC001
from pinchbench.results.paths import read_json
from pinchbench.results.records import ProbeFacts  # noqa: TC001
from pinchbench.results.statistics import FRACTION, Estimate, EventTotal, PassRate, ScoreSummary

if TYPE_CHECKING:
    from pathlib import Path

CostKnown = Annotated[
    Maybe[bool], doc("false where tokens were used at a price that is not known: `cost_usd` is 0 then; else missing")
]
Events = Annotated[
    Maybe[dict[FailureEvent, EventTotal]],
    doc("what went wrong, as the checks counted it in valid trials; missing where they count nothing"),
]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many planned trials are excluded from a mean, by reason; each is counted once."""

    ungraded: Annotated[int, doc("trials that are valid and have no score")]
    infrastructure: Annotated[int, doc("trials that failed for infrastructure reasons or were interrupted")]
    untrusted: Annotated[int, doc("trials with tampered evidence, or whose agent saw answers; missing for none")] = 0
    prerequisite_missing: Annotated[int, doc("trials not run because a prerequisite is missing; missing for none")] = 0
    skipped: Annotated[int, doc("trials that the user has skipped, perhaps while they ran; missing for none")] = 0
    not_run: Annotated[int, doc("trials that have not ended")]

    @property
    def total(self) -> int:
        """The sum over all reasons."""
        missing = self.prerequisite_missing + self.skipped + self.not_run
        return self.ungraded + self.infrastructure + self.untrusted + missing


class TotalLeftOut(LeftOut, frozen=True, kw_only=True, omit_defaults=True):
    """How many planned trials are excluded from a mean over several tasks."""

    tasks_without_score: Annotated[int, doc("tasks none of whose trials has a score")]


class GradeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The grade of an attempt. Without a score, `ungraded` holds the reason."""

    grading_type: GradingType
    attempt: Annotated[int, doc("the attempt that was graded, from 1")] = 1
    score: Annotated[float | None, doc(FRACTION)] = None
    ungraded: Annotated[Ungraded | None, doc("why there is no score")] = None
    breakdown: Annotated[dict[str, float], doc("points by criterion, each in 0-1")] = {}
    notes: tuple[str, ...] = ()
    check: Annotated[CheckGrade | None, doc("the part of the task's own check")] = None
    judge: Annotated[JudgeGrade | None, doc("the judge's part")] = None
    digest: Annotated[str, doc("SHA-256 of the task as it was graded")] = ""
    graded_at: Annotated[float, doc("seconds since the epoch (UTC)")] = 0.0


class TrialEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One repetition of a task: the attempt that counts, with its grade."""

    repetition: Annotated[int, doc("from 1")]
    status: Status
    counts: Annotated[bool, doc("whether it is valid: false for an infrastructure failure or untrusted evidence")]
    possibly_caused_by_agent: Annotated[bool, doc("whether the agent may have caused that there is no score")] = False
    reason: Annotated[Reason, doc("why the attempt ended as it did")]
    digest: Annotated[str, doc("SHA-256 of the task as it was run")]
    slot: Annotated[int, doc("the slot that ran it, from 1")] = 0
    attempt: Annotated[int, doc("the number of the attempt, from 1")] = 1
    timed_out: bool = False
    exit_code: int | None = None
    started_at: Annotated[float, doc("seconds since the epoch (UTC)")] = 0.0
    ended_at: Annotated[float, doc("seconds since the epoch (UTC)")] = 0.0
    execution_time_s: Annotated[float, doc("the agent's own time, in seconds")] = 0.0
    setup_s: Annotated[float, doc("set-up before the agent, in seconds")] = 0.0
    timeout_s: Annotated[float, doc("the task's limit, multiplier included, in seconds")] = 0.0
    agent_id: Annotated[str, doc("OpenClaw's id of the agent")] = ""
    session_ids: Annotated[tuple[str, ...], doc("OpenClaw's ids of its sessions")] = ()
    store: Annotated[str, doc("the kind of session store that the transcript was read from")] = ""
    workspace: Annotated[str, doc("the path of the workspace")] = ""
    evidence: Annotated[str, doc("the folder of its evidence, relative to the run's folder")] = ""
    transcript_length: Annotated[int, doc("entries of the transcript")] = 0
    damaged_lines: Annotated[int, doc("lines of the transcript that could not be read")] = 0
    tool_calls: int = 0
    models: Annotated[tuple[str, ...], doc("the models that answered, by the transcript")] = ()
    usage: Usage = Usage()
    cost_known: CostKnown = UNSET
    cpu_s: Annotated[float, doc("CPU time of OpenClaw and all it started, in seconds")] = 0.0
    peak_rss_bytes: Annotated[int, doc("resident memory of its largest process, in bytes")] = 0
    leftovers: Annotated[tuple[str, ...], doc("commands that outlived the agent and were ended")] = ()
    not_kept: Annotated[tuple[str, ...], doc("files that the workspace's archive excludes, and why")] = ()
    asleep_s: Annotated[float, doc("time for which the machine was suspended, in seconds")] = 0.0
    rate_limits: Annotated[int, doc("answers of 429 that the transcript shows")] = 0
    level: Annotated[str, doc("the level of containment")] = ""
    node: Annotated[Maybe[str], doc("where it ran in a cluster; missing in a run of one machine")] = UNSET
    note: str = ""
    wire: Annotated[Maybe[WireFacts], doc("what the provider was asked and said; missing without a wire")] = UNSET
    replay: Annotated[Maybe[ReplayFacts], doc("how its requests compare with recorded ones; missing without")] = UNSET
    sandbox: Annotated[Maybe[SandboxFacts], doc("what was allowed, and attempted beyond; missing without")] = UNSET
    load: Annotated[Maybe[LoadFacts], doc("how long processes waited for the machine; missing if not measured")] = UNSET
    services: Annotated[Maybe[tuple[str, ...]], doc("how services ended before the agent; missing for none")] = UNSET
    user: Annotated[Maybe[UserFacts], doc("what its simulated user said and used; missing if none was reached")] = UNSET
    findings: Annotated[
        Maybe[tuple[Finding, ...]],
        doc("how OpenClaw's store differs from what the wire saw, at most 50; missing where it does not"),
    ] = UNSET
    unwitnessed: Annotated[Maybe[bool], doc("true if only OpenClaw's store shows what it did; else missing")] = UNSET
    reused_from: Annotated[Maybe[str], doc("the folder of the run that made it; missing for this run's own")] = UNSET
    grade: GradeEntry | None = None

    @property
    def score(self) -> float | None:
        """The score that goes into means, in 0-1; None if there is none or the attempt is not valid."""
        score = self.grade.score if self.counts and self.grade is not None else None
        return score if score is not None and 0.0 <= score <= 1.0 else None


class TaskEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A task with its repetitions. The first six keys are those of PinchBench's own runner."""

    task_id: str
    status: Annotated[Status, doc("`success` only when every trial succeeded")]
    timed_out: Annotated[bool, doc("whether a trial timed out")]
    execution_time: Annotated[float, doc("the agent's own time, mean over the trials, in seconds")]
    transcript_length: Annotated[int, doc("entries of the first trial's transcript")]
    workspace: Annotated[str, doc("the path of the first trial's workspace")]
    reason: Annotated[Reason, doc("that of the first trial that did not succeed, else of the first")]
    category: str | None
    grading_type: GradingType | None
    score: Annotated[float | None, doc("mean over its trials with a score, in 0-1")]
    scores: ScoreSummary
    left_out: LeftOut
    ungraded: Annotated[dict[str, int], doc("number of ungraded trials by reason")]
    usage: Annotated[Usage, doc("of the agents, over the attempts that count")]
    cost_known: CostKnown = UNSET
    events: Events = UNSET
    runs: Annotated[tuple[TrialEntry, ...], doc("its trials by repetition")]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of trials."""

    planned: int
    finished: Annotated[int, doc("ended by themselves")]
    not_run: int
    success: int
    timeout: int
    error: int
    left_out: Annotated[int, doc("infrastructure failures, untrusted, interrupted or without a prerequisite")]
    reasons: Annotated[dict[str, int], doc("number of trials by reason")]


class CausedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial without a score, which the agent may have caused."""

    task_id: str
    repetition: int
    reasons: Annotated[tuple[str, ...], doc("of each attempt")]

    @property
    def key(self) -> TrialKey:
        """The trial's task and repetition."""
        return TrialKey(task_id=self.task_id, repetition=self.repetition)


class CausedByAgent(msgspec.Struct, frozen=True, kw_only=True):
    """Trials without a score, which the agent may have caused. They are among the excluded ones."""

    trials: tuple[CausedTrial, ...] = ()
    score_if_zero: Annotated[float | None, doc("the mean with each of them as 0, in 0-1; null for none")] = None

    @property
    def keys(self) -> frozenset[TrialKey]:
        """The keys of these trials."""
        return frozenset(trial.key for trial in self.trials)


class ProbeTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The probes of a run. What they used is in no other total."""

    sent: int
    failed: int
    usage: Annotated[Usage, doc("of all probes")]
    cost_usd: Annotated[float | None, doc("of those with a price; null if none has one")]
    without_cost: Annotated[int, doc("answered probes without a price")]
    probes: tuple[ProbeFacts, ...]


class UserTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What simulated users said and used, over all attempts."""

    models: Annotated[tuple[str, ...], doc("the models that played them; none for a script")]
    trials: Annotated[int, doc("trials that have one")]
    messages: Annotated[int, doc("that they wrote after the prompts")]
    calls: int
    usage: Usage
    cost_usd: Annotated[float | None, doc("null if no call had a price")]
    calls_without_cost: Annotated[int, doc("calls whose price was not reported")]
    latency_s: Annotated[float, doc("how long agents waited for them, summed, in seconds")]


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over tasks, and the trials it excludes."""

    score: Estimate
    left_out: TotalLeftOut


class CategoryTotals(Totals, frozen=True, kw_only=True):
    """A category: the mean over its tasks, and the trials it excludes."""

    possibly_caused_by_agent: CausedByAgent = CausedByAgent()


class PassRates(msgspec.Struct, frozen=True, kw_only=True):
    """How often trials reach the threshold."""

    threshold: Annotated[float, doc("the score from which a trial passes, in 0-1")]
    k: Annotated[dict[str, PassRate], doc("by k")]


class SuiteTotals(Totals, frozen=True, kw_only=True, rename={"passing": "pass"}):
    """One of several suites of a run, by its own rule."""

    suite_format: Annotated[str, doc("of its tasks")]
    score_rule: Annotated[str, doc("how it makes a task's score")]
    possibly_caused_by_agent: CausedByAgent = CausedByAgent()
    passing: PassRates
    events: Events = UNSET


class AutomatedOnly(msgspec.Struct, frozen=True, kw_only=True):
    """The checks' results for hybrid trials without a judge's score. In no other mean."""

    tasks: int
    trials: int
    mean: Annotated[float | None, doc("mean over tasks")]


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Means of parts of grades."""

    automated_only: AutomatedOnly


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of retries on the score."""

    trials: Annotated[int, doc("trials with more than one attempt that ended by itself")]
    attempts: Annotated[int, doc("attempts beyond the first of each trial")]
    recovered: Annotated[int, doc("trials whose first attempt was not valid and a later one is")]
    first_attempts: Annotated[Totals, doc("the score of the first attempts alone")]
    other_attempts_usage: Annotated[Usage, doc("of the attempts that do not count")]


class JudgeTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What judging used, separate from the agents' usage. Models, prompt versions and trials are those that count."""

    models: tuple[str, ...]
    prompt_versions: tuple[str, ...]
    trials: int
    calls: Annotated[int, doc("requests that were sent, over all gradings")]
    cached: Annotated[int, doc("votes that came from the cache")]
    usage: Usage
    cost_usd: Annotated[float | None, doc("US dollars; null where no call's price is known")]
    calls_without_cost: Annotated[int, doc("calls whose price is not known")]
    latency_s: Annotated[float, doc("seconds")]
    certificates: Annotated[
        Maybe[tuple[str, ...]],
        doc("identifier, day and faults; an empty text for grades without one. Missing if none has one"),
    ] = UNSET
    agreement: Annotated[Maybe[JudgeAgreement], doc("of several judges, on trials that count; missing for one")] = UNSET


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of the run; null if unlimited."""

    max_cost: Annotated[float | int | None, doc("US dollars")] = None
    max_tokens: int | None = None
    max_hours: Annotated[float | int | None, doc("of each session, in hours")] = None


class JournalEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the journal from which the result was made."""

    records: Annotated[int, doc("chained records")]
    digest: Annotated[str, doc("that of the last one")]


class Aggregate(msgspec.Struct, frozen=True, kw_only=True, rename={"passing": "pass"}):
    """The result of a run. The first four keys are those of PinchBench's own runner.

    Keys that other releases added are ignored; those missing in older releases have a default.
    """

    model: Annotated[str, doc("as OpenClaw names it")]
    run_id: str
    timestamp: Annotated[float, doc("the end of the run, seconds since the epoch (UTC)")]
    tasks: Annotated[tuple[TaskEntry, ...], doc("in the plan's order; those with an ended trial")]
    suite: str | None = None
    suite_format: Annotated[Maybe[str], doc("of the tasks; missing for PinchBench's own")] = UNSET
    score_rule: Annotated[Maybe[str], doc("how the suite makes a task's score; missing for PinchBench's own")] = UNSET
    suites: Annotated[
        Maybe[dict[str, SuiteTotals]],
        doc(
            "by name; missing in a run of one suite. With several, all means over tasks of more than one"
            " are null, and `pass` has no rates"
        ),
    ] = UNSET
    private: Annotated[Maybe[bool], doc("whether tasks are made of their user's own work; missing if none is")] = UNSET
    form: Annotated[Maybe[int], doc("the seed of the fresh form of the tasks; missing for the public ones")] = UNSET
    nodes: Annotated[Maybe[dict[str, NodeTimes]], doc("of a cluster, by name; missing in a run of one machine")] = UNSET
    probes: Annotated[Maybe[ProbeTotals], doc("of the model, which earlier releases sent; missing for none")] = UNSET
    interrupted: Annotated[str | None, doc("the signal that ended the run early")] = None
    stopped: Annotated[str, doc("why the run ended itself early, in words")] = ""
    stop: Annotated[Stop | None, doc("of which kind that was")] = None
    not_needed: Annotated[
        Maybe[int], doc("trials without which the run's experiment was decided; not in `counts`. Missing for none")
    ] = UNSET
    control: Annotated[Maybe[ControlEntry], doc("what the user has asked of the run; missing for nothing")] = UNSET
    limits: Limits = Limits()
    sessions: Annotated[tuple[tuple[float, float], ...], doc("start and end, seconds since the epoch (UTC)")] = ()
    changes: Annotated[tuple[str, ...], doc("what was changed, and accepted, at a resumption")] = ()
    reused: Annotated[Maybe[dict[str, int]], doc("trials of earlier runs, by their folder; missing for none")] = UNSET
    run: Annotated[str, doc("the name of the run's folder")] = ""
    journal: Annotated[Maybe[JournalEnd], doc("the key is missing where an older release wrote the journal")] = UNSET
    counts: Counts
    usage: Annotated[Usage, doc("of the agents, over the attempts that count")]
    cost_known: CostKnown = UNSET
    execution_time: Annotated[float, doc("the agents' own times, summed, in seconds")]
    score: Estimate
    left_out: TotalLeftOut
    possibly_caused_by_agent: CausedByAgent = CausedByAgent()
    categories: Annotated[dict[str, CategoryTotals], doc("by name")]
    passing: PassRates
    events: Events = UNSET
    parts: Parts
    retries: Retries | None = None
    judge: Annotated[JudgeTotals | None, doc("null when no judge was asked")] = None
    user: Annotated[Maybe[UserTotals], doc("simulated users, in no other figure; missing if there were none")] = UNSET

    @property
    def trials(self) -> tuple[TrialEntry, ...]:
        """The trials of all tasks."""
        return tuple(trial for task in self.tasks for trial in task.runs)


def read_aggregate(path: Path) -> Aggregate:
    """Read a result file. Blocks. Raises ResultsError if it can't be read or is not a result of this runner."""
    advice = (
        "This is not a result of this release. Where the run's folder is next to it,"
        f" `pinchbench-async resume {path.with_suffix('')}` writes it anew."
    )
    return read_json(path, Aggregate, advice=advice)
