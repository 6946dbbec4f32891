"""What a run may use is not passed: forecasts hold trials back, caps end them, and sentences name the figures."""

import math
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from pinchbench.model.ending import Reason
from pinchbench.model.facts import WireFacts
from pinchbench.model.grade import Grade, JudgeGrade
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.runner.scheduling.budget import Budget
from pinchbench.runner.scheduling.meter import BudgetLimits

HOUR_S = 3600
COST = BudgetLimits(max_cost=5.0)
TOKENS = BudgetLimits(max_tokens=1_000_000)
HOURS = BudgetLimits(max_hours=1.5)
NONE = BudgetLimits()


def key(number: int) -> TrialKey:
    return TrialKey(task_id=f"t{number}", repetition=1)


def cost(usd: float, *, tokens: int = 0) -> Usage:
    return Usage(requests=1, cost_usd=usd, total_tokens=tokens)


def outcome(
    number: int, usage: Usage = Usage(), reason: Reason = Reason.COMPLETED, *, took_s: float = 0, setup_s: float = 0
) -> Outcome:
    return Outcome(key=key(number), reason=reason, digest="d", usage=usage, execution_time_s=took_s, setup_s=setup_s)


def grade(number: int, judge: JudgeGrade | None = None) -> Grade:
    return Grade(key=key(number), grading_type=GradingType.LLM_JUDGE, judge=judge)


def budget(limits: BudgetLimits, *, spent: Usage = Usage()) -> Budget:
    before = Outcome(key=key(0), reason=Reason.INTERRUPTED, digest="", usage=structs.replace(spent, requests=1))
    return Budget(limits, began=1000, earlier=[before])


def may_start(one: Budget, *running: int, now: float = 1000, of: int = 99) -> str:
    """Ask for room for trial `of` in addition to those that run."""
    return one.may_start(now, key(of), running=[key(number) for number in running])


# Caps


def test_a_cap_is_reached_by_what_runs_together_with_what_is_spent() -> None:
    one = budget(COST, spent=cost(3))
    assert one.uses(key(1), cost(0.9)) == ""
    assert one.uses(key(2), cost(1)) == ""
    assert one.uses(key(1), cost(1)) == "--max-cost $5.00 is reached: $5.00 is spent."
    assert may_start(one, 1, 2) == "--max-cost $5.00 is reached: $5.00 is spent."


def test_the_final_usage_replaces_the_live_one() -> None:
    one = budget(COST)
    one.uses(key(1), cost(4))
    assert one.ended(outcome(1, cost(4.5))) == ""
    assert one.ended(outcome(2, cost(0.6))) == "--max-cost $5.00 is reached: $5.10 is spent."


def test_what_the_wire_has_seen_counts_where_it_is_more() -> None:
    one = budget(COST)
    wired = replace(outcome(1, cost(1)), wire=WireFacts(usage=cost(5)))
    assert one.ended(wired) == "--max-cost $5.00 is reached: $5.00 is spent."


def test_a_judge_is_spent_too() -> None:
    one = budget(BudgetLimits(max_cost=5, max_tokens=1000))
    assert one.judged(grade(1)) == ""
    assert one.judged(grade(1, JudgeGrade(usage=cost(2, tokens=10)))) == "", "a price may stand in the usage"
    assert one.judged(grade(1, JudgeGrade(usage=cost(9, tokens=10), cost_usd=2.5))) == ""
    said = one.judged(grade(2, JudgeGrade(usage=Usage(total_tokens=980))))
    assert said == "--max-tokens 1,000 is reached: 1,000 tokens are used."
    assert budget(COST).judged(grade(1, JudgeGrade(cost_usd=5))) != ""


def test_tokens_are_summed_up_where_the_provider_does_not() -> None:
    one = budget(BudgetLimits(max_tokens=10))
    assert one.uses(key(1), Usage(input_tokens=4, output_tokens=3, cache_read_tokens=1, cache_write_tokens=1)) == ""
    assert one.uses(key(1), Usage(input_tokens=4, output_tokens=3, cache_read_tokens=1, cache_write_tokens=2)) != ""


def test_hours_are_those_of_this_session() -> None:
    one = budget(HOURS, spent=cost(100))
    assert one.deadline == 1000 + 1.5 * HOUR_S
    assert one.expired(one.deadline - 1) == ""
    assert one.expired(one.deadline - 1e-6) != "", "a timer may fire a moment early"
    assert one.expired(one.deadline) == "--max-hours 1 h 30 min is reached: the run has taken 1 h 30 min."
    assert may_start(one, now=one.deadline + 600).endswith("has taken 1 h 40 min.")


# Whether one more may start


def test_before_any_has_ended_the_largest_seen_stands_for_all() -> None:
    one = budget(COST)
    one.uses(key(1), cost(1))
    one.uses(key(2), cost(2))
    assert may_start(one, 1, 2) != "", "3 used, 1 to come, 2 for another"
    one.ended(outcome(2, cost(2), Reason.INTERRUPTED))
    assert may_start(one, 1) != "", "what was interrupted tells no more than that"
    one.ended(outcome(1, cost(1)))
    assert may_start(one) == "", "3 used, 1 for another"


