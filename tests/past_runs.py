"""Runs that have ended, written to disk as a runner writes them: for what reads, compares and exports them."""

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pinchbench.defaults import FailureEvent
from pinchbench.grading.judge.votes import mean_grade
from pinchbench.model.ending import Reason, Stop
from pinchbench.model.facts import LoadFacts, UserFacts, WireFacts
from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.aggregate import aggregate
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.manifest import RunFacts, TaskFacts
from pinchbench.results.paths import RunFiles, create_run, write_json
from pinchbench.results.records import GradeGiven, Record, RunFinished, RunStarted, TrialFinished, TrialStarted
from pinchbench.results.result_json import Aggregate, JournalEnd
from pinchbench.results.run_state import RunState
from pinchbench.wire.exchange import Exchange
from pinchbench.wire.recording import RecordingWriter

BEGAN = 1_767_322_800.0  # 2026-01-02 03:00 UTC
CATEGORIES = ("basics", "data", "coding", "writing")
VERSIONS = {"pinchbench_async": "0.1.0", "openclaw": "2026.9.6", "node": "v24.21.0", "python": "3.11.7", "os": "Linux"}
PRICE_USD = 0.003  # of a thousand tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """What is to become of one trial. `score` None and no `ungraded`: its grading never came."""

    score: float | None = 1.0
    reason: Reason = Reason.COMPLETED
    ungraded: Ungraded | None = None
    took_s: float = 30.0
    setup_s: float = 2.0
    grading_s: float = 1.0
    tokens: int = 5_000
    cost_usd: float | None = None
    note: str = ""
    notes: tuple[str, ...] = ()
    stderr: str = ""
    transcript: str | None = None  # instead of the one that is made
    retried: tuple[Reason, ...] = ()  # attempts before this one
    wire: WireFacts | None = None
    load: LoadFacts | None = None
    user: UserFacts | None = None
    exchanges: tuple[Exchange, ...] = ()  # are recorded
    events: Mapping[FailureEvent, tuple[int, int]] | UnsetType = UNSET
    judged: tuple[float, ...] = ()  # the scores of several judges


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedRun:
    """A run to be written: `trials` by task id, one for each repetition."""

    trials: Mapping[str, tuple[Made, ...]]
    model: str = "mock/m1"
    run_id: str = "20260102-030000-0001"
    slots: int = 2
    categories: Mapping[str, str] = field(default_factory=dict)
    grading: GradingType = GradingType.HYBRID
    planned_beyond: int = 0  # repetitions of each task that never ran
    has_ended: bool = True
    decided: str = ""  # why its experiment needs no more of it
    began: float = BEGAN
    config: Mapping[str, object] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    private: bool = False
    tools: list[str] | UnsetType = UNSET

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"{self.model.replace('/', '-').replace('.', '-')}_{self.run_id}"


def random_trials(
    *, tasks: int, repetitions: int, ability: float = 0.7, seed: int = 0, trouble: float = 0.0
) -> dict[str, tuple[Made, ...]]:
    """Trials of so many tasks whose scores, times and costs scatter; the same seed gives the same.

    `ability` in 0-1 is the mean score to expect; tasks differ in how hard they are, and the hard ones are the same for
    every seed. `trouble` is the share of trials that fail in some way or can't be graded.
    """
    source = random.Random(seed)
    trials = {}
    for number in range(tasks):
        ease = random.Random(f"task {number}").betavariate(4 * ability + 0.01, 4 * (1 - ability) + 0.01)
        trials[f"task_{number:03d}"] = tuple(_random_trial(source, ease, trouble) for _ in range(repetitions))
    return trials


