"""When trials of a node end alike."""

from __future__ import annotations

from pinchbench.cluster.row import MAX_ROW, Row
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey


def row_of(*reasons: Reason) -> Row:
    row, key = Row(), TrialKey(task_id="task_a", repetition=1)
    for reason in reasons:
        row.take(Outcome(key=key, reason=reason, digest="d", note="no space left"))
    return row


def test_trials_that_keep_failing_alike_for_a_reason_of_the_machine_are_named() -> None:
    assert not row_of(*[Reason.DISK_FULL] * (MAX_ROW - 1)).why
    assert row_of(*[Reason.DISK_FULL] * 4).why == "3 trials in a row ended there as disk_full: no space left."


def test_a_trial_that_ends_otherwise_begins_a_new_row_and_one_that_was_interrupted_does_not() -> None:
    full = Reason.DISK_FULL
    assert not row_of(full, full, Reason.COMPLETED, full).why
    assert not row_of(full, full, Reason.WIRE_LOST, full).why
    assert row_of(full, full, Reason.INTERRUPTED, full).why


def test_what_a_model_does_is_no_reason_of_the_machine() -> None:
    assert not row_of(*[Reason.TIMED_OUT] * 4).why
