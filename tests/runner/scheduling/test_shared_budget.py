"""A budget of several runs: reached by one it is reached by all, and the dearest of them decides what may start."""

from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.runner.scheduling.budget import Budget, SharedBudget
from pinchbench.runner.scheduling.meter import NO_LIMITS, BudgetLimits

BEGAN = 1000.0
HOUR_S = 3600


def outcome(number: int, usd: float, *, took_s: float = 0) -> Outcome:
    return Outcome(
        key=TrialKey(task_id=f"t{number}", repetition=1),
        reason=Reason.COMPLETED,
        digest="d",
        usage=Usage(requests=1, cost_usd=usd, total_tokens=int(usd * 1000)),
        execution_time_s=took_s,
    )


def budget(*costs: float, took_s: float = 0) -> Budget:
    """Return the budget of a run whose trials have cost so much."""
    before = [outcome(number, usd, took_s=took_s) for number, usd in enumerate(costs)]
    return Budget(NO_LIMITS, began=BEGAN, earlier=before)


def shared(limits: BudgetLimits, **runs: Budget) -> SharedBudget:
    one = SharedBudget(limits, began=BEGAN)
    for name, own in runs.items():
        one.join(name, own, ())
    return one


def test_what_all_runs_have_used_counts_together() -> None:
    one = shared(BudgetLimits(max_cost=5), a=budget(2), b=budget(1))
    assert one.over(BEGAN) == ""
    one = shared(BudgetLimits(max_cost=5), a=budget(2), b=budget(3.1))
    assert one.over(BEGAN) == "--max-cost $5.00 of the experiment is reached: $5.10 is spent."
    assert one.may_start(BEGAN, "t9") == one.over(BEGAN)


def test_a_run_that_has_nothing_left_counts_with_what_it_used_before() -> None:
    one = SharedBudget(BudgetLimits(max_cost=5), began=BEGAN)
    one.spent("done", budget(4))
    one.spent("resumed", budget(0.5))
    one.join("resumed", budget(0.5), ())  # its own budget counts its earlier trials as well
    assert one.over(BEGAN) == ""
    one.join("other", budget(0.5), ())
    assert one.over(BEGAN) != ""


def test_the_dearest_run_that_has_trials_left_decides_for_all() -> None:
    dear, cheap = budget(1.0), budget(0.1)
    one = shared(BudgetLimits(max_cost=2.0), dear=dear, cheap=cheap)
    one.join("cheap", cheap, [TrialKey(task_id="t9", repetition=1)])
    why = one.may_start(BEGAN, "t8")
    assert why == (
        "--max-cost $2.00 of the experiment: $1.10 is spent, what is on its way will take about $0.10 more, and another"
        " trial would take about $1.00."
    )
    assert one.over(BEGAN) == ""  # what runs may yet cost less
    one.left("dear")
    assert one.may_start(BEGAN, "t8") == ""


def test_without_room_and_with_nothing_running_all_runs_are_over_for_good() -> None:
    one = shared(BudgetLimits(max_cost=2.0), dear=budget(1.0), cheap=budget(0.1))
    why = one.may_start(BEGAN, "t8")
    assert why.endswith("another trial would take about $1.00.")
    one.left("dear")
    assert one.may_start(BEGAN, "t8") == one.over(BEGAN) == why


def test_the_hours_of_a_session_end_all_runs_and_a_trial_that_would_pass_them_does_not_start() -> None:
    one = shared(BudgetLimits(max_hours=1), a=budget(1, took_s=600), b=budget(1, took_s=60))
    assert one.deadline == BEGAN + HOUR_S
    assert one.may_start(BEGAN + HOUR_S - 700, "t9") == ""
    one.join("b", budget(1, took_s=60), [TrialKey(task_id="t9", repetition=1)])
    assert "another trial would take about 10 min" in one.may_start(BEGAN + HOUR_S - 500, "t9")
    assert one.over(BEGAN + HOUR_S) == "--max-hours 1 h of the experiment is reached: it has taken 1 h."
