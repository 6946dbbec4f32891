"""An exchange between agent and model."""

from __future__ import annotations

from pinchbench.wire.exchange import Chunk
from wire.exchanges import CHAT, exchange


def test_the_reply_is_all_chunks_in_the_order_of_arrival() -> None:
    assert exchange(CHAT, {}, (Chunk(at_s=0.1, data=b"a"), Chunk(at_s=0.2, data=b"b"))).reply == b"ab"
    assert exchange(CHAT, {}, ()).reply == b""
