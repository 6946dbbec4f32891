"""What happens in a trial besides the user's turns, in words."""

import pytest

from pinchbench.model.timeline import Advance, ChatMessage, Interrupt, ServiceEvent, TimelineEvent


@pytest.mark.parametrize(
    ("event", "phrase"),
    [
        (ChatMessage(sender="sam", is_owner=True), "message from sam, the owner"),
        (ChatMessage(sender="bob", is_owner=False), "message from bob"),
        (Interrupt(sender="sam", after_calls=1), "message from sam while the agent works, after 1 call of the model"),
        (Interrupt(sender="sam", after_calls=5), "message from sam while the agent works, after 5 calls of the model"),
        (Advance(by_s=93_600), "1 day, 2:00:00 pass"),
        (Advance(to_s=1_772_436_600), "time passes until 2026-03-02T07:30:00+00:00"),
        (ServiceEvent(service="mail", path="/in", body={"from": "ä"}), 'POST /in to the service mail: {"from": "ä"}'),
    ],
)
def test_an_event_is_described_by_a_phrase(event: TimelineEvent, phrase: str) -> None:
    assert str(event) == phrase
