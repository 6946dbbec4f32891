"""Krippendorff's alpha, against values computed by hand and published examples."""

from random import Random

import pytest

from pinchbench.model.grade import JudgeGrade, Ungraded
from pinchbench.results.judge_agreement import FEWEST_TRIALS, agreement_of, alpha_interval, krippendorff_alpha

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section E: four observers, twelve units.
FOUR_OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
# "Krippendorff's alpha" in Wikipedia: three coders, fifteen units.
THREE_CODERS = (
    (None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3),
    (1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None),
    (None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4),
)


def _units(coders: tuple[tuple[int | None, ...], ...]) -> list[list[float]]:
    return [[value for value in unit if value is not None] for unit in zip(*coders, strict=True)]


def _graded(*scores: float | None, **points: tuple[float, ...]) -> JudgeGrade:
    judges = tuple(
        JudgeGrade(
            score=score,
            ungraded=Ungraded.JUDGE_UNREADABLE if score is None else None,
            breakdown={name: values[place] for name, values in points.items()},
        )
        for place, score in enumerate(scores)
    )
    return JudgeGrade(judges=judges)


def test_alpha_is_that_of_published_examples() -> None:
    assert krippendorff_alpha(_units(FOUR_OBSERVERS)) == pytest.approx(0.849, abs=5e-4)
    assert krippendorff_alpha(_units(THREE_CODERS)) == pytest.approx(0.811, abs=5e-4)


def test_alpha_is_what_is_computed_by_hand() -> None:
    # n = 4 values 0, 1, 1, 0: observed (2 + 2) / 4 = 1, expected 8 / (4 · 3) = 2/3
    assert krippendorff_alpha([(0, 1), (1, 0)]) == pytest.approx(1 - 3 / 2)
    # n = 4 values 0, 0.5, 1, 1: observed (2 · 0.25 + 0) / 4 = 1/8; pairs differ by 0.5 (thrice) and by 1 (twice),
    # so expected 2 · (3 · 0.25 + 2 · 1) / (4 · 3) = 11/24
    assert krippendorff_alpha([(0, 0.5), (1, 1)]) == pytest.approx(1 - (1 / 8) / (11 / 24))
    assert krippendorff_alpha([(0, 0), (0.3, 0.3), (1, 1)]) == 1


def test_a_unit_with_one_value_counts_nothing() -> None:
    assert krippendorff_alpha([(0, 0.5), (1, 1), (0.25,), ()]) == krippendorff_alpha([(0, 0.5), (1, 1)])


def test_alpha_is_undefined_without_pairs_and_without_variation() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([(0.5,), (1,)]) is None
    assert krippendorff_alpha([(0.7, 0.7), (0.7, 0.7)]) is None


def test_the_judges_of_a_run_agree_on_trials_and_on_each_criterion() -> None:
    grades = [_graded(n / 10, n / 10, clear=(n / 10, n / 10), kind=(n % 2, 1 - n % 2)) for n in range(FEWEST_TRIALS)]

    found = agreement_of(grades)

    assert found is not None
    assert (found.trials, found.alpha) == (FEWEST_TRIALS, 1)
    assert found.criteria["clear"].alpha == 1
    assert found.criteria["kind"].alpha == pytest.approx(-0.9)  # observed 1, expected 200 / (20 · 19)


def test_too_few_trials_have_no_alpha() -> None:
    grades = [_graded(n / 10, n / 10) for n in range(FEWEST_TRIALS - 1)]

    found = agreement_of(grades)

    assert found is not None
    assert (found.trials, found.alpha) == (FEWEST_TRIALS - 1, None)


def test_only_trials_that_two_judges_have_graded_count() -> None:
    assert agreement_of([JudgeGrade(score=0.5), _graded(0.5, None)]) is None
    found = agreement_of([_graded(0.5, None, 0.7, clear=(0.1, 0.2, 0.3))])
    assert found is not None
    assert (found.trials, found.criteria["clear"].trials) == (1, 1)


def test_the_interval_of_alpha_holds_it_narrows_with_trials_and_is_always_the_same() -> None:
    source = Random(1)
    grades = [_graded(base := source.random(), min(1.0, base + source.gauss(0, 0.2))) for _ in range(200)]

    few, many = alpha_interval(grades[:20]), alpha_interval(grades)

    assert few is not None
    assert many is not None
    assert many == alpha_interval(grades)
    assert many[1] - many[0] < (few[1] - few[0]) / 2
    alpha = krippendorff_alpha([[one.score or 0.0 for one in grade.each] for grade in grades])
    assert alpha is not None
    assert many[0] < alpha < many[1]


def test_perfect_agreement_has_an_interval_without_width_and_no_alpha_has_none() -> None:
    assert alpha_interval([_graded(n / 10, n / 10) for n in range(FEWEST_TRIALS)]) == (1.0, 1.0)
    assert alpha_interval([_graded(0.5, 0.5)] * FEWEST_TRIALS) is None
    assert alpha_interval([_graded(n / 10, 0.5) for n in range(FEWEST_TRIALS - 1)]) is None
