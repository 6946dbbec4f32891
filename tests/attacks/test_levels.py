"""Each attack at each level of the sandbox, as root and as an ordinary user."""

from collections.abc import Iterator

import pytest

from attacks.levels import can_work, play, play_inherited
from attacks.scripts import ATTACKS, INHERITED
from attacks.world import World, make_world
from pinchbench.defaults import Sandbox
from pinchbench.sandbox import landlock_rules
from sampling import sampled
from sandbox_programs import Trial, trial_of, users


def _name(uid: int) -> str:
    return "root" if uid == 0 else "user"


@pytest.fixture(params=users(), ids=_name)
def trial(request: pytest.FixtureRequest) -> Iterator[Trial]:
    yield from trial_of(request.param)


@pytest.fixture
def world(trial: Trial) -> Iterator[World]:
    with make_world(trial.root / "outside", uid=trial.uid) as made:
        yield made


one_user_is_short = pytest.mark.parametrize("trial", sampled(users(), users()[:1]), indirect=True, ids=_name)


def test_there_are_at_least_forty_attacks_and_no_two_have_the_same_name() -> None:
    assert len({one.name for one in ATTACKS}) == len(ATTACKS) >= 40


@pytest.mark.long
def test_without_a_sandbox_every_attack_works(trial: Trial, world: World) -> None:
    assert play(Sandbox.NONE, trial, world) == can_work(Sandbox.NONE, is_root=trial.uid == 0)


@one_user_is_short
def test_in_namespaces_no_attack_works(trial: Trial, world: World) -> None:
    assert play(Sandbox.NAMESPACES, trial, world) == set()


@pytest.mark.long
@pytest.mark.skipif(landlock_rules.abi() < landlock_rules.SCOPE_ABI, reason="needs Landlock ABI 6")
def test_under_landlock_only_what_it_can_not_restrict_works(trial: Trial, world: World) -> None:
    assert play(Sandbox.LANDLOCK, trial, world) == can_work(Sandbox.LANDLOCK, is_root=trial.uid == 0)


@pytest.mark.parametrize("level", [Sandbox.NAMESPACES, Sandbox.LANDLOCK, Sandbox.NONE])
def test_descriptors_that_were_left_open_are_closed_in_a_sandbox(trial: Trial, world: World, level: Sandbox) -> None:
    possible = {one.name for one in INHERITED} if level is Sandbox.NONE else set()
    assert play_inherited(level, trial, world) == possible