def test_the_forecast_is_what_is_used_and_the_rest_of_what_runs_and_another() -> None:
    one = budget(COST)
    one.ended(outcome(1, cost(1)))
    one.uses(key(2), cost(0.6))
    one.uses(key(3), cost(1.4))  # more than expected: it is not expected to give anything back
    assert may_start(one, 2, 3, 4) != "", "3 used, 0.4 and 1 to come, 1 for another"
    assert may_start(one, 2, 3) == "", "3 used, 0.4 to come, 1 for another"


def test_a_judge_makes_trials_dearer_those_that_wait_for_it_included() -> None:
    one = budget(COST)
    one.ended(outcome(1, cost(1)))
    one.judged(grade(1, JudgeGrade(cost_usd=1)))
    assert may_start(one) == "", "2 used, 2 for another"
    one.ended(outcome(2, cost(1)))
    assert may_start(one) != "", "3 used, 1 to judge, 2 for another"
    one.judged(grade(2))
    assert may_start(one) == "", "3 used, 1.5 for another"


def test_the_time_of_another_trial_has_to_fit_in() -> None:
    one = budget(HOURS)
    one.ended(outcome(1, took_s=500, setup_s=100))
    one.ended(outcome(2, took_s=1200, reason=Reason.NO_MODEL_CALL))
    one.ended(outcome(3, took_s=9, reason=Reason.INTERRUPTED))
    assert may_start(one, now=one.deadline - 900) == ""
    said = may_start(one, now=one.deadline - 880)
    assert said == "--max-hours 1 h 30 min: 1 h 15 min have passed, and another trial would take about 15 min."


def test_sentences_name_the_option_and_the_figures() -> None:
    one = budget(COST)
    one.ended(outcome(1, cost(0.4)))
    one.ended(outcome(2, cost(0.4)))
    one.uses(key(3), cost(3.91))
    said = may_start(one, 3)
    assert said == "--max-cost $5.00: $4.71 is spent, and another trial would take about $0.40."
    said = may_start(one, 3, 4, 5)
    assert said == (
        "--max-cost $5.00: $4.71 is spent, what is on its way will take about $0.80 more, and another trial would take"
        " about $0.40."
    )
    one = budget(TOKENS, spent=Usage(total_tokens=900_000))
    one.ended(outcome(1, cost(0, tokens=60_000)))
    said = may_start(one)
    assert said == "--max-tokens 1,000,000: 960,000 tokens are used, and another trial would take about 60,000."


# Trials that differ

LONG, SHORT = {"t1": 900.0, "t2": 600.0, "t3": 300.0}, dict.fromkeys((f"t{number}" for number in range(4, 10)), 30.0)
DIFFERENT = BudgetLimits(max_cost=5.0, max_hours=1.0)


def differing(limits: BudgetLimits, expected_s: dict[str, float]) -> Budget:
    return Budget(limits, began=1000, expected_s=expected_s)


def test_short_trials_after_long_ones_are_not_taken_for_long_ones() -> None:
    one = differing(DIFFERENT, LONG | SHORT)
    for number, took_s in enumerate(LONG.values(), 1):
        one.ended(outcome(number, cost(took_s / 400), took_s=took_s))
    assert may_start(one, 4, 5, 6, of=7, now=4560) == ""
    assert may_start(one, 4, 5, 6, of=7, now=4580) == (
        "--max-hours 1 h: 1 h have passed, and another trial would take about 30 s."
    )
    one.uses(key(4), cost(0.2))
    assert may_start(one, 4, 5, of=7) == "", "4.7 used, 0.075 to come, 0.075 for another"
    one.uses(key(5), cost(0.2))
    assert "about $0.075." in may_start(one, 4, 5, 6, of=7)


def test_a_long_trial_after_short_ones_is_expected_to_come_to_more() -> None:
    one = differing(DIFFERENT, LONG | SHORT)
    for number in (4, 5, 6):
        one.ended(outcome(number, cost(0.05), took_s=30))
    assert may_start(one, 2, 3, of=1) == "", "0.15 used, 1.00 and 0.50 to come, 1.50 for another"
    assert "another trial would take about 15 min" in may_start(one, of=1, now=one.deadline - 800)
    one.set_limits(max_cost=3.1)
    assert "another trial would take about $1.50." in may_start(one, 2, 3, of=1)


def test_how_trials_compare_counts_and_not_how_long_they_were_said_to_take() -> None:
    said = []
    for times in (1, 60):
        one = differing(DIFFERENT, {task_id: times * each_s for task_id, each_s in LONG.items()})
        for number in (1, 2, 3):
            one.ended(outcome(number, cost(1), took_s=600))
        said.append(may_start(one, 2, of=1, now=4000))
    assert said[0] == said[1] != ""


# In general


@dataclass(kw_only=True, slots=True)
class Running:
    true: float
    used: float = 0.0


