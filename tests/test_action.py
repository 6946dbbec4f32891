"""The GitHub Action's step that runs, played here with a fake OpenClaw and a fake `gh`: action.yml and its script."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from command_line import clean_environment
from docs.pages import ROOT
from fakes import MODEL, fake_openclaw

TASK = "task_00_sanity"
# It keeps one comment: who asks for comments gets its id once there is one.
GH = """#!/bin/sh
echo "$3 $4" >> "$FAKE/calls"
case "$*" in
  *--paginate*) [ ! -e "$FAKE/comment.md" ] || echo 7 ;;
  *body=@*) arguments="$*"; path=${arguments##*body=@}; cp "${path%% *}" "$FAKE/comment.md" ;;
esac
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A job of a pull request in a folder of its own."""

    folder: Path

    def run(self, **inputs: str) -> int:
        """Run the action's main step with inputs, and the defaults of others; return its exit code."""
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        values = {name: str(one["default"]) for name, one in action["inputs"].items()} | inputs
        [step] = [one for one in action["runs"]["steps"] if one.get("id") == "run"]
        given = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], value)
            for name, value in step["env"].items()
        }
        done = subprocess.run(
            ["bash", "-c", step["run"]], cwd=self.folder, env=self._environment() | given, timeout=240, check=False
        )
        return done.returncode

    def _environment(self) -> dict[str, str]:
        names = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_EVENT_PATH")
        return clean_environment(
            self.folder,
            PATH=f"{self.folder / 'tools'}:{os.environ['PATH']}",
            FAKE=str(self.folder),
            PINCHBENCH_OPENCLAW=str(fake_openclaw(self.folder)),
            PINCHBENCH_RUN_ROOT=str(self.folder / "run-root"),
            PINCHBENCH_NO_PREFLIGHT="1",
            GITHUB_ACTION_PATH=str(ROOT),
            GITHUB_WORKFLOW="quality",
            GITHUB_JOB="agents",
            GITHUB_REPOSITORY="owner/name",
            GITHUB_SERVER_URL="https://github.example",
            GITHUB_RUN_ID="1",
            **{name: str(self.folder / name) for name in names},
        )

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in {"gh": GH, "pinchbench-async": f'#!/bin/sh\nexec {sys.executable} -m pinchbench "$@"\n'}.items():
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    (tmp_path / "GITHUB_EVENT_PATH").write_text(json.dumps({"pull_request": {"number": 3}}), encoding="utf-8")
    return Job(folder=tmp_path)


@pytest.mark.long
def test_a_run_is_commented_on_once_and_its_exit_code_is_the_jobs(job: Job) -> None:
    assert job.run(model=MODEL, suite=TASK) == 0
    assert job.run(model=MODEL, suite=TASK, arguments="--fail-under 0.9") == 11

    assert job.text("calls").splitlines() == [
        "--paginate --jq",
        "POST repos/owner/name/issues/3/comments",
        "--paginate --jq",
        "PATCH repos/owner/name/issues/comments/7",
    ]
    comment = job.text("comment.md")
    assert comment.startswith("<!-- pinchbench: quality, agents -->\n## PinchBench: ")
    assert "<details>" not in comment
    assert "https://github.example/owner/name/actions/runs/1" in comment
    assert job.text("GITHUB_STEP_SUMMARY").count("## PinchBench: ") == 2
    results = [job.folder / line.removeprefix("result=") for line in job.text("GITHUB_OUTPUT").splitlines()]
    assert [path for path in results if not (path.with_suffix("") / "report.html").is_file()] == []


@pytest.mark.long
def test_a_comment_that_can_not_be_written_does_not_fail_the_job(job: Job) -> None:
    (job.folder / "tools" / "gh").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")

    assert job.run(model=MODEL, suite=TASK) == 0


def test_a_run_that_can_not_begin_writes_no_comment(job: Job) -> None:
    assert job.run(model=MODEL, suite="nothing_of_the_kind") == 2

    assert not (job.folder / "comment.md").exists()


@pytest.mark.long
def test_an_experiment_is_commented_on_with_its_choice_of_variants(job: Job) -> None:
    variants = {"one": {}, "two": {"thinking": "high"}}
    places = {"openclaw": str(job.folder / "bin" / "openclaw"), "sandbox": "none", "no-wire": True}
    chosen = {"model": MODEL, "suite": TASK, **places, "variants": variants}
    (job.folder / "which.yaml").write_text(yaml.safe_dump(chosen), encoding="utf-8")

    assert job.run(experiment="which.yaml") == 0

    comment = job.text("comment.md")
    assert "## PinchBench: which.yaml\n\n- Best: " in comment
    assert "\n| one | 1 | " in comment
    assert job.text("GITHUB_STEP_SUMMARY") in comment
