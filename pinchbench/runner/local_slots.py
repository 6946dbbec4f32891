"""Makes the slots of a run on this machine: decides on isolation and sandbox, and makes a home for each."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import Isolation, Network, Sandbox
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.openclaw.homes.choose import GIB, choose_isolation
from pinchbench.openclaw.homes.gateway_config import brings_services
from pinchbench.process.memory import available_bytes
from pinchbench.process.supervise import Limits
from pinchbench.redaction import known_secrets
from pinchbench.runner.prepare import solution_folders
from pinchbench.runner.sandboxing import available_level, check_sandbox, choose_sandboxing
from pinchbench.runner.slot import LocalSlot
from pinchbench.runner.slots import make_homes
from pinchbench.sandbox.levels import Level

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from pathlib import Path

    from pinchbench.chat.endpoint import Endpoint
    from pinchbench.config.run import RunConfig
    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.homes.credentials import UserState
    from pinchbench.openclaw.homes.gateway import Gateway
    from pinchbench.runner.model_wire import ModelWire
    from pinchbench.runner.observer import RunObserver
    from pinchbench.runner.prepare import Prepared
    from pinchbench.runner.run_context import RunContext


async def make_slots(
    run: RunContext,
    work: Path,
    openclaw: OpenClaw,
    *,
    user: UserState,
    scripted: ScriptedModel | None,
    scripts: Mapping[str, tuple[ScriptedTurn, ...]],
    wire: ModelWire | None,
    keep: Callable[[Gateway], None],
    user_model: Endpoint | None = None,
) -> tuple[RunConfig, tuple[LocalSlot, ...]]:
    """Make the slots of a run, with their homes below `work`; return its options, settled, with them.

    The isolation and the sandbox of these options are what the agents have. `keep` runs a gateway, as in `make_homes`.
    `user_model` plays simulated users.
    The run's redactor learns the keys in the homes. Raises PinchBenchError.
    """
    prepared, observer = run.prepared, run.observer
    config = await _choose_isolation(prepared, openclaw, user, observer)
    folders_read = await to_thread.run_sync(solution_folders, prepared)
    sandboxing = await choose_sandboxing(config, wire, visible=folders_read)
    observer.tell(sandboxing.why)
    network = (config.network is Network.AUTO and sandboxing.network) or config.network
    config = replace(config, sandbox=Sandbox(sandboxing.level), network=network)
    homes = await make_homes(
        config,
        openclaw,
        work,
        slots=prepared.slots,
        user=user,
        scripted=scripted,
        wire=wire,
        sandboxing=sandboxing,
        longest_s=max(attempt.trial.timeout_s for attempt in prepared.attempts),
        keep=keep,
        watch_skills=any(
            len(trial.task.turns) > 1 or trial.task.simulated_user is not None for trial in prepared.trials
        ),
        tell=observer.tell,
        set_up=observer.set_up,
    )
    for home in homes:
        run.redactor.learn(known_secrets(home.env))
    checks = await to_thread.run_sync(check_sandbox, config.sandbox_allow)
    limits = Limits(
        max_processes=config.max_processes,
        max_memory_bytes=int(config.max_memory * GIB),
        max_disk_bytes=int(config.max_disk * GIB),
    )
    return config, tuple(
        LocalSlot(
            number=number,
            agent=OpenClawAgent(
                openclaw=openclaw, home=home, thinking=config.thinking, limits=limits, linger_s=config.linger_s
            ),
            work=work,
            context=run,
            config=config,
            wire=wire,
            scripted=scripted,
            scripts=scripts,
            check_sandbox=checks,
            user_model=user_model,
        )
        for number, home in enumerate(homes, 1)
    )


@asynccontextmanager
async def open_scripted_model(config: RunConfig) -> AsyncGenerator[ScriptedModel | None]:
    """Run the built-in model for the duration of the block; None if another one is asked."""
    if config.scripted_model is None:
        yield None
        return
    from pinchbench.demo.server import scripted_model  # noqa: PLC0415 - a web server, for demo models only

    async with scripted_model() as model:
        yield model


async def _choose_isolation(
    prepared: Prepared, openclaw: OpenClaw, user: UserState, observer: RunObserver
) -> RunConfig:
    """The options with an isolation: as asked, else chosen, and said. A run that is resumed has chosen already."""
    if prepared.config.isolation is not Isolation.AUTO:
        return prepared.config
    choice = choose_isolation(
        services=brings_services(user.config) or brings_services(dict(prepared.config.openclaw_config)),
        sandboxed=(await available_level(prepared.config))[0] is not Level.NONE,
        release=openclaw.version,
        trials=len(prepared.attempts),
        slots=prepared.slots,
        available_bytes=await to_thread.run_sync(available_bytes),
    )
    observer.tell(choice.why)
    if choice.warning:
        observer.tell(choice.warning)
    return replace(prepared.config, isolation=choice.isolation)
