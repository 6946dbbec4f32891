"""Values of JSON that others wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.wire.protocols.json_values import canonical, count_at, json_text, parse, text_at, writable


@pytest.mark.parametrize("value", [None, "5", -1, True, float("nan"), float("inf"), 2**60, [1], {}])
def test_what_is_no_count_is_none(value: object) -> None:
    assert count_at({"a": value}, "a") == 0
    assert count_at({"a": value, "b": 7}, "a", "b") == 7


def test_the_first_text_that_is_not_empty_counts() -> None:
    assert text_at({"a": "", "b": 5, "c": "x", "d": "y"}, "a", "b", "c", "d") == "x"
    assert text_at([], "a") == text_at(None, "a") == ""


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_equal_objects_have_one_canonical_text(value: dict[str, object]) -> None:
    turned = json.dumps(dict(reversed(value.items())), indent=1)

    assert canonical(json.dumps(value)) == canonical(turned)


@pytest.mark.parametrize("text", ["", "{", "nothing", "[" * 100_000])
def test_what_is_no_json_is_its_own_canonical_text(text: str) -> None:
    assert canonical(text) == text


@given(st.text(st.characters()))
def test_every_text_becomes_writable(text: str) -> None:
    assert writable(text) == text if text.isascii() else writable(text).encode()


def test_unpaired_surrogates_are_replaced_and_pairs_are_joined() -> None:
    assert writable("a\ud800b") == "a\ufffdb"
    assert writable("\ud83e\udd80") == "🦀"
    assert text_at(parse(b'{"a": "\\ud800"}'), "a") == "\ufffd"


def test_a_value_that_is_nested_too_deeply_has_a_text() -> None:
    value: object = []
    for _ in range(100_000):
        value = [value]

    assert json_text(value) == "(nested too deeply)"
