"""Homes of the fake OpenClaw, as a run makes them."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.homes.credentials import Json, UserState
from pinchbench.openclaw.homes.home_template import make_template
from pinchbench.openclaw.homes.private import PrivateHome


async def template_of(
    folder: Path,
    program: Path,
    user: UserState | None = None,
    *,
    provider: tuple[str, Json] | None = None,
    tools: Sequence[str] = (),
    trial_s: float | None = None,
    skills: Path | None = None,
) -> PrivateHome:
    return await make_template(
        folder / "homes" / "template",
        openclaw=OpenClaw(program=program, version="2026.9.6"),
        model="mock/m1",
        user=user or UserState(),
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
        provider=provider,
        tools=tools,
        trial_s=trial_s,
        skills=skills,
    )


def config_of(home: PrivateHome) -> Json:
    config: Json = json.loads((home.state_dir / "openclaw.json").read_text("utf-8"))
    return config
