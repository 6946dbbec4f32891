"""The slots of a run on this machine and their homes: clones of one template, or agents in the user's own OpenClaw."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from anyio import Lock, to_thread

from pinchbench.defaults import COMPLETIONS, OLLAMA, Isolation, Network, Sandbox
from pinchbench.errors import ConfigError
from pinchbench.files.folders import folder_error
from pinchbench.llm.demo.scripted_model import provider_config
from pinchbench.model.task_programs import MODEL_PORT
from pinchbench.model.timeline import Ability
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.openclaw.compiled_code import compiled_code
from pinchbench.openclaw.homes.credentials import LONGEST_S, Json
from pinchbench.openclaw.homes.home_template import make_template
from pinchbench.openclaw.homes.landlock_home import LandlockSandbox
from pinchbench.openclaw.homes.private import Home, PrivateHome, clone
from pinchbench.openclaw.homes.sandbox import HomeSandbox, TurnSandbox
from pinchbench.openclaw.homes.shared import ensure_shared
from pinchbench.openclaw.homes.user_state import needed_for
from pinchbench.process.capacity import GIB, slots_warning
from pinchbench.process.spec import Limits
from pinchbench.redaction import known_secrets
from pinchbench.runner.plan.prepare import solution_folders
from pinchbench.runner.run_folders import HOMES, open_work_folder
from pinchbench.runner.setup.sandboxing import UNSANDBOXED, Sandboxing, choose_sandboxing
from pinchbench.runner.setup.this_machine import Machine, identified, read_machine_for
from pinchbench.runner.trial.model_wire import ModelAccess, ModelWire
from pinchbench.runner.trial.slot import LocalSlot, slot_name
from pinchbench.sandbox.levels import Level

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from pathlib import Path

    from pinchbench.config.asked_models import JudgeConfig
    from pinchbench.config.run_config import RunConfig
    from pinchbench.config.served import ServedModel
    from pinchbench.llm.openai_api import Endpoint
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.runner.run_context import RunContext

NO_ACCESS = ModelAccess()
ENDPOINT_KEY = "PINCHBENCH_ENDPOINT_KEY"


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
    is_native = wire.is_native if wire is not None else None
    sandboxing = await choose_sandboxing(config, is_native=is_native, visible=folders_read)
    run.observer.tell(sandboxing.why)
    network = (config.network is Network.AUTO and sandboxing.network) or config.network
    return run.settled(replace(config, sandbox=Sandbox(sandboxing.level), network=network)), sandboxing


async def make_slots(
    run: RunContext,
    sandboxing: Sandboxing,
    work: Path,
    machine: Machine,
    access: ModelAccess,
    *,
    user_model: Endpoint | None,
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
        access=access,
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
            agent_id=home.agent_id,
            agent=OpenClawAgent(home=home, thinking=config.thinking, limits=limits, linger_s=config.linger_s),
            work=work,
            context=run,
            access=access,
            check_sandbox=machine.checks,
            user_model=user_model,
            browser=machine.browser,
            unusable=machine.unusable(config),
        )
        for number, home in enumerate(homes, 1)
    )


async def make_homes(
    config: RunConfig,
    machine: Machine,
    run_folder: Path,
    *,
    slots: int,
    access: ModelAccess = NO_ACCESS,
    sandboxing: Sandboxing = UNSANDBOXED,
    longest_s: float = LONGEST_S,
    tell: Callable[[str], None] = lambda _: None,
    set_up: Callable[[str], None] = lambda _: None,
) -> tuple[Home, ...]:
    """Make one home for each slot below `run_folder`, or one agent for each in the user's own OpenClaw.

    No trial takes more than `longest_s` seconds. `tell` gets a sentence when OpenClaw's code can't be compiled;
    `set_up` gets the next step. Raises OpenClawError when OpenClaw refuses, and ResultsError when there is no room for
    them.
    """
    if config.isolation is Isolation.SHARED:
        return await _shared_homes(config, machine.openclaw, run_folder, slots=slots, set_up=set_up)
    making = _Homes(config=config, access=access, sandboxing=sandboxing)
    wire = access.wire
    needed, user = needed_for(
        config.model,
        env=os.environ,
        user=machine.carried(config),
        catalogue=machine.catalogue,
        own_endpoint=config.is_demo or config.base_url is not None,
        passed=config.pass_env,
    )
    env = {**needed, **config.env}
    if config.api_key_env is not None and wire is None:  # else the wire has the key, and no agent needs it
        env[ENDPOINT_KEY] = os.environ[config.api_key_env]
    root = run_folder / HOMES
    set_up("making a private home with OpenClaw's `agents add`")
    try:
        template = await make_template(
            root / "template",
            openclaw=machine.openclaw,
            model=config.model,
            user=user,
            env=env if wire is None else wire.home_env(env, 1),
            provider=making.provider(1),
            tools=machine.tools(config),
            trial_s=longest_s,
            skills=config.skills,
            settings=dict(config.openclaw_config),
        )
        if sandboxing.level is not Level.NONE:
            compiled = await compiled_code(machine.openclaw, sandboxing.level, env=os.environ, set_up=set_up, tell=tell)
            making = replace(making, compiled=compiled)
        return tuple(making.home(template, root / slot_name(slot), slot) for slot in range(1, slots + 1))
    except OSError as error:
        raise folder_error(root, error, option="--run-root") from error


async def _shared_homes(
    config: RunConfig, openclaw: OpenClaw, run_folder: Path, *, slots: int, set_up: Callable[[str], None]
) -> tuple[Home, ...]:
    """Add an agent for each slot to the user's own OpenClaw, one after another: its commands race on openclaw.json."""
    homes: list[Home] = []
    changes = Lock()
    for slot in range(1, slots + 1):
        set_up(f"adding agent {slot} of {slots} to your OpenClaw")
        link = run_folder / ("workspace" if slot == 1 else f"workspace-{slot}")
        shared = partial(ensure_shared, openclaw, model=config.model, slot=slot, link=link, env=os.environ)
        homes.append(await shared(changes=changes))
    return tuple(homes)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Homes:
    """What the private homes of a run have in common; `compiled` is OpenClaw's code, compiled."""

    config: RunConfig
    access: ModelAccess
    sandboxing: Sandboxing
    compiled: Path | None = None

    def home(self, template: PrivateHome, root: Path, slot: int) -> PrivateHome:
        """Return a slot's home, whose requests go through the wire, and whose turns are sandboxed."""
        network, wire = self.sandboxing.network, self.access.wire
        is_confined = network is Network.MODEL
        port = MODEL_PORT if is_confined and self.sandboxing.level is Level.NAMESPACES else None
        networked = None
        if is_confined and self.config.network is not Network.NONE:
            is_open = replace(self, sandboxing=replace(self.sandboxing, network=Network.OPEN))
            networked = is_open.home(template, root, slot)
        home = clone(template, root, self.provider(slot, port))
        if wire is not None:
            home = replace(home, base_env=wire.home_env(home.base_env, slot, port=port))
        if network is None:
            return home
        make: Callable[..., TurnSandbox]
        if self.sandboxing.level is Level.LANDLOCK:
            make = partial(LandlockSandbox, root=root, port=wire.port if wire is not None else None)
        else:
            make = partial(HomeSandbox, socket=wire.socket if wire is not None else "")
        sandbox = make(
            openclaw=template.openclaw,
            base=home.base_env,
            network=network,
            allowed=self.sandboxing.allowed,
            compiled=self.compiled,
        )
        return replace(home, sandbox=sandbox, networked=networked)

    def provider(self, slot: int, port: int | None = None) -> tuple[str, Json] | None:
        """Return the provider entry of a slot's config, if the run brings an endpoint of its own.

        `port` is as in `ModelWire.through`.
        """
        config, scripted, wire = self.config, self.access.scripted, self.access.wire
        name, _, model_id = config.model.partition("/")
        if config.is_demo:
            if wire is not None:
                path = "" if scripted is None else scripted.path(slot_name(slot))
                return name, wire.through(provider_config("", model_id), slot, port=port, path=path)
            assert scripted is not None  # noqa: S101 - only a replay has none, and it has the wire
            return name, provider_config(scripted.base_url(slot_name(slot)), model_id)
        if config.base_url is None:
            return None
        entry = endpoint(
            config.base_url,
            model_id,
            served=config.served,
            with_key=config.api_key_env is not None,
            api=config.api,
            prices=(config.price_in or 0, config.price_out or 0),
        )
        return name, entry if wire is None else wire.through(entry, slot, port=port)