def _random_trial(source: random.Random, ease: float, trouble: float) -> Made:
    made = Made(
        score=round(min(1.0, max(0.0, source.gauss(ease, 0.15))), 2),
        took_s=round(source.lognormvariate(3.5, 0.6), 1),
        setup_s=round(source.uniform(1, 6), 1),
        grading_s=round(source.uniform(0.5, 8), 1),
        tokens=int(source.lognormvariate(9, 0.7)),
    )
    if source.random() >= trouble:
        return made
    return source.choice(
        (
            replace(made, reason=Reason.TIMED_OUT, score=0.0, took_s=120.0),
            replace(made, reason=Reason.NO_TRANSCRIPT, score=None, note="OpenClaw left no transcript."),
            replace(made, score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=("The judge did not answer.",)),
            replace(made, reason=Reason.NONZERO_EXIT, score=0.2, stderr="Error: out of luck\n"),
        )
    )


def write_run(output_dir: Path, run: PlannedRun) -> RunFiles:
    """Write run.json, the journal and every trial's evidence; the results file is left to who reads the run."""
    files = create_run(output_dir, run.name)
    write_json(files.provenance, msgspec.to_builtins(_facts(run)))
    records = list(records_of(run))
    for record in records:
        if isinstance(record, TrialFinished):
            _write_evidence(files, record.outcome, run.trials[record.outcome.key.task_id])
    with JournalWriter(files.journal) as journal:
        journal.append(records)
    return files


def outcome_of(key: TrialKey | str = "task_a", reason: Reason = Reason.COMPLETED, **facts: Any) -> Outcome:
    """The outcome of a trial, or of the first of a task, whose digest is `d`."""
    return Outcome(key=_key(key), reason=reason, **{"digest": "d", **facts})


def grade_of(
    key: TrialKey | str = "task_a", score: float | None = None, ungraded: Ungraded | None = None, **facts: Any
) -> Grade:
    """The grade of a trial, or of the first of a task, which its check has given."""
    known = {"grading_type": GradingType.AUTOMATED, **facts}
    return Grade(key=_key(key), score=score, ungraded=ungraded, **known)


def _key(key: TrialKey | str) -> TrialKey:
    return TrialKey(task_id=key, repetition=1) if isinstance(key, str) else key


def records_of(run: PlannedRun) -> Iterator[Record]:
    """Yield all that a run writes into its journal, the trials in the order of their tasks."""
    planned = sum(len(made) + run.planned_beyond for made in run.trials.values())
    yield RunStarted(run_id=run.run_id, model=run.model, at=run.began, trials=planned)
    free = dict.fromkeys(range(1, run.slots + 1), run.began)
    for key, made in (
        (TrialKey(task_id=task, repetition=n), one) for task, own in run.trials.items() for n, one in enumerate(own, 1)
    ):
        slot = min(free, key=lambda one: (free[one], one))
        for attempt, reason in enumerate((*made.retried, made.reason), start=1):
            outcome = _outcome(run, key, replace(made, reason=reason), slot=slot, attempt=attempt, at=free[slot])
            yield TrialStarted(key=key, slot=slot, attempt=attempt, at=outcome.started_at)
            yield TrialFinished(outcome=outcome, retried=attempt <= len(made.retried))
            free[slot] = outcome.ended_at + 0.5
        if (grade := _grade(run, key, made, outcome)) is not None:
            yield GradeGiven(grade=grade)
    if run.has_ended:
        stop = Stop.DECIDED if run.decided else None
        yield RunFinished(at=max(free.values()) + 10, stopped=run.decided, stop=stop)


def facts_of(
    plan: Iterable[TrialKey], *, model: str = "mock/m1", categories: Mapping[str, str] | None = None
) -> RunFacts:
    """The facts of a run of these trials, whose tasks have these categories."""
    return RunFacts(
        run_id="r",
        created_at=1.5,
        config={"model": model, "suite": "all"},
        versions={},
        containment="guardian",
        agents=[],
        suite={"folder": "/suite"},
        tasks={
            task: TaskFacts(digest="d", category=category, grading_type=GradingType.AUTOMATED, timeout_s=60.0)
            for task, category in (categories or {}).items()
        },
        plan=[(key.task_id, key.repetition) for key in plan],
    )


