"""`demo`: OpenClaw is installed once, and the run is the documented one."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pinchbench.cli.program import cli
from pinchbench.cli.run import run
from pinchbench.openclaw import install as openclaw_install


@pytest.mark.parametrize("is_installed", [True, False])
def test_demo_installs_openclaw_if_it_is_missing_and_runs_the_core(
    is_installed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "pinchbench-async"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) if is_installed else "/nowhere")
    installed: list[str] = []
    asked: list[dict[str, Any]] = []
    release = openclaw_install.DEFAULT_RELEASE
    monkeypatch.setattr(openclaw_install, "managed", lambda _: Path("openclaw") if is_installed else None)
    monkeypatch.setattr(openclaw_install, "install", installed.append)
    monkeypatch.setattr(run, "callback", lambda **options: asked.append(options))
    result = CliRunner().invoke(cli, ["demo"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert installed == ([] if is_installed else [release])
    assert ("puts it on PATH" in result.output) is not is_installed
    [options] = asked
    chosen = {name: options[name] for name in ("model", "suite", "concurrency", "openclaw")}
    assert chosen == {"model": ("demo/oracle",), "suite": "core", "concurrency": 4, "openclaw": release}