async def make_judge_homes(judge: JudgeConfig, machine: Machine, folder: Path) -> tuple[Home, ...]:
    """Make as many homes for judging agents as calls may run at once, below `folder`: private, and without any tool.

    Raises OpenClawError when OpenClaw refuses.
    """
    needed, user = needed_for(
        judge.model_id,
        env=os.environ,
        user=machine.user,
        catalogue=machine.catalogue,
        own_endpoint=judge.base_url is not None,
    )
    env = dict(needed)
    if judge.api_key_env is not None:
        env[ENDPOINT_KEY] = os.environ[judge.api_key_env]
    provider = None
    if judge.base_url is not None:
        name, _, model_id = judge.model_id.partition("/")
        with_key, prices = judge.api_key_env is not None, judge.prices or (0, 0)
        provider = name, endpoint(judge.base_url, model_id, served=judge.served, with_key=with_key, prices=prices)
    template = await make_template(
        folder / "judge-template",
        openclaw=machine.openclaw,
        model=judge.model_id,
        user=user,
        env=env,
        provider=provider,
        tools=(),
    )
    return tuple(clone(template, folder / f"judge-{number}", provider) for number in range(1, judge.concurrency + 1))


@asynccontextmanager
async def open_agent(config: RunConfig) -> AsyncGenerator[OpenClawAgent]:
    """One agent outside a run, with a home that lives as long as the block.

    For tasks of your own: `await agent.execute_task(task, workspace=…, evidence=…)`. Of `config` the model, the
    endpoint, the isolation, OpenClaw, the thinking level and the run root are used. Raises ConfigError for the built-in
    `demo/*` models, which only play in a run, and OpenClawError when OpenClaw is missing or refuses.
    """
    if config.is_demo:
        raise ConfigError(f"{config.model} plays in runs only; name a model of a provider.")
    machine = await to_thread.run_sync(read_machine_for, config)
    machine = await identified(machine)
    async with open_work_folder(config.run_root, prefix="agent-") as folder:
        [home] = await make_homes(config, machine, folder, slots=1)
        yield OpenClawAgent(home=home, thinking=config.thinking, linger_s=config.linger_s)


