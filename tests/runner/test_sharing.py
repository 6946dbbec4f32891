"""Slots that several runs share: each round starts one trial of every run that can start one."""

import math

from pinchbench.runner.sharing import Rotation


def ready(*runs: str, slots: int = 1, seed: int = 1) -> Rotation:
    rotation = Rotation(runs, slots=slots, seed=seed)
    for run in runs:
        rotation.ready(run)
    return rotation


def start(rotation: Rotation, runs: tuple[str, ...], now: float = 0.0) -> str:
    [run] = [one for one in runs if rotation.is_turn(one, now)]
    rotation.began(run)
    return run


def test_each_round_starts_a_trial_of_every_run_in_an_order_that_the_seed_shuffles() -> None:
    runs = ("a", "b", "c")
    rotation = ready(*runs, slots=300)
    rounds = [tuple(start(rotation, runs) for _ in runs) for _ in range(100)]
    assert all(sorted(one) == list(runs) for one in rounds)
    assert {one[0] for one in rounds} == set(runs)
    again = ready(*runs, slots=300)
    assert rounds == [tuple(start(again, runs) for _ in runs) for _ in range(100)]
    other = ready(*runs, slots=300, seed=2)
    assert rounds != [tuple(start(other, runs) for _ in runs) for _ in range(100)]


def test_nothing_starts_before_every_run_is_ready_or_has_left() -> None:
    rotation = Rotation(("a", "b", "c"), slots=2, seed=1)
    rotation.ready("a")
    rotation.ready("b")
    assert not rotation.is_turn("a", 0.0)
    rotation.left("c")
    assert start(rotation, ("a", "b")) in {"a", "b"}


def test_a_run_that_can_start_nothing_is_passed_over_and_catches_up() -> None:
    rotation = ready("a", "b", slots=10)
    assert rotation.idle("a", math.inf, 0.0)
    assert not rotation.idle("a", math.inf, 0.0)  # no news for the others
    assert [start(rotation, ("b",)) for _ in range(3)] == ["b"] * 3
    rotation.began("a")
    rotation.ended("a")  # which may allow another one
    assert [start(rotation, ("a", "b")) for _ in range(2)] == ["a"] * 2


def test_a_run_that_has_left_waits_for_no_turn() -> None:
    rotation = ready("a", "b")
    rotation.began("a")
    rotation.left("b")
    assert rotation.is_turn("b", 0.0)  # to learn that there is nothing left
    assert not rotation.is_turn("a", 0.0)


def test_every_run_is_able_again_when_more_is_admitted() -> None:
    rotation = ready("a", "b")
    first = start(rotation, ("a", "b"))
    other = "b" if first == "a" else "a"
    rotation.ended(first)
    rotation.idle(other, math.inf, 0.0)
    assert rotation.is_turn(first, 0.0)
    rotation.able()
    assert not rotation.is_turn(first, 0.0)
