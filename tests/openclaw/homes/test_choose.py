"""Which isolation a run gets that leaves the choice open."""

from __future__ import annotations

import pytest

from pinchbench.defaults import Isolation
from pinchbench.openclaw.homes.choose import (
    GATEWAY_SINCE,
    SANDBOXED_COST,
    WORTH_TRIALS,
    Choice,
    choose_isolation,
    needed_bytes,
)

PLENTY = 2**60
SINCE = ".".join(map(str, (*GATEWAY_SINCE, 0)))
BEFORE = ".".join(map(str, (GATEWAY_SINCE[0], GATEWAY_SINCE[1] - 1, 99)))


def choose(
    *,
    release: str = SINCE,
    trials: int = WORTH_TRIALS,
    slots: int = 1,
    free: int = PLENTY,
    services: bool = False,
    sandboxed: bool = False,
) -> Choice:
    return choose_isolation(
        release=release,
        trials=trials,
        slots=slots,
        available_bytes=free,
        services=services,
        sandboxed=sandboxed,
    )


@pytest.mark.parametrize(
    ("release", "trials", "isolation", "why"),
    [
        (SINCE, WORTH_TRIALS, Isolation.GATEWAY, "takes a fraction of the CPU time and memory"),
        (f"{GATEWAY_SINCE[0] + 1}.1.0", 1000, Isolation.GATEWAY, "takes a fraction"),
        (SINCE, WORTH_TRIALS - 1, Isolation.PRIVATE, "for so few trials a gateway is not worth its start"),
        (BEFORE, 1000, Isolation.PRIVATE, f"with OpenClaw {BEFORE} a gateway saves next to nothing"),
    ],
)
def test_release_and_number_of_trials_decide(release: str, trials: int, isolation: Isolation, why: str) -> None:
    choice = choose(release=release, trials=trials)
    assert (choice.isolation, choice.warning) == (isolation, "")
    assert choice.why.startswith(f"Isolation: {isolation}, since ")
    assert why in choice.why
    assert choice.why.endswith(".")


@pytest.mark.parametrize(
    ("first", "trials", "slots"), [(Isolation.PRIVATE, WORTH_TRIALS - 1, 64), (Isolation.GATEWAY, WORTH_TRIALS, 1)]
)
def test_what_does_not_fit_gives_way_to_what_needs_less(first: Isolation, trials: int, slots: int) -> None:
    [other] = {Isolation.PRIVATE, Isolation.GATEWAY} - {first}
    needs = {one: needed_bytes(one, slots) for one in (first, other)}
    assert needs[other] < needs[first]
    for free in (needs[first] - 1, needs[other]):
        choice = choose(trials=trials, slots=slots, free=free)
        assert (choice.isolation, choice.warning) == (other, "")
        assert "it needs less memory" in choice.why
    assert choose(trials=trials, slots=slots, free=needs[first]).isolation is first


@pytest.mark.parametrize("slots", [1, 8])
@pytest.mark.parametrize("trials", [1, 1000])
def test_when_nothing_fits_the_smaller_is_taken_and_a_smaller_concurrency_is_advised(slots: int, trials: int) -> None:
    choice = choose(slots=slots, trials=trials, free=0)
    assert choice.isolation is min((Isolation.PRIVATE, Isolation.GATEWAY), key=lambda one: needed_bytes(one, slots))
    assert choice.warning.startswith(f"{slots} slot{'s need' if slots > 1 else ' needs'} about ")
    assert "--concurrency" in choice.warning


@pytest.mark.parametrize("isolation", [Isolation.PRIVATE, Isolation.GATEWAY])
def test_more_slots_need_more_memory(isolation: Isolation) -> None:
    needs = [needed_bytes(isolation, slots) for slots in (1, 2, 64)]
    assert needs == sorted(set(needs))


def test_a_run_that_can_be_sandboxed_has_private_homes_and_is_told_what_they_cost() -> None:
    choice = choose(sandboxed=True)

    assert choice.isolation is Isolation.PRIVATE
    assert f"about {SANDBOXED_COST} times the CPU time of one through a gateway" in choice.why
    assert "--isolation gateway --sandbox none" in choice.why


@pytest.mark.parametrize(
    ("release", "trials", "services"), [(BEFORE, 1000, False), (SINCE, 1, False), (SINCE, 9, True)]
)
def test_no_gateway_is_proposed_to_a_sandboxed_run_where_none_would_be_chosen(
    release: str, trials: int, *, services: bool
) -> None:
    choice = choose(release=release, trials=trials, services=services, sandboxed=True)

    assert choice.isolation is Isolation.PRIVATE
    assert "--isolation gateway" not in choice.why


def test_too_little_memory_is_no_reason_to_give_up_the_sandbox() -> None:
    choice = choose(slots=8, free=needed_bytes(Isolation.PRIVATE, 8) - 1, sandboxed=True)

    assert choice.isolation is Isolation.PRIVATE
    assert "--concurrency" in choice.warning