def aggregate_of(
    outcomes: Sequence[Outcome],
    facts: RunFacts,
    grades: Iterable[Grade] = (),
    *,
    given: Sequence[Grade] = (),
    stopped: str = "",
    journal: JournalEnd | UnsetType = UNSET,
) -> Aggregate:
    """The aggregate of these outcomes; `grades` are those that count, `given` all of them if there were others."""
    state = RunState.of(TrialFinished(outcome=outcome) for outcome in outcomes)
    state.attempt_grades = {(grade.key, grade.attempt): grade for grade in grades}
    state.given = list(given or state.attempt_grades.values())
    if stopped:
        state.apply(RunFinished(at=1.0, stopped=stopped))
    return aggregate(facts, state, journal=journal)


def as_older_release(journal: bytes) -> bytes:
    """The bytes of a journal as a release that had no digests would have written them."""
    return re.sub(rb',"seq":[0-9]+,"chain":"[0-9a-f]+"', b"", journal)


def _facts(run: PlannedRun) -> RunFacts:
    tasks = {
        task: TaskFacts(
            digest=_digest(run, task),
            category=_category(run, task),
            grading_type=run.grading,
            timeout_s=120.0,
            title=run.titles.get(task, ""),
            private=run.private or UNSET,
        )
        for task in run.trials
    }
    config = {"model": run.model, "suite": "all", "concurrency": run.slots, "pass_threshold": 0.5, **run.config}
    return RunFacts(
        run_id=run.run_id,
        created_at=run.began,
        config=config,
        versions=VERSIONS,
        containment="guardian",
        agents=["bench-mock-m1"] * run.slots,
        suite={"folder": "/suite", "tasks": len(tasks), "skipped_broken": []},
        tools=run.tools,
        tasks=tasks,
        plan=[(task, n) for task, made in run.trials.items() for n in range(1, len(made) + run.planned_beyond + 1)],
    )


def _digest(run: PlannedRun, task: str) -> str:
    return run.digests.get(task) or hashlib.sha256(task.encode()).hexdigest()


def _category(run: PlannedRun, task: str) -> str:
    return run.categories.get(task) or CATEGORIES[list(run.trials).index(task) % len(CATEGORIES)]


def _outcome(run: PlannedRun, key: TrialKey, made: Made, *, slot: int, attempt: int, at: float) -> Outcome:
    cost = made.tokens / 1000 * PRICE_USD if made.cost_usd is None else made.cost_usd
    again = f".attempt{attempt}" if attempt > 1 else ""
    return Outcome(
        key=key,
        reason=made.reason,
        digest=_digest(run, key.task_id),
        slot=slot,
        attempt=attempt,
        timed_out=made.reason is Reason.TIMED_OUT,
        exit_code=1 if made.reason is Reason.NONZERO_EXIT else 0,
        started_at=at,
        ended_at=at + made.setup_s + made.took_s,
        execution_time_s=made.took_s,
        setup_s=made.setup_s,
        timeout_s=120.0,
        agent_id="bench-mock-m1",
        session_ids=(f"{key.task_id}_{int(at * 1000)}",),
        store="sqlite",
        workspace=f"/tmp/pinchbench/{run.run_id}/{key.folder}",
        evidence=f"trials/{key.task_id}/{key.repetition}{again}",
        transcript_length=0 if made.reason is Reason.NO_TRANSCRIPT else 6,
        tool_calls=1,
        models=(run.model,),
        wire=made.wire,
        load=made.load,
        user=made.user,
        usage=Usage(
            requests=2,
            input_tokens=made.tokens * 9 // 10,
            output_tokens=made.tokens - made.tokens * 9 // 10,
            total_tokens=made.tokens,
            cost_usd=cost,
        ),
        cpu_s=round(made.took_s / 3, 1),
        peak_rss_bytes=500_000_000,
        level="guardian",
        note=made.note,
    )


