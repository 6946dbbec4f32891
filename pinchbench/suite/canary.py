"""Canaries: marks in checks and solutions, which an agent can show only if it has seen them."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGITS = 32
CANARY = re.compile(rb"pinchbench-canary-[0-9a-f]{%d}" % _DIGITS)
LENGTH = len(b"pinchbench-canary-") + _DIGITS


def new_canary() -> str:
    """Return a canary that no other task has."""
    return f"pinchbench-canary-{secrets.token_hex(_DIGITS // 2)}"


def find_canary(chunks: Iterable[bytes]) -> str | None:
    """Return the first canary in a text that comes in pieces, be it of this suite or of another; None without one.

    An encoded canary is not found: not in Base64, nor in a compressed file.
    """
    before = b""
    for chunk in chunks:
        text = before + chunk
        if (found := CANARY.search(text)) is not None:
            return found[0].decode()
        before = text[-(LENGTH - 1) :]
    return None
