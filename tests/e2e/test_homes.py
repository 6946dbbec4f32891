"""On real OpenClaw: a home made from the cache is the one that `openclaw agents add` makes."""

import json
import os
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

import pytest

from pinchbench.config.served import ServedModel
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.openclaw.homes.home_template import MADE_AGAIN, make_template
from pinchbench.openclaw.homes.private import PrivateHome
from pinchbench.runner.setup.make_homes import endpoint

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]


def template(root: Path, openclaw: OpenClaw, port: int) -> Awaitable[PrivateHome]:
    return make_template(
        root,
        openclaw=openclaw,
        model="mock/m1",
        user=UserState(),
        env={name: os.environ[name] for name in ("PATH", "HOME")},
        provider=("mock", endpoint(f"http://127.0.0.1:{port}/v1", "m1", served=ServedModel(), with_key=False)),
        trial_s=600,
    )


def content(home: PrivateHome) -> set[str]:
    """What lies in a home, without what OpenClaw makes again."""
    found = {str(path.relative_to(home.root)) for path in home.root.rglob("*")}
    return {name for name in found if not MADE_AGAIN.fullmatch(name)}


@pytest.mark.usefixtures("user")
async def test_a_home_from_the_cache_is_the_one_that_openclaw_made(tmp_path: Path, openclaw: OpenClaw) -> None:
    made = await template(tmp_path / "one", openclaw, 1)
    copied = await template(tmp_path / "other", replace(openclaw, program=tmp_path / "no program"), 2)
    config, same = (json.loads((home.state_dir / "openclaw.json").read_text("utf-8")) for home in (made, copied))
    moved = json.dumps(config).replace(str(made.root), str(copied.root)).replace("127.0.0.1:1/", "127.0.0.1:2/")
    assert json.loads(moved) == same
    assert content(made) == content(copied)
