"""Lay out the plots of pages in pixels: bars, differences and trade-offs (pure). A macro writes them as SVG."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, log10
from typing import TYPE_CHECKING

from pinchbench.report.text import amount, many, short_names
from pinchbench.results.compare.verdict import signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pinchbench.results.compare.paired_difference import Difference
    from pinchbench.results.statistics import Estimate

    Scale = Callable[[float], float]  # from a value to pixels

WIDE, HALF, NARROW = 1110.0, 540.0, 330.0  # pixels
FONT, LETTER = 12.0, 7.2  # pixels: size of the larger texts, and approximate width of a letter
SMALL_LETTER, LINE = 6.4, 14.0  # pixels: the same of smaller texts, and the height of a label
PAD = 8.0  # pixels between an axis and a text next to it

TRADE_OFF_HEIGHT = 300.0
MANY_TIMES = 30.0  # from cheapest to most expensive: larger ranges need a logarithmic axis
ROW = 27.0
LEAST_REACH = 0.1  # of an axis of differences, so that small differences look small
LEAST_RANGE = 0.2  # of the scores shown, for the same reason
STEPS = (0.05, 0.1, 0.2, 0.25, 0.5)
ENDS = ("← worse", "better →")
MOST_LABEL = 22  # characters of a variant's name at its point


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

    def dot(self, look: str, x: float, y: float, size: float, *, is_diamond: bool = False) -> None:
        """Add a circle, or a diamond, that is `size` wide."""
        self.shapes.append(Shape(d=_dot_outline(x, y, size, is_diamond=is_diamond), look=look))

    def label(self, x: float, y: float, text: str, anchor: str = "start", look: str = "soft") -> None:
        """Add a text."""
        self.labels.append(Label(x=round(x, 2), y=round(y, 2), text=text, anchor=anchor, look=look))

    def x_ticks(self, marks: Sequence[tuple[float, str]]) -> None:
        """Add lines of the grid at these places of the x-axis, and their labels below it."""
        for x, text in marks:
            self.line("grid", 0.8, (x, self.top), (x, self.base))
            self.label(x, self.base + 12, text, "middle")

    def y_ticks(self, marks: Sequence[tuple[float, str]]) -> None:
        """Add lines of the grid at these places of the y-axis, and their labels to its left."""
        for y, text in marks:
            self.line("grid", 0.8, (self.left, y), (self.end, y))
            self.label(self.left - 6, y, text, "end")


Drawing = dict[str, Picture]  # `wide` and `narrow`


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantPoint:
    """A variant: its cost per solved task in US dollars or the tokens of a trial, and its score in 0-1."""

    name: str
    spent: float
    score: float
    low: float | None = None
    high: float | None = None


def draw_bars(rows: Sequence[tuple[str, Estimate]]) -> Drawing:
    """Draw a dot with its interval for each category."""
    return {"wide": _bars(rows, WIDE), "narrow": _bars(rows, NARROW)}


def _bars(rows: Sequence[tuple[str, Estimate]], width: float) -> Picture:
    picture = _named_rows([name for name, _ in rows], width, most=0.42, right=98.0, top=4.0)
    x = _linear(0, 1, picture.left, picture.end)
    picture.x_ticks([(x(value), f"{value:g}") for value in (0, 0.25, 0.5, 0.75, 1)])
    for row, (_, one) in enumerate(rows):
        y = picture.row(row)
        if one.low is not None and one.high is not None:
            picture.line("ink", 1.6, (x(one.low), y), (x(one.high), y))
            for end in (x(one.low), x(one.high)):
                picture.line("ink", 1.6, (end, y - 0.15 * ROW), (end, y + 0.15 * ROW))
        if one.mean is not None:
            picture.dot("accent", x(one.mean), y, 9)
        number = "–" if one.mean is None else f"{one.mean:.2f}"
        picture.label(picture.end + PAD, y, number, look="name whole")
        picture.label(picture.end + 44, y, many(one.tasks, "task"))
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


def pareto_front(points: Sequence[VariantPoint]) -> tuple[VariantPoint, ...]:
    """Return the points to which no other is at least as good in both and better in one, the cheapest first.

    A point with a score of 0 is never one of them, however cheap: it did nothing.
    """
    front: list[VariantPoint] = []
    for point in sorted((one for one in points if one.score > 0), key=lambda one: (one.spent, -one.score)):
        last = front[-1] if front else None
        if last is None or point.score > last.score or (point.spent, point.score) == (last.spent, last.score):
            front.append(point)
    return tuple(front)


def draw_trade_off(points: Sequence[VariantPoint], *, is_cost: bool) -> Drawing:
    """Draw a point for each variant, and the front as a line of steps."""
    return {"wide": _trade_off(points, HALF, is_cost=is_cost), "narrow": _trade_off(points, NARROW, is_cost=is_cost)}


def _trade_off(points: Sequence[VariantPoint], width: float, *, is_cost: bool) -> Picture:
    picture = Picture(width=width, height=TRADE_OFF_HEIGHT, left=34.0, right=14.0, top=12.0, bottom=40.0)
    name = "cost per solved task" if is_cost else "mean tokens of a trial"
    x, most = _spent_axis(picture, [point.spent for point in points], name, is_cost=is_cost)
    low, high = _score_range(points)
    y = _linear(low - 0.02, high + 0.02, picture.base, picture.top)
    step = 0.1 if high - low <= 0.6 else 0.2  # noqa: PLR2004 - at most seven ticks
    marks = [low + step * place for place in range(int((high - low) / step + 1.5)) if low + step * place < high + 0.01]
    picture.y_ticks([(y(mark), f"{mark:.1f}") for mark in marks])
    front = pareto_front(points)
    steps: list[tuple[float, float]] = []
    for point, after in zip(front, [*(one.spent for one in front[1:]), most][: len(front)], strict=True):
        steps += [(x(point.spent), y(point.score)), (x(after), y(point.score))]
    if steps:
        picture.line("accent-soft", 2, *steps)
    for point in points:
        if point.low is not None and point.high is not None:
            picture.line("axis", 1, (x(point.spent), y(point.low)), (x(point.spent), y(point.high)))
    at = {point.name: (x(point.spent), y(point.score)) for point in points}
    for point in points:
        is_best = point in front
        picture.dot("accent dot" if is_best else "left dot", *at[point.name], 8, is_diamond=is_best)
    short = short_names([point.name for point in points], MOST_LABEL)
    for point_name, dx, dy, anchor in _label_places(at, picture):
        px, py = at[point_name]
        picture.label(px + dx, py + dy, short[point_name], anchor, "ink")
    return picture


def _score_range(points: Sequence[VariantPoint]) -> tuple[float, float]:
    """Return the range of the scores that occur, with their intervals, in tenths."""
    known = [value for point in points for value in (point.score, point.low, point.high) if value is not None]
    low, high = int(min(known) * 10) / 10, -int(-max(known) * 10 - 1) / 10
    if high - low < LEAST_RANGE:
        low -= 0.1
    return max(0.0, low), min(1.0, high)


def _label_places(at: Mapping[str, tuple[float, float]], picture: Picture) -> Iterator[tuple[str, float, float, str]]:
    """Yield where each name stands next to its point: the first of six places in which it covers no other."""
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in at.values()]
    for name, (x, y) in at.items():
        long = SMALL_LETTER * min(MOST_LABEL, len(name))
        places = ((9.0, 0.0, "start"), (-9.0, 0.0, "end"), (9.0, -LINE, "start"), (9.0, LINE, "start"),
                  (-9.0, -LINE, "end"), (-9.0, LINE, "end"))  # fmt: skip
        boxes = [(place, _text_box(x + place[0], y + place[1], long, place[2])) for place in places]
        boxes = [one for one in boxes if one[1][2] <= picture.end + 10] or boxes
        free = [
            one for one in boxes if one[1][0] >= picture.left and not any(_overlap(one[1], other) for other in taken)
        ]
        place, box = (free or boxes)[0]
        taken.append(box)
        yield name, *place


def _text_box(x: float, y: float, long: float, anchor: str) -> tuple[float, float, float, float]:
    left = x if anchor == "start" else x - long
    return left, y - LINE / 2, left + long, y + LINE / 2


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _spent_axis(picture: Picture, values: Sequence[float], name: str, *, is_cost: bool) -> tuple[Scale, float]:
    """Draw the x-axis of what was spent (US dollars or tokens). Return its scale and its largest value."""
    low, high = min(values), max(values)
    is_log = low > 0 and high / low > MANY_TIMES
    if is_log:
        least, most = low / 1.3, high * 1.3
        marks = [10.0**power for power in range(int(log10(low)) - 2, int(log10(high)) + 2)]
        x = _logarithmic(least, most, picture.left, picture.end)
    else:
        least, most = 0.0, (high or 1) * 1.08
        marks = _round_steps(most, 5 if picture.width > NARROW else 3)
        x = _linear(least, most, picture.left, picture.end)
    shown = [mark for mark in marks if least <= mark <= most]
    picture.x_ticks([(x(mark), f"${mark:g}" if is_cost else amount(round(mark))) for mark in shown])
    picture.label((picture.left + picture.end) / 2, picture.base + 29, name, "middle")
    return x, most


def _round_steps(most: float, count: int) -> list[float]:
    """Return about `count` round numbers from 0 on."""
    if not most > 0 or not isfinite(most):
        return [0.0]
    power = 10.0 ** int(log10(most / count) - 1)
    step = next(
        step for factor in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if (step := factor * power) * count >= most
    )
    return [index * step for index in range(int(most / step) + 1)]


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    linear = _linear(log10(low), log10(high), start, end)
    return lambda value: linear(log10(value))


def _dot_outline(x: float, y: float, size: float, *, is_diamond: bool) -> str:
    if is_diamond:
        half = size * 0.7071  # half the diagonal of a square whose side is `size`
        step = _px(half)
        return f"M{_px(x - half)} {_px(y)}l{step} {_px(-half)} {step} {step} {_px(-half)} {step}z"
    radius = _px(size / 2)
    return (
        f"M{_px(x - size / 2)} {_px(y)}a{radius} {radius} 0 1 1 {_px(size)} 0a{radius} {radius} 0 1 1 {_px(-size)} 0z"
    )


def _px(value: float) -> str:
    return f"{round(value, 2):g}"
