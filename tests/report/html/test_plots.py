"""Scores and differences in rows, in pixels."""

import pytest

from pinchbench.report.html.plots import ScoreRow, draw_forest, draw_scores, pareto_front
from pinchbench.results.compare.paired_difference import Difference
from pinchbench.results.statistics import Estimate


def _points(*values: tuple[float, float]) -> list[ScoreRow]:
    estimates = [(spent, Estimate(mean=score, low=None, high=None, tasks=1, trials=1)) for spent, score in values]
    return [ScoreRow(name=f"v{number}", spent=spent, score=one) for number, (spent, one) in enumerate(estimates)]


def test_a_dot_is_at_its_score_and_its_whiskers_end_at_its_interval() -> None:
    picture = draw_scores(
        [ScoreRow(name="n", score=Estimate(mean=0.5, low=0.25, high=1.0, tasks=3, trials=3), note="3 tasks")]
    )["narrow"]

    [dot] = [shape.d for shape in picture.shapes if shape.look == "accent"]
    whisker = next(shape.d for shape in picture.shapes if shape.look == "line ink")
    length = picture.end - picture.left
    assert dot.startswith(f"M{picture.left + length / 2 - 4.5:g} ")
    assert [float(point.split()[0]) for point in whisker[1:].split("L")] == [
        picture.left + length / 4,
        picture.end,
    ]
    assert [label.text for label in picture.labels[:1] + picture.labels[-2:]] == ["n", "0.50", "3 tasks"]


def test_a_forest_plot_of_zeros_and_of_the_widest_differences_can_be_drawn() -> None:
    rows = [
        ("none", Difference(mean=0.0)),
        ("all " * 40, Difference(mean=-1.0, low=-1.0, high=1.0)),
    ]

    for some in (rows[:1], rows):
        drawn = draw_forest(some)
        assert set(drawn) == {"wide", "narrow"}
        assert all("better →" in [label.text for label in picture.labels] for picture in drawn.values())


def test_names_that_differ_in_their_last_letters_differ_in_a_narrow_picture() -> None:
    rows = [(f"vendor/a-model-with-a-long-name-{number}", Difference(mean=0.0)) for number in (1, 2)]

    labels = [label.text for label in draw_forest(rows)["narrow"].labels if label.text.startswith("ven")]
    assert len(set(labels)) == 2


def test_the_front_holds_what_nothing_else_beats_in_cost_and_score() -> None:
    front = pareto_front(_points((3, 0.9), (1, 0.5), (2, 0.4), (2, 0.7), (4, 0.9)))
    assert [point.name for point in front] == ["v1", "v3", "v0"]


@pytest.mark.parametrize(
    "values", [[(0.0, 0.0)], [(0.0, 1.0), (0.0, 1.0)], [(0.001, 0.2), (900.0, 0.9)], [(1.0, 0.5)] * 20]
)
def test_any_costs_and_scores_can_be_drawn(values: list[tuple[float, float]]) -> None:
    drawing = draw_scores(_points(*values), pareto_front(_points(*values)))

    assert all([label.text for label in picture.labels].count("v0") == 1 for picture in drawing.values())
