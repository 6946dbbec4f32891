"""Relative paths in task files."""

from __future__ import annotations

import re

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def relative_path(text: str) -> str:
    """Return the path without `.` parts and doubled slashes.

    Backslashes are refused, not read as separators: their meaning differs between systems.

    Raises:
        ValueError: the path is empty, absolute, leaves its folder, or is not the same on every system. The message
            completes a sentence that begins with the path.
    """
    if not text.strip():
        raise ValueError("is empty")
    if _CONTROL.search(text):
        raise ValueError("holds a control character")
    if "\\" in text:
        raise ValueError("holds a backslash: write / between the parts")
    if text.startswith("/"):
        raise ValueError("is absolute: it must be relative to the workspace")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ValueError("holds `..`: it must stay inside its folder")
    if not parts:
        raise ValueError("names a folder, not a place in it")
    if parts[0].startswith("~"):
        raise ValueError("starts with ~: it must be relative to the workspace")
    if _DRIVE.match(parts[0]):
        raise ValueError("names a drive: it must be relative to the workspace")
    return "/".join(parts)
