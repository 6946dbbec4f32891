"""How much memory this machine can still give."""

from __future__ import annotations

import psutil


def available_bytes() -> int:
    """Memory that new processes can have without swapping, in bytes. A file is read."""
    return int(psutil.virtual_memory().available)
