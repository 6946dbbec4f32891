"""What each slot did when, on an axis without the pauses and long idle times of the whole run, and its plot (pure)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import fsum, isfinite
from typing import TYPE_CHECKING, NamedTuple

from pinchbench.report.html.plots import NARROW, PAD, WIDE, Drawing, Picture, Shape, box_outline, round_steps
from pinchbench.report.html.safe_text import safe_line
from pinchbench.report.html.task_rows import Stage
from pinchbench.report.text import duration, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey

LONG_REST_S = 300.0  # during which all slots were idle
REST_SHARE = 0.02  # of the axis is kept for such a rest
LANE = 27.0  # pixels, as those below
MIN_BAR = {WIDE: 2.5, NARROW: 4.0}  # narrower bars are merged with their neighbours
MOST_NODE = 60  # characters of a node's name above its lanes
NODE_END = 7  # of them: the part that tells nodes of one host apart


LOOKS = {Stage.PASSED: "agent", Stage.UNGRADED: "agent", Stage.FAILED: "bad"}  # of bars; others are left out


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One attempt at a trial in its slot. All times are in seconds on the axis: `start <= agent <= end`.

    `node` is where it ran in a cluster. `agent` is when the agent started, `stop` when it ended. `grading` is when
    grading started and `graded` when it ended: both None if the grade was given after the run, or never. It may have
    waited in between, even for the run's resumption.
    """

    key: TrialKey
    attempt: int
    slot: int
    stage: Stage
    start: float
    agent: float
    stop: float
    end: float
    grading: float | None = None
    graded: float | None = None
    node: str = ""


class IdleGap(NamedTuple):
    """An idle time of the whole run: its position on the axis, and its duration in seconds."""

    at: float
    until: float
    rest_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """The attempts of each slot in chronological order. `length_s` is the axis's length; other durations are sums.

    A lane is a slot on a node, whose name is empty in a run of one machine; those of one node are next to each other.
    """

    lanes: Mapping[tuple[str, int], tuple[Span, ...]]
    cuts: tuple[IdleGap, ...]
    length_s: float
    agent_s: float
    setup_s: float
    grading_s: float
    idle_s: float

    @property
    def slots(self) -> int:
        """How many slots the run had: one that moved to another node has a lane on each."""
        return len({slot for _, slot in self.lanes})


def timeline(
    attempts: Iterable[tuple[Outcome, Stage]],
    grades: Mapping[tuple[TrialKey, int], Grade],
    *,
    end: float | None,
    resumed: Sequence[float] = (),
) -> Timeline | None:
    """Lay out all attempts of a run, whose pauses end at the times in `resumed`.

    `end` is when the run ended, None if unknown. Both are in seconds since the epoch. Returns None if no attempt has a
    time.
    """
    made_here = ((one, stage) for one, stage in attempts if not one.reused_from)
    timed = [(one, stage) for one, stage in made_here if 0 < one.started_at <= one.ended_at and isfinite(one.ended_at)]
    if not timed:
        return None
    on_axis, cuts = _axis([(one.started_at, one.ended_at) for one, _ in timed], resumed)
    lanes: dict[tuple[str, int], list[Span]] = defaultdict(list)
    grading_s: list[float] = []
    for one, stage in sorted(timed, key=lambda pair: (pair[0].started_at, pair[0].key, pair[0].attempt)):
        grade = grades.get((one.key, one.attempt))
        in_run = grade if grade is not None and (end is None or grade.graded_at <= end) else None
        lanes[one.node, one.slot].append(_span(one, stage, on_axis, in_run))
        if in_run is not None:
            grading_s.append(_graded_for(one, in_run))
    spans = [span for lane in lanes.values() for span in lane]
    length_s = max(span.end for span in spans)
    cut_s = fsum(cut.until - cut.at for cut in cuts)
    busy_s = fsum(span.end - span.start for span in spans)
    return Timeline(
        lanes={lane: tuple(lanes[lane]) for lane in sorted(lanes)},
        cuts=tuple(cuts),
        length_s=length_s,
        agent_s=fsum(span.stop - span.agent for span in spans),
        setup_s=fsum(span.agent - span.start for span in spans),
        grading_s=fsum(grading_s),
        idle_s=max(0.0, (length_s - cut_s) * len({slot for _, slot in lanes}) - busy_s),
    )


