"""Read values of JSON that others wrote: what is missing or of another type is empty, and nothing raises."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256

from pinchbench.decoding import decode_json
from pinchbench.transcript_lines import writable

MAX_COUNT = 2.0**53  # of tokens or dollars: keeps sums of hostile numbers finite
DIGEST_CHARS = 16
MAX_DEPTH = 100  # beyond some hundreds, Python's own parsers and encoders fail

Object = Mapping[str, object]
EMPTY: Object = {}


def parse(data: bytes) -> object:
    """Parse JSON as JavaScript does; None if it is none, such as with Python's `NaN`.

    Invalid UTF-8 and unpaired surrogates are replaced when texts are read.
    """
    try:
        return decode_json(data)
    except (ValueError, RecursionError):  # stricter than the standard library, and faster
        pass
    try:
        value: object = json.loads(data.decode("utf-8", "replace"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def object_at(value: object, *keys: str) -> Object:
    """Return the object at a path of keys; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else EMPTY


def list_at(value: object, key: str) -> list[object]:
    """Return the list at a key; empty if there is none."""
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, list) else []


def objects_at(value: object, key: str) -> list[Object]:
    """Return the objects of the list at a key."""
    return [one for one in list_at(value, key) if isinstance(one, Mapping)]


def texts_in(value: object) -> list[str]:
    """Return the texts in a list; none if it is no list."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def text_at(value: object, *keys: str) -> str:
    """Return the first non-empty text at one of these keys; empty if there is none."""
    return writable(piece_at(value, *keys))


def piece_at(value: object, *keys: str) -> str:
    """Return the same of a text that comes in pieces, which may be cut within a pair of surrogates."""
    found = (value.get(key) for key in keys) if isinstance(value, Mapping) else ()
    return next((one for one in found if isinstance(one, str) and one), "")


def count_at(value: object, *keys: str) -> int:
    """Return the first count at one of these keys; 0 if there is none."""
    return next((int(found) for key in keys if (found := amount_at(value, key)) is not None), 0)


def amount_at(value: object, key: str) -> float | None:
    """Return the non-negative number at a key; None if there is none."""
    found = number_at(value, key)
    return found if found is not None and found >= 0 else None


def number_at(value: object, key: str) -> float | None:
    """Return the finite number at a key, which may be negative; None if there is none."""
    found = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(found, (int, float)) or isinstance(found, bool) or not -MAX_COUNT <= found <= MAX_COUNT:
        return None
    return float(found)


def ints_at(value: object, key: str) -> tuple[int, ...]:
    """Return the list of whole numbers at a key; empty if anything else is in it."""
    found = list_at(value, key)
    return tuple(one for one in found if type(one) is int) if all(type(one) is int for one in found) else ()


def is_deep(value: object, most: int = MAX_DEPTH) -> bool:
    """Return whether a JSON value is nested more than `most` levels deep. Not recursive: it may have thousands."""
    level: list[object] = [value]
    for _ in range(most + 1):
        nested = [one for one in level if isinstance(one, (dict, list))]
        if not nested:
            return False
        level = [member for one in nested for member in (one.values() if isinstance(one, dict) else one)]
    return True


def json_text(value: object) -> str:
    """Write a value as compact JSON; a text as it is, and None as an empty text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return writable(value)
    try:
        return writable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except RecursionError:
        return "(nested too deeply)"


def canonical(text: str) -> str:
    """Write the JSON of a text in the one way in which equal values are equal texts; other texts as they are."""
    value = parse(text.encode("utf-8", "replace"))
    if value is None:
        return text
    try:
        return writable(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")))
    except RecursionError:
        return text


def digest_of(value: object) -> str:
    """Return a short digest of a JSON value."""
    return sha256(json_text(value).encode()).hexdigest()[:DIGEST_CHARS]


MAX_ERROR_CHARS = 500
MAX_READ_BYTES = 8 * 1024  # of a page of HTML: bounds the work on hostile ones
HIDDEN = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
PAGE_MARK = "web page: "
PAGE = re.compile(r"<(?:!doctype|html|head|body|title|center|h1)\b", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")
SPACE = re.compile(r"\s+")


def error_in(value: object) -> str:
    """Return the error that a JSON value tells of, after its type and its code; empty if it tells of none.

    All protocols name it `error`, some as a text, Google also in a list; proxies and frameworks use `message` and
    `detail` at the top.
    """
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, Mapping):
        return ""
    error = value.get("error")
    if isinstance(error, Mapping):
        return _described(error)
    if "error" in (value.get("object"), value.get("type")):  # vLLM; OpenAI's Responses
        return _described(value)
    refused = object_at(value, "base_resp")  # MiniMax, with status 200
    if refused.get("status_code"):
        return _described({"code": refused["status_code"], "message": text_at(refused, "status_msg")})
    return _shortened(": ".join(filter(None, (text_at(value, "error"), text_at(value, "message"))))) if error else ""


def error_text(body: bytes, status: int) -> str:
    """Return the text of a body that is no reply: the message of JSON, or "web page: " and what a browser shows."""
    value = parse(body)
    said = error_in(value)
    if not said and isinstance(value, Mapping) and text_at(value, "message", "detail"):
        said = _described(value)
    if not said:
        page = body[:MAX_READ_BYTES].decode("utf-8", "replace")
        said = _shortened(TAG.sub(" ", HIDDEN.sub(" ", page)) if "<" in page else page)
        said = f"{PAGE_MARK}{said or 'without a text'}" if PAGE.search(page) else said
    return said or f"status {status} without a text"


def _described(error: Object) -> str:
    """Join type, code and message of an error, and what a router quotes from the provider that it asked.

    An error without a message that is a text is written as it is.
    """
    named = (error.get(key) for key in ("__type", "type", "status", "code"))
    kinds = dict.fromkeys(str(one) for one in named if one and one != "error" and type(one) in (str, int))
    raw = json_text(object_at(error, "metadata").get("raw"))  # OpenRouter
    said = text_at(error, "message", "detail", "msg") or (json_text(error) if not raw else "")
    return _shortened(": ".join(filter(None, (" ".join(kinds), said, raw))))


def _shortened(text: str) -> str:
    flat = SPACE.sub(" ", writable(text[: 4 * MAX_ERROR_CHARS])).strip()
    return flat if len(flat) <= MAX_ERROR_CHARS else f"{flat[:MAX_ERROR_CHARS]}…"
