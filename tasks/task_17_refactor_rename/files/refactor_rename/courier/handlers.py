"""Commands by name: `job` and `batch`."""

from typing import Any

from courier import dispatch

KINDS = ("job", "batch")


def handler(kind: str) -> Any:
    """Return the function for a kind of command. An unknown kind raises `ValueError`."""
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}")
    return getattr(dispatch, "push_" + kind)
