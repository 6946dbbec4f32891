"""Messages between runner and proxy are read as they were written."""

import msgspec
import pytest

from pinchbench.wire.wire_messages import (
    Answered,
    CallFailed,
    Command,
    Configure,
    Failed,
    Lease,
    PaceChanged,
    Provider,
    Ready,
    Release,
    Report,
    SetTurn,
    decode_command,
    decode_report,
    encode,
)

PROVIDER = Provider(id="openai", base_url="http://a", key="sk-planted", max_requests=4)


@pytest.mark.parametrize(
    "message",
    [
        Configure(provider=PROVIDER, folder="/f"),
        Lease(token="t", trial="task/1", path="/p"),
        SetTurn(token="t", turn=2),
        Release(token="t"),
        Ready(port=1, socket="/s"),
        Answered(token="t", problem="full"),
        PaceChanged(provider="openai", window=3),
        Failed(reason="broken"),
        CallFailed(trial="task/1", number=1, status=0),
    ],
)
def test_a_message_is_read_as_it_was_written(message: Command | Report) -> None:
    decode = decode_command if isinstance(message, Command) else decode_report
    assert decode(encode(message)) == message
    assert encode(message).count(b"\n") == 1


@pytest.mark.parametrize("line", [b"{", b"{}", b'{"type":"other"}', b'{"type":"lease"}'])
def test_what_is_no_message_is_an_error(line: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_command(line)


def test_a_provider_is_shown_without_its_key() -> None:
    assert "sk-planted" not in repr(Configure(provider=PROVIDER, folder="/f"))
