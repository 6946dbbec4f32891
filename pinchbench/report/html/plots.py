"""Lay out the plots of pages in pixels: scores and differences in rows (pure). A macro writes them as SVG."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.report.text import short_names
from pinchbench.results.compare.verdict import signed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinchbench.results.compare.paired_difference import Difference
    from pinchbench.results.statistics import Estimate

    Scale = Callable[[float], float]  # from a value to pixels

WIDE, NARROW = 1110.0, 330.0  # pixels
LETTER = 7.2  # pixels: approximate width of a letter
PAD = 8.0  # pixels between an axis and a text next to it
ROW = 27.0
LEAST_REACH = 0.1  # of an axis of differences, so that small differences look small
STEPS = (0.05, 0.1, 0.2, 0.25, 0.5)
ENDS = ("← worse", "better →")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """An SVG path. `look` is a class of style.css; `stroke` is a line's width."""

    d: str
    look: str
    stroke: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """A text, vertically centred at `y`. `anchor` says which part of it is at `x`: `start`, `middle` or `end`."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    look: str = "soft"


@dataclass(kw_only=True, slots=True)
class Picture:
    """A plot of one width, drawn in the order of `shapes`, then `labels`; `left` to `bottom` are its margins."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    shapes: list[Shape] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    @property
    def end(self) -> float:
        """The right edge of the axes."""
        return self.width - self.right

    @property
    def base(self) -> float:
        """The bottom edge of the axes."""
        return self.height - self.bottom

    def row(self, number: int) -> float:
        """Return the middle of a row, of those below each other."""
        return self.top + (number + 0.5) * ROW

    def line(self, look: str, stroke: float, *points: tuple[float, float]) -> None:
        """Add a line through points."""
        d = "L".join(f"{_px(x)} {_px(y)}" for x, y in points)
        self.shapes.append(Shape(d=f"M{d}", look=f"line {look}", stroke=stroke))

    def dot(self, look: str, x: float, y: float, size: float) -> None:
        """Add a circle that is `size` wide."""
        radius, wide = _px(size / 2), _px(size)
        d = f"M{_px(x - size / 2)} {_px(y)}a{radius} {radius} 0 1 1 {wide} 0a{radius} {radius} 0 1 1 -{wide} 0z"
        self.shapes.append(Shape(d=d, look=look))

    def label(self, x: float, y: float, text: str, anchor: str = "start", look: str = "soft") -> None:
        """Add a text."""
        self.labels.append(Label(x=round(x, 2), y=round(y, 2), text=text, anchor=anchor, look=look))

    def x_ticks(self, marks: Sequence[tuple[float, str]]) -> None:
        """Add lines of the grid at these places of the x-axis, and their labels below it."""
        for x, text in marks:
            self.line("grid", 0.8, (x, self.top), (x, self.base))
            self.label(x, self.base + 12, text, "middle")


Drawing = dict[str, Picture]  # `wide` and `narrow`


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRow:
    """A score in 0-1 with its interval, and a note next to it. `spent` is what it took, in dollars or tokens."""

    name: str
    score: Estimate
    note: str = ""
    spent: float = 0.0


def draw_scores(rows: Sequence[ScoreRow], best: Sequence[ScoreRow] = ()) -> Drawing:
    """Draw a dot with its interval for each row; with some `best`, the others have another colour."""
    return {"wide": _scores(rows, best or rows, WIDE), "narrow": _scores(rows, best or rows, NARROW)}


def _scores(rows: Sequence[ScoreRow], best: Sequence[ScoreRow], width: float) -> Picture:
    picture = _named_rows([one.name for one in rows], width, most=0.42, right=98.0, top=4.0)
    x = _linear(0, 1, picture.left, picture.end)
    picture.x_ticks([(x(value), f"{value:g}") for value in (0, 0.25, 0.5, 0.75, 1)])
    for row, one in enumerate(rows):
        y, mean, low, high = picture.row(row), one.score.mean, one.score.low, one.score.high
        if low is not None and high is not None:
            picture.line("ink", 1.6, (x(low), y), (x(high), y))
            for end in (x(low), x(high)):
                picture.line("ink", 1.6, (end, y - 0.15 * ROW), (end, y + 0.15 * ROW))
        if mean is not None:
            picture.dot("accent" if one in best else "left", x(mean), y, 9)
        picture.label(picture.end + PAD, y, "–" if mean is None else f"{mean:.2f}", look="name whole")
        picture.label(picture.end + 44, y, one.note)
    return picture


def _named_rows(names: Sequence[str], width: float, *, most: float, right: float, top: float) -> Picture:
    """Return a picture with a row for each name, which takes this part of the width at most."""
    left = min(most * width, 14.0 + LETTER * max(map(len, names)))
    height = top + 25.0 + ROW * len(names)
    picture = Picture(width=width, height=height, left=left, right=right, top=top, bottom=25.0)
    short = short_names(names, max(4, int((left - 10) / LETTER)))
    for row, name in enumerate(names):
        picture.label(left - PAD, picture.row(row), short[name], "end", "name")
    return picture


def draw_forest(rows: Sequence[tuple[str, Difference]]) -> Drawing:
    """Draw differences to a baseline, all of them known, one below the other around a line at 0."""
    return {"wide": _forest(rows, WIDE), "narrow": _forest(rows, NARROW)}


def _forest(rows: Sequence[tuple[str, Difference]], width: float) -> Picture:
    picture = _named_rows([name for name, _ in rows], width, most=0.36, right=54.0, top=24.0)
    far = max(abs(value) for _, one in rows for value in (one.mean, one.low, one.high) if value is not None)
    reach = min(1.02, max(LEAST_REACH, far * 1.05))
    x = _linear(-reach, reach, picture.left, picture.end)
    step = next((one for one in STEPS if reach / one <= (2 if width == NARROW else 5)), 1.0)
    count = int(reach / step + 1e-9)
    marks = [step * number for number in range(-count, count + 1)]
    picture.x_ticks([(x(mark), f"{mark:+g}".replace("-", "−") if mark else "0") for mark in marks])
    picture.line("axis", 1.2, (x(0), picture.top), (x(0), picture.base))
    picture.label(picture.left, picture.top - 12, ENDS[0])
    picture.label(picture.end, picture.top - 12, ENDS[1], "end")
    for row, (_, one) in enumerate(rows):
        y, mean = picture.row(row), one.mean or 0.0
        picture.label(picture.end + PAD, y, signed(mean), look="ink")
        if one.low is None or one.high is None:
            picture.line("accent-soft", 5, (x(0), y), (x(mean), y))
        else:
            picture.line("accent", 1.5, (x(one.low), y), (x(one.high), y))
        picture.dot("accent", x(mean), y, 7 if one.low is not None else 4.5)
    return picture


def pareto_front(rows: Sequence[ScoreRow]) -> tuple[ScoreRow, ...]:
    """Return the rows to which no other is at least as good in both and better in one, the cheapest first.

    One with a score of 0 is never one of them, however cheap: it did nothing.
    """
    front: list[ScoreRow] = []
    best: tuple[float, float] = (0.0, 0.0)  # what the last of them has spent, and its score
    for row in sorted(rows, key=lambda one: (one.spent, -(one.score.mean or 0.0))):
        now = row.spent, row.score.mean or 0.0
        if now[1] > best[1] or (front and now == best):
            front.append(row)
            best = now
    return tuple(front)


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _px(value: float) -> str:
    return f"{round(value, 2):g}"
