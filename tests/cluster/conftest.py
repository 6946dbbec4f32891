"""The run in which the nodes of these tests take part."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from cluster.joined_node import run_of_two_tasks
from fakes import fake_openclaw, run_config
from pinchbench.config.run_config import RunConfig
from pinchbench.runner.run_context import RunContext


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    return run_config(tmp_path, fake_openclaw(tmp_path), {"task_a": "Do it.", "task_b": "Do it."})


@pytest.fixture
async def run(tmp_path: Path) -> AsyncGenerator[RunContext]:
    """A run of two tasks, whose trials none has made yet."""
    async with run_of_two_tasks(tmp_path) as context:
        yield context
