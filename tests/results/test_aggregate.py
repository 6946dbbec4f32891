"""The aggregate is a function of the outcomes and grades, not of their order; no trial counts that should not."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from past_runs import aggregate_of, facts_of, grade_of, outcome_of
from pinchbench.model.ending import Reason
from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.aggregate import counts
from pinchbench.results.records import ProbeEnded, ProbeFacts, decode, encode
from pinchbench.results.result_json import JournalEnd
from pinchbench.results.run_state import RunState
from pinchbench.results.statistics import estimate
from pinchbench.results.totals import probe_totals

PLAN = [TrialKey(task_id=task, repetition=number) for number in (1, 2) for task in ("task_b", "task_a")]


def outcome(
    key: TrialKey, reason: Reason = Reason.COMPLETED, *, took_s: float = 1.0, timed_out: bool = False
) -> Outcome:
    return outcome_of(
        key,
        reason,
        timed_out=timed_out,
        execution_time_s=took_s,
        transcript_length=4 + key.repetition,
        workspace=f"/w/{key}",
        usage=Usage(requests=1, input_tokens=10, cost_usd=0.5),
    )


def build(
    outcomes: Sequence[Outcome],
    plan: Sequence[TrialKey] = PLAN,
    grades: Sequence[Grade] = (),
    categories: Mapping[str, str] | None = None,
    graded: Sequence[Grade] = (),
    *,
    journal: JournalEnd | UnsetType = UNSET,
) -> dict[str, Any]:
    built = aggregate_of(outcomes, facts_of(plan, categories=categories), grades, given=graded, journal=journal)
    data: dict[str, Any] = json.loads(json.dumps(msgspec.to_builtins(built)))
    return data


def keys(*tasks: str, runs: int = 1) -> list[TrialKey]:
    return [TrialKey(task_id=task, repetition=number) for number in range(1, runs + 1) for task in tasks]


def test_a_task_has_the_seeds_keys_first_and_then_ours() -> None:
    [task] = build([outcome(PLAN[0])], PLAN[:1])["tasks"]
    assert list(task)[:6] == ["task_id", "status", "timed_out", "execution_time", "transcript_length", "workspace"]
    assert list(task.values())[:6] == ["task_b", "success", False, 1.0, 5, "/w/task_b"]


def test_of_several_runs_the_mean_time_the_first_workspace_and_the_worst_status_are_reported() -> None:
    outcomes = [outcome(PLAN[0]), outcome(PLAN[2], Reason.TIMED_OUT, took_s=4.0, timed_out=True)]
    [task] = build(outcomes, [PLAN[0], PLAN[2]])["tasks"]
    assert (task["status"], task["reason"], task["timed_out"]) == ("timeout", "timed_out", True)
    assert (task["execution_time"], task["workspace"], task["transcript_length"]) == (2.5, "/w/task_b", 5)
    runs = task["runs"]
    assert [(run["repetition"], run["status"], run["workspace"]) for run in runs] == [
        (1, "success", "/w/task_b"),
        (2, "timeout", "/w/task_b@2"),
    ]
    assert "key" not in runs[0]
    assert task["usage"] == {**msgspec.to_builtins(Usage()), "requests": 2, "input_tokens": 20, "cost_usd": 1.0}


def test_counts_say_what_was_planned_run_and_left_out() -> None:
    outcomes = [outcome(PLAN[0]), outcome(PLAN[1], Reason.PROVIDER_ERROR), outcome(PLAN[2], Reason.INTERRUPTED)]
    assert msgspec.to_builtins(counts(PLAN, outcomes)) == {
        "planned": 4,
        "finished": 2,
        "not_run": 1,
        "success": 1,
        "timeout": 0,
        "error": 2,
        "left_out": 2,
        "reasons": {"completed": 1, "provider_error": 1, "interrupted": 1},
    }


# Scores


def test_a_task_has_the_mean_and_spread_of_its_scored_trials_and_says_what_they_leave_out() -> None:
    plan = keys("task_a", runs=7)
    ends = [Reason.COMPLETED, Reason.TIMED_OUT, Reason.COMPLETED, Reason.COMPLETED, Reason.PROVIDER_ERROR]
    outcomes = [outcome(key, reason) for key, reason in zip(plan, ends, strict=False)]
    outcomes.append(outcome(plan[5], Reason.INTERRUPTED))
    grades = [
        grade_of(plan[0], 1.0),
        grade_of(plan[1], 0.5),
        grade_of(plan[2], None, Ungraded.CHECK_RAISED),
        grade_of(plan[4], 0.0),  # the endpoint was down: the check found nothing, and says nothing
    ]
    data = build(outcomes, plan, grades, {"task_a": "research"})
    [task] = data["tasks"]
    assert (task["category"], task["grading_type"], task["score"]) == ("research", "automated", 0.75)
    assert task["scores"] == {"n": 2, "mean": 0.75, "sd": pytest.approx(math.sqrt(0.125)), "min": 0.5, "max": 1.0}
    assert task["left_out"] == {"ungraded": 2, "infrastructure": 2, "not_run": 1}
    assert task["ungraded"] == {"check_raised": 1, "not_graded": 1}
    assert data["left_out"] == {**task["left_out"], "tasks_without_score": 0}
    assert data["score"] == msgspec.to_builtins(estimate([[1.0, 0.5]]))


def test_a_task_graded_again_after_a_change_has_its_latest_grading_type() -> None:
    plan = keys("task_a", runs=2)
    grades = [
        grade_of(plan[0], 1.0, grading_type=GradingType.HYBRID, graded_at=2.0),
        grade_of(plan[1], 1.0, grading_type=GradingType.AUTOMATED, graded_at=1.0),
    ]
    [task] = build([outcome(key) for key in plan], plan, grades)["tasks"]
    assert task["grading_type"] == "hybrid"
    [task] = build([outcome(key) for key in plan], plan)["tasks"]
    assert task["grading_type"] is None


def test_each_task_weighs_the_same_and_a_task_without_a_score_is_counted() -> None:
    plan = [*keys("task_a", "task_b", "task_c"), TrialKey(task_id="task_a", repetition=2)]
    grades = [grade_of(plan[0], 1.0), grade_of(plan[3], 1.0), grade_of(plan[1], 0.0)]
    data = build([outcome(plan[0]), outcome(plan[1]), outcome(plan[3])], plan, grades)
    score = data["score"]
    assert (score["mean"], score["tasks"], score["trials"]) == (0.5, 2, 3)
    assert 0.0 <= score["low"] < 0.5 < score["high"] <= 1.0
    assert data["left_out"] == {"ungraded": 0, "infrastructure": 0, "not_run": 1, "tasks_without_score": 1}


def test_tasks_and_categories_stand_in_the_plans_order_each_with_what_it_leaves_out() -> None:
    plan = keys("task_3", "task_1", "task_2", "task_4")
    outcomes = [outcome(plan[0]), outcome(plan[1]), outcome(plan[2], Reason.NO_TRANSCRIPT)]
    grades = [grade_of(plan[0], 1.0), grade_of(plan[1], 0.5)]
    data = build(outcomes, plan, grades, {"task_1": "b", "task_2": "a", "task_3": "b", "task_4": "a"})
    assert list(data["categories"]) == ["b", "a"]
    assert [task["task_id"] for task in data["tasks"]] == ["task_3", "task_1", "task_2"]
    assert data["categories"]["b"] == {
        "score": msgspec.to_builtins(estimate([[1.0], [0.5]])),
        "left_out": {"ungraded": 0, "infrastructure": 0, "not_run": 0, "tasks_without_score": 0},
        "possibly_caused_by_agent": {"trials": [], "score_if_zero": None},
    }
    assert data["categories"]["a"] == {
        "score": {"mean": None, "low": None, "high": None, "tasks": 0, "trials": 0},
        "left_out": {"ungraded": 0, "infrastructure": 1, "not_run": 1, "tasks_without_score": 2},
        "possibly_caused_by_agent": {"trials": [], "score_if_zero": None},
    }


def test_pass_rates_are_reported_for_each_k_up_to_the_planned_runs() -> None:
    plan = keys("task_a", "task_b", runs=3)
    scored = {"task_a": (1.0, 0.0, 0.8), "task_b": (0.9, 0.9)}
    grades = [grade_of(key, scored[key.task_id][key.repetition - 1]) for key in plan[:5]]
    data = build([outcome(key) for key in plan], plan, grades)
    assert data["pass"] == {
        "threshold": 0.8,
        "k": {
            "1": {"pass_at_k": pytest.approx(5 / 6), "pass_hat_k": pytest.approx(5 / 6), "tasks": 2},
            "2": {"pass_at_k": 1.0, "pass_hat_k": pytest.approx(2 / 3), "tasks": 2},
            "3": {"pass_at_k": 1.0, "pass_hat_k": 0.0, "tasks": 1},
        },
    }


# Parts and the judge


def hybrid(key: TrialKey, automated: float, judged: JudgeGrade) -> Grade:
    return grade_of(
        key,
        None if judged.score is None else (automated + judged.score) / 2,
        judged.ungraded,
        grading_type=GradingType.HYBRID,
        check=CheckGrade(score=automated),
        judge=judged,
    )


def test_the_automated_part_of_a_hybrid_task_without_a_judge_is_distinguished_from_every_mean() -> None:
    plan = keys("task_a", "task_b", "task_c", "task_d", "task_e", runs=2)
    nobody, away = JudgeGrade(ungraded=Ungraded.NO_JUDGE), JudgeGrade(ungraded=Ungraded.JUDGE_UNREACHABLE)
    outcomes = [outcome(key, Reason.EVIDENCE_LOST if key.task_id == "task_e" else Reason.COMPLETED) for key in plan]
    grades = [
        hybrid(plan[0], 1.0, nobody),
        hybrid(plan[5], 0.5, nobody),
        hybrid(plan[1], 0.25, away),
        hybrid(plan[2], 0.0, JudgeGrade(score=1.0)),
        grade_of(plan[3], None, Ungraded.NO_JUDGE, grading_type=GradingType.LLM_JUDGE, judge=nobody),
        hybrid(plan[4], 0.0, nobody),  # infrastructure failure
    ]
    data = build(outcomes, plan, grades)
    assert data["parts"] == {"automated_only": {"tasks": 2, "trials": 3, "mean": 0.5}}
    assert (data["score"]["mean"], data["score"]["tasks"], data["score"]["trials"]) == (0.5, 1, 1)
    assert data["tasks"][0]["score"] is None
    assert data["tasks"][0]["ungraded"] == {"no_judge": 2}


def test_what_judging_cost_is_summed_apart_from_what_the_agents_used() -> None:
    plan = keys("task_a", "task_b", "task_c")
    first = JudgeGrade(
        score=1.0,
        model="judge/two",
        prompt_version="1",
        usage=Usage(requests=3, input_tokens=100),
        cost_usd=0.25,
        latency_s=1.23456,
        calls=3,
    )
    second = replace(first, model="judge/one", cost_usd=None, calls=0, cached=1, usage=Usage(), latency_s=0.0)
    failed = JudgeGrade(ungraded=Ungraded.JUDGE_REFUSED, model="judge/one", prompt_version="1", calls=1)
    parts = zip(plan, (first, second, failed), strict=True)
    grades = [grade_of(key, part.score, part.ungraded, judge=part) for key, part in parts]
    data = build([outcome(key) for key in plan], plan, grades)
    assert data["judge"] == {
        "models": ["judge/one", "judge/two"],
        "prompt_versions": ["1"],
        "trials": 3,
        "calls": 4,
        "cached": 1,
        "usage": {**msgspec.to_builtins(Usage()), "requests": 3, "input_tokens": 100},
        "cost_usd": 0.25,
        "calls_without_cost": 1,
        "latency_s": 1.235,
    }
    assert data["usage"]["requests"] == 3
    assert data["usage"]["input_tokens"] == 30
    free = build([outcome(plan[1])], plan, grades[1:2])["judge"]
    assert (free["cost_usd"], free["calls_without_cost"]) == (None, 0)


def judged(number: int, *, model: str = "judge/one", cost_usd: float | None = 0.25) -> JudgeGrade:
    usage = Usage(requests=number, input_tokens=10 * number)
    return JudgeGrade(
        score=1.0, model=model, prompt_version="1", usage=usage, cost_usd=cost_usd, latency_s=1.5, calls=number
    )


def test_what_earlier_grades_have_cost_was_spent_too() -> None:
    plan = keys("task_a", "task_b")
    earlier = [
        grade_of(plan[0], 1.0, judge=judged(3), graded_at=1.0),
        grade_of(plan[1], 1.0, judge=judged(2, cost_usd=None), graded_at=1.0),
    ]
    latest = [
        grade_of(plan[0], 1.0, judge=judged(1, model="judge/two"), graded_at=2.0),
        grade_of(plan[1], 1.0, judge=replace(judged(0, cost_usd=None), cached=1, latency_s=0.0), graded_at=2.0),
    ]
    outcomes = [outcome(key) for key in plan]
    told = build(outcomes, plan, latest, graded=[*earlier, *latest])["judge"]
    assert told == {
        "models": ["judge/one", "judge/two"],
        "prompt_versions": ["1"],
        "trials": 2,
        "calls": 6,
        "cached": 1,
        "usage": {**msgspec.to_builtins(Usage()), "requests": 6, "input_tokens": 60},
        "cost_usd": 0.5,
        "calls_without_cost": 2,
        "latency_s": 4.5,
    }
    assert build(outcomes, plan, latest, graded=[*latest, *earlier][::-1])["judge"] == told
    assert build(outcomes, plan, latest)["judge"]["calls"] == 1


# Properties

SCORED = st.one_of(st.none(), st.floats(0, 1))
TRIALS = st.lists(st.tuples(st.sampled_from(list(Reason)), SCORED), max_size=4)


def run_of(by_task: Sequence[Sequence[tuple[Reason, float | None]]]) -> tuple[list[Outcome], list[Grade]]:
    ended = {
        TrialKey(task_id=f"task_{task}", repetition=number): end
        for task, ends in enumerate(by_task)
        for number, end in enumerate(ends, 1)
    }
    grades = [grade_of(key, score, Ungraded.CHECK_DIED if score is None else None) for key, (_, score) in ended.items()]
    return [outcome(key, reason) for key, (reason, _) in ended.items()], grades


@given(st.lists(TRIALS, max_size=5))
@settings(max_examples=60)
def test_every_planned_trial_has_a_score_or_is_left_out_once(
    by_task: Sequence[Sequence[tuple[Reason, float | None]]],
) -> None:
    plan = keys(*(f"task_{task}" for task in range(len(by_task))), runs=4)
    outcomes, grades = run_of(by_task)
    data = build(outcomes, plan, grades, {"task_0": "a", "task_1": "b", "task_2": "a", "task_3": "b", "task_4": "a"})
    assert data["score"]["tasks"] + data["left_out"]["tasks_without_score"] == len(by_task)
    kinds = ("ungraded", "infrastructure", "untrusted", "prerequisite_missing", "not_run")
    left_out = Counter(data["left_out"])
    assert data["score"]["trials"] + sum(left_out[kind] for kind in kinds) == len(plan)
    ended = left_out["infrastructure"] + left_out["untrusted"] + left_out["prerequisite_missing"]
    assert ended == data["counts"]["left_out"]
    assert left_out["prerequisite_missing"] == data["counts"]["reasons"].get("prerequisite_missing", 0)
    assert data["left_out"]["not_run"] == data["counts"]["not_run"]
    for task in data["tasks"]:
        assert task["scores"]["n"] + sum(task["left_out"].values()) == 4
        assert sum(task["ungraded"].values()) == task["left_out"]["ungraded"]
    for kind in (*kinds, "tasks_without_score"):
        assert sum(part["left_out"].get(kind, 0) for part in data["categories"].values()) == left_out[kind]
    json.dumps(data, allow_nan=False)


@given(
    st.lists(TRIALS, max_size=4),
    st.lists(st.tuples(st.sampled_from([reason for reason in Reason if not reason.is_valid]), SCORED), max_size=4),
)
@settings(max_examples=60)
def test_trials_that_say_nothing_about_the_model_never_change_a_mean(
    by_task: Sequence[Sequence[tuple[Reason, float | None]]], lost: Sequence[tuple[Reason, float | None]]
) -> None:
    plan = keys(*(f"task_{task}" for task in range(5)), runs=8)
    before = build(run_of(by_task)[0], plan, run_of(by_task)[1])
    more = [*([*ends, *lost] for ends in by_task), lost]
    after = build(run_of(more)[0], plan, run_of(more)[1])
    for name in ("score", "pass", "parts"):
        assert after[name] == before[name]
    assert after["left_out"]["ungraded"] == before["left_out"]["ungraded"]


@given(st.permutations(range(8)))
@settings(max_examples=50)
def test_the_same_journal_gives_the_same_bytes_whatever_ended_first(order: list[int]) -> None:
    by_task = [[(Reason.COMPLETED, 0.1 * task + 0.3 * number) for number in range(2)] for task in range(4)]
    plan = keys(*(f"task_{task}" for task in range(4)), runs=2)
    outcomes, grades = run_of(by_task)
    outcomes = [replace(one, usage=Usage(cost_usd=0.1 * number)) for number, one in enumerate(outcomes)]
    usual = build(outcomes, plan, grades)
    other = build([outcomes[place] for place in order], plan, [grades[place] for place in reversed(order)])
    assert msgspec.json.encode(other) == msgspec.json.encode(usual)


def test_a_cost_at_a_price_that_is_not_known_is_marked() -> None:
    plan = keys("task_a", "task_b")
    free = replace(outcome(plan[0]), usage=Usage(total_tokens=90, input_tokens=80, output_tokens=10))
    end = JournalEnd(records=5, digest="d")
    paid = replace(outcome(plan[1]), usage=Usage(total_tokens=90, cost_usd=0.5))
    data = build([free, paid], plan, journal=end)
    assert [task.get("cost_known") for task in data["tasks"]] == [False, None]
    assert data["tasks"][0]["runs"][0]["cost_known"] is False
    assert "cost_known" not in data

    assert build([free], plan, journal=end)["cost_known"] is False
    assert "cost_known" not in build([free], plan), "the result of an older release keeps its bytes"


ANSWERED = ProbeFacts(
    at=5.0, point=0, duration_s=1.5, first_token_s=0.5, usage=Usage(total_tokens=420), cost_usd=0.25, answer="a" * 64
)
FAILED = ProbeFacts(at=9.0, point=1, duration_s=30.0, error="no whole answer within 30 s")
UNPRICED = ProbeFacts(at=6.0, point=0, duration_s=1.0, usage=Usage(total_tokens=420))


def test_probes_are_read_and_summed_up_with_what_has_no_price() -> None:
    records = [decode(encode(ProbeEnded(at=one.at + 1, probe=one))) for one in (ANSWERED, UNPRICED, FAILED)]
    totals = probe_totals(RunState.of(records).probes)

    assert totals is not None
    assert (totals.sent, totals.failed, totals.without_cost) == (3, 1, 1)
    assert (totals.usage.total_tokens, totals.cost_usd) == (840, 0.25)
    assert probe_totals([]) is None
