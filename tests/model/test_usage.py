"""Sums of usage, and a cost that is not known."""

from __future__ import annotations

from pinchbench.model.usage import Usage

ONE = Usage(
    requests=1,
    input_tokens=2,
    output_tokens=3,
    cache_read_tokens=4,
    cache_write_tokens=5,
    total_tokens=6,
    cost_usd=0.5,
)


def test_every_field_is_at_least_that_of_both() -> None:
    assert ONE.at_least(Usage()) == Usage().at_least(ONE) == ONE
    assert ONE.at_least(Usage(requests=9)).requests == 9


def test_tokens_without_a_price_have_no_known_cost() -> None:
    assert Usage().known_cost_usd == 0
    assert Usage(requests=1).known_cost_usd is None
    assert Usage(output_tokens=1).known_cost_usd is None
    assert Usage(total_tokens=1, cost_usd=0.1).known_cost_usd == 0.1
