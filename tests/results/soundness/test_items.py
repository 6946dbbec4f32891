from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.items import intervals_held
from pinchbench.results.soundness.items import Value, item_statistics

if TYPE_CHECKING:
    from random import Random

Scores = st.sampled_from([0.0, 0.25, 0.5, 1.0])
Subjects = st.lists(
    st.dictionaries(st.sampled_from(["t1", "t2", "t3", "t4"]), st.lists(Scores, min_size=1, max_size=3), min_size=1),
    min_size=1,
    max_size=7,
)


def test_a_tasks_mean_weighs_each_variant_the_same() -> None:
    (item,) = item_statistics([{"t": (1.0, 1.0, 1.0)}, {"t": (0.0,)}]).items

    assert (item.mean.value, item.subjects, item.trials) == (0.5, 2, 4)


def test_a_task_that_agrees_with_the_others_discriminates_and_one_that_contradicts_them_misleads() -> None:
    found = item_statistics(
        [{"good": (level,), "other": (level,), "third": (level,), "wrong": (1 - level,)} for level in (0, 0.2, 0.5, 1)]
    )

    by_task = {item.task_id: item.discrimination for item in found.items}
    assert by_task["good"] is not None
    assert by_task["wrong"] is not None
    assert by_task["good"].value == pytest.approx(1)
    assert by_task["wrong"].value == pytest.approx(-1)


def test_a_task_whose_variants_always_repeat_their_score_has_no_noise() -> None:
    (item,) = item_statistics([{"t": (level, level)} for level in (0.0, 0.5, 1.0)]).items

    assert item.noise_share == Value(value=0.0)


def test_a_task_on_which_all_variants_have_the_same_mean_is_noise_alone() -> None:
    (item,) = item_statistics([{"t": (0.0, 1.0)}] * 3).items

    assert item.noise_share is not None
    assert item.noise_share.value == 1.0


@pytest.mark.parametrize(
    ("subjects", "reasons"),
    [
        ([{"t": (1.0, 0.0)}], ["Discrimination needs", "The noise share needs two variants"]),
        ([{"t": (1.0,)}, {"t": (0.0,)}], ["Discrimination needs", "The noise share needs repetitions"]),
        ([{"t": (1.0, 1.0), "u": (0.5,), "v": (level,)} for level in (0, 0.2, 0.5, 1)],
         ["Discrimination is undefined", "The noise share is undefined"]),
    ],
)  # fmt: skip
def test_what_can_not_be_estimated_says_why(subjects: list[dict[str, tuple[float, ...]]], reasons: list[str]) -> None:
    item = item_statistics(subjects).items[0]

    assert (item.discrimination, item.noise_share) == (None, None)
    assert [sentence.startswith(reason) for sentence, reason in zip(item.unknown, reasons, strict=True)] == [True] * 2


@given(Subjects, st.randoms(use_true_random=False))
def test_the_order_of_variants_changes_no_bit(subjects: list[dict[str, list[float]]], source: Random) -> None:
    shuffled = list(subjects)
    source.shuffle(shuffled)

    assert item_statistics(shuffled) == item_statistics(subjects)


@given(Subjects)
def test_each_interval_contains_its_value_and_stays_in_its_range(subjects: list[dict[str, list[float]]]) -> None:
    found = item_statistics(subjects)

    for value, least in (
        *((item.mean, 0) for item in found.items),
        *((item.discrimination, -1) for item in found.items),
        *((item.noise_share, 0) for item in found.items),
        (found.noise_share, 0),
    ):
        if value is not None and value.low is not None and value.high is not None:
            assert least <= value.low <= value.value <= value.high <= 1


def test_nine_of_ten_intervals_hold_the_true_value() -> None:
    discrimination, noise, _, known = intervals_held(models=8, repetitions=3, suites=6)

    assert discrimination > 0.9
    assert noise > 0.8  # the nominal 95 % are 87 to 92 with few variants
    assert known > 0.9