def _graded_for(one: Outcome, grade: Grade) -> float:
    """Return the duration of an attempt's grading in seconds, at most the time since the agent ended."""
    return max(0.0, min(grade.took_s, grade.graded_at - one.ended_at))


def _span(one: Outcome, stage: Stage, on_axis: Callable[[float], float], grade: Grade | None) -> Span:
    start, stop = on_axis(one.started_at), on_axis(one.ended_at)
    agent = min(stop, start + max(0.0, one.setup_s))
    grading = graded = None
    if grade is not None and grade.graded_at >= one.ended_at:
        grading, graded = on_axis(grade.graded_at - _graded_for(one, grade)), on_axis(grade.graded_at)
    return Span(
        key=one.key,
        attempt=one.attempt,
        slot=one.slot,
        stage=stage,
        start=start,
        agent=agent,
        stop=min(stop, agent + max(0.0, one.execution_time_s)),
        end=stop,
        grading=grading,
        graded=graded,
        node=one.node,
    )


def _axis(
    spans: Sequence[tuple[float, float]], resumed: Sequence[float]
) -> tuple[Callable[[float], float], list[IdleGap]]:
    """Map times of day to the axis, which starts with the first span and shortens pauses and long idle times."""
    ordered = sorted(spans)
    first = until = ordered[0][0]
    rests: list[tuple[float, float]] = []
    for start, end in ordered:
        if start - until > LONG_REST_S or any(until < at <= start for at in resumed):
            rests.append((until, start))
        until = max(until, end)
    busy_s = until - first - fsum(end - start for start, end in rests)
    kept_s = max(1.0, REST_SHARE * busy_s)

    def on_axis(at: float) -> float:
        lost = 0.0
        for start, end in rests:
            if at >= end:
                lost += end - start - kept_s
            elif at > start:
                lost += (at - start) * (1 - kept_s / (end - start))
        return at - first - lost

    return on_axis, [IdleGap(at=on_axis(start), until=on_axis(end), rest_s=end - start) for start, end in rests]


def draw_timeline(line: Timeline, *, url: Callable[[Span], str], title: Callable[[Span], str]) -> Drawing:
    """Draw a lane for each slot, those of a node of a cluster below its name.

    `url` returns a bar's link, `title` its tooltip.
    """
    return {"wide": _draw(line, WIDE, url, title), "narrow": _draw(line, NARROW, url, title)}


def _draw(line: Timeline, width: float, url: Callable[[Span], str], title: Callable[[Span], str]) -> Picture:
    left, right = (54.0, 12.0) if width == WIDE else (26.0, 8.0)
    rows = list(_lanes(line))
    picture = Picture(width=width, height=30.0 + LANE * len(rows), left=left, right=right, top=6.0, bottom=24.0)
    length = line.length_s or 1.0
    unit = length / (picture.end - left)  # seconds per pixel
    picture.x_ticks([(left + at / unit, _clock(at)) for at in _time_steps(length, 9 if width == WIDE else 3)])
    boxes: dict[str, list[tuple[float, float, float, float]]] = {"idle": [], "setup": [], "grading": []}
    bars: list[Shape] = []
    for row, (node, slot, spans) in enumerate(rows):
        y = picture.top + (row + 0.5) * LANE
        if slot is None:
            picture.label(4.0, y, node, look="ink")
            continue
        picture.label(left - PAD, y, f"slot {slot}" if width == WIDE else str(slot), "end")
        upper, thick = y - 0.36 * LANE, 0.56 * LANE
        boxes["idle"].append((left, upper, picture.end - left, thick))
        boxes["setup"] += [
            (left + span.start / unit, upper, (span.agent - span.start) / unit, thick)
            for span in spans
            if span.agent > span.start
        ]
        boxes["grading"] += [
            (left + start / unit, y + 0.26 * LANE, (min(end, length) - start) / unit, 0.14 * LANE)
            for start, end in _joined(spans, unit)
            if start < length
        ]
        for group in _grouped(spans, MIN_BAR[width] * unit):
            first, last = group[0], group[-1]
            worst = min((span.stage for span in group), key=list(Stage).index)
            long = (max(last.stop, first.agent + unit) - first.agent) / unit
            more = "" if len(group) == 1 else f" – and {len(group) - 1} more until {last.key}"
            bars.append(
                Shape(
                    # keep a narrow gap between two bars
                    d=box_outline(left + first.agent / unit, upper, long - min(0.6, long / 4), thick),
                    look=LOOKS.get(worst, "left"),
                    href=url(first),
                    title=f"{title(first)}{more}",
                )
            )
    for look, own in boxes.items():
        picture.boxes(look, own)
    picture.shapes += bars
    for cut in line.cuts:
        start, end = left + cut.at / unit, left + cut.until / unit
        middle = (start + end) / 2
        picture.boxes("paper", [(start, picture.top, end - start, picture.base - picture.top)])
        picture.line("axis dashed", 1, (middle, picture.top), (middle, picture.base))
    return picture


