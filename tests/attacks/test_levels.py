"""Each attack at each level of the sandbox, as root and as an ordinary user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attacks.levels import can_work, play
from attacks.scripts import ATTACKS
from attacks.world import make_world
from pinchbench.defaults import Sandbox
from pinchbench.sandbox import landlock
from sandbox_programs import trial_of, users

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attacks.world import World
    from sandbox_programs import Trial


@pytest.fixture(params=users(), ids=lambda uid: "root" if uid == 0 else "user")
def trial(request: pytest.FixtureRequest) -> Iterator[Trial]:
    yield from trial_of(request.param)


@pytest.fixture
def world(trial: Trial) -> Iterator[World]:
    with make_world(trial.root / "outside", uid=trial.uid) as made:
        yield made


def test_there_are_at_least_forty_attacks_and_no_two_have_the_same_name() -> None:
    assert len({one.name for one in ATTACKS}) == len(ATTACKS) >= 40


def test_without_a_sandbox_every_attack_works(trial: Trial, world: World) -> None:
    assert play(Sandbox.NONE, trial, world) == can_work(Sandbox.NONE, is_root=trial.uid == 0)


def test_in_namespaces_no_attack_works(trial: Trial, world: World) -> None:
    assert play(Sandbox.NAMESPACES, trial, world) == set()


@pytest.mark.skipif(landlock.abi() < landlock.SCOPE_ABI, reason="needs Landlock ABI 6")
def test_under_landlock_only_what_it_can_not_restrict_works(trial: Trial, world: World) -> None:
    assert play(Sandbox.LANDLOCK, trial, world) == can_work(Sandbox.LANDLOCK, is_root=trial.uid == 0)


@pytest.mark.long
@pytest.mark.skipif(landlock.abi() < landlock.SCOPE_ABI, reason="needs Landlock ABI 6")
def test_where_the_kernel_refuses_namespaces_landlock_prevents_as_much(trial: Trial, world: World) -> None:
    found = play(Sandbox.LANDLOCK, trial, world, is_refused=True)
    assert found == can_work(Sandbox.LANDLOCK, is_root=trial.uid == 0)
