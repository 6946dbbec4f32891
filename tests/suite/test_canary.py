"""Marks in checks and solutions."""

from __future__ import annotations

import pytest

from pinchbench.suite.canary import find_canary, new_canary

CANARY = f"pinchbench-canary-{0x1D8B37:032x}"


def test_no_two_canaries_are_alike() -> None:
    assert len({new_canary() for _ in range(100)}) == 100


@pytest.mark.parametrize("size", [1, 2, 7, 49, 50, 51, 1000])
def test_a_canary_is_found_however_its_text_is_divided(size: int) -> None:
    text = f"# {CANARY} and more".encode()

    assert find_canary(text[at : at + size] for at in range(0, len(text), size)) == CANARY


@pytest.mark.parametrize(
    "text", ["", "pinchbench-canary-", CANARY[:-1], CANARY.upper(), f"{CANARY[:20]} {CANARY[20:]}"]
)
def test_what_is_like_a_canary_is_not_one(text: str) -> None:
    assert find_canary([text.encode()]) is None