def endpoint(
    base_url: str,
    model_id: str,
    *,
    served: ServedModel,
    with_key: bool,
    api: str = COMPLETIONS,
    prices: tuple[float, float] = (0, 0),
) -> Json:
    """OpenClaw's provider entry for an endpoint that speaks `api`.

    `prices` are USD per million tokens, in and out; what was cached is priced as `served` says, else as other input.

    The key stays in the environment, under a name of ours: OpenClaw fills `${NAME}` in when it reads its config, if
    the name is in capitals (measured on both releases).
    """
    cached, written = (prices[0] if one is None else one for one in (served.price_cached, served.price_written))
    model: Mapping[str, object] = {
        "id": model_id,
        "name": model_id,
        "reasoning": bool(served.reasoning),
        "input": list(served.input or ("text",)),
        "cost": {"input": prices[0], "output": prices[1], "cacheRead": cached, "cacheWrite": written},
        "contextWindow": served.window,
        "maxTokens": served.reply_tokens,
        **({"compat": served.compat} if served.compat else {}),
        **({"params": served.params} if served.params else {}),
        # else Ollama loads a model with a window of its own choice, and truncates longer prompts
        **({"contextTokens": served.window} if api == OLLAMA and served.context_window else {}),
    }
    return {
        "baseUrl": base_url,
        "apiKey": f"${{{ENDPOINT_KEY}}}" if with_key else "no-key",
        "api": api,
        "models": [model],
    }
