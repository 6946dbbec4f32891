"""The rights of a file."""

from pathlib import Path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777
