"""The available memory of this machine."""

from __future__ import annotations

import psutil


def available_bytes() -> int:
    """Return the memory that new processes can use without swapping, in bytes. Reads a file."""
    return int(psutil.virtual_memory().available)
