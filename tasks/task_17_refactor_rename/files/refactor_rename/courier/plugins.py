"""Reads `config/plugins.yaml` and finds what it names."""

from importlib import import_module
from pathlib import Path
from typing import Any

DEFAULT = {"dispatcher": "courier.dispatch:Dispatcher"}


def resolve(place: str) -> Any:
    """Return what a place such as `courier.retry:with_retries` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def read_plugins(path: Path) -> dict[str, str]:
    """Return the places by key; keys that are not in the file have their default."""
    plugins = dict(DEFAULT)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            key, _, place = line.partition(": ")
            plugins[key.strip()] = place.strip()
    return plugins