@given(first=st.floats(0.01, 1), slots=st.integers(1, 6), by_tokens=st.booleans(), live=st.booleans(), data=st.data())
def test_trials_that_cost_no_more_than_expected_never_pass_the_limit(
    first: float, slots: int, by_tokens: bool, live: bool, data: st.DataObject
) -> None:
    limit = 10.0
    one = budget(BudgetLimits(max_tokens=10_000_000) if by_tokens else BudgetLimits(max_cost=limit))

    def usage(amount: float) -> Usage:
        return Usage(requests=1, total_tokens=int(amount * 1e6)) if by_tokens else cost(amount)

    one.ended(outcome(0, usage(first)))
    ended = [first]
    running: dict[int, Running] = {}
    started = 0
    for _ in range(data.draw(st.integers(0, 60))):
        expected = sum(ended) / len(ended)
        is_started = (
            len(running) < slots
            and all(trial.true <= expected for trial in running.values())  # what the promise is about
            and not may_start(one, *running)
        )
        if is_started:
            started += 1
            running[started] = Running(true=expected * data.draw(st.sampled_from([0.2, 0.7, 1.0])))
        elif running:
            number = data.draw(st.sampled_from(sorted(running)))
            trial = running[number]
            if live and trial.used == 0:
                trial.used = trial.true * data.draw(st.floats(0.1, 1))
                one.uses(key(number), usage(trial.used))
            else:
                del running[number]
                ended.append(trial.true)
                one.ended(outcome(number, usage(trial.true)))
    assert sum(ended) + sum(trial.true for trial in running.values()) <= limit + 1e-4


@given(slots=st.integers(1, 6), costs=st.lists(st.floats(0.001, 4), min_size=1, max_size=60), data=st.data())
def test_with_noise_the_limit_is_passed_at_most_by_what_was_running(
    slots: int, costs: list[float], data: st.DataObject
) -> None:
    limit = 10.0
    one = budget(BudgetLimits(max_cost=limit))
    spent = 0.0
    running: dict[int, float] = {}
    waiting = list(enumerate(costs))
    ran_at_the_last_start: list[float] = []
    while True:
        if waiting and len(running) < slots and not may_start(one, *running):
            assert spent < limit
            number, true = waiting.pop()
            running[number] = true
            ran_at_the_last_start = list(running.values())
        elif running:
            number = data.draw(st.sampled_from(sorted(running)))
            spent += running[number]
            told = one.ended(outcome(number, cost(running.pop(number))))
            assert bool(told) == (spent >= limit)
        else:
            break
    assert spent <= limit + math.fsum(ran_at_the_last_start)
    assert not waiting or spent + max(costs) > limit


def test_that_most_of_a_limit_is_used_is_said_once_and_again_when_it_has_been_replaced() -> None:
    one = Budget(BudgetLimits(max_cost=1.0, max_tokens=1000), began=0.0)

    one.uses(key(1), cost(0.89, tokens=100))
    assert one.nearly_used() == ()
    one.uses(key(1), cost(0.91, tokens=950))
    assert one.nearly_used() == (
        "91% of --max-cost $1.00 is used: $0.91 is spent.",
        "95% of --max-tokens 1,000 is used: 950 tokens are used.",
    )
    one.uses(key(1), cost(0.95, tokens=960))
    assert one.nearly_used() == ()
    assert one.set_limits(max_cost=1.05) == ""
    assert one.nearly_used() == ("90% of --max-cost $1.05 is used: $0.95 is spent.",)
    assert one.set_limits(max_cost=0.9).startswith("--max-cost $0.90 is reached")
    assert one.nearly_used() == ()


@pytest.mark.parametrize(("limits", "is_kept"), [(COST, False), (TOKENS, False), (HOURS, True), (NONE, True)])
def test_a_limit_of_use_ends_the_run_after_a_trial_whose_replies_report_none(
    limits: BudgetLimits, *, is_kept: bool
) -> None:
    one = Budget(limits, began=1000)
    assert one.uses(key(1), Usage(requests=1)) == "", "the wire may report it a moment later"
    assert one.ended(outcome(1, Usage(), Reason.PROVIDER_ERROR)) == ""
    assert ("does not report" in one.ended(outcome(2, Usage(requests=3)))) is not is_kept


def test_an_estimate_counts_for_good_where_replies_report_no_usage() -> None:
    one = budget(TOKENS)
    assert one.uses(key(1), Usage(requests=2, total_tokens=600_000)) == ""
    silent = replace(outcome(1, Usage(requests=2)), wire=WireFacts(unreported=2))
    assert one.ended(silent) == ""
    assert one.uses(key(2), Usage(requests=2, total_tokens=500_000)) != ""


def test_a_limit_in_dollars_ends_the_run_at_the_first_answer_of_a_model_without_a_price() -> None:
    free = Usage(requests=1, total_tokens=900)
    told = Budget(COST, began=0.0)
    assert told.uses(key(1), Usage()) == ""
    assert "knows no price" in told.uses(key(1), free)
    assert Budget(TOKENS, began=0.0).uses(key(1), free) == ""
