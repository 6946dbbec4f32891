"""Which of the trials that share an address a request belongs to (pure)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Protocol, TypeVar

from pinchbench.wire.facts import request_facts

if TYPE_CHECKING:
    from collections.abc import Iterable

# A path does not end where one of these follows: `/tmp/a/task_1` is not in `/tmp/a/task_10`.
CONTINUES = r"(?![\w@~-]|\.\w)"


class Mark:
    """A text that stands in the system prompt of one trial only: the path of its workspace."""

    def __init__(self, text: str) -> None:
        """Find `text` as it stands in prompts, and as JSON writes it."""
        self._text = re.compile(re.escape(text) + CONTINUES)
        raw = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
        self._raw = re.compile(
            b"(?:" + b"|".join(re.escape(one.encode()) for one in sorted(raw)) + b")" + CONTINUES.encode()
        )

    def place_in_text(self, text: str) -> int | None:
        """Return where it stands in a text first; None if it does not."""
        found = self._text.search(text)
        return found.start() if found else None

    def place_in_body(self, body: bytes) -> int | None:
        """Return where it stands in a JSON body first; None if it does not."""
        found = self._raw.search(body)
        return found.start() if found else None


class Marked(Protocol):
    """What has a mark."""

    mark: Mark | None


T = TypeVar("T", bound=Marked)


def owner_of(candidates: Iterable[T], path: str, body: bytes) -> T | None:
    """Return the trial whose mark the request names first; None if it names none.

    The system prompt decides, which the agent does not write; only if it names no trial, the whole body does.

    Args:
        candidates: The trials that share the address.
        path: The path of the request, which tells its protocol.
        body: The body, as it was sent.
    """
    known = list(candidates)
    system = request_facts(path, body).conversation.system
    places = [(place, one) for one in known if one.mark and (place := one.mark.place_in_text(system)) is not None]
    if not places:
        places = [(place, one) for one in known if one.mark and (place := one.mark.place_in_body(body)) is not None]
    return min(places, key=lambda found: found[0])[1] if places else None
