"""Text from outside on a page: nothing of it hides, reorders, or ends what it stands in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.report.html.safe import safe_line, safe_text, script_json


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


def test_a_line_is_one_and_can_be_cut() -> None:
    assert safe_line(" a\n b\tc ") == "a b c"
    assert safe_line("abcdef", 4) == "abc…"


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
