"""What the wire passes on: requests to a model's own endpoints, for the model of the run (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.json_values import parse
from pinchbench.wire.exchange_facts import PROTOCOLS, request_body
from pinchbench.wire.protocols.gemini import MODEL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pinchbench.defaults import ProtocolName
    from pinchbench.wire.protocols.encoding import Headers

MODELS = re.compile(r"/models(?:/.*)?$")  # which OpenClaw may ask for their names
LISTING_METHODS = frozenset({"GET", "HEAD"})
UNSAFE = re.compile(r"[\x00-\x20\x7f%\\?#]|//|/\.{1,2}(?:/|$)")
SAFE_SIGNS = "/:@!$&'()*+,;=~"


NOTHING = msgspec.Raw(b"null")


class NotAllowedError(Exception):
    """A request that the wire does not pass on.

    Attributes:
        named: what was asked for, for the trial's ledger; empty if OpenClaw may ask for it of its own accord.
    """

    def __init__(self, reason: str, *, named: str = "") -> None:
        """Take the reason, as a sentence for the client."""
        super().__init__(reason)
        self.named = named


def canonical_target(target: str) -> str:
    """Return a request's target with its path decoded as far as a path can be.

    Raises NotAllowedError for a path that a provider could understand in another way than the wire.
    """
    path, mark, query = target.partition("?")
    decoded = unquote(path)
    if not path.startswith("/") or UNSAFE.search(decoded):
        raise NotAllowedError("The wire passes no path like this on.", named=target)
    return quote(decoded, safe=SAFE_SIGNS) + mark + query


def require_endpoint(method: str, target: str, api: ProtocolName | None) -> None:
    """Raise NotAllowedError unless a canonical target is an endpoint of the protocol; of any protocol without one."""
    path = unquote(target.partition("?")[0])
    if method in LISTING_METHODS and MODELS.search(path):
        return
    endpoint = any(one.endpoint.search(path) for one in PROTOCOLS if api in (None, one.name))
    if endpoint and method == "POST":
        return
    # OpenClaw itself asks for a web socket at some endpoints first.
    raise NotAllowedError(
        f"The wire does not pass {method} {path} on: it is no endpoint of the run's model.",
        named="" if endpoint else f"{method} {path}",
    )


class _Request(msgspec.Struct):
    """What a request's body says about models. `models` are further choices, as OpenRouter has them."""

    model: object = None
    models: object = None
    tools: msgspec.Raw = NOTHING


def named_models(target: str, body: bytes, headers: Headers) -> tuple[tuple[str, ...], bool]:
    """Return which models a request with a canonical target names, and whether it has tools, as an agent's has.

    Raises NotAllowedError if that can't be read.
    """
    request = _parsed(request_body(body, headers)) if body else _Request()
    others = request.models if isinstance(request.models, list) else []
    in_path = MODEL.search(target.partition("?")[0])
    named = [unquote(in_path[1]) if in_path else request.model, *others]
    models = tuple(dict.fromkeys(str(name) for name in named if name is not None))
    return models, bytes(request.tools) not in (b"null", b"[]")


def require_models(models: Iterable[str], allowed: Collection[str], *, has_tools: bool) -> None:
    """Raise NotAllowedError if a request, possibly with tools, names a model that is not allowed."""
    for model in models:
        if model not in allowed:
            # Without tools, it may be OpenClaw's own: it has small models write titles and recaps.
            raise NotAllowedError(
                f"The wire does not pass requests for {model} on: it is not the run's model.",
                named=f"model {model}" if has_tools else "",
            )


def _parsed(body: bytes) -> _Request:
    try:
        return decode_json(body, _Request)
    except msgspec.ValidationError:
        return _Request()  # no object, and so no request for a model
    except msgspec.DecodeError:
        pass
    value = parse(body)  # also what msgspec is stricter about, such as half a surrogate pair
    if value is None:
        raise NotAllowedError("The wire forwards only JSON, and the body is not JSON.")
    if not isinstance(value, dict):
        return _Request()
    tools = msgspec.Raw(msgspec.json.encode(len(value.get("tools") or ()) or None))
    return _Request(model=value.get("model"), models=value.get("models"), tools=tools)
