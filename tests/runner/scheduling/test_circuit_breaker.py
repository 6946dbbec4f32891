"""A run whose trials fail alike is paused and tried; one that works is left alone."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.runner.scheduling.circuit_breaker import FIRST, PAUSES, ROW, CircuitBreaker
from pinchbench.runner.scheduling.diagnosis import SANITY_TASKS, diagnose

LOST = Reason.GATEWAY_LOST  # passes
FULL = Reason.DISK_FULL  # does not


def outcome(reason: Reason, task_id: str = "t1", *, asleep_s: float = 0, note: str = "") -> Outcome:
    key = TrialKey(task_id=task_id, repetition=1)
    return Outcome(key=key, reason=reason, digest="d", asleep_s=asleep_s, note=note)


def breaker(*, enabled: bool = True, works: bool = False, jitter: float = 1) -> CircuitBreaker:
    return CircuitBreaker(enabled=enabled, delay_s=10, jitter=lambda: jitter, works=works)


def feed(one: CircuitBreaker, *reasons: Reason) -> list[str]:
    ends = (outcome(reason, f"t{number}") for number, reason in enumerate(reasons))
    return [one.ended(ended, 100, is_probe=False) for ended in ends]


def opened(reason: Reason = LOST) -> CircuitBreaker:
    one = breaker()
    assert feed(one, *[reason] * FIRST)[-1]
    assert one.state == "paused"
    return one


def probe(one: CircuitBreaker, ended: Outcome, now: float = 200) -> str:
    one.probing()
    assert one.state == "probing"
    return one.ended(ended, now, is_probe=True)


# When it trips


@pytest.mark.parametrize("sanity", SANITY_TASKS)
def test_a_sanity_task_that_could_not_run_pauses_the_run_at_once(sanity: str) -> None:
    one = breaker()
    ended = outcome(LOST, sanity)
    answer = one.ended(ended, 100, is_probe=False)
    said = f"{diagnose(ended)} The run is paused; one trial will be tried in 10 s."
    assert answer == said
    assert (one.state, one.resume_at, one.why) == ("paused", 110, diagnose(ended))


def test_a_sanity_task_that_could_not_run_is_one_of_many_once_something_has_counted() -> None:
    one = breaker()
    feed(one, Reason.COMPLETED)
    assert one.ended(outcome(LOST, SANITY_TASKS[0]), 100, is_probe=False) == ""
    assert breaker(works=True).ended(outcome(LOST, SANITY_TASKS[0]), 100, is_probe=False) == ""


@pytest.mark.parametrize(
    "reasons",
    [
        [LOST, LOST, Reason.COMPLETED, LOST, LOST, LOST, LOST],
        [Reason.AGENT_NOT_STARTED, LOST, LOST, LOST, LOST],
        [LOST, LOST, FULL, LOST, LOST, FULL, FULL, FULL, FULL],
    ],
    ids=["one counted", "one failed otherwise", "they fail in turns"],
)
def test_fewer_than_five_in_a_row_that_fail_alike_are_borne(reasons: list[Reason]) -> None:
    one = breaker()
    assert feed(one, *reasons) == [""] * len(reasons)
    assert (one.state, one.resume_at, one.why) == ("closed", -math.inf, "")


@pytest.mark.parametrize("before", [[Reason.COMPLETED], [FULL, LOST, FULL]])
def test_five_in_a_row_that_fail_alike_pause_the_run_at_any_time(before: list[Reason]) -> None:
    one = breaker()
    answers = feed(one, *before, *[LOST] * ROW)
    assert answers[:-1] == [""] * (len(before) + ROW - 1)
    assert answers[-1]
    assert one.state == "paused"


def test_one_trial_that_fails_again_and_again_may_be_broken_by_itself() -> None:
    one = breaker(works=True)
    for number in range(3 * ROW):
        assert one.ended(outcome(LOST, f"t{number % 2}"), 100, is_probe=False) == ""
    assert "is paused" in one.ended(outcome(LOST, "t2"), 100, is_probe=False)


def test_a_key_that_is_refused_at_the_very_start_pauses_the_run_at_once() -> None:
    refused = outcome(Reason.PROVIDER_ERROR, note="401 bad key")
    assert "is paused" in breaker().ended(refused, 100, is_probe=False)
    assert breaker(works=True).ended(refused, 100, is_probe=False) == ""
    busy = outcome(Reason.PROVIDER_ERROR, note="429 slow down")
    assert breaker().ended(busy, 100, is_probe=False) == ""


def test_what_was_interrupted_or_overslept_is_not_counted_either_way() -> None:
    one = breaker()
    for ended in (
        outcome(LOST),
        outcome(Reason.INTERRUPTED, SANITY_TASKS[0]),
        outcome(LOST, SANITY_TASKS[0], asleep_s=60),
        outcome(LOST),
        outcome(Reason.TIMED_OUT, asleep_s=60),
    ):
        assert one.ended(ended, 0, is_probe=False) == ""
    assert "is paused" in one.ended(outcome(LOST), 0, is_probe=False)


@given(st.lists(st.tuples(st.sampled_from(list(Reason)), st.booleans())))
def test_one_that_is_switched_off_says_nothing(ends: list[tuple[Reason, bool]]) -> None:
    one = breaker(enabled=False)
    for reason, is_sanity in ends:
        assert one.ended(outcome(reason, SANITY_TASKS[0] if is_sanity else "t1"), 0, is_probe=False) == ""
    assert (one.state, one.resume_at) == ("closed", -math.inf)


# While it is open


def test_what_still_runs_during_a_pause_can_only_help() -> None:
    one = opened()
    assert feed(one, *[LOST] * 10, *[FULL] * 10, Reason.INTERRUPTED) == [""] * 21
    assert (one.state, one.resume_at) == ("paused", 110)
    (answer,) = feed(one, Reason.COMPLETED)
    assert answer == "t0 ran to an end of its own: the run goes on."
    assert (one.state, one.resume_at, one.why) == ("closed", -math.inf, "")


@pytest.mark.parametrize("reason", [one for one in Reason if one.is_valid])
def test_a_probe_that_counts_closes_it_and_everything_starts_anew(reason: Reason) -> None:
    one = opened()
    assert "goes on" in probe(one, outcome(reason))
    assert one.state == "closed"
    answers = feed(one, *[LOST] * ROW)
    assert answers[:-1] == [""] * (ROW - 1)
    assert answers[-1]
    assert one.resume_at == 110, "the first pause again"


@pytest.mark.parametrize("jitter", [0.5, 1.0, 1.5])
def test_pauses_grow_and_then_the_run_is_given_up(jitter: float) -> None:
    one = breaker(jitter=jitter, works=True)
    answer = feed(one, *[LOST] * ROW)[-1]
    waits = []
    now = 100.0
    while one.state == "paused":
        waits.append(one.resume_at - now)
        assert answer.endswith(f"one trial will be tried in {math.ceil(waits[-1])} s.")
        assert ("stays paused" in answer) == (len(waits) > 1)
        now = one.resume_at + 5
        answer = probe(one, outcome(LOST), now)
    assert waits == pytest.approx([10 * jitter * factor for factor in PAUSES])
    said = (
        f"{diagnose(outcome(LOST))} The run was stopped after 4 more tries failed; `--no-fail-fast` continues anyway."
    )
    assert answer == said
    assert (one.state, one.resume_at) == ("given up", math.inf)
    assert feed(one, Reason.COMPLETED, LOST) == ["", ""], "it is final"


def test_what_somebody_has_to_mend_is_looked_at_once_more_and_soon() -> None:
    one = breaker(jitter=1.5)
    feed(one, FULL, FULL, FULL)
    assert (one.state, one.resume_at) == ("paused", 105)
    assert "after one more try failed" in probe(one, outcome(FULL))
    assert one.state == "given up"


@pytest.mark.parametrize("ended", [outcome(Reason.INTERRUPTED), outcome(LOST, asleep_s=3), outcome(FULL, asleep_s=3)])
def test_a_probe_that_tells_nothing_is_made_again_at_once(ended: Outcome) -> None:
    one = opened()
    assert probe(one, ended, 200) == ""
    assert (one.state, one.resume_at) == ("paused", 200)
    assert "goes on" in probe(one, outcome(Reason.COMPLETED), 210)
