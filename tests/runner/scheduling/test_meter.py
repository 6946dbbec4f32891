"""What attempts use: money and tokens, what a few tell about the next, and the sentences about limits."""

import pytest

from pinchbench.model.ending import Reason
from pinchbench.model.grade import JudgeGrade
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.runner.scheduling.meter import COST, TOKENS, BudgetLimits, Meter, Typical, time_text

KEY = TrialKey(task_id="t1", repetition=1)


def outcome(usage: Usage, reason: Reason = Reason.COMPLETED) -> Outcome:
    return Outcome(key=KEY, reason=reason, digest="d", usage=usage)


def test_one_short_attempt_tells_no_more_than_itself_about_a_long_one() -> None:
    typical = Typical()
    assert typical.of(100) == 0
    typical.add(1.0, 10)
    assert (typical.of(100), typical.of(5)) == (1.0, 0.5)
    typical.add(1.0, 10)
    typical.add(1.0, 10)
    assert typical.of(100) == 10.0


def test_a_meter_knows_what_is_used_on_its_way_and_to_come() -> None:
    meter = Meter(COST)
    meter.ended(outcome(Usage(requests=1, cost_usd=1.0)), None, 10)
    meter.judged(JudgeGrade(cost_usd=0.5))
    meter.uses(KEY, Usage(requests=1, cost_usd=0.25), 10)
    assert meter.used == 1.75
    assert meter.coming({KEY: 10}) == 0.75 + 0.5  # the rest of the attempt, and its judge
    assert meter.another(10) == 1.5


def test_what_runs_counts_once_however_often_it_is_reported() -> None:
    meter, other = Meter(COST), TrialKey(task_id="t2", repetition=1)
    for cents in range(1, 11):
        meter.uses(KEY, Usage(requests=cents, cost_usd=cents / 100), 10)
        meter.uses(other, Usage(requests=cents, cost_usd=cents / 10), 10)
    assert meter.used == pytest.approx(1.1)
    meter.ended(outcome(Usage(requests=10, cost_usd=0.25)), KEY, 10)
    assert meter.used == 1.25, "the outcome replaces what was reported, and what is left is exact"


def test_an_interrupted_attempt_is_used_and_tells_nothing_about_others() -> None:
    meter = Meter(TOKENS)
    meter.ended(outcome(Usage(requests=1, total_tokens=10), Reason.INTERRUPTED), None, 10)
    assert (meter.used, meter.another(10)) == (10, 0)


def test_the_sentences_of_a_limit_name_whose_it_is() -> None:
    limits = BudgetLimits(max_cost=2, max_tokens=5000)
    assert COST.reached(limits, 1.99) == ""
    assert COST.reached(limits, 2.0, whose=" of all") == "--max-cost $2.00 of all is reached: $2.00 is spent."
    assert TOKENS.no_room(limits, used=4000, coming=500, another=500) == ""
    assert TOKENS.no_room(limits, used=4000, coming=500, another=501) == (
        "--max-tokens 5,000: 4,000 tokens are used, what is on its way will take about 500 more, and another trial"
        " would take about 501."
    )
    assert COST.reached(BudgetLimits(), 1e9) == ""


@pytest.mark.parametrize(("seconds", "text"), [(36, "36 s"), (60, "1 min"), (5400, "1 h 30 min"), (7196, "2 h")])
def test_times_are_reported_in_seconds_or_in_hours_and_minutes(seconds: float, text: str) -> None:
    assert time_text(seconds) == text
