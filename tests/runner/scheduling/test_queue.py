"""Which attempt is next: the plan's order, retries after the rest, and nothing twice or never."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import attempts
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import Attempt, TrialKey
from pinchbench.runner.scheduling.queue import MAX_DELAY_S, Admission, AttemptQueue

LOST = Reason.GATEWAY_LOST


def outcome(attempt: Attempt, reason: Reason) -> Outcome:
    return Outcome(key=attempt.key, reason=reason, digest="d", attempt=attempt.number)


def schedule(planned: list[Attempt], *, retries: int = 2, delay_s: float = 10, jitter: float = 1) -> AttemptQueue:
    return AttemptQueue(planned, retries=retries, delay_s=delay_s, jitter=lambda: jitter)


class Chosen:
    """Admissions that a test changes; what it does not name is made now."""

    def __init__(self, **by_task: Admission) -> None:
        self.by_task = dict(by_task)
        self.is_closed = False

    def admits(self, key: TrialKey) -> Admission:
        return self.by_task.get(key.task_id, Admission.NOW)


def chosen_from(planned: list[Attempt], admissions: Chosen) -> AttemptQueue:
    return AttemptQueue(planned, retries=1, delay_s=10, jitter=lambda: 1, admissions=admissions)


def given_out(one: AttemptQueue, now: float = 0) -> Attempt:
    attempt = one.next(now)
    assert isinstance(attempt, Attempt)
    return attempt


def test_first_attempts_come_in_the_order_of_the_plan_and_are_counted() -> None:
    planned = attempts(3)
    one = schedule(planned)
    assert one.waiting_keys == {attempt.key for attempt in planned}
    assert [given_out(one) for _ in planned] == planned
    assert not one.waiting_keys
    for attempt in planned:
        assert not one.ended(attempt, outcome(attempt, Reason.COMPLETED), 1)
    assert not one.waiting_keys
    assert one.next(2) is None
    assert one.probe() is None


def test_what_comes_next_is_known_before_it_is_given_out() -> None:
    first, second = attempts(2)
    one = schedule([first, second])
    assert (one.coming(), one.coming(is_probe=True)) == (first, first)
    given_out(one)
    one.ended(first, outcome(first, LOST), 0)
    again = replace(first, number=2)
    assert (one.coming(), one.coming(is_probe=True)) == (second, again)
    assert one.probe() == again
    assert given_out(one) == second
    assert (one.coming(), one.coming(is_probe=True)) == (None, None)


def test_a_retry_waits_for_the_other_trials_and_for_its_time() -> None:
    first, second = attempts(2)
    one = schedule([first, second])
    assert given_out(one) == first
    assert one.ended(first, outcome(first, LOST), 100)
    assert given_out(one, 1000) == second, "long due, and still after the others"
    assert one.ended(second, outcome(second, LOST), 1000)
    assert given_out(one, 1000) == replace(first, number=2)
    assert one.next(1000) == 1010
    assert one.next(1009.9) == 1010
    assert given_out(one, 1010) == replace(second, number=2)


def test_each_retry_waits_twice_as_long_up_to_five_minutes() -> None:
    (attempt,) = attempts(1)
    one = schedule([attempt], retries=2000, jitter=0.5)
    waits = []
    given_out(one)
    for number in range(1, 1500):
        attempt = replace(attempt, number=number)
        assert one.ended(attempt, outcome(attempt, LOST), 0)
        due = one.next(-1)
        assert isinstance(due, float)
        waits.append(due)
        given_out(one, due)
    assert waits[:8] == [5, 10, 20, 40, 80, 160, MAX_DELAY_S, MAX_DELAY_S]
    assert set(waits[8:]) == {MAX_DELAY_S}


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_infrastructure_earns_as_many_retries_as_are_allowed(retries: int) -> None:
    planned = attempts(1)
    one = schedule(planned, retries=retries)
    numbers = []
    while True:
        answer = one.next(1e9)
        if answer is None:
            break
        assert isinstance(answer, Attempt)
        numbers.append(answer.number)
        assert one.ended(answer, outcome(answer, LOST), 0) == (len(numbers) <= retries)
    assert numbers == list(range(1, retries + 2))


@pytest.mark.parametrize("reason", list(Reason))
def test_only_infrastructure_is_retried(reason: Reason) -> None:
    (attempt,) = attempts(1)
    one = schedule([attempt])
    given_out(one)
    again = reason.ending is Ending.INFRASTRUCTURE and reason not in (Reason.DIVERGED, Reason.PROMPT_TRUNCATED)
    assert one.ended(attempt, outcome(attempt, reason), 0) == again
    assert len(one.waiting_keys) == again


def test_what_was_too_large_to_be_kept_is_not_retried() -> None:
    (attempt,) = attempts(1)
    one = schedule([attempt])
    ended = replace(outcome(given_out(one), Reason.EVIDENCE_LOST), not_kept=("a.bin is too large",))
    assert not one.ended(attempt, ended, 0)


def test_a_spared_attempt_uses_up_no_retry() -> None:
    (attempt,) = attempts(1)
    one = schedule([attempt], retries=0)
    assert one.ended(given_out(one), outcome(attempt, LOST), 0, is_spared=True)
    again = given_out(one, 100)
    assert again.number == 2
    assert not one.ended(again, outcome(again, LOST), 100)


def test_a_worker_is_sent_away_only_when_nothing_that_runs_can_come_back() -> None:
    planned = attempts(2)
    one = schedule(planned, retries=1)
    first, second = given_out(one), given_out(one)
    assert one.next(0) == math.inf
    one.ended(first, outcome(first, Reason.COMPLETED), 0)
    assert one.next(0) == math.inf
    one.ended(second, outcome(second, LOST), 0)
    last = given_out(one, 50)
    assert one.next(50) is None, "it has had its retry"
    assert not one.ended(last, outcome(last, LOST), 60)


def test_the_probe_is_the_retry_that_would_come_first_due_or_not() -> None:
    first, second, third = attempts(3)
    one = schedule([first, second, third])
    assert one.probe() == first
    assert given_out(one) == second
    one.ended(second, outcome(second, LOST), 7)
    one.ended(first, outcome(first, LOST), 5)
    assert one.probe() == replace(first, number=2)
    assert one.probe() == replace(second, number=2)
    assert one.probe() == third
    assert one.probe() is None


@given(count=st.integers(0, 6), retries=st.integers(0, 3), data=st.data())
def test_every_trial_is_tried_until_it_counts_or_has_had_its_retries(
    count: int, retries: int, data: st.DataObject
) -> None:
    planned = attempts(count)
    jitter = st.floats(0.5, 1.5)
    one = AttemptQueue(planned, retries=retries, delay_s=10, jitter=lambda: data.draw(jitter))
    reasons = st.sampled_from([Reason.COMPLETED, Reason.TIMED_OUT, LOST, Reason.INTERRUPTED])
    now = 0.0
    running: list[Attempt] = []
    made: dict[TrialKey, list[Reason]] = {}
    while True:
        answer = one.next(now)
        if isinstance(answer, Attempt):
            assert answer.key not in {attempt.key for attempt in running}
            assert answer.number == len(made.get(answer.key, [])) + 1
            running.append(answer)
        if not running:
            if answer is None:
                break
            if isinstance(answer, float):
                assert now < answer < math.inf
                now = answer
        elif not isinstance(answer, Attempt) or data.draw(st.booleans()):
            attempt = running.pop(data.draw(st.integers(0, len(running) - 1)))
            reason = data.draw(reasons)
            made.setdefault(attempt.key, []).append(reason)
            follows = one.ended(attempt, outcome(attempt, reason), now)
            assert follows == (reason is LOST and len(made[attempt.key]) <= retries)
            now += 1
    assert not one.waiting_keys
    assert made.keys() == {attempt.key for attempt in planned}
    for reasons_of_trial in made.values():
        assert all(reason in (LOST, Reason.TIMED_OUT) for reason in reasons_of_trial[:-1])
        assert len(reasons_of_trial) <= retries + 1


def test_a_trial_that_is_not_made_is_dropped_and_one_that_may_be_is_waited_for() -> None:
    planned = attempts(3)
    admissions = Chosen(task_0=Admission.NEVER, task_1=Admission.LATER)
    one = chosen_from(planned, admissions)
    assert one.coming() is None
    assert one.next(0) == math.inf
    assert one.waiting_keys == {planned[1].key, planned[2].key}
    admissions.by_task.clear()
    assert one.coming() == planned[1]
    assert [given_out(one), given_out(one)] == planned[1:]


def test_a_run_that_has_made_all_its_trials_waits_until_it_is_closed_since_it_may_have_to_make_more() -> None:
    [only] = attempts(1)
    admissions = Chosen()
    one = chosen_from([only], admissions)
    one.ended(given_out(one), outcome(only, Reason.COMPLETED), 0)
    assert one.next(0) == math.inf
    admissions.is_closed = True
    assert one.next(0) is None


def test_a_probe_is_made_early_since_without_one_nothing_would_tell_that_the_run_can_go_on() -> None:
    planned = attempts(2)
    one = chosen_from(planned, Chosen(task_0=Admission.NEVER, task_1=Admission.LATER))
    assert one.coming(is_probe=True) == planned[1]
    assert one.probe() == planned[1]


def test_what_is_skipped_is_not_given_out_and_one_that_runs_earns_no_retry() -> None:
    planned = attempts(4)
    one = schedule(planned)
    running, failed = given_out(one), given_out(one)
    one.ended(failed, outcome(failed, LOST), 0)
    one.skip([running.key, failed.key, planned[2].key])
    assert one.waiting_keys == {planned[3].key}
    assert given_out(one) is planned[3]
    assert not one.ended(planned[3], outcome(planned[3], Reason.COMPLETED), 1)
    assert one.next(2) is None  # for what runs can earn nothing
    assert not one.ended(running, outcome(running, LOST), 3)
    assert one.next(1000) is None


def test_what_is_requeued_comes_before_all_that_waits_with_all_its_retries() -> None:
    planned = attempts(3)
    one = schedule(planned, retries=1)
    first = given_out(one)
    assert one.ended(first, outcome(first, LOST), 0)
    one.skip([first.key])
    again = replace(first, number=2)
    one.requeue(again)
    assert one.waiting_keys == {attempt.key for attempt in planned}
    assert given_out(one) is again
    assert one.ended(again, outcome(again, LOST), 0)
    assert [given_out(one), given_out(one)] == planned[1:]
