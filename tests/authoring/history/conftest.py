"""A user's state of OpenClaw, which has no conversations yet."""

from pathlib import Path

import pytest

from history_states import UserState


@pytest.fixture
def state(tmp_path: Path) -> UserState:
    return UserState(folder=tmp_path / "state")
