"""Which rows of a large table a page shows, and where its links lead."""

from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

import pytest

from pinchbench.serve.site_table import PAGE_ROWS, Table, Value, shown_table

Row = tuple[str, float | None]
FIELDS: Mapping[str, Callable[[Row], Value]] = {
    "name": lambda row: row[0],
    "score": lambda row: row[1],
    "kind": lambda row: row[0].partition(" ")[0],
}


def _table(rows: list[Row], query: str) -> Table[Row]:
    return shown_table(rows, parse_qsl(query), fields=FIELDS, columns=("name", "score"), choices=("kind",))


def test_a_table_is_cut_into_pages_that_lead_to_each_other_and_keep_the_query() -> None:
    rows: list[Row] = [
        (f"{'old' if number < 50 else 'row'} {number:03d}", float(number)) for number in range(2 * PAGE_ROWS + 50)
    ]

    first = _table(rows, "kind=row&sort=name")
    second = _table(rows, first.after.removeprefix("?"))
    back = _table(rows, second.before.removeprefix("?"))

    assert (first.total, first.matching, first.first, first.last) == (450, 400, 1, 200)
    assert [row[0] for row in second.rows[:1]] == ["row 250"]
    assert (second.first, second.last) == (201, 400)
    assert not first.before
    assert not second.after
    assert dict(parse_qsl(second.before.removeprefix("?"))) == {"kind": "row", "sort": "name", "page": "1"}
    assert back.rows == first.rows
    assert first.kept == (("sort", "name"),)


def test_rows_without_a_value_come_last_in_either_order_and_heads_turn_it() -> None:
    rows: list[Row] = [("a", 0.2), ("b", None), ("C", 0.9)]

    down = _table(rows, "sort=-score")
    up = _table(rows, down.heads[1].url.removeprefix("?"))

    assert [row[0] for row in down.rows] == ["C", "a", "b"]
    assert [row[0] for row in up.rows] == ["a", "C", "b"]
    assert [head.order for head in down.heads] == ["none", "descending"]
    assert [head.order for head in up.heads] == ["none", "ascending"]
    assert [row[0] for row in _table(rows, "sort=name").rows] == ["a", "b", "C"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["red Alpha", "red beta", "blue alpha"]),
        ("search=%20", ["red Alpha", "red beta", "blue alpha"]),
        ("search=ALPHA", ["red Alpha", "blue alpha"]),
        ("search=alpha+red", ["red Alpha"]),
        ("search=0.2", []),  # numbers are sorted by, not searched
        ("kind=red", ["red Alpha", "red beta"]),
        ("kind=red&search=beta", ["red beta"]),
        ("kind=green", []),
    ],
)
def test_a_table_shows_the_rows_that_contain_every_word_and_have_what_was_chosen(query: str, names: list[str]) -> None:
    table = _table([("red Alpha", 0.2), ("red beta", None), ("blue alpha", 1.0)], query)

    assert [row[0] for row in table.rows] == names
    assert (table.total, table.matching) == (3, len(names))
    [choice] = table.choices
    assert choice.options == (("blue", "green", "red") if "green" in query else ("blue", "red"))
