"""The text of an error that a provider answers with (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pinchbench.wire.protocols.json_values import parse, text_at, writable

MAX_ERROR_CHARS = 500
MAX_READ_BYTES = 8 * 1024  # of a page of HTML: bounds the work on hostile ones
HIDDEN = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")
SPACE = re.compile(r"\s+")


def error_in(value: object) -> str:
    """Return the error that a JSON value tells of, with its kind; empty if it tells of none.

    All four protocols name it `error`, some as a text, Google also in a list; proxies and frameworks use `message` and
    `detail` at the top.
    """
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, Mapping):
        return ""
    error = value.get("error")
    if isinstance(error, Mapping):
        kind = text_at(error, "type", "status", "code")
        return _shortened(": ".join(filter(None, (kind, text_at(error, "message")))))
    return _shortened(text_at(value, "error"))


def error_text(body: bytes, status: int) -> str:
    """Return the text of a reply that is an error: of JSON its message, of HTML what a browser shows."""
    value = parse(body)
    said = error_in(value) or _shortened(text_at(value, "message", "detail"))
    if not said:
        page = body[:MAX_READ_BYTES].decode("utf-8", "replace")
        said = _shortened(TAG.sub(" ", HIDDEN.sub(" ", page)) if "<" in page else page)
    return said or f"status {status} without a text"


def _shortened(text: str) -> str:
    flat = SPACE.sub(" ", writable(text[: 4 * MAX_ERROR_CHARS])).strip()
    return flat if len(flat) <= MAX_ERROR_CHARS else f"{flat[:MAX_ERROR_CHARS]}…"
