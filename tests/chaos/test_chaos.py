"""Runs that are killed, torn and out of room come to their result, and the ledger notices where they do not."""

import os
import sys
from pathlib import Path
from random import Random

import pytest

from chaos.campaign import Peace, tear, torment
from chaos.full_disk import FOLDERS, fill_disk, why_not
from chaos.ledger import Findings, Ledger
from chaos.session import Place, Session, wait_until_gone
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Grade
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.records import GradeGiven, RunStarted, TrialFinished, TrialStarted

# make chaos asks for more
TRIALS = int(os.environ.get("PINCHBENCH_CHAOS_TRIALS", "16"))
KILLS = int(os.environ.get("PINCHBENCH_CHAOS_KILLS", "8"))
SEED = os.environ.get("PINCHBENCH_CHAOS_SEED", "short")
DEATHS = 6
KEY = TrialKey(task_id="task_001", repetition=1)
SHOWN = ("10:00:00          completed  task_001  0.5 s, 220 tokens", "10:00:01             graded  task_001  0.50")


@pytest.fixture(scope="module")
def peace(tmp_path_factory: pytest.TempPathFactory) -> Peace:
    """What undisturbed runs of a small suite come to."""
    return Peace(tmp_path_factory.mktemp("chaos") / "peace", trials=TRIALS, concurrency=4)


@pytest.mark.long
def test_a_run_that_is_killed_again_and_again_comes_to_the_result_of_one_that_was_left_alone(
    peace: Peace, tmp_path: Path
) -> None:
    findings = torment(tmp_path, Random(SEED), peace, kills=KILLS)
    assert findings.bad == []
    assert findings.kills == KILLS
    assert findings.runs >= 1


@pytest.mark.long
def test_a_run_whose_journal_is_torn_again_and_again_comes_to_the_same_result(peace: Peace, tmp_path: Path) -> None:
    findings = tear(tmp_path, Random(SEED), peace, deaths=DEATHS)
    assert findings.bad == []
    assert findings.kills >= 1
    assert findings.runs == 1


@pytest.mark.long
@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize("name", FOLDERS)
def test_a_full_disk_is_reported_loses_no_result_and_is_no_models_fault(
    peace: Peace, tmp_path: Path, name: str
) -> None:
    findings = fill_disk(tmp_path, name, Random(SEED), peace)
    assert findings.bad == []
    assert findings.kills == 1
    assert findings.runs == 1


def outcome(task_id: str = KEY.task_id) -> TrialFinished:
    key = TrialKey(task_id=task_id, repetition=1)
    return TrialFinished(outcome=Outcome(key=key, reason=Reason.COMPLETED, digest="d"))


def begun(at: float = 1.0) -> TrialStarted:
    return TrialStarted(key=KEY, slot=1, attempt=1, at=at)


def grade(score: float) -> GradeGiven:
    return GradeGiven(grade=Grade(key=KEY, grading_type=GradingType.AUTOMATED, score=score, digest="d"))


def journal(folder: Path, *records: TrialStarted | TrialFinished | GradeGiven) -> Path:
    path = folder / "journal.jsonl"
    with JournalWriter(path, go_on=True) as writer:
        writer.append([RunStarted(run_id="r", model="m", at=1.0, trials=2), *records])
    return path


@pytest.mark.parametrize(
    "records",
    [(), (begun(),), (outcome("task_002"), grade(0.5)), (outcome(), grade(0.6))],
)
def test_a_shown_result_that_is_not_in_the_journal_is_lost(
    tmp_path: Path, records: tuple[TrialStarted | TrialFinished | GradeGiven, ...]
) -> None:
    findings = Findings()
    Ledger(findings).take(journal(tmp_path, *records), SHOWN, None)
    assert findings.lost


def test_an_end_that_goes_from_the_journal_is_lost(tmp_path: Path) -> None:
    findings = Findings()
    ledger = Ledger(findings)
    ledger.take(journal(tmp_path, outcome()), (), None)
    (tmp_path / "journal.jsonl").unlink()
    ledger.take(journal(tmp_path), (), None)
    assert findings.lost


def test_a_final_result_that_says_otherwise_than_was_shown_is_a_loss() -> None:
    findings = Findings()
    ledger = Ledger(findings)
    run = {"repetition": 1, "reason": "completed", "grade": {"score": 0.5, "ungraded": None}}
    ledger.close({"tasks": [{"task_id": "task_001", "runs": [run]}]})
    assert findings.lost == []
    ledger.take(None, (), None)
    ledger._ended["task_001"] = "timed_out"
    ledger._graded["task_001"] = "0.60"
    ledger.close({"tasks": [{"task_id": "task_001", "runs": [run]}]})
    assert len(findings.lost) == 2


def test_a_trial_that_is_started_behind_its_end_is_run_twice(tmp_path: Path) -> None:
    findings = Findings()
    Ledger(findings).take(journal(tmp_path, begun(), outcome(), begun(2.0)), (), None)
    assert len(findings.twice) == 1


def test_only_the_line_that_a_death_has_cut_may_be_unreadable(tmp_path: Path) -> None:
    findings = Findings()
    ledger = Ledger(findings)
    path = journal(tmp_path, begun())
    path.write_bytes(path.read_bytes()[:-9])
    ledger.take(path, (), None)
    assert (findings.torn, findings.journal) == (1, [])
    with JournalWriter(path, go_on=True) as writer:
        writer.append([begun(2.0)])
    ledger.take(path, (), None)
    assert (findings.torn, findings.journal) == (1, [])
    path.write_bytes(path.read_bytes() + b"rubbish\n")
    ledger.take(path, (), None)
    assert len(findings.journal) == 1


@pytest.mark.parametrize("how", ["", "env -i "])
def test_who_outlives_a_runner_is_found_whatever_it_has_dropped(tmp_path: Path, how: str) -> None:
    script = f"import subprocess; subprocess.Popen({how.split()!r} + ['/bin/sleep', '600'], start_new_session=True)"
    place = Place(folder=tmp_path, options=())
    with Session(place, 1, command=(sys.executable, "-c", script)) as session:
        session.wait()
        survivors = session.survivors()
        for process in survivors:
            process.kill()
    assert session.code == 0
    assert len(survivors) == 1
    assert wait_until_gone(session.survivors) == []
