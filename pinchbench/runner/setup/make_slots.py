"""Settles sandbox and network of a run on this machine, and makes its slots, each with a home."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import Isolation, Network, Sandbox
from pinchbench.model.timeline import Ability
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.process.capacity import GIB, slots_warning
from pinchbench.process.spec import Limits
from pinchbench.redaction import known_secrets
from pinchbench.runner.plan.prepare import solution_folders
from pinchbench.runner.setup.make_homes import make_homes
from pinchbench.runner.setup.sandboxing import choose_sandboxing
from pinchbench.runner.trial.slot import LocalSlot

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from pinchbench.config.run_config import RunConfig
    from pinchbench.llm.demo.script import ScriptedTurn
    from pinchbench.llm.demo.scripted_model import ScriptedModel
    from pinchbench.llm.openai_api import Endpoint
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.setup.model_wire import ModelWire
    from pinchbench.runner.setup.sandboxing import Sandboxing
    from pinchbench.runner.setup.this_machine import Machine


async def settle(run: RunContext, wire: ModelWire | None) -> tuple[RunContext, Sandboxing]:
    """Return the run with the sandbox and network that its agents get, and how they are sandboxed.

    Raises ConfigError if what was asked for is not possible.
    """
    config = run.prepared.config
    if config.isolation is Isolation.PRIVATE:
        warning = await to_thread.run_sync(slots_warning, run.prepared.slots)
        if warning:
            run.observer.tell(warning)
    folders_read = await to_thread.run_sync(solution_folders, run.prepared)
    sandboxing = await choose_sandboxing(config, wire, visible=folders_read)
    run.observer.tell(sandboxing.why)
    network = (config.network is Network.AUTO and sandboxing.network) or config.network
    return run.settled(replace(config, sandbox=Sandbox(sandboxing.level), network=network)), sandboxing


async def make_slots(
    run: RunContext,
    sandboxing: Sandboxing,
    work: Path,
    machine: Machine,
    *,
    scripted: ScriptedModel | None,
    scripts: Mapping[str, tuple[ScriptedTurn, ...]],
    wire: ModelWire | None,
    user_model: Endpoint | None = None,
) -> tuple[LocalSlot, ...]:
    """Make the slots of a run that `settle` has returned, with their homes below `work`.

    `user_model` plays simulated users. The run's redactor learns the keys in the homes. Raises PinchBenchError.
    """
    prepared, config, observer = run.prepared, run.prepared.config, run.observer
    homes = await make_homes(
        config,
        machine,
        work,
        slots=prepared.slots,
        scripted=scripted,
        wire=wire,
        sandboxing=sandboxing,
        longest_s=max(attempt.trial.timeout_s for attempt in prepared.attempts),
        tell=observer.tell,
        set_up=observer.set_up,
    )
    for home in homes:
        run.redactor.learn(known_secrets(home.env))
    limits = Limits(
        max_processes=config.max_processes,
        max_memory_bytes=int(config.max_memory * GIB),
        max_disk_bytes=int(config.max_disk * GIB),
    )
    if machine.takes_images(config) is None and any(
        Ability.IMAGES in trial.task.abilities for trial in prepared.trials
    ):
        observer.tell(f"Whether {config.model} takes images is not known; tasks that show some assume that it does.")
    return tuple(
        LocalSlot(
            number=number,
            agent=OpenClawAgent(
                openclaw=machine.openclaw, home=home, thinking=config.thinking, limits=limits, linger_s=config.linger_s
            ),
            work=work,
            context=run,
            wire=wire,
            scripted=scripted,
            scripts=scripts,
            check_sandbox=machine.checks,
            user_model=user_model,
            browser=machine.browser,
            unusable=machine.unusable(config),
        )
        for number, home in enumerate(homes, 1)
    )


@asynccontextmanager
async def open_scripted_model(config: RunConfig) -> AsyncGenerator[ScriptedModel | None]:
    """Run the built-in model for the duration of the block; None if another one is asked."""
    if config.scripted_model is None:
        yield None
        return
    from pinchbench.llm.demo.scripted_model import scripted_model  # noqa: PLC0415 - a web server, for demo models only

    async with scripted_model() as model:
        yield model
