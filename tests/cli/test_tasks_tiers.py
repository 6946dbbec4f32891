"""`pinchbench-async tasks tiers` as a user meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bundled_suite import SUITE
from command_line import Completed, call, clean_environment

if TYPE_CHECKING:
    from pathlib import Path


def _tiers(folder: Path, *args: str) -> Completed:
    return call("tasks", "tiers", *args, cwd=folder, env=clean_environment(folder))


def test_each_tier_is_a_line(tmp_path: Path) -> None:
    done = _tiers(tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["tier", "core", "standard", "hard", "all"]
    assert lines[4].split()[1] == str(len(SUITE.tasks))
    assert "model calls" in lines[0]


def test_json_has_the_sums_too(tmp_path: Path) -> None:
    told = json.loads(_tiers(tmp_path, "--json", "--suite", "core").stdout)

    (core,) = told
    assert (core["name"], core["tasks"]) == ("core", len(SUITE.core))
    assert core["limit_s"]["total"] == sum(SUITE.by_id[task_id].timeout_s for task_id in SUITE.core)
    assert core["model_calls"]["least"] >= 1
