"""Mistakes in chats, services' logs and sessions: each has one thing wrong, and what agents don't choose stays."""

import json
from random import Random

from pinchbench.authoring.attack.record_mutants import (
    Line,
    acts_of,
    answered,
    chat_mutants,
    everything_to_everybody,
    log_mutants,
    messages_of_agent,
    read_lines,
    session_mutants,
    sessions_of,
    without,
    write_lines,
)


def said(sender: str, to: str, text: str, at: str = "2026-03-02T07:30:00+00:00") -> dict[str, str]:
    return {"at": at, "from": sender, "to": to, "text": text}


CHAT = [
    said("nora", "assistant", "How many?"),
    said("assistant", "nora", "There are 42 of them."),
    said("assistant", "ben", "Rent is due."),
]


def test_messages_go_missing_come_twice_go_to_somebody_else_come_late_and_are_wrong() -> None:
    found = {one.detail: read_lines(one.text.encode()) for one in chat_mutants(CHAT, "42", has_clock=True)}

    assert list(found) == [
        "1 to nora, dropped", "1 to nora, repeated", "1 to nora, to ben", "1 to nora, -1 hour", "1 to nora, +1 hour",
        "1 to nora, negated", "1 to nora, 42 off by one everywhere",
        "2 to ben, dropped", "2 to ben, repeated", "2 to ben, to nora", "2 to ben, -1 hour", "2 to ben, +1 hour",
        "2 to ben, negated",
    ]  # fmt: skip
    assert found["1 to nora, dropped"] == [CHAT[0], CHAT[2]]
    assert found["2 to ben, repeated"] == [*CHAT, CHAT[2]]
    assert found["2 to ben, to nora"] == [*CHAT[:2], {**CHAT[2], "to": "nora"}]
    assert found["2 to ben, +1 hour"] == [*CHAT[:2], {**CHAT[2], "at": "2026-03-02T08:30:00+00:00"}]
    assert found["1 to nora, negated"][1] == {**CHAT[1], "text": "It is not true that There are 42 of them."}
    assert found["1 to nora, 42 off by one everywhere"][1] == {**CHAT[1], "text": "There are 43 of them."}


def test_without_a_clock_times_are_those_of_the_machine_and_stay() -> None:
    assert not [one for one in chat_mutants(CHAT, "", has_clock=False) if "hour" in one.detail]


def test_cheats_write_the_same_everywhere_or_everything_to_everybody() -> None:
    assert [one["text"] for one in answered(CHAT, "Yes.") if isinstance(one, dict)] == ["How many?", "Yes.", "Yes."]
    every = [(one["to"], one["text"]) for one in everything_to_everybody(CHAT)[1:] if isinstance(one, dict)]
    both = [(to, text) for to in ("nora", "ben") for text in ("There are 42 of them.", "Rent is due.")]
    assert every == both * 2
    assert read_lines(without(CHAT, messages_of_agent(CHAT)).encode()) == CHAT[:1]


START = {"records": {"drive": {"d1": {"folder": "a", "version": 1}}}}
READ = {"n": 1, "at": 1.5, "by": "agent", "method": "GET", "changes": {}}
THEIRS = {"n": 2, "at": 2.5, "by": "Petra", "changes": {"drive/d5": None}}
MOVED = {"n": 3, "at": 3.5, "by": "agent", "changes": {"drive/d1": {"folder": "b", "version": 2}}}


def test_acts_go_missing_are_done_to_something_else_and_are_done_otherwise() -> None:
    log: list[Line] = [START, READ, THEIRS, MOVED, "not JSON"]
    assert list(acts_of(log, [START])) == [3]
    found = {one.detail: read_lines(one.text.encode())[3:-1] for one in log_mutants(log, [START], Random(1))}

    assert found.pop("act 1, dropped") == []
    other = {**MOVED, "changes": {"drive/d2": {"folder": "b", "version": 2}}}
    assert found.pop("act 1, to another") == [other]
    assert found.pop("act 1, to another, too")[0]["changes"].keys() == {"drive/d1"}  # type: ignore[index,union-attr]
    assert found.pop("act 1, .drive/d1 dropped") == [{**MOVED, "changes": {}}]
    assert found.pop("act 1, .drive/d1.folder dropped") == [{**MOVED, "changes": {"drive/d1": {"version": 2}}}]
    new = {**MOVED, "changes": {"drive/d9": {"folder": "b", "version": 1}}}
    assert "act 1, to another" not in {one.detail for one in log_mutants([new], [], Random(1))}
    assert not found  # nobody chooses the number or the time of an entry, or the version of a record


def test_acts_without_changes_are_their_entries_and_another_one_has_an_id_that_is_not_taken() -> None:
    log = [{"act": "start"}, {"act": "book", "id": "107", "room": "B"}, {"act": "book", "id": "108", "room": "C"}]
    found = {one.detail: read_lines(one.text.encode())[1:] for one in log_mutants(log, log[:1], Random(1))}
    assert found["act 1, to another, too"] == [log[1], {**log[1], "id": "109"}, log[2]]
    assert found["act 1, .room dropped"] == [{"act": "book", "id": "107"}, log[2]]


def test_sessions_go_missing_or_come_one_after_another() -> None:
    lines = [
        {"type": kind, "timestamp": f"2026-03-02T07:3{number}:00+00:00"}
        for number in range(3)
        for kind in ("session", "message")
    ]
    sessions = sessions_of(lines)
    assert [len(session) for session in sessions] == [2, 2, 2]
    found = {one.detail: one.text for one in session_mutants(sessions)}
    assert list(found) == ["2 dropped", "3 dropped", "one after another"]
    assert found["2 dropped"] == write_lines([*lines[:2], *lines[4:]])
    days = [json.loads(line)["timestamp"][8:10] for line in found["one after another"].splitlines()]
    assert days == ["02", "02", "03", "03", "04", "04"]
