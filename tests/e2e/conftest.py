"""The pinned releases, and a home folder that must stay as it is."""

from pathlib import Path

import pytest

from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.install import TRIED_RELEASES, install
from real_openclaw import UserHome, make_home


@pytest.fixture(scope="session", params=TRIED_RELEASES)
def openclaw(request: pytest.FixtureRequest) -> OpenClaw:
    """Each pinned release, installed on first use."""
    return install(request.param)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UserHome:
    """Make `$HOME` a folder with an OpenClaw state of somebody who uses it."""
    return make_home(tmp_path / "home", monkeypatch)
