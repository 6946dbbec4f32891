"""Decides whether a run's trials and checks have namespaces of their own, and what trials can connect to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import Isolation, Network, Sandbox
from pinchbench.errors import ConfigError
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.sandbox.spec import Mount, parse_allowed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.config import RunConfig
    from pinchbench.runner.model_wire import ModelWire

UNBOXED = "The agents run as you and can read and change what you can"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandboxing:
    """How the trials of a run are sandboxed.

    Attributes:
        network: what they can connect to; None without a sandbox.
        allowed: paths that they see beside the system.
        why: a sentence for the user.
    """

    network: Network | None = None
    allowed: tuple[Mount, ...] = ()
    why: str = ""


async def choose_sandboxing(config: RunConfig, wire: ModelWire | None) -> Sandboxing:
    """Choose for a run whose isolation is known. Raises ConfigError if what was asked for is not possible."""
    refused = await sandbox_refusal(config)
    if refused:
        if config.sandbox is Sandbox.NAMESPACES:
            raise ConfigError(f"--sandbox namespaces is not possible: {refused}")
        return Sandboxing(why=f"{UNBOXED}: {refused}")
    network = _network(config, wire)
    allowed = await to_thread.run_sync(lambda: tuple(map(parse_allowed, config.sandbox_allow)))
    reach = "the model alone" if network is Network.MODEL else "the network"
    why = f"Each trial has namespaces of its own, with its workspace, the system's programs and {reach}."
    return Sandboxing(network=network, allowed=allowed, why=why)


def check_sandbox(allow: Iterable[str] = ()) -> CheckSandbox | None:
    """Return the sandbox of checks, however trials run; None if this machine has no namespaces. Blocks.

    `allow` are the values of `--sandbox-allow`. Those that can't be used are ignored: a run may be graded elsewhere.
    """
    if find_support().reason(Level.NAMESPACES):
        return None
    allowed = []
    for value in allow:
        with suppress(ConfigError):
            allowed.append(parse_allowed(value))
    return CheckSandbox(allowed=tuple(allowed))


async def sandbox_refusal(config: RunConfig) -> str:
    """Return why the trials have no sandbox, as a sentence; empty if they have one.

    With an isolation that is still to be chosen, it is why private homes would have none.
    """
    if config.sandbox is Sandbox.NONE:
        return "--sandbox none."
    if config.isolation not in (Isolation.AUTO, Isolation.PRIVATE):
        return f"--isolation {config.isolation} has no sandbox; use --isolation private for one."
    support = await to_thread.run_sync(find_support)
    return support.reason(Level.NAMESPACES)


def _network(config: RunConfig, wire: ModelWire | None) -> Network:
    has_way = wire is not None and not wire.is_native
    if config.network is Network.AUTO:
        return Network.MODEL if has_way else Network.OPEN
    if config.network is Network.MODEL and not has_way:
        raise ConfigError(
            "--network model needs the wire and an endpoint of --base-url: a provider that OpenClaw knows is asked at"
            " its own address. Use --network open."
        )
    return config.network
