"""A run that somebody else writes: its journal read while it grows, and told again as events."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from past_runs import BEGAN, Made, PlannedRun, random_trials, write_run
from pinchbench.events import Notice, RegradeBegan, RunBegan, TrialBegan, TrialEnded, TrialGraded
from pinchbench.model.ending import Reason
from pinchbench.model.trial import TrialKey
from pinchbench.report.terminal.run_progress import RunProgress
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.tail import FollowedRun, JournalTail
from pinchbench.results.manifest import TaskFacts
from pinchbench.results.records import (
    PaceSet,
    RegradeStarted,
    RunFinished,
    RunResumed,
    RunStarted,
    TrialFinished,
    TrialStarted,
    encode,
)

KEY = TrialKey(task_id="task_a", repetition=1)
STARTED = TrialStarted(key=KEY, slot=1, attempt=1, at=BEGAN)
FINISHED = RunFinished(at=BEGAN + 1)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    path.touch()
    return path


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_each_record_is_read_once_when_its_line_is_whole(journal: Path) -> None:
    tail = JournalTail(journal)
    line = encode(STARTED)
    seen = []
    for place in range(len(line)):
        _append(journal, line[place : place + 1])
        seen.append(tail.read())

    assert seen == [[]] * (len(line) - 1) + [[STARTED]]
    assert tail.read() == []
    _append(journal, encode(FINISHED))
    assert tail.read() == [FINISHED]


def test_a_writer_that_takes_back_what_it_could_not_save_is_followed_on(journal: Path) -> None:
    tail = JournalTail(journal)
    _append(journal, encode(STARTED))
    tail.read()
    with journal.open("r+b") as file:
        file.truncate(0)
    assert tail.read() == []
    _append(journal, encode(FINISHED))

    assert tail.read() == [FINISHED]


@pytest.mark.parametrize("seed", range(4))
def test_a_followed_run_comes_to_the_same_counts_as_its_result(tmp_path: Path, seed: int) -> None:
    trials = random_trials(tasks=9, repetitions=3, trouble=0.4, seed=seed)
    again = Made(retried=(Reason.PROVIDER_ERROR, Reason.NO_TRANSCRIPT), score=0.5)
    files = write_run(tmp_path, PlannedRun(trials={**trials, "task_again": (again,)}, planned_beyond=1))

    run_progress, run = RunProgress(), read_run(files)
    for event in FollowedRun(files).read():
        run_progress.take(event, 0.0)

    counts = run_progress.counts
    scores = [score for key in run.facts.keys if (score := run.score(key)) is not None]
    assert counts.done == len(run.outcomes)
    assert run_progress.trials == len(run.facts.plan)
    assert sum(map(len, counts.scores.values())) == len(scores)
    assert counts.mean == pytest.approx(run.data.score.mean)  # over tasks
    assert counts.passed == sum(score >= run.pass_threshold for score in scores)
    assert counts.infrastructure == sum(not one.reason.is_valid for one in run.outcomes)
    assert counts.ungraded == sum(one.reason.is_valid and run.score(one.key) is None for one in run.outcomes)
    assert run_progress.retries == 2
    assert len(run_progress.ahead) == 10
    assert run_progress.usage.total_tokens == sum(one.usage.total_tokens for one in run.journal.state.attempts)
    assert run_progress.judge_usage.cost_usd == pytest.approx(0.001 * len(run.journal.state.attempt_grades))


def _retelling(tmp_path: Path) -> FollowedRun:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(), Made()), "task_b": (Made(),)}, slots=4))
    return FollowedRun(files)


def test_a_running_trial_has_been_running_since_it_was_started(tmp_path: Path) -> None:
    retelling = _retelling(tmp_path)

    assert list(retelling.tell(STARTED, BEGAN + 7)) == [
        TrialBegan(slot=1, key=KEY, timeout_s=120.0, attempt=1, ago_s=7.0)
    ]
    # the other machine's clock is ahead
    assert next(retelling.tell(STARTED, BEGAN - 5)) == TrialBegan(slot=1, key=KEY, timeout_s=120.0)


def test_a_resumed_run_has_ahead_what_was_not_settled_or_has_changed(tmp_path: Path) -> None:
    retelling = _retelling(tmp_path)
    outcome = next(
        record.outcome
        for record in JournalTail(next(tmp_path.glob("*/journal.jsonl"))).read()
        if isinstance(record, TrialFinished)
    )
    other = replace(outcome, key=TrialKey(task_id="task_b", repetition=1))
    for one in (outcome, other):
        assert list(retelling.tell(TrialFinished(outcome=one), BEGAN)) == [TrialEnded(outcome=one)]
    facts = retelling.facts
    changed = msgspec.structs.replace(facts.tasks["task_b"], digest="new", timeout_s=9.0)
    assert isinstance(changed, TaskFacts)
    resumed = RunResumed(
        at=BEGAN, trials=2, config={**facts.config, "concurrency": 1}, versions={}, tasks={"task_b": changed}
    )

    [began] = retelling.tell(resumed, BEGAN)

    assert isinstance(began, RunBegan)
    assert [str(one) for one in began.ahead] == ["task_a@2", "task_b"]
    assert began.slots == 1
    [later] = retelling.tell(msgspec.structs.replace(resumed, gone=("task_a",)), BEGAN)
    assert isinstance(later, RunBegan)
    assert (later.trials, len(later.ahead)) == (1, 1)


def test_other_records_are_reported_for_what_they_are(tmp_path: Path) -> None:
    retelling = _retelling(tmp_path)
    records = JournalTail(next(tmp_path.glob("*/journal.jsonl"))).read()

    told = [event for record in records for event in retelling.tell(record, BEGAN)]
    assert sum(isinstance(one, TrialGraded) for one in told) == 3
    assert list(retelling.tell(RunStarted(run_id="r", model="m", at=0, trials=3), BEGAN)) == []
    assert list(retelling.tell(FINISHED, BEGAN)) == []
    assert list(retelling.tell(RunFinished(at=0, interrupted="SIGINT"), BEGAN)) == [
        Notice(text="SIGINT has ended the run.")
    ]
    [pace] = retelling.tell(PaceSet(at=0, limit=2, why="busy"), BEGAN)
    assert pace is not None
    [again] = retelling.tell(RegradeStarted(at=0, trials=5), BEGAN)
    assert isinstance(again, RegradeBegan)
    assert again.trials == 5
