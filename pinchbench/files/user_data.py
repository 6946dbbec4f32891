"""The user's folders of this program, and the places of suites."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path


def data_dir() -> Path:
    """Return `$PINCHBENCH_DATA`, else the user's data folder: added suites, judges' certificates. It need not exist."""
    chosen = os.environ.get("PINCHBENCH_DATA")
    return Path(chosen).absolute() if chosen else _of_user("XDG_DATA_HOME", ".local/share", "Application Support")


def config_dir() -> Path:
    """Return the user's folder of settings for this program; it need not exist."""
    return _of_user("XDG_CONFIG_HOME", ".config", "Application Support")


def cache_dir() -> Path:
    """Return `$PINCHBENCH_CACHE`, else the user's cache folder of this program: OpenClaw, Node. It need not exist."""
    chosen = os.environ.get("PINCHBENCH_CACHE")
    return Path(chosen) if chosen else _of_user("XDG_CACHE_HOME", ".cache", "Caches")


def _of_user(variable: str, linux: str, macos: str) -> Path:
    """Return a folder in the user's own, where the XDG base directory specification or macOS wants it."""
    home = Path("~").expanduser()
    if sys.platform == "darwin":
        return home / "Library" / macos / "pinchbench"
    chosen = os.environ.get(variable, "").strip()
    return (Path(chosen) if chosen else home / linux) / "pinchbench"


def bundled_tasks_dir() -> Path:
    """Return the bundled suite's folder: inside the package when installed, next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    bundled = package / "bundled_tasks"
    return bundled if bundled.is_dir() else package.parent / "tasks"


FILES, RECORD = "files", "pack.json"
PACK_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")


def packs_dir() -> Path:
    """Return the folder of added suites: in `$PINCHBENCH_DATA`, else in the user's data folder."""
    return data_dir() / "suites"


def pack_names() -> list[str]:
    """Return the names of the suites that were added, in order. Blocks."""
    names = (path.parent.name for path in packs_dir().glob(f"*/{RECORD}"))
    return sorted(name for name in names if PACK_NAME.fullmatch(name))
