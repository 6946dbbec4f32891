"""One grade from those of several judges."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import UNSET

from pinchbench.grading.judge.several import mean_grade
from pinchbench.model.grade import JudgeGrade, Ungraded
from pinchbench.model.usage import Usage

STRICT = JudgeGrade(
    score=0.4,
    breakdown={"clear": 0.2, "short": 0.6},
    notes=("Too long.",),
    model="strict",
    prompt_version="6",
    votes=(0.3, 0.4, 0.5),
    usage=Usage(requests=3, total_tokens=300, cost_usd=0.0),
    cost_usd=0.25,
    latency_s=2.0,
    calls=3,
    replies_digest="a",
)
LENIENT = JudgeGrade(
    score=1.0,
    breakdown={"clear": 1.0, "kind": 0.8},
    model="lenient",
    prompt_version="6",
    votes=(1.0,),
    usage=Usage(requests=1, total_tokens=50),
    cost_usd=0.5,
    latency_s=7.0,
    calls=1,
    cached=1,
    replies_digest="b",
)


def test_the_grade_of_several_judges_is_their_mean_and_has_each_ones_own() -> None:
    grade = mean_grade([STRICT, LENIENT])

    assert grade.score == pytest.approx(0.7)
    assert grade.breakdown == pytest.approx({"clear": 0.6, "short": 0.6, "kind": 0.8})
    assert (grade.votes, grade.spread) == ((0.4, 1.0), 0.6)
    assert grade.judges == (STRICT, LENIENT)
    assert (grade.model, grade.notes) == ("strict and lenient", ("strict: Too long.",))


def test_what_judging_used_is_the_sum_over_the_judges_and_took_as_long_as_the_slowest() -> None:
    grade = mean_grade([STRICT, LENIENT])

    assert (grade.usage.total_tokens, grade.usage.requests, grade.cost_usd) == (350, 4, 0.75)
    assert (grade.calls, grade.cached, grade.latency_s) == (4, 1, 7.0)
    assert mean_grade([STRICT, replace(LENIENT, cost_usd=None)]).cost_usd == 0.25


def test_a_judge_that_gives_no_score_leaves_the_trial_ungraded_and_the_others_grade_is_kept() -> None:
    mute = JudgeGrade(model="mute", ungraded=Ungraded.JUDGE_UNREADABLE, notes=("Not JSON.",), reply="well …")

    grade = mean_grade([STRICT, mute])

    assert (grade.score, grade.ungraded, grade.breakdown) == (None, Ungraded.JUDGE_UNREADABLE, {})
    assert (grade.notes, grade.reply) == (("strict: Too long.", "mute: Not JSON."), "well …")
    assert grade.judges == (STRICT, mute)


def test_one_judge_s_grade_stays_as_it_is() -> None:
    assert mean_grade([STRICT]) is STRICT
    assert STRICT.judges is UNSET
    assert STRICT.each == (STRICT,)
