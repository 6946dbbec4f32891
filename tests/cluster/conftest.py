"""The run in which the nodes of these tests take part."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from cluster.joined_node import run_of_two_tasks
from pinchbench.runner.run_context import RunContext


@pytest.fixture
async def run(tmp_path: Path) -> AsyncGenerator[RunContext]:
    """A run of two tasks, whose trials none has made yet."""
    async with run_of_two_tasks(tmp_path) as context:
        yield context
