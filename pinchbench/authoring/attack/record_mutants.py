"""Mistakes in what is recorded outside of a workspace: the chat, the logs of services, sub-agents' sessions (pure)."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from pinchbench.authoring.attack.data_mutants import MutantKind, TextMutant, off_by_one, prose_mutants, record_mutants

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from random import Random

AGENT = "assistant"  # in the chat
SERVED = "agent"  # in an office's log
NOTED = frozenset({"at", "n", "by", "version"})  # what a service notes of its own accord

Entry: TypeAlias = "dict[str, Any]"
Line: TypeAlias = "Entry | str"  # a text is a line that is no JSON object
Edit: TypeAlias = "tuple[MutantKind, str, list[Line]]"  # what is wrong, in words, and the lines in place of one


def read_lines(data: bytes) -> list[Line]:
    """Return the lines of a record, those that are JSON objects as such."""
    return [_line(text) for text in data.decode("utf-8", "replace").splitlines()]


def _line(text: str) -> Line:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


def write_lines(lines: Sequence[Line]) -> str:
    """Return lines as a record has them."""
    return "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)


def without(lines: Sequence[Line], places: Container[int]) -> str:
    """Return a record that lacks the lines at some places."""
    return write_lines([line for place, line in enumerate(lines) if place not in places])


def messages_of_agent(chat: Sequence[Line]) -> dict[int, Entry]:
    """Return what the agent has written in a chat, by place."""
    return {place: one for place, one in enumerate(chat) if isinstance(one, dict) and one.get("from") == AGENT}


def answered(chat: Sequence[Line], text: str) -> list[Line]:
    """Return a chat in which the agent has written the same text every time."""
    mine = messages_of_agent(chat)
    return [{**mine[place], "text": text} if place in mine else one for place, one in enumerate(chat)]


def everything_to_everybody(chat: Sequence[Line]) -> list[Line]:
    """Return a chat in which each message of the agent is sent to everybody, whenever one is due."""
    mine = messages_of_agent(chat)
    every = {(one["to"], message["text"]): None for one in mine.values() for message in mine.values()}
    return [
        line
        for place, one in enumerate(chat)
        for line in ([{**mine[place], "to": to, "text": text} for to, text in every] if place in mine else [one])
    ]


def chat_mutants(chat: Sequence[Line], code: str, *, has_clock: bool) -> Iterator[TextMutant]:
    """Return mutants of a chat: messages of the agent missing, repeated, to another person, wrong, at a wrong time.

    Times are an hour off, and only where the task has a clock: otherwise they are those of the machine.
    """
    people = sorted({one[end] for one in chat if isinstance(one, dict) for end in ("from", "to")} - {AGENT})
    for number, (place, message) in enumerate(messages_of_agent(chat).items(), 1):
        to, at = message["to"], datetime.fromisoformat(message["at"])
        other = people[(people.index(to) + 1) % len(people)]
        edits: list[Edit] = [(MutantKind.DROPPED, "dropped", []), (MutantKind.REPEATED, "repeated", [message, message])]
        if other != to:
            edits.append((MutantKind.SWAPPED, f"to {other}", [{**message, "to": other}]))
        for hours in (-1, 1) if has_clock else ():
            late = (at + timedelta(hours=hours)).isoformat()
            edits.append((MutantKind.OFF_BY_ONE, f"{hours:+} hour", [{**message, "at": late}]))
        wrong = prose_mutants(message["text"], code)
        edits += [(one.kind, one.detail, [{**message, "text": one.text}]) for one in wrong]
        yield from _edited(chat, place, f"{number} to {to}", edits)


def _edited(lines: Sequence[Line], place: int, name: str, edits: Sequence[Edit]) -> Iterator[TextMutant]:
    for kind, detail, new in edits:
        text = write_lines([*lines[:place], *new, *lines[place + 1 :]])
        yield TextMutant(kind=kind, detail=f"{name}, {detail}", text=text)


def acts_of(log: Sequence[Line], idle: Container[Line]) -> dict[int, tuple[Entry, Entry]]:
    """Return the entries of a service's log for what the agent has done, by place: each, and its part that says what.

    `idle` are the lines without the agent.

    An entry says what was done in its `changes`, or is an act as a whole if it has an `act`; `by` says who did it.
    """
    found = {}
    for place, entry in enumerate(log):
        if isinstance(entry, dict) and entry not in idle and entry.get("by", SERVED) == SERVED:
            whole = {key: value for key, value in entry.items() if key not in NOTED} if "act" in entry else {}
            if act := entry.get("changes", whole):
                found[place] = entry, act
    return found


def log_mutants(log: Sequence[Line], idle: Container[Line], rng: Random) -> Iterator[TextMutant]:
    """Return mutants of a service's log: acts missing, done to another thing or to that one, too, or in another way."""
    acts = acts_of(log, idle)
    taken = {str(name) for _, act in acts.values() for name in (*act, act.get("id"))}
    for number, (place, (entry, act)) in enumerate(acts.items(), 1):
        other = _of_another(act, taken)
        edits: list[Edit] = [(MutantKind.DROPPED, "dropped", [])]
        if other != act and not any(isinstance(one, dict) and one.get("version") == 1 for one in act.values()):
            edits.append((MutantKind.SWAPPED, "to another", [_doing(entry, other)]))  # what is new is numbered there
        if other != act:
            edits.append((MutantKind.REPEATED, "to another, too", [entry, _doing(entry, other)]))
        inner = record_mutants(json.dumps(act), rng, free=NOTED | {"id"})
        edits += [(one.kind, one.detail, [_doing(entry, json.loads(one.text))]) for one in inner]
        yield from _edited(log, place, f"act {number}", edits)


def _doing(entry: Entry, act: Entry) -> Entry:
    """Return an entry for another act."""
    noted = {key: value for key, value in entry.items() if key in NOTED}
    return {**entry, "changes": act} if "changes" in entry else {**noted, **act}


def _of_another(act: Entry, taken: Container[str]) -> Entry:
    """Return an act that is done to the next thing that is not `taken`; the act itself if things have no numbers."""

    def another(name: str) -> str:
        new = off_by_one(name) or name
        while new in taken and new != name:
            name, new = new, off_by_one(new) or new
        return new

    return {another(key) if "/" in key else key: another(value) if key == "id" else value for key, value in act.items()}


def sessions_of(transcript: Sequence[Line]) -> list[list[Line]]:
    """Return the sessions of a transcript: the agent's own first, then those of sub-agents."""
    begins = [place for place, one in enumerate(transcript) if isinstance(one, dict) and one.get("type") == "session"]
    return [list(transcript[first:last]) for first, last in zip(begins, [*begins[1:], None], strict=True)]


def session_mutants(sessions: Sequence[Sequence[Line]]) -> Iterator[TextMutant]:
    """Return mutants of a transcript with sub-agents: each of their sessions missing, and all one after another."""
    for number in range(1, len(sessions)):
        rest = write_lines([line for place, lines in enumerate(sessions) if place != number for line in lines])
        yield TextMutant(kind=MutantKind.DROPPED, detail=f"{number + 1} dropped", text=rest)
    later = write_lines([_later(line, days) for days, lines in enumerate(sessions) for line in lines])
    yield TextMutant(kind=MutantKind.OFF_BY_ONE, detail="one after another", text=later)


def _later(line: Line, days: int) -> Line:
    if isinstance(line, str) or not isinstance(line.get("timestamp"), str):
        return line
    return {**line, "timestamp": (datetime.fromisoformat(line["timestamp"]) + timedelta(days)).isoformat()}
