"""The tasks of an experiment against its variants."""

from __future__ import annotations

from pinchbench.report.html.matrix import MatrixCell, matrix_rows
from pinchbench.results.compare.samples import LeftOut, Sample, TaskTrials


def _side(**scores: tuple[float, ...] | None) -> Sample:
    tasks = {
        task_id: TaskTrials(
            task_id=task_id, category="c", scores=own or (), left_out=LeftOut(infrastructure=int(own is None))
        )
        for task_id, own in scores.items()
    }
    return Sample(label="s", model="m/m", runs=("r",), tasks=tasks)


def _different(*sides: Sample | None) -> list[str]:
    return [row.task_id for row in matrix_rows(sides, 0.5) if row.is_different]


def test_a_task_differs_if_a_variant_is_a_tenth_from_the_baseline() -> None:
    baseline = _side(near=(0.8,), far=(0.8,), low=(0.1,))
    other = _side(near=(0.71,), far=(0.7,), low=(0.19,))

    assert _different(baseline, other) == ["far"]


def test_a_task_differs_if_only_some_pass_or_only_some_have_a_score() -> None:
    baseline = _side(passes=(0.52,), scored=(0.9,), neither=None)

    assert _different(baseline, _side(passes=(0.48,), scored=None, neither=None)) == ["passes", "scored"]


def test_variants_without_a_run_or_without_the_task_make_no_difference() -> None:
    rows = matrix_rows([_side(task=(0.5,)), None, _side(other=(0.2,))], 0.5)

    assert [(row.task_id, row.is_different, row.spread) for row in rows] == [
        ("task", False, 0.0),
        ("other", False, 0.0),
    ]
    assert rows[0].cells[1:] == (MatrixCell(), MatrixCell())


def test_a_cell_has_the_mean_the_difference_and_what_is_not_in_it() -> None:
    [row] = matrix_rows([_side(task=(1.0, 0.8)), _side(task=(0.3,)), _side(task=(0.903,)), _side(task=None)], 0.5)
    baseline, worse, alike, excluded = row.cells

    assert (baseline.score, baseline.trials, baseline.difference, baseline.shade) == (0.9, 2, "", 9)
    assert (worse.difference, worse.direction) == ("−0.60", -1)
    assert (alike.difference, alike.direction) == ("", 0)
    assert (excluded.score, excluded.left_out, excluded.shade) == (None, 1, 0)
    assert round(row.spread, 3) == 0.603
