"""A small bundled suite, and a user whose leaderboard is nowhere but on loopback."""

from pathlib import Path

import pytest

from leaderboard_runs import write_suite
from pinchbench.model.task import Suite

NOWHERE = "http://127.0.0.1:9"  # the port of a service that nobody runs


@pytest.fixture(autouse=True)
def nobody_elses_leaderboard(user: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test can reach the real leaderboard, nor the account of who runs the tests."""
    monkeypatch.setenv("PINCHBENCH_SERVER_URL", NOWHERE)
    monkeypatch.setenv("PINCHBENCH_CONFIG", str(user / "config" / "pinchbench"))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return user


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return write_suite(tmp_path / "bundled")
