"""The tutorial, typed line by line on real OpenClaw; of the core suite, two tasks."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import DOCS, commands
from pinchbench.files.user_data import cache_dir
from pinchbench.openclaw.install import DEFAULT_RELEASE

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

TASKS = "task_00_sanity,task_06_week_plan"
PAGES = (DOCS / "tutorial.md", DOCS / "guides" / "troubleshooting.md", DOCS / "guides" / "your-model.md")


def _type(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [TASKS if word == "core" else word for word in shlex.split(command)[1:]]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PINCHBENCH_", "OPENCLAW_"))}
    env |= {"HOME": str(folder), "PINCHBENCH_CACHE": str(cache_dir()), "PINCHBENCH_RUN_ROOT": str(folder / "run-root")}
    return subprocess.run(
        [sys.executable, "-m", "pinchbench", *words],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_tutorial_leads_to_what_it_promises(tmp_path: Path) -> None:
    said = {command: _type(command, tmp_path) for command in commands(DOCS / "tutorial.md")}

    def done(part: str) -> subprocess.CompletedProcess[str]:
        return next(done for command, done in said.items() if part in command)

    for command, one in said.items():
        if not command.endswith("resume"):  # nobody pressed Ctrl-C
            assert one.returncode == 0, f"{command}\n{one.stderr}"
    oracle = json.loads((tmp_path / done("demo/oracle").stdout.strip()).read_text(encoding="utf-8"))
    assert [task["score"] for task in oracle["tasks"]] == [1.0, 1.0]
    assert (tmp_path / done("demo/oracle").stdout.strip().removesuffix(".json") / "report.html").exists()
    null = json.loads((tmp_path / done("demo/null").stdout.strip()).read_text(encoding="utf-8"))
    assert max(task["score"] for task in null["tasks"]) <= 0.2
    assert len(done("history").stderr.splitlines() + done("history").stdout.splitlines()) >= 3
    assert "demo/oracle" in done("compare").stdout
    assert "no unfinished run" in done("resume").stderr.lower()


@pytest.mark.parametrize("command", sorted({line for page in PAGES for line in commands(page) if " exec " in line}))
def test_a_command_that_passes_words_on_to_openclaw_reaches_it(command: str, tmp_path: Path) -> None:
    done = _type(command, tmp_path)

    assert done.returncode == 0, done.stderr
    assert (DEFAULT_RELEASE if "--version" in command else "main") in done.stdout
