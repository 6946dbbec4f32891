"""Read values of JSON that others wrote: what is missing or of another type is empty, and nothing raises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

import msgspec

MAX_COUNT = 2.0**53  # of tokens or dollars: keeps sums of hostile numbers finite
DIGEST_CHARS = 16

Object = Mapping[str, object]
EMPTY: Object = {}


def parse(data: bytes) -> object:
    """Parse JSON; None if it is none. Invalid UTF-8 and unpaired surrogates are replaced when texts are read."""
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):  # stricter than the standard library, and faster
        pass
    try:
        value: object = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value


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


def text_at(value: object, *keys: str) -> str:
    """Return the first non-empty text at one of these keys; empty if there is none."""
    for key in keys:
        found = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(found, str) and found:
            return writable(found)
    return ""


def count_at(value: object, *keys: str) -> int:
    """Return the first count at one of these keys; 0 if there is none."""
    return next((int(found) for key in keys if (found := amount_at(value, key)) is not None), 0)


def amount_at(value: object, key: str) -> float | None:
    """Return the non-negative number at a key; None if there is none."""
    found = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(found, (int, float)) or isinstance(found, bool) or not 0 <= found <= MAX_COUNT:
        return None
    return found


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


def writable(text: str) -> str:
    """Replace unpaired surrogates, which JSON may contain but no file or terminal accepts."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
