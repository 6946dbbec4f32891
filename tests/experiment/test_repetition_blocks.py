"""Blocks of experiments that end when they are decided: who makes which trial, and what no trial can hold up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from fakes import SCORED_BY_MODEL, TURN_LIMIT_S, fake_openclaw, make_suite, run_config, with_models
from past_runs import die_after
from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.experiment.experiment_record import read_record
from pinchbench.experiment.experiment_spec import Experiment, Variant
from pinchbench.experiment.repetition_blocks import BlockCoordinator, is_settled, score
from pinchbench.experiment.run_experiment import DECIDED, ExperimentResult, resume_experiment, run_experiment
from pinchbench.experiment.sequential import Design
from pinchbench.model.ending import Reason, Stop
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.results.compare.verdict import SequentialComparison, SequentialVerdict
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.manifest import TaskFacts
from pinchbench.results.records import (
    GradeGiven,
    Record,
    RunFinished,
    RunResumed,
    TrialFinished,
    TrialRequeued,
    TrialsSkipped,
    TrialStarted,
    TrialStopped,
)
from pinchbench.results.run_state import RunState
from pinchbench.runner.scheduling.meter import BudgetLimits
from pinchbench.runner.scheduling.queue import Admission

pytestmark = pytest.mark.usefixtures("checks_in_process")

DESIGN = Design(variants=("base", "other"), tasks=("task_a", "task_b"), runs=2, seed=1)
FIRST = tuple(key for key in DESIGN.keys if key.repetition == 1)
A, B = FIRST
SECOND = TrialKey(task_id="task_a", repetition=2)


def ended(key: TrialKey, reason: Reason = Reason.COMPLETED, *, retried: bool = False, attempt: int = 1) -> Record:
    outcome = Outcome(key=key, reason=reason, digest="old", attempt=attempt)
    return TrialFinished(outcome=outcome, retried=retried)


def graded(key: TrialKey, score: float | None = 0.5, *, attempt: int = 1, ungraded: Ungraded | None = None) -> Record:
    given = Grade(key=key, grading_type=GradingType.AUTOMATED, attempt=attempt, digest="old")
    return GradeGiven(grade=replace(given, score=score, ungraded=ungraded))


def begun(*records: tuple[str, Record]) -> BlockCoordinator:
    """Return the coordinator of two runs that have begun and then recorded this."""
    coordinator = BlockCoordinator(DESIGN, {})
    for name in DESIGN.variants:
        coordinator.begins(name, DESIGN.keys)
    for name, record in records:
        coordinator.follow(name, record)
    return coordinator


def complete(*variants: str) -> list[tuple[str, Record]]:
    """Return the records of a whole first repetition."""
    return [(name, record) for name in variants for key in FIRST for record in (ended(key), graded(key))]


def begins_second_repetition(coordinator: BlockCoordinator) -> bool:
    return coordinator.of("base").admits(SECOND) is not Admission.LATER


def test_a_repetition_begins_when_each_trial_of_the_one_before_is_graded() -> None:
    coordinator = begun(*complete("base"), ("other", ended(A)), ("other", ended(B)), ("other", graded(A)))
    assert {coordinator.of("other").admits(key) for key in FIRST} == {Admission.NOW}
    assert not begins_second_repetition(coordinator)
    coordinator.follow("other", graded(B))
    assert begins_second_repetition(coordinator)


@pytest.mark.parametrize(
    "records",
    [
        [ended(B, Reason.NO_TRANSCRIPT)],
        [ended(B, Reason.NO_TRANSCRIPT, retried=True), ended(B, Reason.NO_TRANSCRIPT, attempt=2)],
        [ended(B, Reason.TAMPERED)],
        [ended(B, Reason.PREREQUISITE_MISSING)],
        [ended(B), graded(B, None, ungraded=Ungraded.JUDGE_UNREACHABLE)],
        [ended(B), graded(B, None, ungraded=Ungraded.NO_JUDGE)],
        [TrialsSkipped(at=1.0, keys=(B,))],
        [TrialStopped(at=1.0, key=B)],
    ],
)
def test_a_trial_that_gets_no_score_is_excluded_and_holds_up_nothing(records: list[Record]) -> None:
    coordinator = begun(*complete("base"), ("other", ended(A)), ("other", graded(A)))
    for record in records:
        assert not begins_second_repetition(coordinator)
        coordinator.follow("other", record)
    assert begins_second_repetition(coordinator)
    assert [one.blocks for one in coordinator.comparisons] == [1]


def test_a_retry_by_hand_changes_nothing_that_is_weighed_now_or_when_the_experiment_is_resumed() -> None:
    again = TrialRequeued(at=1.0, key=A, why="its score was low")
    records = [
        *complete("base", "other"),
        ("other", again),
        ("other", ended(A, attempt=2)),
        ("other", graded(A, 1.0, attempt=2)),
    ]
    states = {name: RunState.of(record for run, record in records if run == name) for name in DESIGN.variants}
    assert begun(*records).comparisons == begun(*complete("base", "other")).comparisons
    assert states["other"].trials[A].counting.attempt == 2
    assert score(states["other"], A) == 0.5
    assert is_settled(states["other"], A, for_good=True)
    stopped = RunState.of([TrialStopped(at=1.0, key=B), ended(B, Reason.INTERRUPTED)])
    for record in (TrialRequeued(at=2.0, key=B, why=""), ended(B), graded(B)):
        stopped.apply(record)
        assert is_settled(stopped, B, for_good=True)
        assert score(stopped, B) is None


def test_a_run_that_has_ended_is_not_awaited_and_a_budget_is_named_as_the_cause() -> None:
    by_budget, otherwise = begun(*complete("base")), begun(*complete("base"))
    by_budget.leave("other", by_budget=True)
    otherwise.leave("base")
    otherwise.leave("other")
    assert [one.verdict for one in by_budget.comparisons] == [SequentialVerdict.BUDGET]
    assert [one.verdict for one in otherwise.comparisons] == [SequentialVerdict.STOPPED]
    assert by_budget.sequential.is_over
    assert otherwise.sequential.is_over
    assert by_budget.of("base").reason == by_budget.of("other").reason == ""


def test_a_run_that_has_ended_after_its_last_trial_is_compared_to_the_end() -> None:
    whole = [(name, record) for name in ("other",) for key in DESIGN.keys for record in (ended(key), graded(key))]
    coordinator = begun(*whole)
    coordinator.leave("other")
    assert not coordinator.sequential.is_over
    for key in DESIGN.keys:
        coordinator.follow("base", ended(key))
        coordinator.follow("base", graded(key))
    assert [one.verdict for one in coordinator.comparisons] == [SequentialVerdict.UNDECIDABLE]
    assert coordinator.of("base").reason == "Every comparison with this run is decided."
    assert coordinator.of("other").reason.startswith("Undecidable: ")


def test_trials_of_a_task_that_was_changed_are_made_and_counted_anew() -> None:
    states = {name: RunState.of([one for who, one in complete(name)]) for name in DESIGN.variants}
    coordinator = BlockCoordinator(DESIGN, states)
    assert begins_second_repetition(coordinator)
    facts = TaskFacts(digest="new", category="c", grading_type=GradingType.AUTOMATED, timeout_s=1.0)
    coordinator.follow("other", RunResumed(at=0.0, trials=1, config={}, versions={}, tasks={"task_b": facts}))
    assert not begins_second_repetition(coordinator)


def test_what_a_resumed_run_makes_or_grades_again_is_awaited_unless_that_run_was_decided() -> None:
    records = [record for _, record in complete("other")]
    failed = [*records[:2], ended(B, Reason.NO_TRANSCRIPT)]
    unjudged = [*records[:2], ended(B), graded(B, None, ungraded=Ungraded.JUDGE_UNREACHABLE)]
    base = RunState.of(record for _, record in complete("base"))
    for one in (failed, unjudged):
        assert not begins_second_repetition(BlockCoordinator(DESIGN, {"base": base, "other": RunState.of(one)}))
        decided = RunState.of([*one, RunFinished(at=1.0, stop=Stop.DECIDED)])
        assert begins_second_repetition(BlockCoordinator(DESIGN, {"base": base, "other": decided}))


def an_experiment(folder: Path) -> Experiment:
    """Return an experiment of two models, four tasks and four repetitions; the trials of one score 0, all others 1."""
    models = ("mock/good", "mock/bad")
    config = run_config(folder, with_models(fake_openclaw(folder), *models), {})
    config = replace(config, concurrency=2, runs=4, seed=1, infra_retries=0)
    prompts = {f"task_{number}": "Write out.txt." for number in range(4)}
    make_suite(folder, prompts, check=SCORED_BY_MODEL, timeout_s=TURN_LIMIT_S)
    variants = tuple(
        Variant(name=model.rpartition("/")[2], config=replace(config, model=model), differs={"model": model})
        for model in models
    )
    return Experiment(name="fakes", variants=variants, seed=1, margin=DEFAULT_MARGIN)


def trials_made(result: ExperimentResult) -> dict[str, int]:
    """Return how many trials each variant has made, in all sessions."""
    made = {}
    for variant in result.record.variants:
        records = read_journal(result.files.run(variant).journal).records
        made[variant.name] = sum(isinstance(one, TrialStarted) for one in records)
    return made


def verdicts(result: ExperimentResult) -> dict[str, SequentialVerdict]:
    assert result.record.sequential is not None
    return {one.variant: one.verdict for one in result.record.sequential.comparisons}


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """An experiment that was decided, and what was shown of its comparisons meanwhile."""

    result: ExperimentResult
    told: Sequence[Sequence[SequentialComparison]]


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Decided:
    told: list[Sequence[SequentialComparison]] = []
    experiment = an_experiment(tmp_path_factory.mktemp("decided"))

    async def run() -> Decided:
        return Decided(result=await run_experiment(experiment, decided=told.append), told=told)

    return anyio.run(run)  # an event loop of its own: one that all tests shared would keep its threads


def test_a_variant_that_is_decided_makes_no_further_trials_and_its_run_is_complete(decided: Decided) -> None:
    result, told = decided.result, decided.told

    sequential = read_record(result.files).sequential
    assert sequential is not None
    [compared] = sequential.comparisons
    assert compared.verdict is SequentialVerdict.WORSE
    assert compared.e_value >= compared.decided_at
    assert (compared.mean, compared.blocks < 16) == (-1.0, True)
    assert told[0][0].verdict is SequentialVerdict.OPEN
    assert list(told[-1]) == [compared]
    made = trials_made(result)
    assert compared.blocks <= made["bad"] < 16
    for variant, said in zip(result.record.variants, ("Every comparison", "worse than good"), strict=True):
        run = read_run(result.files.run(variant))
        assert [grade.notes for grade in run.grades.values() if grade.ungraded is not None] == []
        assert (run.unfinished, run.data.counts.not_run) == (0, 0)
        assert (run.data.stop, run.data.not_needed) == (Stop.DECIDED, 16 - made[variant.name])
        assert said in run.data.stopped
        assert result.results[variant.name].complete


async def test_a_decided_experiment_is_resumed_without_a_trial(decided: Decided) -> None:
    first, told = decided.result, list[str]()
    made = trials_made(first)
    again = await resume_experiment(first.files, tell=told.append)
    assert told == [DECIDED]
    assert trials_made(again) == made
    assert again.record.sequential == first.record.sequential


async def test_an_experiment_that_died_comes_to_the_same_verdict(decided: Decided) -> None:
    first = decided.result
    for variant in first.record.variants:
        die_after(first.files.run(variant).journal, lambda one: isinstance(one, TrialFinished), number=3)

    result = await resume_experiment(first.files)

    assert result.record.sequential == first.record.sequential
    assert {read_run(result.files.run(variant)).unfinished for variant in result.record.variants} == {0}


@pytest.mark.long
async def test_a_budget_that_is_reached_leaves_it_open_until_it_is_raised(tmp_path: Path) -> None:
    experiment = replace(an_experiment(tmp_path), budget=BudgetLimits(max_tokens=1000))  # 220 for each trial
    first = await run_experiment(experiment)
    assert verdicts(first) == {"bad": SequentialVerdict.BUDGET}
    assert {one.stop for one in first.results.values()} <= {Stop.BUDGET, None}
    assert all(one.unfinished for one in first.results.values())
    raised = await resume_experiment(first.files, settings={"max_tokens": 90_000})
    assert verdicts(raised) == {"bad": SequentialVerdict.WORSE}
    assert all(one.complete for one in raised.results.values())
