"""What trials are expected to take and cost, going by what earlier ones did."""

from collections.abc import Mapping

from pinchbench.model.task import GradingType, Task
from pinchbench.model.trial import Trial, TrialKey
from pinchbench.runner.plan.past_durations import PastTrial
from pinchbench.runner.plan.trial_plan import expected_durations


def trials(limits_s: Mapping[str, float]) -> list[Trial]:
    return [
        Trial(
            key=TrialKey(task_id=task_id, repetition=1),
            task=Task(
                task_id=task_id,
                name="",
                category="",
                grading_type=GradingType.AUTOMATED,
                prompt="",
                turns=(),
                digest="now",
            ),
            timeout_s=limit_s,
        )
        for task_id, limit_s in limits_s.items()
    ]


def took(
    task_id: str, seconds: float, *, digest: str = "now", same_model: bool = True, usd: float | None = None
) -> PastTrial:
    return PastTrial(task_id=task_id, digest=digest, took_s=seconds, same_model=same_model, cost_usd=usd)


def expected(limits_s: Mapping[str, float], *past: PastTrial) -> dict[str, float]:
    return expected_durations(trials(limits_s), past)


def test_a_task_is_expected_to_take_the_median_of_what_it_took_and_of_two_the_longer() -> None:
    limits_s = {"task_a": 100, "task_b": 100}
    past = [took("task_a", seconds) for seconds in (90, 10, 30)] + [took("task_b", 40), took("task_b", 50)]
    assert expected(limits_s, *past) == {"task_a": 30, "task_b": 50}


def test_a_task_as_it_is_now_goes_before_earlier_states_of_it_and_these_before_a_guess() -> None:
    limits_s = {"task_a": 100, "task_b": 100}
    past = [took("task_a", 80, digest="old"), took("task_a", 20), took("task_b", 70, digest="old")]
    assert expected(limits_s, *past) == {"task_a": 20, "task_b": 70}


def test_other_models_stand_in_for_what_this_one_has_not_run_and_the_limit_for_what_nobody_has() -> None:
    limits_s = {"task_a": 100, "task_b": 100, "task_c": 100}
    past = [took("task_a", 20), took("task_a", 10, same_model=False), took("task_b", 30, same_model=False)]
    assert expected(limits_s, *past) == {"task_a": 20, "task_b": 30, "task_c": 100}
