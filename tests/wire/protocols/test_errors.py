"""The texts of errors that providers and proxies answer with."""

from __future__ import annotations

import pytest

from pinchbench.wire.facts import facts_of
from wire.exchanges import CHAT, exchange


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (429, b'{"error": {"message": "Slow  down", "type": "rate_limit_error"}}', "rate_limit_error: Slow down"),
        (400, b'{"error": "bad"}', "bad"),
        (404, b'{"detail": "Not Found"}', "Not Found"),
        (
            502,
            b"<html><head><title>x</title><style>a{}</style></head><h1>502</h1>\n<p>Bad Gateway</html>",
            "502 Bad Gateway",
        ),
        (500, b"", "status 500 without a text"),
        (503, b"\xff" * 3, "\ufffd\ufffd\ufffd"),
    ],
)
def test_the_text_of_an_error_is_read(status: int, body: bytes, said: str) -> None:
    assert facts_of(exchange(CHAT, {}, body, status=status, reply_headers=())).reply.error == said


def test_an_error_page_of_unclosed_tags_takes_no_time() -> None:
    reply = facts_of(exchange(CHAT, {}, b"<script" * 1_000_000, status=500, reply_headers=())).reply

    assert len(reply.error) <= 501
