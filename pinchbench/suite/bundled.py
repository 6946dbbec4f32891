"""The location of the bundled suite, in its own module so that shell completion need not import the suite's readers."""

from __future__ import annotations

from pathlib import Path


def bundled_tasks_dir() -> Path:
    """Return the bundled suite's folder: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    bundled = package / "bundled_tasks"
    return bundled if bundled.is_dir() else package.parent / "tasks"
