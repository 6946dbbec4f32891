"""What a run needs before its first trial: room, OpenClaw, homes, a judge, and the record of what runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import Isolation, Network, Sandbox
from pinchbench.errors import ConfigError
from pinchbench.openclaw.command import is_long
from pinchbench.openclaw.homes.choose import choose_isolation
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.openclaw.homes.gateway_config import brings_services
from pinchbench.openclaw.probe import ask_message_file, locate_openclaw, node_version, release_warning
from pinchbench.process.capacity import (
    allowed_open_files,
    allowed_tasks,
    lacking,
    most_slots,
    needed,
    raise_open_files,
)
from pinchbench.process.memory import available_bytes
from pinchbench.process.supervise import StopSignal
from pinchbench.redaction import known_secrets
from pinchbench.results.evidence import file_digest
from pinchbench.results.journal.records import RunResumed, RunStarted
from pinchbench.results.paths import write_json
from pinchbench.runner.additions import addition_digests
from pinchbench.runner.judging import open_judge
from pinchbench.runner.model_names import check_model_names, names_to_check
from pinchbench.runner.preflight import ask_endpoints, check_model, of_judge
from pinchbench.runner.prepare import solution_folders
from pinchbench.runner.provenance import plain_config, provenance, versions
from pinchbench.runner.resume_check import accept_releases, same_openclaw
from pinchbench.runner.run_folders import HOMES
from pinchbench.runner.sandboxing import available_level, check_sandbox, choose_sandboxing
from pinchbench.runner.slots import make_homes, secrets_of, user_state
from pinchbench.sandbox.levels import Level

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from anyio.abc import TaskGroup

    from pinchbench.config import RunConfig
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.grading.judge.judge import Judge
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.homes.gateway import Gateway
    from pinchbench.openclaw.homes.private import Home
    from pinchbench.results.journal.records import Record
    from pinchbench.runner.model_wire import ModelWire
    from pinchbench.runner.observer import RunObserver
    from pinchbench.runner.prepare import Prepared, Resumption
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.run_folders import RunFolders


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """What trials need. `config.isolation` is never `auto`; `first` is the first record of this session."""

    config: RunConfig
    openclaw: OpenClaw
    homes: tuple[Home, ...]
    judge: Judge | None
    first: Record
    wire: ModelWire | None = None
    check_sandbox: CheckSandbox | None = None


def require_capacity(slots: int) -> None:
    """Raise the limit of open files as far as it goes. Raises ConfigError when the limits can't carry so many slots."""
    raise_open_files()
    files, tasks = allowed_open_files(), allowed_tasks()
    if commands := lacking(files=files, tasks=tasks, slots=slots):
        needs_files, needs_tasks = needed(slots)
        most = most_slots(files=files, tasks=tasks)
        smaller = f", or use --concurrency {most}" if most else ""
        raise ConfigError(
            f"--concurrency {slots} needs {needs_files} open files and {needs_tasks} processes, more than this "
            f"session's "
            f"limits allow. Raise them: {', '.join(commands)}{smaller}."
        )


