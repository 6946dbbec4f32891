"""Tests that a shortage of file descriptors is refused or reported as lost evidence, and never scored 0."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import MODEL, fake_openclaw, make_suite
from sampling import sampled

CHILD_LIMIT_S = 120
CHECK = """
from pathlib import Path
return {"made": float(Path(workspace_path, "out.txt").exists())}
"""
# Without `asks`, the run starts although its limits do not suffice.
RUN = """
import json, resource, sys
from pathlib import Path
import anyio
from pinchbench import RunConfig, run_benchmark
from pinchbench.defaults import Isolation, Sandbox
from pinchbench.process import capacity
most, asks, config = int(sys.argv[1]), sys.argv[2] == "asks", json.loads(sys.argv[3])
config |= {name: Path(config[name]) for name in ("tasks_dir", "output_dir", "run_root")}
if not asks:
    capacity.OWN_FILES = capacity.SLOT_FILES = 0
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
result = anyio.run(run_benchmark, RunConfig(
    **config, concurrency=3, isolation=Isolation.PRIVATE, sandbox=Sandbox.NONE, preflight=False, infra_retries=0
))
told = [[one.reason.value, one.note] for one in result.outcomes]
grades = [[one.score, one.ungraded] for one in result.grades.values()]
print(json.dumps({"outcomes": told, "grades": grades}))
"""


def _run(folder: Path, most: int, *, asks: bool) -> subprocess.CompletedProcess[str]:
    suite = make_suite(folder, {f"task_{name}": "Write out.txt." for name in "abcdef"}, check=CHECK)
    places = {"tasks_dir": suite, "output_dir": folder / "results", "run_root": folder / "runs"}
    openclaw = fake_openclaw(folder, store="sqlite")
    config = {"model": MODEL, "openclaw": str(openclaw), **places}
    argv = [sys.executable, "-c", RUN, str(most), "asks" if asks else "", json.dumps(config, default=str)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=CHILD_LIMIT_S, check=False)


def test_a_limit_that_is_too_low_is_refused_with_what_to_do(tmp_path: Path) -> None:
    ended = _run(tmp_path, 40, asks=True)

    assert ended.returncode != 0
    assert "ulimit -n" in ended.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("most", sampled([16, 20, 24, 28, 30, 36], {24}))
def test_no_shortage_of_descriptors_is_scored_0(tmp_path: Path, most: int) -> None:
    ended = _run(tmp_path, most, asks=False)

    if ended.returncode:
        assert "Too many open files" in ended.stderr or "can't" in ended.stderr, ended.stderr
        return
    told = json.loads(ended.stdout)
    assert all(score in (1.0, None) for score, _ in told["grades"]), told
    assert all(
        reason in ("completed", "evidence_lost", "workspace_failed", "agent_not_started", "guardian_lost")
        for reason, _ in told["outcomes"]
    ), told