def _lanes(line: Timeline) -> Iterator[tuple[str, int | None, tuple[Span, ...]]]:
    """Yield the rows from the top: the name of a node of a cluster, without a slot, and then each of its slots."""
    before = ""
    for (node, slot), spans in line.lanes.items():
        if node != before:
            yield shorten(safe_line(node), MOST_NODE, end=NODE_END), None, ()
        yield node, slot, spans
        before = node


def _grouped(spans: Sequence[Span], least: float) -> Iterator[list[Span]]:
    """Yield single bars, and groups of those that would be too narrow to see or click."""
    group: list[Span] = []
    for span in spans:
        # bars on both sides of a cut, or of a long wait, are not merged
        if group and span.start - group[-1].end > least:
            yield group
            group = []
        group.append(span)
        if span.stop - group[0].agent >= least:
            yield group
            group = []
    if group:
        yield group


def _joined(spans: Sequence[Span], unit: float) -> Iterator[tuple[float, float]]:
    """Yield when trials of a slot were being graded, with overlapping times merged."""
    whole: tuple[float, float] | None = None
    times = ((span.grading, span.graded) for span in spans if span.grading is not None and span.graded is not None)
    for start, end in sorted(times):
        if whole is not None and start <= whole[1] + unit / 2:
            whole = (whole[0], max(whole[1], end))
            continue
        if whole is not None:
            yield whole
        whole = (start, end)
    if whole is not None:
        yield whole


def _time_steps(length_s: float, count: int) -> list[float]:
    units = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
    step = next((unit for unit in units if length_s / unit <= count), None)
    if step is None:
        return round_steps(length_s, count)
    return [float(index * step) for index in range(int(length_s / step) + 1)]


def _clock(seconds: float) -> str:
    """Format the time since the start as briefly as an axis needs it: `45 s`, `5 min`, `1:30 h`."""
    whole = round(seconds)
    if not whole:
        return "0"
    if whole < 60:  # noqa: PLR2004 - a minute
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004 - an hour
        return f"{whole // 60} min" if not whole % 60 else f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600} h" if not whole % 3600 else f"{whole // 3600}:{whole % 3600 // 60:02d} h"


def where_the_time_went(line: Timeline) -> str:
    """Describe the timeline in a sentence, as its text alternative."""
    slots = line.slots
    length_s = line.length_s - sum(cut.until - cut.at for cut in line.cuts)
    total = (line.agent_s + line.setup_s + line.idle_s) or 1.0
    shares = (("agents", line.agent_s), ("set-up", line.setup_s), ("idle", line.idle_s))
    told = ", ".join(f"{name} {value / total * 100:.0f}%" for name, value in shares)
    grading = f"; grading, in parallel, {duration(line.grading_s)} in all" if line.grading_s else ""
    rests = f"; {duration(sum(cut.rest_s for cut in line.cuts))} of rest cut out" if line.cuts else ""
    return f"{slots} {'slot' if slots == 1 else 'slots'} for {duration(length_s)}: {told}{grading}{rests}"
