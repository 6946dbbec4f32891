"""One wrong value."""

import csv
import io
import json
from collections import Counter
from random import Random

import pytest

from pinchbench.authoring.attack.data_mutants import (
    MutantKind,
    calendar_mutants,
    negated,
    off_by_one,
    prose_mutants,
    record_mutants,
    table_mutants,
)


@pytest.mark.parametrize(
    ("value", "raised"),
    [
        ("9", "10"),
        ("2026-03-01", "2026-03-02"),
        ("09:59", "09:60"),
        ("r07.txt", "r08.txt"),
        ("12.50", "13.50"),
        ("-12,5 EUR", "-13,5 EUR"),
        ("none", None),
        ("", None),
    ],
)
def test_the_last_number_is_raised_and_keeps_its_width(value: str, raised: str | None) -> None:
    assert off_by_one(value) == raised


def test_a_number_that_the_check_names_is_wrong_wherever_the_text_has_it() -> None:
    text = "# 12 March\n\nIt cost 1246.41 EUR, of 99 rooms; 1246.41 in all, 312.\n"
    found = [(one.detail, one.text) for one in prose_mutants(text, 'has("1246.41") and has("12") and has("3")')]
    assert found[1:] == [
        ("12 off by one everywhere", text.replace("# 12 ", "# 13 ")),
        ("1246.41 off by one everywhere", text.replace("1246.41", "1247.41")),
    ]


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("It is open. It costs 12.50 EUR.\n", "{}It is open. {}It costs 12.50 EUR.\n"),
        ("# Notes\n\nIt opens\nMondays\n\n**Cost:** 3\n", "# Notes\n\n{}It opens\nMondays\n\n{}**Cost:** 3\n"),
        ("- One\n2. Two\n> Three\n", "- {}One\n2. {}Two\n> {}Three\n"),
        ("key box: 8826\nday off: Sunday\n", "{}key box: 8826\n{}day off: Sunday\n"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", "| a | b |\n|---|---|\n| 1 | 2 |\n"),
    ],
)
def test_a_text_is_denied_in_its_own_words(text: str, denied: str) -> None:
    assert negated(text) == denied.replace("{}", "It is not true that ")


RECORD = {
    "n": 3,
    "ok": True,
    "items": [{"id": "x1", "at": "09:30"}, {"id": "x2", "at": "10:30"}],
    "why": "it is said so here",
}


def test_each_mutant_has_one_mistake_and_says_which() -> None:
    found = {mutant.detail: json.loads(mutant.text) for mutant in record_mutants(json.dumps(RECORD), Random(1))}
    assert found[".n off by one"] == {**RECORD, "n": 4}
    assert found[".ok negated"] == {**RECORD, "ok": False}
    assert found[".items dropped"] == {key: value for key, value in RECORD.items() if key != "items"}
    assert found[".items[0] dropped"]["items"] == [{"id": "x2", "at": "10:30"}]
    assert len(found[".items[1] repeated"]["items"]) == 3
    assert found[".items[0].at off by one"]["items"][0] == {"id": "x1", "at": "09:31"}
    assert found[".items[1].id and .at swapped"]["items"][1] == {"id": "10:30", "at": "x2"}
    assert not any("why off" in detail or "why and" in detail for detail in found)
    assert all(value != RECORD for value in found.values())


TABLE = 'id,name,sum,note\n1,"A, B",10.00,this is free text\n2,C,20.00,other free text here\n3,C,30.00,\n'


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_rows_are_dropped_and_repeated_and_each_column_gets_a_wrong_value() -> None:
    mutants = list(table_mutants(TABLE, Random(1)))
    kinds = Counter(mutant.kind for mutant in mutants)
    assert kinds == {
        MutantKind.DROPPED: 3,
        MutantKind.REPEATED: 1,
        MutantKind.OFF_BY_ONE: 2,  # of the id and the sum
        MutantKind.SWAPPED: 2,  # of the name and the sum; prose is left alone
    }
    right = rows(TABLE)
    for mutant in mutants:
        wrong = rows(mutant.text)
        assert wrong[0] == right[0]
        if mutant.kind is MutantKind.DROPPED:
            assert len(wrong) == 3
        elif mutant.kind is MutantKind.REPEATED:
            assert len(wrong) == 5
        else:
            differing = sum(
                one != other for a, b in zip(wrong, right, strict=True) for one, other in zip(a, b, strict=True)
            )
            assert differing == (1 if mutant.kind is MutantKind.OFF_BY_ONE else 2)


EVENT = (
    "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;TZID=Europe/Vienna:20260301T090000\r\n"
    "DTEND:20260301T100000Z\r\nSUMMARY:Tea\r\nEND:VEVENT\r\n"
)
CALENDAR = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{EVENT}END:VCALENDAR\r\n"


def test_events_and_their_properties_are_dropped_and_moved() -> None:
    found = {mutant.detail: mutant.text for mutant in calendar_mutants(CALENDAR, Random(1))}
    assert found.keys() == {
        "event 1 dropped",
        "event 1, line 5, DTSTART off by one",
        "event 1, line 5, DTSTART dropped",
        "event 1, line 6, DTEND off by one",
        "event 1, line 6, DTEND dropped",
        "event 1, line 7, SUMMARY dropped",
    }
    assert found["event 1 dropped"] == CALENDAR.replace(EVENT, "")
    assert "TZID=Europe/Vienna:20260301T100000\r\n" in found["event 1, line 5, DTSTART off by one"]
    assert "DTEND:20260301T110000Z\r\n" in found["event 1, line 6, DTEND off by one"]
    assert found["event 1, line 7, SUMMARY dropped"] == CALENDAR.replace("SUMMARY:Tea\r\n", "")
