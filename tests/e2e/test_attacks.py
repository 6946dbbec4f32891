"""Attacks by agents of real OpenClaw: prevented or named; none changes a score silently."""

import os
from pathlib import Path

import pytest

from attacks.on_openclaw import attack, silent_attacks
from attacks.world import make_world
from fakes import NEW_RELEASE
from pinchbench.defaults import Sandbox
from pinchbench.model.facts import Integrity
from pinchbench.openclaw.install import install

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]


async def test_in_namespaces_no_attack_works(tmp_path: Path) -> None:
    with make_world(tmp_path / "outside", uid=os.getuid()) as world:
        found = await attack(install(NEW_RELEASE), tmp_path, world, sandbox=Sandbox.NAMESPACES)

    assert found.worked == set()
    assert {one.level for one in found.run.outcomes} == {"namespaces"}
    assert found.called == Integrity.PROBED
    assert silent_attacks(found) == set()
