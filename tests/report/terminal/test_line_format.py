"""Rows in columns: aligned, cut, and left out."""

import pytest

from pinchbench.report.terminal.line_format import Column, aligned

COLUMNS = (
    Column("name", least=6),
    Column("score", is_right=True),
    Column("more", rank=1),
    Column("most", rank=2),
)
ROWS = [
    ["a long name", "1.00", "xx", "yy"],
    ["b", "", "", ""],
]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (40, ["name         score  more  most", "a long name   1.00  xx    yy", "b"]),
        (26, ["name     score  more  most", "a long…   1.00  xx    yy", "b"]),
        (24, ["name         score  more", "a long name   1.00  xx", "b", "no room for: most"]),
        (20, ["name     score  more", "a long…   1.00  xx", "b", "no room for: most"]),
        (13, ["name    score", "a lon…   1.00", "b", "no room for: more, most"]),
        (5, ["name    score", "a lon…   1.00", "b", "no room for: more, most"]),
    ],
)
def test_names_are_cut_first_then_columns_go_by_rank_and_the_others_stay(width: int, lines: list[str]) -> None:
    made = [line.plain for line in aligned(COLUMNS, ROWS, width=width)]

    assert made == lines
    assert max(map(len, made[:3])) <= max(width, 13)


def test_characters_of_two_columns_keep_the_columns_straight() -> None:
    wide = [["漢字", "1", "", ""], ["abcd", "2", "", ""]]

    _, first, second = aligned(COLUMNS, wide, width=80)

    assert first.cell_len == second.cell_len
