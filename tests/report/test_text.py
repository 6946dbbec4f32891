"""Text for the terminal is safe and short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.report.text import (
    amount,
    columns_of,
    duration,
    folded,
    plain,
    plain_lines,
    score_below,
    short_names,
    shorten,
)


@pytest.mark.parametrize("text", ["a\u061cb", "a\u2066b", "a\u2028b", "a\u2029b", "a\x85b"])
def test_what_reorders_a_line_or_ends_it_is_a_blank(text: str) -> None:
    assert plain(text) == plain_lines(text) == "a b"


@given(st.text(), st.integers(8, 30))
def test_a_shortened_name_fits_and_keeps_its_end(text: str, width: int) -> None:
    short = shorten(text, width, end=7)
    assert len(short) <= width
    assert short[-7:] == text[-7:]
    assert short == text or "…" in short


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (60, "1 min 00 s"),
        (119.7, "2 min 00 s"),
        (3600, "1 h 00 min"),
        (1e308, "277777 h 46 min"),
    ],
)
def test_durations_are_short_and_readable(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("score", "threshold", "text"),
    [(0.25, 0.5, "0.25"), (0.4996, 0.5, "0.4996"), (0.6 * 0.83 + 0.4 * 0.75, 0.8, "0.798"), (0.0, 0.8, "0.00")],
)
def test_a_score_below_a_threshold_has_as_many_digits_as_show_it(score: float, threshold: float, text: str) -> None:
    assert score_below(score, threshold) == text


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (999_949, "999.9k"),
        (999_950, "1.0M"),
        (4_500_000, "4.5M"),
        (10**400, "1000000000000.0M"),
    ],
)
def test_amounts_of_tokens_have_a_suffix(tokens: int, text: str) -> None:
    assert amount(tokens) == text


@pytest.mark.parametrize(
    ("line", "width", "rows"),
    [
        ("short", 10, ["short"]),
        ("one two three", 8, ["one two", "three"]),
        ("  one two three", 9, ["  one two", "  three"]),
        ("  key   its value goes on", 16, ["  key   its", "        value", "        goes on"]),
        ("12:00:00  a line of the run", 20, ["12:00:00  a line of", "          the run"]),
        ("it is in /a/very/long/path/indeed now", 12, ["it is in", "/a/very/long/path/indeed", "now"]),
        ("漢字 漢字 漢字", 10, ["漢字 漢字", "漢字"]),
        ("   ", 2, [""]),
        ("", 2, [""]),
    ],
)
def test_a_line_is_folded_between_its_words(line: str, width: int, rows: list[str]) -> None:
    assert folded(line, width).split("\n") == rows


@given(st.text(st.sampled_from("ab  \n漢-/"), max_size=60), st.integers(1, 40))
def test_folding_loses_no_word_and_only_words_are_wider_than_the_terminal(text: str, width: int) -> None:
    rows = folded(text, width).split("\n")
    assert [row.split() for row in rows if row.strip()] or not text.strip()
    assert " ".join(rows).split() == text.split()
    assert all(columns_of(row) <= width or len(row.split()) == 1 for row in rows)


def test_names_that_begin_alike_keep_their_ends_and_others_their_beginnings() -> None:
    names = [
        "provider/model-large-thinking-high",
        "provider/model-large-thinking-low",
        "short",
        "another/long-name",
    ]
    short = short_names(names, 14)
    assert list(short.values()) == ["provid…ng-high", "provid…ing-low", "short", "another/long-…"]
    assert all(len(name) <= 14 for name in short.values())
