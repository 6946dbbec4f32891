"""What a check means by numbers that are no shares, and which of them is its total."""

import pytest

from pinchbench.grading.check_totals import UnknownScaleError, shares


@pytest.mark.parametrize(
    ("returned", "values", "total"),
    [
        ({"a": 1, "b": 0.5}, {"a": 1, "b": 0.5}, ""),
        ({"score": 30, "max_score": 100, "a": 1}, {"score": 0.3, "a": 1}, "score"),
        ({"form": 3, "max_form": 4}, {"form": 0.75}, ""),
        ({"passed": 3, "total": 5}, {"passed": 0.6}, "passed"),
        ({"total": 0.7, "a": 1.0}, {"total": 0.7, "a": 1.0}, ""),
        ({"percentage": 40.0, "a": 1}, {"percentage": 0.4, "a": 1}, "percentage"),
        ({"scores": {"a": 1, "b": 0}}, {"a": 1, "b": 0}, ""),
        ({"a": {"score": "50%"}, "b": {"lines": 12}}, {"a": 0.5, "b": {"lines": 12}}, ""),
        ({"score": "high"}, {"score": "high"}, ""),
    ],
)
def test_values_become_shares_and_a_total_is_found(
    returned: dict[object, object], values: dict[object, object], total: str
) -> None:
    assert shares(returned) == (values, total)


@pytest.mark.parametrize(
    ("returned", "key"),
    [
        ({"score": 85}, "score"),
        ({"score": 1.5, "notes": "good"}, "score"),
        ({"score": "85", "passed": True}, "score"),
        ({"total_score": 7, "a": 1, "b": 0.5}, "total_score"),
        ({"passed": 3, "failed": 1}, "passed"),
        ({"rating": 8}, "rating"),
        ({"a": 8, "b": 0, "c": 7.5}, "a"),
        ({"scores": {"a": 8, "b": 7}, "passed": True}, "a"),
        ({"a": {"score": 8}, "b": {"score": 0}}, "score"),
        ({"form": 3, "max_form": 0, "facts": 0.5}, "form"),
    ],
)
def test_points_of_nobody_knows_how_many_are_no_score(returned: dict[object, object], key: str) -> None:
    with pytest.raises(UnknownScaleError, match=rf"`{key}` is .*, and of how much is not stated: .* `max_{key}` too"):
        shares(returned)


@pytest.mark.parametrize(
    "returned",
    [
        {"score": 1.0000000000000002},
        {"score": 0, "passed": False},
        {"score": 85, "percentage": 85},
        {"score": 120, "max_score": 100},
        {"form": 5, "max_form": 4},
        {"found": True, "lines": 12},
        {"speed": 1.2},
        {"passed": True, "details": {"total": 12}},
    ],
)
def test_a_number_above_one_with_a_known_scale_is_one(returned: dict[object, object]) -> None:
    assert shares(returned)
