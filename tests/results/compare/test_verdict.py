"""Verdicts of sequential comparisons, in words."""

import pytest

from pinchbench.results.compare.verdict import SequentialComparison, SequentialVerdict, sentence

DIFFERENCE = "The difference is 0.100 (−0.020 to 0.300), after 12 paired trials."


@pytest.mark.parametrize(
    ("verdict", "is_final", "said"),
    [
        (SequentialVerdict.BETTER, True, "Decided: better than base."),
        (SequentialVerdict.WORSE, True, "Decided: worse than base."),
        (SequentialVerdict.EQUAL, True, "Decided: equal to base within the margin."),
        (SequentialVerdict.UNDECIDABLE, True, "Undecidable: the trials that are left can hardly tell it from base."),
        (SequentialVerdict.BUDGET, False, "Not decided: the budget is used up."),
        (SequentialVerdict.STOPPED, False, "Not decided: its run, or that of base, ended early."),
        (SequentialVerdict.OPEN, False, "Not decided yet."),
    ],
)
def test_each_verdict_is_reported_with_the_difference(verdict: SequentialVerdict, is_final: bool, said: str) -> None:
    compared = SequentialComparison(
        variant="other", verdict=verdict, blocks=12, mean=0.1, low=-0.02, high=0.3, e_value=3.0, decided_at=40.0
    )
    assert sentence(compared, baseline="base") == f"{said} {DIFFERENCE}"
    assert verdict.is_final is is_final
