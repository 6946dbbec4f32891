"""Harbor's tasks are refused, each for what it needs a container for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.suite.load import load_suite, read_suite
from suite_packs import put

if TYPE_CHECKING:
    from pathlib import Path

TOML = """
    version = "1.0"

    [agent]
    timeout_sec = 900

    [environment]
    workdir = "/app"
"""


@pytest.mark.parametrize(
    ("file", "text", "line", "reason"),
    [
        ("environment/Dockerfile", "FROM debian\nWORKDIR /app\nRUN apt-get install jq\n", 3, "that RUN builds"),
        ("environment/docker-compose.yaml", "services: {}\n", 1, "several containers"),
        ("task.toml", f'{TOML}    docker_image = "local/x"\n', 8, "needs an image"),
        ("task.toml", f"{TOML}    gpus = 1\n", 8, "graphics processors"),
        ("task.toml", f'{TOML}\n    [[environment.mcp_servers]]\n    name = "x"\n', 1, "MCP servers"),
        ("task.toml", f'{TOML}\n    [verifier]\n    environment_mode = "separate"\n', 10, "a second environment"),
        ("task.toml", f'{TOML}\n    [[steps]]\n    name = "one"\n', 9, "several steps"),
        ("task.toml", "version = \n", 1, "not valid TOML"),
        ("instruction.md", "Do it.\n", 1, "the container's working directory"),
    ],
)
def test_a_task_is_refused_with_the_file_and_line_of_what_it_needs(
    tmp_path: Path, file: str, text: str, line: int, reason: str
) -> None:
    folder = tmp_path / "tasks" / "fix-it"
    put(folder / "task.toml", TOML)
    put(folder / "tests" / "test.sh", "exit 0\n")
    put(folder / file, text)
    loaded = read_suite(tmp_path)
    assert (loaded.suite.format, loaded.suite.tasks) == (SuiteFormat.HARBOR, ())
    [problem] = loaded.problems
    place = folder / (file if reason != "the container's working directory" else "task.toml")
    assert (problem.path, problem.line) == (place, line), problem
    assert reason in problem.reason
    with pytest.raises(SuiteError):
        load_suite(tmp_path, skip_broken=True)
