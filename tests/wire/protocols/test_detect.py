"""Which protocol a request speaks."""

from __future__ import annotations

import pytest

from pinchbench.wire.protocols.detect import protocol_of
from pinchbench.wire.protocols.values import ProtocolName


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/s/token/v1/chat/completions?api-version=1", ProtocolName.OPENAI_CHAT),
        ("/openai/v1/responses/", ProtocolName.OPENAI_RESPONSES),
        ("/v1/messages?beta=true", ProtocolName.ANTHROPIC),
        ("/v1beta/models/m:generateContent", ProtocolName.GEMINI),
        ("/v1/projects/p/models/claude:rawPredict", ProtocolName.ANTHROPIC),
        ("/v1/messages/count_tokens", None),
        ("/v1/embeddings", None),
        ("", None),
    ],
)
def test_the_path_tells_the_protocol_or_else_the_body(path: str, name: ProtocolName | None) -> None:
    body = b'{"anthropic_version": "v", "messages": []}' if "rawPredict" in path else b"{}"

    protocol = protocol_of(path, body)

    assert (protocol.name if protocol else None) == name
