"""A trial on its page: one that runs as far as its files go, one that ended as in the report."""

from pathlib import Path

from past_runs import Made, PlannedRun, write_run
from pinchbench.events import TrialBegan
from pinchbench.model.ending import Reason
from pinchbench.model.trial import TrialKey
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.records import TrialStarted
from pinchbench.serve.live_run import LiveRun
from pinchbench.serve.trial_view import trial_mark, trial_view
from pinchbench.wire.recording import RecordingWriter
from wire.exchanges import CHAT, exchange, sse

KEY = TrialKey(task_id="task_a", repetition=1)
NEXT = TrialKey(task_id="task_a", repetition=2)


def _run(folder: Path) -> LiveRun:
    trials = {"task_a": (Made(score=0.4, retried=(Reason.PROVIDER_ERROR,)),)}
    run = LiveRun(write_run(folder, PlannedRun(trials=trials, planned_beyond=1)))
    run.read()
    return run


def test_a_running_trial_shows_its_calls_and_its_errors_as_they_come(tmp_path: Path) -> None:
    run = _run(tmp_path)
    not_run = trial_view(run, NEXT, None, attempt=0).data
    run.take(TrialBegan(slot=3, key=NEXT, timeout_s=30))
    evidence = Evidence(folder=run.files.trial(NEXT))
    evidence.folder.mkdir(parents=True)
    marks = [trial_mark(run, NEXT)]
    evidence.stderr.write_text("Error: \x1b[31mbusy\n", encoding="utf-8")
    marks.append(trial_mark(run, NEXT))
    delta = {"choices": [{"index": 0, "delta": {"content": "I look."}, "finish_reason": "stop"}]}
    with RecordingWriter(evidence.wire) as recording:
        asked = {"model": "m", "messages": [{"role": "user", "content": "Please do."}]}
        recording.append(exchange(CHAT, asked, sse(delta, end="[DONE]"), number=1))
        marks.append(trial_mark(run, NEXT))
        told = trial_view(run, NEXT, None, attempt=0).data

    assert not_run["cut"] == "This trial has not run."
    assert told["facts"] == [["Slot", "3"], ["Attempt", "1"]]
    assert told["stderr"] == {"text": "Error: busy\n", "left_out": 0}
    assert "Please do." in str(told["wire"])
    assert "I look." in str(told["wire"])
    assert len({str(mark) for mark in marks}) == 3


def test_a_running_trial_shows_when_its_latest_chat_message_was_sent(tmp_path: Path) -> None:
    run = _run(tmp_path)
    run.take(TrialBegan(slot=3, key=NEXT, timeout_s=30))
    evidence = Evidence(folder=run.files.trial(NEXT))
    evidence.folder.mkdir(parents=True)
    shown = []
    for text in ("{}\n", '{"at": "2026-03-02T06:30:00+00:00"}\n{"at": "2026-03-03T07:00:00+00:00"}\n', "[]\n", "{"):
        evidence.chat.write_text(text, encoding="utf-8")
        shown.append(trial_view(run, NEXT, None, attempt=0).data["facts"])
    plain = [["Slot", "3"], ["Attempt", "1"]]
    assert shown == [plain, [*plain, ["Latest message", "2026-03-03T07:00:00+00:00"]], plain, plain]


def test_a_trial_that_runs_on_a_cluster_has_its_node_next_to_its_slot(tmp_path: Path) -> None:
    run = _run(tmp_path)
    run.take(TrialBegan(slot=3, key=NEXT, timeout_s=30, node="host-111111"))
    told = trial_view(run, NEXT, None, attempt=0).data
    assert told["facts"] == [["Slot", "3"], ["Node", "host-111111"], ["Attempt", "1"]]


def test_each_attempt_can_be_shown_and_a_running_one_is_named(tmp_path: Path) -> None:
    run = _run(tmp_path)
    counting = trial_view(run, KEY, None, attempt=0).data
    first = trial_view(run, KEY, None, attempt=1).data
    none = trial_view(run, KEY, None, attempt=9).data
    run.is_running = True
    run.state.apply(TrialStarted(slot=1, key=KEY, attempt=3, at=0.0))
    run.take(TrialBegan(slot=1, key=KEY, timeout_s=30, attempt=3))
    again = trial_view(run, KEY, None, attempt=0).data
    running = trial_view(run, KEY, None, attempt=3).data

    assert counting["state"] == {"text": "failed", "badge": "bad", "more": ""}
    assert counting == none
    assert "provider error" in str(first["facts"])
    assert first["grade"] is None
    assert ["Now", "attempt 3 is running in slot 1"] in again["facts"]  # type: ignore[operator]
    assert running["state"] == {"text": "running", "badge": "", "more": "again, after completed"}
