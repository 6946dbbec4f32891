"""What a run needs before its first trial: room, OpenClaw, homes, a judge, and the record of what runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import MAX_MACHINE_SLOTS
from pinchbench.errors import ConfigError
from pinchbench.openclaw.command import is_long
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.openclaw.probe import ask_message_file, locate_openclaw, node_version, release_warning
from pinchbench.process.capacity import (
    allowed_open_files,
    allowed_tasks,
    lacking,
    most_slots,
    needed,
    raise_open_files,
)
from pinchbench.process.supervise import StopSignal
from pinchbench.results.evidence import file_digest
from pinchbench.results.journal.records import RunResumed, RunStarted
from pinchbench.results.paths import write_json
from pinchbench.runner.additions import addition_digests
from pinchbench.runner.judging import open_judge, open_user_model
from pinchbench.runner.local_slots import make_slots
from pinchbench.runner.model_names import check_model_names, names_to_check
from pinchbench.runner.preflight import ask_endpoints, check_model, of_judge, of_user
from pinchbench.runner.probing import probed_model
from pinchbench.runner.provenance import plain_config, provenance, versions
from pinchbench.runner.resume_check import accept_releases, same_openclaw
from pinchbench.runner.run_folders import HOMES
from pinchbench.runner.sandboxing import check_sandbox
from pinchbench.runner.slots import secrets_of, user_state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AsyncExitStack

    from anyio.abc import TaskGroup

    from pinchbench.config.run import RunConfig
    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.grading.judge.judge import Judge
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.homes.gateway import Gateway
    from pinchbench.preflight.question import Target
    from pinchbench.results.journal.records import Record
    from pinchbench.runner.model_wire import ModelWire
    from pinchbench.runner.observer import RunObserver
    from pinchbench.runner.prepare import Prepared, Resumption
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.run_folders import RunFolders
    from pinchbench.runner.slot import Slot
    from pinchbench.runner.slot_pool import SlotPool


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """What trials need. `config.isolation` is never `auto`; `first` is the first record of this session.

    `probed` is the model's endpoint, if probes are to be sent to it.
    """

    config: RunConfig
    openclaw: OpenClaw
    slots: Sequence[Slot]
    judge: Judge | None
    first: Record
    check_sandbox: CheckSandbox | None = None
    probed: Target | None = None


def require_capacity(slots: int) -> None:
    """Raise the limit of open files as far as it goes. Raises ConfigError for more slots than this machine carries."""
    if slots > MAX_MACHINE_SLOTS:
        raise ConfigError(
            f"--concurrency {slots} is out of range for one machine; there, it goes from 1 to {MAX_MACHINE_SLOTS}. More"
            " slots need the nodes of a --cluster."
        )
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
    scripts: Mapping[str, tuple[ScriptedTurn, ...]],
    wire: ModelWire | None,
    gateways: TaskGroup,
    stack: AsyncExitStack,
    pool: SlotPool | None,
) -> Ready:
    """Create the homes, open the judge, and write down what runs.

    Gateways run in `gateways`; they and the judge are closed with `stack`. The run's redactor learns every key that
    agents and judges may see. With `pool`, slots are on other machines. Raises PinchBenchError.
    """
    prepared, resumption, observer = run.prepared, run.resumption, run.observer
    config = prepared.config
    for remark in prepared.remarks:
        observer.tell(remark)
    user = await user_state(config) if prepared.slots else UserState()
    judging = config.judge.api_key_env if config.judge is not None else None
    playing = config.user.api_key_env if config.user is not None else None
    names = partial(secrets_of, config.api_key_env, judging, playing, is_demo=config.is_demo)
    run.redactor.learn(await to_thread.run_sync(names))
    await _ask_endpoints(prepared, user, observer, asks_model=pool is None)
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
        noun = "slot" if prepared.slots == 1 else "slots"
        observer.tell(f"Setting up OpenClaw {openclaw.version} for {prepared.slots} {noun}.")
    if any(is_long(turn.prompt) for attempt in prepared.attempts for turn in attempt.trial.task.turns):
        observer.set_up("asking OpenClaw how it takes long prompts")
        openclaw = await ask_message_file(openclaw)

    def keep(gateway: Gateway) -> None:
        gateways.start_soon(gateway.run, StopSignal(stop=run.interrupt.stop, hurry=run.interrupt.hurry))
        stack.callback(gateway.close)

    slots: Sequence[Slot] = ()
    user_model = await stack.enter_async_context(open_user_model(prepared.user_model))
    if prepared.slots and pool is not None:
        opening_slots = pool.open(run, versions=releases, group=gateways, stack=stack, user_model=user_model)
        config, slots = await opening_slots
    elif prepared.slots:
        config, slots = await make_slots(
            run,
            folders.work,
            openclaw,
            user=user,
            scripted=scripted,
            scripts=scripts,
            wire=wire,
            keep=keep,
            user_model=user_model,
        )
    first: Record
    if resumption is None:
        first = await _started(prepared, config, run_id=run.run_id, folders=folders, releases=releases, slots=slots)
    else:
        first = await _resumed(prepared, config, resumption, releases, changes)
    if config.judge is not None and config.judge.is_openclaw:
        observer.set_up("making the homes of the judge's agents")
    opening = open_judge(config.judge, openclaw=openclaw, folder=folders.work / HOMES, run_id=run.run_id)
    judge = await stack.enter_async_context(opening)
    return Ready(
        config=config,
        openclaw=openclaw,
        slots=slots,
        judge=judge,
        first=first,
        check_sandbox=await to_thread.run_sync(check_sandbox, config.sandbox_allow),
        probed=await probed_model(config, openclaw.program, user, is_local=pool is None, tell=observer.tell)
        if slots
        else None,
    )


async def _ask_endpoints(prepared: Prepared, user: UserState, observer: RunObserver, *, asks_model: bool) -> None:
    """Ask before OpenClaw is looked at, which takes seconds; other machines ask the model themselves.

    Raises EndpointError.
    """
    config = prepared.config
    if not config.preflight:
        return
    model = None
    if prepared.slots and asks_model:
        model = await check_model(config, locate_openclaw(config.openclaw).program, user)
    await ask_endpoints(model, of_judge(config.judge), of_user(prepared.user_model), tell=observer.tell)


async def _started(
    prepared: Prepared,
    config: RunConfig,
    *,
    run_id: str,
    folders: RunFolders,
    releases: dict[str, str],
    slots: Sequence[Slot],
) -> RunStarted:
    """Write down what runs; the record that a run begins with."""
    facts = provenance(
        config=config,
        suite=prepared.suite,
        trials=prepared.trials,
        run_id=run_id,
        created_at=time.time(),
        releases=releases,
        agents=[slot.agent_id for slot in slots],
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
