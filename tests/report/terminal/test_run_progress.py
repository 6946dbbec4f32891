"""What is known of a run while it goes on, from its events alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from past_runs import grade_of, outcome_of
from pinchbench.events import (
    GradedBefore,
    PaceChanged,
    RegradeBegan,
    RunBegan,
    RunEnded,
    SkipAsked,
    TrialActivity,
    TrialBegan,
    TrialEnded,
    TrialGraded,
    TrialWaits,
)
from pinchbench.model.ending import Reason
from pinchbench.model.grade import JudgeGrade, Ungraded
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.report.terminal.run_progress import RunProgress


def key(number: int) -> TrialKey:
    return TrialKey(task_id=f"task_{number}", repetition=1)


def began(trials: int = 6, **fields: object) -> RunBegan:
    ahead = tuple(map(key, range(trials)))
    event = RunBegan(run_id="r", model="mock/m1", trials=trials, slots=2, folder=Path("results/r"), ahead=ahead)
    return replace(event, **fields)  # type: ignore[arg-type]


def ended(number: int, reason: Reason = Reason.COMPLETED, *, slot: int = 1, attempt: int = 1) -> TrialEnded:
    usage = Usage(requests=1, total_tokens=10, cost_usd=0.5)
    times = {"execution_time_s": 20.0, "setup_s": 1.0, "timeout_s": 60.0}
    return TrialEnded(
        outcome=outcome_of(key(number), reason, slot=slot, attempt=attempt, note="why", usage=usage, **times)
    )


def graded(number: int, score: float | None, *, attempt: int = 1, why: Ungraded | None = None) -> TrialGraded:
    return TrialGraded(grade=grade_of(key(number), score, why, attempt=attempt))


def board_of(*events: object, now: float = 0.0) -> RunProgress:
    run_progress = RunProgress()
    for event in events:
        run_progress.take(event, now)  # type: ignore[arg-type]
    return run_progress


def test_every_trial_that_has_ended_is_exactly_one_of_the_counts() -> None:
    run_progress = board_of(
        began(trials=9, done=2, earlier=GradedBefore(passed=1, ungraded=1, scores={"task_x": (0.9,)})),
        *(ended(number) for number in range(4)),
        ended(4, Reason.PROVIDER_ERROR),
        ended(5, Reason.INTERRUPTED),
        ended(6, Reason.TIMED_OUT),
        graded(0, 0.8),
        graded(1, 0.79),
        graded(2, None, why=Ungraded.CHECK_RAISED),
        graded(6, 0.0),
    )

    counts = run_progress.counts
    assert (run_progress.before, counts.passed, counts.failed, counts.ungraded) == (2, 2, 2, 2)
    assert (counts.infrastructure, counts.waiting, counts.interrupted, counts.done) == (1, 1, 1, 8)
    assert counts.mean == pytest.approx((0.9 + 0.8 + 0.79) / 4)


def test_a_trial_of_an_earlier_run_counts_and_uses_nothing_here() -> None:
    event = ended(0)
    run_progress = board_of(began(), replace(event, outcome=replace(event.outcome, reused_from="r0")), graded(0, 0.9))

    assert (run_progress.counts.passed, run_progress.counts.done, len(run_progress.ahead)) == (1, 1, 5)
    assert (run_progress.usage, run_progress.took_s) == (Usage(), [])
    assert run_progress.is_reused(key(0))
    assert not run_progress.is_reused(key(1))


def test_what_openclaw_waits_for_stands_in_the_slot_until_the_agent_does_something() -> None:
    wait = TrialWaits(slot=1, key=key(0), text="429, retry 4 of 9", next_s=30.0)
    run_progress = board_of(began(), TrialBegan(slot=1, key=key(0), timeout_s=60), wait, replace(wait, slot=2), now=5.0)
    assert (run_progress.slots[1].text, run_progress.slots[1].next_at) == ("429, retry 4 of 9", 35.0)
    run_progress.take(replace(wait, key=key(1), text="of a trial that is over"), 6.0)
    assert run_progress.slots[1].text == "429, retry 4 of 9"
    run_progress.take(TrialActivity(slot=1, key=key(0), text="exec ls", usage=Usage()), 7.0)
    assert (run_progress.slots[1].text, run_progress.slots[1].next_at) == ("exec ls", None)


def test_an_attempt_that_is_retried_has_not_ended_its_trial_and_its_grade_counts_for_nobody() -> None:
    first = replace(ended(0, Reason.TIMED_OUT), retried=True)
    run_progress = board_of(began(trials=1), TrialBegan(slot=1, key=key(0), timeout_s=60), first, graded(0, 0.1))

    assert (run_progress.counts.done, run_progress.retries, run_progress.slots, list(run_progress.ahead)) == (
        0,
        1,
        {},
        [key(0)],
    )
    run_progress.take(TrialBegan(slot=2, key=key(0), timeout_s=60, attempt=2), 5.0)
    assert (run_progress.ahead, run_progress.slots[2].attempt) == (set(), 2)
    run_progress.take(ended(0, slot=2, attempt=2), 6.0)
    assert run_progress.counts.waiting == 1
    run_progress.take(graded(0, 1.0, attempt=2), 7.0)
    assert (run_progress.counts.passed, run_progress.counts.mean) == (1, 1.0)
    assert run_progress.usage.total_tokens == 20


def test_the_failures_are_the_latest_with_their_reasons_and_a_trial_that_recovers_is_none() -> None:
    run_progress = board_of(
        began(),
        replace(ended(0, Reason.NO_TRANSCRIPT), retried=True),
        ended(1, Reason.TIMED_OUT),
        graded(1, 0.0),
        ended(2),
        graded(2, 0.4),
        ended(3),
        graded(3, None, why=Ungraded.CHECK_RAISED),
        ended(4),
        graded(4, 1.0),
        ended(5, Reason.INTERRUPTED),
    )

    labels = {str(one.key): one.label for one in run_progress.failures.values()}
    assert labels == {
        "task_0": "no transcript",
        "task_1": "timed out, score 0.00",
        "task_2": "score 0.40",
        "task_3": "ungraded, error in the check",
    }
    assert run_progress.failures[key(0)].is_ours
    assert run_progress.failures[key(0)].text == "to be retried: why"
    run_progress.take(ended(0, attempt=2), 0.0)
    assert key(0) not in run_progress.failures


def test_what_the_agent_does_goes_to_the_trial_that_does_it() -> None:
    usage = Usage(total_tokens=7)
    run_progress = board_of(
        began(),
        TrialBegan(slot=1, key=key(0), timeout_s=60, ago_s=4.0),
        TrialActivity(slot=1, key=key(1), text="late word of another", usage=Usage(total_tokens=99)),
        TrialActivity(slot=1, key=key(0), text="exec ls", usage=usage),
        now=10.0,
    )

    assert (run_progress.slots[1].text, run_progress.slots[1].usage, run_progress.slots[1].since) == (
        "exec ls",
        usage,
        6.0,
    )
    run_progress.take(RunEnded(), 11.0)
    assert run_progress.slots == {}
    assert run_progress.left_s(12.0) is None


def test_the_time_left_is_what_an_attempt_took_times_what_is_left_over_the_slots() -> None:
    run_progress = board_of(
        began(),
        TrialBegan(slot=1, key=key(0), timeout_s=60),
        ended(0),
        TrialBegan(slot=1, key=key(1), timeout_s=60),
        ended(1, Reason.TIMED_OUT),
        TrialBegan(slot=1, key=key(2), timeout_s=60),
        ended(2, Reason.PROVIDER_ERROR),  # says nothing about times
        TrialBegan(slot=1, key=key(3), timeout_s=60, ago_s=5.0),
        now=100.0,
    )

    assert run_progress.left_s(101.0) == (15 + 2 * 21) / 2
    assert run_progress.left_s(1000.0) == 2 * 21 / 2
    run_progress.take(PaceChanged(limit=1, why="slow"), 101.0)
    assert run_progress.left_s(101.0) == 15 + 2 * 21
    run_progress.take(PaceChanged(limit=9, why="well"), 101.0)
    assert run_progress.left_s(101.0) == (15 + 2 * 21) / 3, "there are but three trials"


def test_there_is_no_time_left_before_an_attempt_has_ended_and_while_a_run_is_paused_or_stopped() -> None:
    run_progress = board_of(began())
    assert run_progress.left_s(0.0) is None
    run_progress.take(TrialBegan(slot=1, key=key(0), timeout_s=60), 0.0)
    run_progress.take(ended(0), 0.0)
    assert run_progress.left_s(0.0) is not None
    for event, pace in (
        (PaceChanged(limit=0, why="down"), "paused"),
        (PaceChanged(limit=2, why="well"), ""),
        (PaceChanged(limit=0, why="enough", is_end=True), "stopped"),
        (ended(1, Reason.INTERRUPTED), "stopped"),
        (began(), ""),  # resumed
    ):
        run_progress.take(event, 0.0)
        assert (run_progress.pace, run_progress.left_s(0.0) is None) == (pace, bool(pace))


def test_a_run_that_is_followed_through_a_resumption_counts_on() -> None:
    run_progress = board_of(
        began(trials=3),
        ended(0),
        graded(0, 1.0),
        ended(1, Reason.PROVIDER_ERROR),
        TrialBegan(slot=2, key=key(2), timeout_s=60),
        replace(began(trials=3), ahead=(key(1), key(2))),
    )

    counts = run_progress.counts
    assert (counts.done, counts.passed, counts.infrastructure, run_progress.slots) == (1, 1, 0, {})
    assert run_progress.usage.total_tokens == 20


def test_a_run_that_is_resumed_counts_as_a_whole_and_what_it_left_ungraded_is_being_graded() -> None:
    left = ended(0).outcome
    again = ended(1, Reason.TIMED_OUT).outcome  # another attempt was promised
    resumption = began(
        trials=6,
        done=4,
        earlier=GradedBefore(passed=2, failed=1, scores={"task_x": (0.5, 0.7, 0.9)}),
        to_grade=(left, again),
        ahead=(key(1), key(2)),
        spent=Usage(total_tokens=100, cost_usd=1.0),
        judge_spent=Usage(total_tokens=7, cost_usd=0.5),
    )
    run_progress = board_of(resumption)

    assert (run_progress.before, run_progress.counts.done, run_progress.counts.waiting) == (4, 4, 1)
    for event in (graded(0, 0.9), graded(1, 0.0), ended(2), graded(2, 0.0)):
        run_progress.take(event, 0.0)
    counts = run_progress.counts
    assert (counts.passed, counts.failed, counts.waiting, counts.done) == (3, 2, 0, 5)
    assert counts.mean == pytest.approx((0.7 + 0.9 + 0.0) / 3)  # of tasks, not of trials
    assert sum(map(len, counts.scores.values())) == counts.passed + counts.failed == 5
    assert (run_progress.agents_usage.total_tokens, run_progress.judge_usage.total_tokens) == (110, 7)


def test_grading_again_counts_its_own_grades() -> None:
    judge = JudgeGrade(score=0.5, cost_usd=0.25)
    grade = replace(graded(0, 0.5).grade, judge=judge)
    run_progress = board_of(
        began(), ended(0), graded(0, 1.0), RegradeBegan(run="r", trials=2), TrialGraded(grade=grade)
    )

    assert run_progress.only_grades
    assert len(run_progress.regraded) == 1
    assert run_progress.judge_usage.cost_usd == 0.25


def test_a_skipped_trial_is_done_and_one_that_was_stopped_does_not_look_like_the_end_of_the_run() -> None:
    run_progress = board_of(
        began(trials=3),
        PaceChanged(limit=2, why="as usual"),
        TrialBegan(slot=1, key=key(0), timeout_s=60),
        SkipAsked(keys=(key(0),)),
        ended(0, Reason.INTERRUPTED),
        SkipAsked(keys=(key(1),)),
    )

    assert (run_progress.limit, run_progress.pace) == (2, "")
    assert (run_progress.counts.skipped, run_progress.counts.interrupted, run_progress.counts.done) == (2, 0, 2)
    assert set(run_progress.ahead) == {key(2)}
    run_progress.take(TrialBegan(slot=1, key=key(1), timeout_s=60), 0.0)  # it was requeued
    assert run_progress.counts.skipped == 1
