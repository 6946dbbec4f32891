"""Text from outside on a page: safe and short."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.report.html.safe_text import fair_share, safe_text, script_json, shortened


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a\u202eb", "a‹U+202E›b"),
        ("a\x00b\x1b[2Jc", "a␀b␛[2Jc"),
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("half \ud83d", "half ‹U+D83D›"),
        ("\ttab\x7f", "\ttab␡"),
        ("zero\u200bwidth", "zero‹U+200B›width"),
        ("Grüße 你好 👋", "Grüße 你好 👋"),
    ],
)
def test_what_can_not_be_seen_is_named(text: str, safe: str) -> None:
    assert safe_text(text) == safe


@given(st.text())
def test_json_in_a_script_neither_ends_it_nor_loses_anything(text: str) -> None:
    told = script_json({"text": text, text: "</script><!--"})

    assert "<" not in told
    assert ">" not in told
    assert json.loads(told)["text"] in (text, "</script><!--")


@given(st.text(st.characters()))
def test_any_text_can_be_written_once_it_is_safe(text: str) -> None:
    assert safe_text(text).encode("utf-8").decode() == safe_text(text)
    assert safe_text(safe_text(text)) == safe_text(text)


@pytest.mark.parametrize(
    ("sizes", "most", "share"),
    [
        ([10, 20, 30], 100, 30),
        ([10, 20, 30], 45, 17),
        ([10, 100, 100], 50, 20),
        ([5], 3, 3),
        ([], 10, 0),
        ([7, 7], 0, 0),
    ],
)
def test_what_is_too_much_is_cut_where_it_is_longest(sizes: list[int], most: int, share: int) -> None:
    assert fair_share(sizes, most) == share


@pytest.mark.parametrize("most", [0, 1, 2, 30])
def test_a_long_text_keeps_its_beginning_and_its_end_and_says_how_much_is_left_out(most: int) -> None:
    text = "begin" + "x" * 100 + "end"
    told = shortened(text, most)

    head, note, tail = told.split("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert note == f"… {len(text) - len(head) - len(tail)} characters left out …"
    assert len(head) + len(tail) <= most
