"""What an outcome says of its attempt."""

from pinchbench.model.ending import Reason
from pinchbench.model.facts import WireFacts
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage


def test_what_is_paid_is_what_transcript_and_wire_have_seen_together() -> None:
    key = TrialKey(task_id="t", repetition=1)
    told = Usage(requests=1, input_tokens=100, cost_usd=0.5)
    seen = WireFacts(usage=Usage(requests=3, input_tokens=90))

    assert Outcome(key=key, reason=Reason.COMPLETED, digest="", usage=told).paid == told
    assert Outcome(key=key, reason=Reason.COMPLETED, digest="", usage=told, wire=seen).paid == Usage(
        requests=3, input_tokens=100, cost_usd=0.5
    )
