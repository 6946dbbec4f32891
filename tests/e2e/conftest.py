"""The pinned releases, and a home folder that must stay as it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pinchbench.openclaw.install import TRIED_RELEASES, cache_dir, install
from real_openclaw import UserHome

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.openclaw.command import OpenClaw


@pytest.fixture(scope="session", params=TRIED_RELEASES)
def openclaw(request: pytest.FixtureRequest) -> OpenClaw:
    """Each pinned release, installed on first use."""
    return install(request.param)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UserHome:
    """Make `$HOME` a folder with an OpenClaw state of somebody who uses it."""
    monkeypatch.setenv("PINCHBENCH_CACHE", str(cache_dir()))
    for name in [name for name in os.environ if name.startswith("OPENCLAW_")]:
        monkeypatch.delenv(name)
    user = UserHome(tmp_path / "home")
    user.state.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user.path))
    (user.state / "agents" / "main" / "sessions").mkdir(parents=True)
    (user.state / "agents" / "main" / "sessions" / "old.jsonl").write_text('{"type":"session"}\n', encoding="utf-8")
    (user.state / "workspace").mkdir()
    (user.state / "workspace" / "SOUL.md").write_text("mine\n", encoding="utf-8")
    user.configure({"agents": {"defaults": {"workspace": str(user.state / "workspace")}}})
    return user
