"""Sums of usage, and a cost that is not known."""

import msgspec
import pytest

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


STORED = Usage(requests=3, input_tokens=900, output_tokens=100, total_tokens=1000, cost_usd=0.01)
SEEN = Usage(requests=5, input_tokens=1300, output_tokens=200, total_tokens=1500)


def test_calls_that_openclaw_has_not_stored_count_and_are_priced_as_those_that_it_has() -> None:
    assert STORED.completed_by(SEEN) == msgspec.structs.replace(SEEN, cost_usd=0.015)
    assert STORED.completed_by(msgspec.structs.replace(SEEN, cost_usd=0.02)).cost_usd == 0.02
    assert Usage().completed_by(SEEN) == SEEN


@pytest.mark.parametrize("changed", [{"requests": 3}, {"total_tokens": 1000}])
def test_a_wire_that_saw_no_more_than_openclaw_stored_changes_nothing(changed: dict[str, int]) -> None:
    assert STORED.completed_by(msgspec.structs.replace(SEEN, **changed)) is STORED
