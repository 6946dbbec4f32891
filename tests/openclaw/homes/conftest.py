"""A managed OpenClaw for homes with sandboxes, and the process of a turn."""

from pathlib import Path

import pytest

from pinchbench.openclaw.command import OpenClaw
from pinchbench.process.spec import ProcessSpec


@pytest.fixture
def openclaw(tmp_path: Path) -> OpenClaw:
    """Install a managed OpenClaw with a Node of its own."""
    program = tmp_path / "cache" / "openclaw-1" / "node_modules" / ".bin" / "openclaw"
    node = tmp_path / "cache" / "node-1" / "bin" / "node"
    for path in (program, node):
        path.parent.mkdir(parents=True)
        path.touch()
    return OpenClaw(program=program, version="2026.9.6", path_first=(node.parent,))


def turn_process(folder: Path, cwd: Path, *argv: str, **env: str) -> ProcessSpec:
    """Return a process as it is before it enters a sandbox."""
    return ProcessSpec(argv=argv, cwd=cwd, env=env, stdout=folder / "stdout", stderr=folder / "stderr", marker="m")
