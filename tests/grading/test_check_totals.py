"""What a check means by numbers that are no shares, and which of them is its total."""

import pytest

from pinchbench.grading.check_totals import shares


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
