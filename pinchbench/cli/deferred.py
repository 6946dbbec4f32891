"""Commands whose work is imported when they run, so that help and completion wait for click alone."""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def action(name: str) -> Callable[..., Any]:
    """Return a function of `pinchbench.cli.actions`, given as `module.function`."""
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"pinchbench.cli.actions.{module}"), function)
    return found


def performs(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command call an action with its options; see `action`.

    The decorated function only declares the command: its docstring is the command's help.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def perform(**options: Any) -> None:  # noqa: ANN401
            action(name)(**options)

        return perform

    return decorate
