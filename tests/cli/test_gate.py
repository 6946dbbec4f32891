"""`baseline`, and the gate of `run`, `resume` and `regrade`, as a CI system meets them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from command_line import Completed, call
from fakes import MODEL, fake_openclaw
from made_tasks import task_text
from past_runs import Made, PlannedRun, write_run
from pinchbench.suite.loading import load_suite
from suite_packs import put

pytestmark = pytest.mark.usefixtures("checks_in_process")

FAILED = 11
A = "20260102-030000-000a"
CHECK = "def grade(transcript, workspace_path): return {'a': 0.5}"
TASKS = 3


class Place:
    """A folder with a suite of a few tasks, of which each trial scores 0.5."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.baseline = folder / "baseline.json"
        self.openclaw = fake_openclaw(folder)
        self.suite = folder / "tasks"
        for name in (f"task_{number}" for number in range(TASKS)):
            put(self.suite / f"{name}.md", task_text(f"id: {name}\ntimeout_seconds: 30", prompt="hi", check=CHECK))

    def call(self, *args: str) -> Completed:
        return call(*args, cwd=self.folder)

    def run(self, *args: str) -> Completed:
        return self.call(
            "run", "--model", MODEL, "--openclaw", str(self.openclaw), "--tasks-dir", str(self.suite),
            "--run-root", str(self.folder / "pb"), "--concurrency", "4", "--no-report", "--no-wire", *args,
        )  # fmt: skip

    def regrade(self, run: str, *args: str) -> Completed:
        return self.call("regrade", run, "--run-root", str(self.folder / "pb"), "--no-report", *args)

    def raise_baseline(self, score: float) -> None:
        """Let the baseline have had this score in each of five trials."""
        data = json.loads(self.baseline.read_text(encoding="utf-8"))
        for task in data["tasks"].values():
            task["scores"] = [score] * 5
        self.baseline.write_text(json.dumps(data), encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, str]:
    """A place with its baseline, and the path of the result of one repetition."""
    place = Place(tmp_path_factory.mktemp("gate"))
    trials = {task.task_id: (Made(score=0.5),) * 2 for task in load_suite(place.suite).suite.tasks}
    digests = {task.task_id: task.digest for task in load_suite(place.suite).suite.tasks}
    write_run(place.folder / "results", PlannedRun(trials=trials, run_id=A, digests=digests))
    saved = place.call("baseline", A, "-o", "baseline.json", "--min-trials", "2")
    assert (saved.returncode, saved.stdout.strip()) == (0, str(place.baseline)), saved.stderr
    assert saved.stderr == f"{TASKS} tasks to compare with, 0 in quarantine\n"
    place.raise_baseline(0.5)
    done = place.run("--baseline", "baseline.json", "--fail-under", "0.5")
    assert done.returncode == 0, done.stderr
    assert "Gate, score<0.5: passed. The score 0.500 is not below 0.5." in done.stderr
    assert "Gate, worse: cannot tell. The data can't tell whether it is worse" in done.stderr
    assert "repetitions of each task" in done.stderr
    return place, done.stdout.strip()


@pytest.fixture
def gated(made: tuple[Place, str]) -> tuple[Place, str]:
    """The same, with the baseline as it was saved."""
    place, run = made
    place.raise_baseline(0.5)
    return place, run


def test_a_score_that_is_too_low_exits_with_11(gated: tuple[Place, str]) -> None:
    place, run = gated
    done = place.regrade(run, "--fail-under", "0.6")
    assert (done.returncode, done.stdout.strip()) == (FAILED, run), done.stderr
    assert "Gate, score<0.6: failed. The score 0.500 is below 0.6." in done.stderr


@pytest.mark.parametrize("command", ["regrade", "resume"])
def test_a_run_that_is_worse_than_its_baseline_exits_with_11(gated: tuple[Place, str], command: str) -> None:
    place, run = gated
    place.raise_baseline(1.0)
    baseline = ("--baseline", "baseline.json")
    done = place.regrade(run, *baseline) if command == "regrade" else place.call("resume", run, *baseline)
    assert done.returncode == FAILED, done.stderr
    assert "Gate, worse: failed. Worse than the baseline: the difference is −0.500 (" in done.stderr


def test_the_exports_and_the_report_carry_the_gate(gated: tuple[Place, str]) -> None:
    place, run = gated
    place.raise_baseline(1.0)
    place.regrade(run, "--baseline", "baseline.json", "--margin", "0.1")

    root = ET.fromstring(place.call("export", run, "--format", "junit").stdout.encode())
    [suite] = [one for one in root if one.get("name") == "gate"]
    [case] = suite.iter("testcase")
    [failure] = case.iter("failure")
    assert case.get("name") == "gate worse"
    assert (failure.get("message") or "").startswith("Worse than the baseline")
    assert (root.get("failures"), root.get("tests"), suite.get("failures")) == (str(TASKS + 1), str(TASKS + 1), "1")

    summary = place.call("export", run, "--format", "github").stdout
    assert "### Gate: failed\n" in summary
    assert "margin 0.1." in summary
    assert place.call("verify", run).returncode == 0

    assert place.call("regrade", run, "--fail-under", "0.4").returncode == 0
    report = (place.folder / run).parent / Path(run).stem / "report.html"
    assert "The score 0.500 is not below 0.4." in report.read_text(encoding="utf-8")

    assert place.regrade(run).returncode == 0
    assert "Gate" not in place.call("export", run, "--format", "github").stdout


