"""The axes of plots: sizes, ticks at round numbers, and what was spent against a score."""

from __future__ import annotations

from math import isfinite, log10
from typing import TYPE_CHECKING

from pinchbench.report.html.svg import Colour
from pinchbench.report.text import amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

WIDE, HALF, NARROW = 1110.0, 540.0, 330.0  # pixels
FONT = 12.0
SMALL = 11.0
MANY_TIMES = 30.0  # from cheapest to most expensive: larger ranges need a logarithmic axis


def bare(axes: Axes) -> None:
    """Leave nothing of an axis but its labels."""
    axes.set_frame_on(False)
    axes.tick_params(length=0, pad=6, labelsize=SMALL, labelcolor=Colour.SOFT)
    axes.set_yticks([])
    axes.set_axisbelow(True)


def ticks(axes: Axes, marks: Sequence[tuple[float, str]]) -> None:
    """Label the x-axis at these values, with a line of the grid at each."""
    axes.set_xticks([at for at, _ in marks], [text for _, text in marks], fontsize=SMALL, color=Colour.SOFT)
    axes.grid(axis="x", color=Colour.LINE, linewidth=0.8)


def score_axes(axes: Axes, values: Sequence[float], *, is_cost: bool, steps: int) -> None:
    """Set up what was spent (US dollars or tokens) from left to right, and scores in 0-1 upwards."""
    low, high = min(values), max(values)
    is_log = low > 0 and high / low > MANY_TIMES
    if is_log:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.3, high * 1.3)
        marks = [10.0**power for power in range(int(log10(low)) - 2, int(log10(high)) + 2)]
    else:
        axes.set_xlim(0, (high or 1) * 1.08)
        marks = round_steps((high or 1) * 1.08, steps)
    shown = [mark for mark in marks if axes.get_xlim()[0] <= mark <= axes.get_xlim()[1]]
    axes.minorticks_off()
    ticks(axes, [(mark, f"${mark:g}" if is_cost else amount(round(mark))) for mark in shown])
    axes.set_ylim(-0.04, 1.04)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"], fontsize=SMALL, color=Colour.SOFT)
    axes.grid(axis="y", color=Colour.LINE, linewidth=0.8)


def round_steps(most: float, count: int) -> list[float]:
    """Return about `count` round numbers from 0 on."""
    if not most > 0 or not isfinite(most):
        return [0.0]
    power = 10.0 ** int(log10(most / count) - 1)
    step = next(
        step for factor in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if (step := factor * power) * count >= most
    )
    return [index * step for index in range(int(most / step) + 1)]
