"""Where judges disagree: in a run as it is read, and on the pages of the site."""

import re
from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.paths import RunFiles
from pinchbench.results.records import GradeOverridden
from pinchbench.serve.disagreements import agreement_of_run, disagreements_of, sorted_by_difference
from pinchbench.serve.live_run import LiveRun
from site_server import serving

RUN = PlannedRun(
    trials={
        "task_agree": (Made(judged=(0.5, 0.5)),),
        "task_bit": (Made(judged=(0.5, 0.6)),),
        "task_far": (Made(judged=(0.1, 0.9)),),
        "task_one": (Made(),),
        "task_seen": (Made(judged=(0.0, 1.0)),),
    },
    grading=GradingType.LLM_JUDGE,
    titles={"task_far": "Go far"},
)


def _written(folder: Path) -> RunFiles:
    files = write_run(folder, RUN)
    with JournalWriter(files.journal, go_on=True) as journal:
        key = TrialKey(task_id="task_seen", repetition=1)
        journal.append([GradeOverridden(key=key, at=1.0, attempt=1, score=0.8, why="the second is right")])
    return files


def test_the_largest_difference_comes_first_and_what_a_person_has_graded_last(tmp_path: Path) -> None:
    run = LiveRun(_written(tmp_path))
    run.read()

    found = sorted_by_difference(disagreements_of(run))

    assert [(one.trial, one.difference, one.by_hand) for one in found] == [
        ("Go far", 0.8, None),
        ("task_bit", 0.1, None),
        ("task_seen", 1.0, 0.8),
    ]
    assert found[0].judges == (("judge-1", 0.1), ("judge-2", 0.9))
    assert found[0].criterion == ("is clear", 0.8)
    assert found[0].note == f'pinchbench-async ctl {RUN.run_id} note "REASON" --trial task_far --score X'


def test_a_run_says_how_far_its_judges_agree_and_nothing_where_there_is_one(tmp_path: Path) -> None:
    several = LiveRun(_written(tmp_path))
    alone = LiveRun(write_run(tmp_path, PlannedRun(trials={"task_one": (Made(),)}, model="mock/m2")))
    for run in (several, alone):
        run.read()

    assert agreement_of_run(several) == (
        "Agreement of the judges: too few trials to tell (4 trials, and 10 are needed)."
    )
    assert agreement_of_run(alone) == ""


def test_the_judges_page_lists_disagreements_before_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    files = _written(tmp_path / "runs")
    other = write_run(tmp_path / "runs", PlannedRun(trials={"task_x": (Made(judged=(0.3, 0.7)),)}, model="mock/m2"))
    with serving(tmp_path / "runs") as site:
        every = site.ask("/judges").text
        one = site.ask(f"/judges?run={other.name}").text
        nowhere = site.ask("/judges?run=nothing")
        run = site.ask(f"/run/{files.name}").text
        trial = site.ask(f"/run/{files.name}/trial/task_far").text

    assert re.findall(r'<tr data-row><th scope="row"><a href="[^"]*">([\w ]+)</a>', every) == [
        "Go far",
        "task_x",
        "task_bit",
        "task_seen",
    ]
    assert every.index("Disagreements") < every.index("No judge has a certificate yet")
    assert "judge-1 <b>0.10</b>, judge-2 <b>0.90</b>" in every
    assert "--trial task_far --score X" in every
    assert "--trial task_seen" not in every, "its own grade is shown instead"
    assert "Go far" not in one
    assert nowhere.status == 404
    assert f'<a href="/judges?run={files.name}">Where they disagree</a>' in run
    assert '"judge-2"' in trial
