"""Values of JSON that others wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.json_values import canonical, parse, text_at
from pinchbench.transcript_lines import writable
from pinchbench.wire.exchange_facts import facts_of
from wire.exchanges import CHAT, exchange


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_equal_objects_have_one_canonical_text(value: dict[str, object]) -> None:
    turned = json.dumps(dict(reversed(value.items())), indent=1)

    assert canonical(json.dumps(value)) == canonical(turned)


def test_unpaired_surrogates_are_replaced_and_pairs_are_joined() -> None:
    assert writable("a\ud800b") == "a\ufffdb"
    assert writable("\ud83e\udd80") == "🦀"
    assert text_at(parse(b'{"a": "\\ud800"}'), "a") == "\ufffd"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (429, b'{"error": {"message": "Slow  down", "type": "rate_limit_error"}}', "rate_limit_error: Slow down"),
        (400, b'{"error": "bad"}', "bad"),
        (404, b'{"detail": "Not Found"}', "Not Found"),
        (
            502,
            b"<html><head><title>x</title><style>a{}</style></head><h1>502</h1>\n<p>Bad Gateway</html>",
            "web page: 502 Bad Gateway",
        ),
        (500, b"<html><head><title>x</title></head></html>", "web page: without a text"),
        (500, b"", "status 500 without a text"),
        (503, b"\xff" * 3, "\ufffd\ufffd\ufffd"),
    ],
)
def test_the_text_of_an_error_is_read(status: int, body: bytes, said: str) -> None:
    assert facts_of(exchange(CHAT, {}, body, status=status, reply_headers=())).reply.error == said


def test_an_error_page_of_unclosed_tags_takes_no_time() -> None:
    reply = facts_of(exchange(CHAT, {}, b"<script" * 1_000_000, status=500, reply_headers=())).reply

    assert len(reply.error) <= 501
