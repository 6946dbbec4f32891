"""Which reasons count, which are final, and which are no attempt at all."""

import pytest

from pinchbench.model.ending import Ending, Reason, Status


@pytest.mark.parametrize("reason", Reason)
def test_what_is_valid_is_final_and_what_is_final_was_an_attempt(reason: Reason) -> None:
    assert reason.is_final or not reason.is_valid
    assert reason.is_attempt or not reason.is_final


@pytest.mark.parametrize(
    ("reason", "ending", "status"),
    [
        (Reason.COMPLETED, Ending.COMPLETED, Status.SUCCESS),
        (Reason.TIMED_OUT, Ending.TIMED_OUT, Status.TIMEOUT),
        (Reason.MODEL_ERROR, Ending.AGENT_FAILED, Status.ERROR),
        (Reason.TAMPERED, Ending.UNTRUSTED, Status.ERROR),
        (Reason.PROVIDER_ERROR, Ending.INFRASTRUCTURE, Status.ERROR),
        (Reason.INTERRUPTED, Ending.INTERRUPTED, Status.ERROR),
    ],
)
def test_a_reason_has_its_ending_and_its_status(reason: Reason, ending: Ending, status: Status) -> None:
    assert (reason.ending, reason.status) == (ending, status)