def test_another_suite_exits_with_6_instead_of_passing(gated: tuple[Place, str], tmp_path: Path) -> None:
    place, run = gated
    trials = {"other": (Made(score=1.0),) * 5}
    write_run(tmp_path, PlannedRun(trials=trials, run_id=A))
    saved = place.call("baseline", A, "--output-dir", str(tmp_path), "-o", str(tmp_path / "other.json"))
    assert saved.returncode == 0, saved.stderr
    done = place.regrade(run, "--baseline", str(tmp_path / "other.json"))
    assert done.returncode == 6
    assert "The gate can't be applied" in done.stderr
    [case] = [
        case
        for case in ET.fromstring(place.call("export", run, "--format", "junit").stdout.encode()).iter("testcase")
        if case.get("classname") == "gate"
    ]
    assert [child.tag for child in case] == ["error", "system-out"]


def test_an_incomplete_run_keeps_its_exit_code_whatever_the_gate_says(tmp_path: Path) -> None:
    place = Place(tmp_path)
    silent = place.suite / "task_0.md"
    silent.write_text(silent.read_text("utf-8").replace("\nhi\n", "\nscenario: silent\n"), encoding="utf-8")
    done = place.run("--infra-retries", "0", "--fail-under", "0.9")
    assert done.returncode == 5, done.stderr
    assert "task_0: no model call (infrastructure failure; not in the score)" in done.stderr
    assert "Gate, score<0.9: failed." in done.stderr
    assert "The run is incomplete, and its exit code says so, whatever the gate says.\n" in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        (("--fail-under", "nan"), 2, "--fail-under nan is out of range"),
        (("--fail-under", "2"), 2, "0<=x<=1"),
        (("--baseline", "nowhere.json"), 6, "There is no file or folder nowhere.json."),
        (("--baseline", "broken.json"), 6, "broken.json:1: "),
        (("--model", "b/c", "--baseline", "nowhere.json"), 6, "There is no file or folder nowhere.json."),
    ],
)
def test_a_gate_that_cannot_be_used_is_an_error_before_anything_runs(
    tmp_path: Path, args: tuple[str, ...], code: int, sentence: str
) -> None:
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "results").mkdir()
    done = call("--model", "a/b", *args, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
    assert not [*(tmp_path / "results").iterdir()]


# `baseline`


def _flaky(folder: Path) -> None:
    trials = {"steady": (Made(score=1.0),) * 5, "flaky": tuple(Made(score=float(n % 2)) for n in range(5))}
    write_run(folder / "results", PlannedRun(trials=trials, run_id=A))


def test_what_is_in_quarantine_is_listed_with_its_evidence(tmp_path: Path) -> None:
    _flaky(tmp_path)
    saved = call("baseline", A, "-o", "b.json", cwd=tmp_path)
    assert saved.returncode == 0
    assert saved.stderr == ("1 task to compare with, 1 in quarantine\n  flaky: varies: 0.00 to 1.00 in 5 trials\n")
    loose = call("baseline", A, "-o", "b.json", "--max-spread", "1", cwd=tmp_path)
    assert loose.stderr == "2 tasks to compare with, 0 in quarantine\n"


def _alter(folder: Path) -> None:
    [journal] = folder.glob("results/*/journal.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b'"score":1.0', b'"score":0.9', 1))


@pytest.mark.parametrize(
    ("damage", "args", "code", "sentence"),
    [
        (lambda _: None, (A, A), 2, "named twice"),
        (lambda _: None, ("20260101-000000-ffff",), 6, "has no run"),
        (lambda _: None, (A, "--min-trials", "6"), 6, "No task is stable enough for a baseline: 2 of 2"),
        (_alter, (A,), 10, "is not what the runner wrote"),
        (lambda folder: shutil.rmtree(folder / "results"), (A,), 6, "There is no folder"),
        (lambda folder: (folder / "b.json").mkdir(), (A,), 2, "is a directory"),
    ],
)
def test_a_baseline_that_cannot_be_made_writes_nothing(
    tmp_path: Path, damage: Callable[[Path], None], args: tuple[str, ...], code: int, sentence: str
) -> None:
    _flaky(tmp_path)
    damage(tmp_path)
    done = call("baseline", *args, "-o", "b.json", cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert not (tmp_path / "b.json").is_file()
