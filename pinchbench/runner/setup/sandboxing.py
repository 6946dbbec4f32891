"""Decides what sandbox a run's trials and checks have, and what trials can connect to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import Isolation, Network, Sandbox
from pinchbench.errors import ConfigError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.openclaw.homes.sandbox import is_of_system
from pinchbench.sandbox.landlock_rules import NETWORK_ABI
from pinchbench.sandbox.levels import Level, Support, choose, find_support
from pinchbench.sandbox.sandbox_spec import Mount, parse_allowed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pinchbench.config.run_config import RunConfig

UNBOXED = "The agents run as you and can read and change what you can"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandboxing:
    """How the trials of a run are sandboxed."""

    level: Level = Level.NONE  # what separates them from the rest
    network: Network | None = None  # what they can connect to, `MODEL` or `OPEN`; None without a sandbox
    allowed: tuple[Mount, ...] = ()  # paths that they see besides the system
    why: str = ""  # a sentence for the user


UNSANDBOXED = Sandboxing()


async def choose_sandboxing(config: RunConfig, *, is_native: bool | None, visible: Iterable[Path] = ()) -> Sandboxing:
    """Choose for a run; `visible` are folders that trials see besides those of the options.

    `is_native`: the wire stands in for a provider that is asked at its own address; None without a wire.

    Raises ConfigError if what was asked for is not possible.
    """
    level, refused = await available_level(config)
    if level is Level.NONE:
        if config.network in (Network.MODEL, Network.NONE):
            raise ConfigError(f"--network {config.network} is not possible: {refused} Use --network auto.")
        return Sandboxing(why=f"{UNBOXED}: {refused}")
    support = await to_thread.run_sync(find_support_of_trials)
    restricts_network = level is Level.NAMESPACES or support.landlock_abi >= NETWORK_ABI
    network = _network(config, is_native=is_native, level=level, restricts=restricts_network)
    allowed = await to_thread.run_sync(lambda: tuple(map(parse_allowed, config.sandbox_allow)))
    allowed += tuple(Mount(source=str(folder), target=str(folder)) for folder in visible)
    reach = "the model alone" if network is Network.MODEL else "the network"
    match level:
        case Level.NAMESPACES:
            why = f"Each trial gets its own sandbox: it reaches its workspace, the system's programs and {reach}."
        case Level.LANDLOCK:
            lacking = f" It has no namespaces: {support.namespaces_refused}" if support.namespaces_refused else ""
            why = (
                f"Each trial is restricted by Landlock to its workspace, the system's programs and {reach}; it sees"
                f" which processes run.{lacking}"
            )
    return Sandboxing(level=level, network=network, allowed=allowed, why=why)


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


async def available_level(config: RunConfig) -> tuple[Level, str]:
    """Return the level of a run's trials, and why it is `NONE`, as a sentence.

    Raises ConfigError if the level that was asked for is not possible.
    """
    wanted = None if config.sandbox is Sandbox.AUTO else Level(config.sandbox)
    if wanted is Level.NONE:
        return Level.NONE, "--sandbox none."
    if config.isolation is not Isolation.PRIVATE:
        refused = f"--isolation {config.isolation} has no sandbox; use --isolation private for one."
        if wanted is not None:
            raise ConfigError(f"--sandbox {wanted} is not possible: {refused}")
        return Level.NONE, refused
    support = await to_thread.run_sync(find_support_of_trials)
    level = choose(wanted, support)
    return level, support.namespaces_refused if level is Level.NONE else ""


def find_support_of_trials() -> Support:
    """Return which levels trials can have. Blocks.

    Landlock can't hide the bundled tasks in a folder that trials have to read.
    """
    support = find_support()
    if is_of_system(bundled_tasks_dir()) and not support.landlock_refused:
        return replace(support, landlock_refused=f"It can't hide {bundled_tasks_dir()} in a folder of the system.")
    return support


def _network(config: RunConfig, *, is_native: bool | None, level: Level, restricts: bool) -> Network:
    has_way = is_native is not None and (level is Level.NAMESPACES or not is_native)
    if config.network is Network.AUTO:
        return Network.MODEL if has_way and restricts else Network.OPEN
    if config.network is Network.OPEN:
        return Network.OPEN
    if not has_way:
        raise ConfigError(
            f"--network {config.network} needs the wire, through which the model is asked, and namespaces if OpenClaw"
            " knows the provider's address itself. Use --network open."
        )
    if not restricts:
        raise ConfigError(f"--network {config.network} needs Linux 6.7 at this level of --sandbox. Use --network open.")
    return Network.MODEL
