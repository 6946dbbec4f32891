"""What is shown of grades by hand and of notes."""

from pathlib import Path

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.trial import TrialKey
from pinchbench.report.sentences import control_sentences
from pinchbench.results.finished_run import read_run
from pinchbench.runner.ctl.commands import Note, Override
from pinchbench.runner.ctl.run_commands import carry_out_offline
from pinchbench.serve.live_run import LiveRun
from pinchbench.serve.user_notes import run_remarks, trial_remarks

REMARKED = PlannedRun(
    trials={
        "task_a": (Made(score=1.0, retried=(Reason.PROVIDER_ERROR,)),),
        "task_b": (Made(score=0.5), Made(score=0.0)),
    }
)


def test_pages_say_what_the_result_says_and_the_latest_grade_by_hand_counts(tmp_path: Path) -> None:
    files = write_run(tmp_path, REMARKED)
    run = LiveRun(files)
    run.read()
    before = run_remarks(run)
    for command in (
        Override(trial="task_a", score=0.9, reason="a slip"),
        Override(trial="task_a", score=0.4, reason="on second thoughts"),
        Note(text="on battery", tags=("laptop", "slow")),
        Note(text="odd", trial="task_b@2"),
    ):
        assert carry_out_offline(files, command, is_working=False).ok
    run.read()

    told = run_remarks(run)
    a, b, b2 = (
        TrialKey(task_id=task, repetition=number) for task, number in (("task_a", 1), ("task_b", 1), ("task_b", 2))
    )
    assert before == ()
    assert told == control_sentences(read_run(files).data)
    assert told[0].startswith(
        "Graded by hand: 1 trial. With these grades the score is 0.325 (3 trials), as measured 0.625"
    )
    assert told[1:] == ("Note: on battery [laptop] [slow]", "Note: task_b@2: odd")
    assert trial_remarks(run, a) == ("Graded by hand: 1 trial. task_a 1.00 → 0.40 (on second thoughts).",)
    assert trial_remarks(run, b) == ()
    assert trial_remarks(run, b2) == ("Note: task_b@2: odd",)
    assert run.score(a) == 1.0
