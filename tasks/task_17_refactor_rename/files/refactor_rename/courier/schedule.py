"""Runs an engine at fixed hours. The engine is imported only when it is needed."""

from importlib import import_module
from typing import Any

ENGINE_MODULE = "dispatch"
ENGINE_CLASS = "Dispatcher"


def engine(dispatcher_id: str | None = None) -> Any:
    """Return a new engine."""
    module = import_module(f"courier.{ENGINE_MODULE}")
    return getattr(module, ENGINE_CLASS)(dispatcher_id)


def due(hours: tuple[int, ...], hour: int) -> bool:
    """Whether an engine runs in an hour."""
    return hour in hours
