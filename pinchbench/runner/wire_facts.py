"""Reads what the wire recorded of an attempt: its figures, and whether the transcript says what the model sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pinchbench.model import WireFacts
from pinchbench.transcript.conversation import Role, read_conversation
from pinchbench.wire.contradiction import first_contradiction
from pinchbench.wire.measure import measure
from pinchbench.wire.protocols.values import ToolCall
from pinchbench.wire.recording import read_recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinchbench.transcript.conversation import Message

DIGITS = 3


def read_wire(recording: Path, transcript: Path) -> tuple[WireFacts, str]:
    """Return the figures of an attempt, and how its transcript contradicts the recording; empty if it does not. Blocks.

    Raises OSError if the recording can't be read, ResultsError if the transcript can't.
    """
    exchanges = read_recording(recording).exchanges
    found = measure(exchanges)
    facts = WireFacts(
        calls=found.calls,
        failed=tuple(call.status for call in found.failed),
        wire_retries=found.wire_retries,
        usage=found.usage,
        unreported=found.unreported,
        models=found.models,
        first_token_s=_rounded(found.first_token_median_s),
        output_tokens_per_s=_rounded(found.output_tokens_per_s),
        model_s=round(found.model_s, DIGITS),
        queued_s=round(found.queued_s, DIGITS),
        between_s=round(found.gaps_s, DIGITS),
    )
    if not transcript.is_file():
        return facts, ""
    contradiction = first_contradiction(exchanges, [*_said(read_conversation(transcript))])
    if contradiction is None:
        return facts, ""
    return facts, f"the transcript has an answer that the model did not send: {contradiction.said}"


def _said(messages: tuple[Message, ...]) -> Iterator[tuple[str, tuple[ToolCall, ...]]]:
    """Yield what the model said, as the transcript has it."""
    for message in messages:
        if message.role is Role.ASSISTANT and not message.error:
            calls = tuple(
                ToolCall(id=call.id, name=call.name, arguments=msgspec.json.encode(call.arguments).decode())
                for call in message.calls
            )
            yield message.text, calls


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
