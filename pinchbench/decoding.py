"""Decode JSON and MessagePack into types, from any thread."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import msgspec
from msgspec import UnsetType

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Maybe: TypeAlias = T | UnsetType  # of a key that may be missing


def doc(meaning: str) -> msgspec.Meta:
    """Return the annotation that says what a key means."""
    return msgspec.Meta(description=meaning)


# msgspec (0.22) describes a type when it is first used, and a second thread that uses it meanwhile crashes the process.
# Nothing is slower for it: decoding holds the interpreter's lock anyway. A `dec_hook` may decode, too.
_lock = RLock()


@overload
def decode_json(data: bytes | bytearray | str, kind: type[T]) -> T: ...


@overload
def decode_json(data: bytes | bytearray | str) -> Any: ...  # noqa: ANN401 - as JSON is


def decode_json(data: bytes | bytearray | str, kind: Any = Any) -> Any:
    """Return the value of a JSON text, of any kind unless one is given.

    Raises msgspec.DecodeError, a ValueError, if the text is not JSON; msgspec.ValidationError, a DecodeError, if its
    value is of another kind; RecursionError if it is nested too deeply.
    """
    with _lock:
        return msgspec.json.decode(data, type=kind)


def convert(
    value: object,
    kind: type[T],
    *,
    dec_hook: Callable[[type, Any], object] | None = None,
    from_attributes: bool = False,
) -> T:
    """Return a value converted to a type, as msgspec.convert does. Raises msgspec.ValidationError if it doesn't fit."""
    with _lock:
        return msgspec.convert(value, kind, dec_hook=dec_hook, from_attributes=from_attributes)


@overload
def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]: ...


@overload
def json_decoder(kind: object) -> msgspec.json.Decoder[Any]: ...


def json_decoder(kind: Any) -> Any:
    """Return a decoder for many texts, which any thread may use."""
    with _lock:
        return msgspec.json.Decoder(kind)


def msgpack_decoder(kind: object) -> msgspec.msgpack.Decoder[Any]:
    """Return a decoder for many messages, which any thread may use."""
    with _lock:
        return msgspec.msgpack.Decoder(kind)