def _grade(run: PlannedRun, key: TrialKey, made: Made, outcome: Outcome) -> Grade | None:
    if made.score is None and made.ungraded is None:
        return None
    score = made.score
    breakdown = {} if score is None else {"file_there": score}
    check = CheckGrade(score=score, breakdown=breakdown, duration_s=0.1, events=made.events)
    judge = JudgeGrade(
        score=score,
        ungraded=made.ungraded,
        breakdown={} if score is None else {"is_clear": score},
        notes=made.notes or ("The answer names its sources.",),
        model="mock/judge",
        prompt_version="1",
        votes=() if score is None else (score,),
        usage=Usage(requests=1, input_tokens=900, output_tokens=100, total_tokens=1000),
        cost_usd=0.001,
        latency_s=made.grading_s,
        calls=1,
    )
    several = [
        replace(judge, model=f"judge-{n}", score=one, votes=(one,), breakdown={"is_clear": one})
        for n, one in enumerate(made.judged, start=1)
    ]
    judge = mean_grade(several) if several else judge
    has_check = run.grading is not GradingType.LLM_JUDGE
    has_judge = run.grading is not GradingType.AUTOMATED
    return Grade(
        key=key,
        grading_type=run.grading,
        attempt=outcome.attempt,
        score=score,
        ungraded=made.ungraded,
        breakdown={} if score is None else {"automated.file_there": score, "llm_judge.is_clear": score},
        notes=judge.notes if has_judge else made.notes,
        check=check if has_check else None,
        judge=judge if has_judge else None,
        digest=outcome.digest,
        graded_at=outcome.ended_at + made.grading_s,
    )


def _write_evidence(files: RunFiles, outcome: Outcome, trials: Sequence[Made]) -> None:
    key, made = outcome.key, trials[outcome.key.repetition - 1]
    folder = files.trial(key, outcome.attempt)
    folder.mkdir(parents=True)
    text = made.transcript if made.transcript is not None else transcript(key, outcome)
    if outcome.reason is not Reason.NO_TRANSCRIPT:
        (folder / "transcript.jsonl").write_text(text, encoding="utf-8")
    (folder / "stdout.log").write_text("Done.\n", encoding="utf-8")
    (folder / "stderr.log").write_text(made.stderr, encoding="utf-8")
    if made.exchanges:
        with RecordingWriter(Evidence(folder=folder).wire) as recording:
            for exchange in made.exchanges:
                recording.append(exchange)


def transcript(key: TrialKey, outcome: Outcome) -> str:
    """A session of a user's message, a tool call with its result and an answer, as OpenClaw writes it."""
    provider, _, model = outcome.models[0].partition("/")
    at = outcome.started_at + outcome.setup_s
    half = outcome.usage.total_tokens // 2
    usage = {
        "input": half,
        "output": 10,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": half + 10,
        "cost": {"total": outcome.usage.cost_usd / 2},
    }
    told = {"role": "assistant", "provider": provider, "model": model, "usage": usage}
    call = {"type": "toolCall", "id": "call_1", "name": "exec", "arguments": {"command": f"ls {key.task_id}"}}
    result = [{"type": "text", "text": "notes.md\nreport.md"}]
    messages = [
        {"role": "user", "content": f"Please see to {key.task_id}."},
        {**told, "content": [{"type": "thinking", "thinking": "I should look first."}, call], "stopReason": "toolUse"},
        {"role": "toolResult", "toolCallId": "call_1", "toolName": "exec", "content": result, "isError": False},
        {**told, "content": [{"type": "text", "text": f"I have seen to **{key}**."}], "stopReason": "stop"},
    ]
    session = {"type": "session", "version": 4, "id": outcome.session_ids[0], "timestamp": _stamp(at), "cwd": "/w"}
    events = [
        {"type": "message", "id": f"m{n}", "timestamp": _stamp(at + n), "message": one}
        for n, one in enumerate(messages)
    ]
    return "".join(json.dumps(event) + "\n" for event in [session, *events])


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def die_after(journal: Path, last: Callable[[Record], bool], *, number: int = 1) -> None:
    """Leave a run as a runner would have that was killed after the first such record, or after the one of `number`."""
    lines = journal.read_bytes().splitlines(keepends=True)
    places = [place for place, record in enumerate(read_journal(journal).records) if last(record)]
    journal.write_bytes(b"".join(lines[: places[number - 1] + 1]))
