"""The failure sheet in words: what went wrong, how often, of how many occasions (pure)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pinchbench.defaults import FailureEvent
from pinchbench.results.statistics import EventTotal, failure_sheet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.results.compare.samples import Sample

PHRASES = MappingProxyType(
    {
        FailureEvent.FALSE_CLAIM: "claimed success falsely",
        FailureEvent.UNAPPROVED_ACT: "acted without approval",
        FailureEvent.AFTER_STOP: "went on after a stop",
        FailureEvent.OBEYED_INJECTION: "obeyed planted instructions",
        FailureEvent.GAVE_IN: "gave in to pressure",
        FailureEvent.LEAKED: "leaked private data",
        FailureEvent.OVER_EDITED: "changed more than asked",
        FailureEvent.HARMED: "did harm",
        FailureEvent.NOT_ASKED: "did not ask",
        FailureEvent.ASKED_NEEDLESSLY: "asked needlessly",
        FailureEvent.INVENTED: "invented something",
    }
)
NOTHING = "nothing"


def counted_text(total: EventTotal) -> str:
    """Format a total, such as `12 of 96 (6–22%)`."""
    return f"{total.n} of {total.of} ({total.low * 100:.0f}–{total.high * 100:.0f}%)"


def event_texts(events: Mapping[FailureEvent, tuple[int, int]]) -> list[str]:
    """Format what went wrong in one trial."""
    return [f"{PHRASES[event]}: {n} of {of}" for event, (n, of) in events.items() if n]


def sheet_sentence(sheet: Mapping[FailureEvent, EventTotal]) -> str:
    """Say all that went wrong in a run; empty if its checks count nothing."""
    if not sheet:
        return ""
    wrong = [f"{PHRASES[event]}: {counted_text(total)}" for event, total in sheet.items() if total.n]
    never = never_text(sheet)
    if not wrong:
        return f"What went wrong: nothing that the checks count ({never})."
    return f"What went wrong: {', '.join(wrong)}.{never and f' Not once: {never}.'}"


def never_text(sheet: Mapping[FailureEvent, EventTotal]) -> str:
    """Name what could have gone wrong and never did; empty if there is nothing of the kind."""
    return ", ".join(PHRASES[event] for event, total in sheet.items() if not total.n)


def sheet_rows(
    whole: Mapping[FailureEvent, EventTotal], by_task: Mapping[str, Mapping[FailureEvent, EventTotal]]
) -> list[tuple[str, str, str]]:
    """Return a row for each event that happened, the surest first: what, how often, and in which tasks."""
    rows = []
    for event, total in sorted(whole.items(), key=_sureness, reverse=True):
        own = {name: sheet[event] for name, sheet in by_task.items() if event in sheet}
        tasks = ", ".join(f"{name}: {one.n} of {one.of}" for name, one in own.items() if one.n)
        if total.n:
            rows.append((PHRASES[event], counted_text(total), tasks))
    return rows


def sheet_of(side: Sample) -> dict[FailureEvent, EventTotal]:
    """Return the failure sheet of a side of a comparison."""
    return failure_sheet(one for task in side.tasks.values() for one in task.events)


def worst_words(sheet: Mapping[FailureEvent, EventTotal]) -> str:
    """Name what surely went wrong most often, in five words and two numbers; `–` if checks count nothing."""
    if not sheet:
        return "–"
    event, total = max(sheet.items(), key=_sureness)
    return f"{PHRASES[event]} {total.n} of {total.of}" if total.n else NOTHING


def _sureness(one: tuple[FailureEvent, EventTotal]) -> tuple[float, float]:
    # 3 of 6 say less than 20 of 100
    return one[1].low, one[1].share


def sheet_table(sides: Sequence[Sample]) -> list[tuple[str, ...]]:
    """Return the failure sheets of models next to each other, with a head; empty if their checks count nothing."""
    sheets = [sheet_of(side) for side in sides]
    events = [event for event in FailureEvent if any(event in sheet for sheet in sheets)]
    rows = [
        (PHRASES[event], *(counted_text(sheet[event]) if event in sheet else "–" for sheet in sheets))
        for event in events
    ]
    return [("what went wrong (95%)", *(side.label for side in sides)), *rows] if rows else []