async def set_up(
    run: RunContext,
    folders: RunFolders,
    *,
    scripted: ScriptedModel | None,
    wire: ModelWire | None,
    gateways: TaskGroup,
    stack: AsyncExitStack,
) -> Ready:
    """Create the homes, open the judge, and write down what runs.

    Gateways run in `gateways`; they and the judge are closed with `stack`. The run's redactor learns every key that
    agents and judges may see. Raises PinchBenchError.
    """
    prepared, resumption, observer = run.prepared, run.resumption, run.observer
    config = prepared.config
    for remark in prepared.remarks:
        observer.tell(remark)
    user = await user_state(config) if prepared.slots else UserState()
    judging = config.judge.api_key_env if config.judge is not None else None
    names = partial(secrets_of, config.api_key_env, judging, is_demo=config.is_demo)
    run.redactor.learn(await to_thread.run_sync(names))
    await _ask_endpoints(prepared, user, observer)
    observer.set_up("looking for OpenClaw")
    before = resumption.facts if resumption is not None else prepared.replayed
    openclaw = await same_openclaw(config.openclaw, before)
    if warning := release_warning(openclaw.version):
        observer.tell(warning)
    to_check = names_to_check(config, config.judge)
    await check_model_names(to_check, openclaw, user, accepts_unknown=config.accept_unknown_model)
    node = await node_version(openclaw)
    releases = await to_thread.run_sync(versions, openclaw, node)
    changes = accept_releases(resumption, releases) if resumption is not None else ()
    if prepared.slots:
        slots = "slot" if prepared.slots == 1 else "slots"
        observer.tell(f"Setting up OpenClaw {openclaw.version} for {prepared.slots} {slots}.")
    if any(is_long(turn.prompt) for attempt in prepared.attempts for turn in attempt.trial.task.turns):
        observer.set_up("asking OpenClaw how it takes long prompts")
        openclaw = await ask_message_file(openclaw)

    def keep(gateway: Gateway) -> None:
        gateways.start_soon(gateway.run, StopSignal(stop=run.interrupt.stop, hurry=run.interrupt.hurry))
        stack.callback(gateway.close)

    homes: tuple[Home, ...] = ()
    if prepared.slots:
        config = await _choose_isolation(prepared, openclaw, user, observer)
        folders_read = await to_thread.run_sync(solution_folders, prepared)
        sandboxing = await choose_sandboxing(config, wire, visible=folders_read)
        observer.tell(sandboxing.why)
        level = Sandbox(sandboxing.level)
        network = (config.network is Network.AUTO and sandboxing.network) or config.network
        config = replace(config, sandbox=level, network=network)
        homes = await make_homes(
            config,
            openclaw,
            folders.work,
            slots=prepared.slots,
            user=user,
            scripted=scripted,
            wire=wire,
            sandboxing=sandboxing,
            longest_s=max(attempt.trial.timeout_s for attempt in prepared.attempts),
            keep=keep,
            watch_skills=any(len(trial.task.turns) > 1 for trial in prepared.trials),
            tell=observer.tell,
            set_up=observer.set_up,
        )
    for home in homes:
        run.redactor.learn(known_secrets(home.env))
    first: Record
    if resumption is None:
        first = await _started(prepared, config, run_id=run.run_id, folders=folders, releases=releases, homes=homes)
    else:
        first = await _resumed(prepared, config, resumption, releases, changes)
    if config.judge is not None and config.judge.is_openclaw:
        observer.set_up("making the homes of the judge's agents")
    opening = open_judge(config.judge, openclaw=openclaw, folder=folders.work / HOMES, run_id=run.run_id)
    judge = await stack.enter_async_context(opening)
    return Ready(
        config=config,
        openclaw=openclaw,
        homes=homes,
        judge=judge,
        first=first,
        wire=wire,
        check_sandbox=await to_thread.run_sync(check_sandbox, config.sandbox_allow),
    )


async def _ask_endpoints(prepared: Prepared, user: UserState, observer: RunObserver) -> None:
    """Ask before OpenClaw is looked at, which takes seconds. Raises EndpointError."""
    config = prepared.config
    if not config.preflight:
        return
    model = None
    if prepared.slots:
        model = await check_model(config, locate_openclaw(config.openclaw).program, user)
    await ask_endpoints(model, of_judge(config.judge), tell=observer.tell)


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


async def _started(
    prepared: Prepared,
    config: RunConfig,
    *,
    run_id: str,
    folders: RunFolders,
    releases: dict[str, str],
    homes: tuple[Home, ...],
) -> RunStarted:
    """Write down what runs; the record that a run begins with."""
    facts = provenance(
        config=config,
        suite=prepared.suite,
        trials=prepared.trials,
        run_id=run_id,
        created_at=time.time(),
        releases=releases,
        agents=[home.agent_id for home in homes],
        skipped=prepared.skipped,
        additions=await to_thread.run_sync(addition_digests, config),
    )
    await to_thread.run_sync(write_json, folders.files.provenance, facts)
    return RunStarted(
        run_id=run_id,
        model=config.model,
        at=time.time(),
        trials=len(prepared.trials),
        run_json=await to_thread.run_sync(file_digest, folders.files.provenance),
    )


async def _resumed(
    prepared: Prepared,
    config: RunConfig,
    resumption: Resumption,
    releases: dict[str, str],
    changes: tuple[str, ...],
) -> RunResumed:
    return RunResumed(
        at=time.time(),
        trials=len(prepared.attempts),
        config=plain_config(config),
        versions=releases,
        tasks=dict(resumption.tasks),
        gone=resumption.gone,
        changes=changes,
        additions=await to_thread.run_sync(addition_digests, config),
    )
