from __future__ import annotations

from random import Random

import pytest

from bench.items import ranks_kept
from pinchbench.errors import SelectionError
from pinchbench.results.soundness.short_form import short_form

LEVELS = (0.1, 0.3, 0.6, 0.9, 1.0)


def _subjects(informative: tuple[str, ...], others: tuple[str, ...]) -> list[dict[str, tuple[float, ...]]]:
    source = Random(1)
    return [
        {**dict.fromkeys(informative, (level,)), **{task: (source.random(),) for task in others}} for level in LEVELS
    ]


def test_it_takes_the_tasks_that_rank_variants_as_all_do() -> None:
    subjects = _subjects(("b", "e", "g"), ("a", "c", "d", "f"))

    assert set(short_form(subjects, size=3, categories={}).tasks) == {"b", "e", "g"}


def test_each_category_keeps_its_share() -> None:
    subjects = _subjects(("a", "b", "c", "d"), ("e", "f"))
    categories = {**dict.fromkeys("abcd", "easy to rank by"), **dict.fromkeys("ef", "random")}

    chosen = short_form(subjects, size=3, categories=categories).tasks

    assert len({"e", "f"} & set(chosen)) == 1


def test_the_order_of_variants_and_tasks_makes_no_difference() -> None:
    subjects = _subjects(("b", "e"), ("a", "c", "d"))
    turned = [dict(reversed(one.items())) for one in reversed(subjects)]

    assert short_form(turned, size=2, categories={}) == short_form(subjects, size=2, categories={})


def test_only_tasks_with_a_score_of_every_variant_are_chosen_from() -> None:
    subjects = _subjects(("a", "b", "c"), ())
    del subjects[2]["a"]

    found = short_form(subjects, size=1, categories={})

    assert (found.of, found.subjects, "a" in found.tasks) == (2, 5, False)


def test_variants_whom_all_tasks_rank_alike_have_a_full_agreement() -> None:
    assert short_form(_subjects(("a", "b", "c"), ()), size=2, categories={}).agreement == 1.0


def test_equal_variants_can_be_ranked_by_nothing() -> None:
    assert short_form([{"a": (1.0,), "b": (1.0,)}] * 4, size=1, categories={}).agreement is None


@pytest.mark.parametrize(
    ("variants", "size", "message"),
    [(3, 1, "needs 4 variants"), (4, 3, "can't be chosen from 3"), (4, 0, "can't be chosen from 3")],
)
def test_a_choice_that_can_not_be_made_is_refused(variants: int, size: int, message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        short_form(_subjects(("a", "b", "c"), ())[:variants], size=size, categories={})


def test_it_ranks_new_models_more_like_all_tasks_than_tasks_chosen_at_random_do() -> None:
    chosen, at_random = ranks_kept(seen=10, size=12, suites=20)

    assert chosen > at_random
