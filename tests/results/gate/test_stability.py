"""Which tasks of a baseline are stable."""

from __future__ import annotations

import pytest

from pinchbench.results.gate.stability import Quarantine, Stability


@pytest.mark.parametrize("scores", [(1.0,) * 5, (0.5, 0.75, 1.0, 0.9, 0.6), (0.0,) * 9])
def test_a_task_whose_scores_lie_together_is_stable(scores: tuple[float, ...]) -> None:
    assert Stability().quarantine(scores) is None


def test_a_spread_that_is_larger_only_by_rounding_is_allowed() -> None:
    assert Stability(max_spread=0.1).quarantine((0.7, 0.7, 0.7, 0.7, 0.8)) is None


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (
            (1.0, 0.0, 1.0, 1.0, 1.0),
            Quarantine(reason="varies: 0.00 to 1.00 in 5 trials", trials=5, lowest=0.0, highest=1.0),
        ),
        (
            (1.0, 0.0),
            Quarantine(reason="too few repetitions: 2 with a score instead of 5", trials=2, lowest=0.0, highest=1.0),
        ),
        (
            (),
            Quarantine(reason="too few repetitions: 0 with a score instead of 5", trials=0, lowest=None, highest=None),
        ),
    ],
)
def test_others_are_in_quarantine_with_the_evidence(scores: tuple[float, ...], expected: Quarantine) -> None:
    assert Stability().quarantine(scores) == expected
