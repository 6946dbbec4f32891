"""Whether trials with a run's options can have the file system, and the 127.0.0.1, of their own that tasks need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.defaults import Isolation, Network, Sandbox
from pinchbench.sandbox.levels import Level, find_support

if TYPE_CHECKING:
    from pinchbench.config.run_config import RunConfig

NEEDS_OWN_ROOT = (
    "it needs files at paths that it states, which takes --sandbox namespaces, --isolation private and a machine with"
    " namespaces"
)
NEEDS_OWN_LOOPBACK = (
    "it has services, which takes --sandbox namespaces, --isolation private, a network that is not open, and a machine"
    " with namespaces"
)


def own_root_refused(config: RunConfig) -> str:
    """Return why trials with these options can't have a file system of their own; empty if they can. Blocks."""
    asked_otherwise = config.isolation is not Isolation.PRIVATE or config.sandbox not in (
        Sandbox.AUTO,
        Sandbox.NAMESPACES,
    )
    return NEEDS_OWN_ROOT if asked_otherwise or find_support().reason(Level.NAMESPACES) else ""


def services_refused(config: RunConfig) -> str:
    """Return why trials with these options can't have services; empty if they can, or that is not known yet. Blocks."""
    return NEEDS_OWN_LOOPBACK if config.network is Network.OPEN or own_root_refused(config) else ""
