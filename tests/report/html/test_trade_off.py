"""What variants cost against what they score."""

from __future__ import annotations

import pytest

from pinchbench.report.html.trade_off import VariantPoint, draw_trade_off, pareto_front


def _points(*values: tuple[float, float]) -> list[VariantPoint]:
    return [VariantPoint(name=f"v{number}", spent=spent, score=score) for number, (spent, score) in enumerate(values)]


def _front(*values: tuple[float, float]) -> list[str]:
    return [point.name for point in pareto_front(_points(*values))]


def test_the_front_holds_what_nothing_else_beats_in_cost_and_score() -> None:
    assert _front((3, 0.9), (1, 0.5), (2, 0.4), (2, 0.7), (4, 0.9)) == ["v1", "v3", "v0"]


def test_equal_variants_are_both_on_the_front() -> None:
    assert _front((1, 0.5), (1, 0.5), (1, 0.4)) == ["v0", "v1"]


@pytest.mark.parametrize(
    "values", [[(0.0, 0.0)], [(0.0, 1.0), (0.0, 1.0)], [(0.001, 0.2), (900.0, 0.9)], [(1.0, 0.5)] * 20]
)
def test_any_costs_and_scores_can_be_drawn(values: list[tuple[float, float]]) -> None:
    drawing = draw_trade_off(_points(*values), "x", is_cost=True)

    assert all(drawing[width].count("v0") == 1 for width in ("wide", "narrow"))


def test_a_name_is_text_and_not_a_formula_and_the_same_points_give_the_same_drawing() -> None:
    point = VariantPoint(name="$x_1$ <b>", spent=1.0, score=0.5, low=0.4, high=0.6)
    drawing = draw_trade_off([point], "x", is_cost=False)

    assert "$x_1$ &lt;b&gt;" in drawing["wide"]
    assert drawing == draw_trade_off([point], "x", is_cost=False)
