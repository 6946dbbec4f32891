"""What a run lets out: no key in any event that is shown, nor in any record that is written."""

import pytest

from pinchbench.events import Event, Notice, OutputLine, PaceChanged, SetUpStep, TrialActivity, TrialEnded, TrialWaits
from pinchbench.model.ending import Reason, Stop
from pinchbench.model.grade import Grade
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.records import GradeGiven, PaceSet, Record, RunFinished, TrialFinished
from pinchbench.runner.run_redaction import Redactor

SECRET = "sk-9f8e7d6c5b4a39281706f5e4d3c2b1a0"
SAID = f"401: {SECRET} is wrong"
KEY = TrialKey(task_id="task_a", repetition=1)
OUTCOME = Outcome(key=KEY, reason=Reason.PROVIDER_ERROR, digest="", note=SAID, leftovers=(SAID,), not_kept=(SAID,))


@pytest.mark.parametrize(
    "event",
    [
        Notice(text=SAID),
        SetUpStep(text=SAID),
        OutputLine(key=KEY, stream="stdout", text=SAID),
        TrialActivity(slot=1, key=KEY, text=SAID, usage=Usage()),
        TrialWaits(slot=1, key=KEY, text=SAID, next_s=1.0),
        PaceChanged(limit=0, why=SAID),
        TrialEnded(outcome=OUTCOME),
    ],
)
def test_no_event_shows_a_key(event: Event) -> None:
    redactor = Redactor()
    assert redactor.event(event) == event
    redactor.learn([SECRET])
    shown = str(redactor.event(event))
    assert SECRET not in shown
    assert "401: [key] is wrong" in shown


@pytest.mark.parametrize(
    "record",
    [
        TrialFinished(outcome=OUTCOME),
        GradeGiven(grade=Grade(key=KEY, grading_type=GradingType.AUTOMATED, notes=(SAID,))),
        PaceSet(at=0.0, limit=0, why=SAID),
        RunFinished(at=0.0, stopped=SAID, stop=Stop.INCONCLUSIVE),
    ],
)
def test_no_record_holds_a_key(record: Record) -> None:
    written = str(Redactor([SECRET]).record(record))
    assert SECRET not in written
    assert "401: [key] is wrong" in written
