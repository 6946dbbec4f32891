"""What a run needs before its first trial: room, OpenClaw, homes, a judge, and run.json with what runs."""

from __future__ import annotations

import os
import platform
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread
from msgspec import UNSET

from pinchbench.config.asked_models import plain_judge
from pinchbench.defaults import MAX_MACHINE_SLOTS
from pinchbench.errors import ConfigError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.openclaw.find import node_version, release_warning
from pinchbench.openclaw.homes.user_state import secrets_of
from pinchbench.process.capacity import allowed_open_files, allowed_tasks, raise_open_files, slots_refusal
from pinchbench.process.supervise import contain_level
from pinchbench.results.evidence_files import file_digest
from pinchbench.results.manifest import RunFacts, SuiteFacts, TaskFacts
from pinchbench.results.paths import write_json
from pinchbench.results.records import Record, RunResumed, RunStarted
from pinchbench.runner.plan.check_additions import addition_digests
from pinchbench.runner.plan.reuse import copy_evidence, reuse_sentences, with_reused
from pinchbench.runner.plan.stored_run import accept_releases
from pinchbench.runner.run_folders import HOMES, RunFolders
from pinchbench.runner.setup import preflight
from pinchbench.runner.setup.judging import open_judges, open_user_model
from pinchbench.runner.setup.make_homes import make_slots, settle
from pinchbench.runner.setup.this_machine import Machine, identified
from pinchbench.suite.named import pack_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from pinchbench.config.run_config import RunConfig
    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.grading.judge.votes import Judge
    from pinchbench.model.task import Suite, Task
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.runner.plan.prepare import Prepared
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.trial.model_wire import ModelAccess
    from pinchbench.runner.trial.slot import Slot, SlotPool


async def versions(openclaw: OpenClaw) -> dict[str, str]:
    """The releases of everything that takes part. Raises OpenClawError."""
    return {
        "pinchbench_async": await to_thread.run_sync(version, "pinchbench-async"),
        "openclaw": openclaw.version,
        "node": await node_version(openclaw),
        "python": platform.python_version(),
        "os": platform.platform(),
        "machine": platform.machine(),
    }


def timezone_name() -> str:
    """The name of this machine's time zone as `TZ` takes it; empty when it has none."""
    if name := os.environ.get("TZ", ""):
        return name
    with suppress(OSError):
        path = Path("/etc/localtime").resolve()
        if "zoneinfo" in path.parts:
            return "/".join(path.parts[path.parts.index("zoneinfo") + 1 :])
    return ""


def plain_config(config: RunConfig) -> dict[str, object]:
    """The options of a run by name, as they stand in its files; `form_from` and `reuse` only where given."""
    judge = config.judge and plain_judge(config.judge)
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(config).items()}
    for name in ("form_from", "reuse"):
        if plain[name] is None:
            del plain[name]
    return {**plain, "judge": judge}


def task_facts(task: Task, config: RunConfig, suite: Suite) -> TaskFacts:
    """A task of a suite, or of one of its parts, as a run with these options runs it."""
    return TaskFacts(
        digest=task.digest,
        category=task.category,
        grading_type=task.grading_type,
        timeout_s=task.timeout_s * config.timeout_multiplier,
        suite=suite.part_of(task.task_id).name or UNSET,
        title=task.name,
        abilities=[*map(str, task.abilities)] or UNSET,
        private=task.is_private or UNSET,
    )


def provenance(
    prepared: Prepared,
    *,
    run_id: str,
    created_at: float,
    releases: Mapping[str, str],
    agents: Sequence[str],
    additions: Mapping[str, str],
    tools: Sequence[str],
) -> RunFacts:
    """Describe a run that is about to begin. Blocks: reads the record of an added suite. Raises SuiteError."""
    config, suite, trials = prepared.config, prepared.suite, prepared.trials
    tasks = {trial.key.task_id: trial.task for trial in trials}
    folder = suite.root if config.form is None else config.tasks_dir or bundled_tasks_dir()
    pack = pack_of(folder)
    several = [_suite_facts(part, tasks.values()) for part in suite.parts]
    return RunFacts(
        run_id=run_id,
        created_at=created_at,
        config=plain_config(config),
        versions=dict(releases),
        containment=contain_level(),
        agents=list(agents),
        suite={
            "folder": str(suite.root),
            **({"form_of": str(folder)} if config.form is not None else {}),
            "format": suite.format.value,
            **({name: getattr(pack, name) for name in ("name", "source", "commit", "digest")} if pack else {}),
            **({"suites": several} if several else {}),
            "score_rule": _rules(tasks.values()),
            "tasks": len(suite.tasks),
            "skipped_broken": list(prepared.skipped),
        },
        tasks={task_id: task_facts(task, config, suite) for task_id, task in tasks.items()},
        timezone=timezone_name(),
        additions=dict(additions),
        tools=list(tools),
        plan=[(trial.key.task_id, trial.key.repetition) for trial in trials],
    )


def _suite_facts(part: Suite, tasks: Collection[Task]) -> SuiteFacts:
    pack = pack_of(part.root)
    return SuiteFacts(
        name=part.name,
        folder=str(part.root),
        format=part.format,
        score_rule=_rules(task for task in tasks if task.task_id in part.by_id),
        tasks=len(part.tasks),
        source=pack.source if pack else "",
        commit=pack.commit if pack else "",
        digest=pack.digest if pack else "",
    )


def _rules(tasks: Iterable[Task]) -> str:
    return "; ".join(dict.fromkeys(task.rule.text for task in tasks))


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """What trials need. `run` has settled options from now on; `first` is the first record of this session."""

    run: RunContext
    slots: Sequence[Slot]
    judges: Sequence[Judge]
    first: Record
    check_sandbox: CheckSandbox | None = None


def require_capacity(slots: int) -> None:
    """Raise the limit of open files as far as it goes. Raises ConfigError for more slots than this machine carries."""
    if slots > MAX_MACHINE_SLOTS:
        raise ConfigError(
            f"--concurrency {slots} is out of range for one machine; there, it goes from 1 to {MAX_MACHINE_SLOTS}. More"
            " slots need the nodes of a --cluster."
        )
    raise_open_files()
    if refused := slots_refusal(slots, files=allowed_open_files(), tasks=allowed_tasks()):
        raise ConfigError(refused)


async def set_up(
    run: RunContext,
    folders: RunFolders,
    machine: Machine,
    *,
    access: ModelAccess | None,
    nodes: TaskGroup,
    stack: AsyncExitStack,
    pool: SlotPool | None,
) -> Ready:
    """Create the homes, open the judge, and write down what runs.

    The judge is closed with `stack`. The run's redactor learns every key that agents and judges may see. With `pool`,
    slots are on other machines, whose connections live in `nodes`. Raises PinchBenchError.
    """
    prepared, resumption, observer = run.prepared, run.resumption, run.observer
    config = prepared.config
    for remark in prepared.remarks:
        observer.tell(remark)
    judges = config.judge.each if config.judge is not None else ()
    playing = config.user.api_key_env if config.user is not None else None
    run.redactor.learn(secrets_of(machine.user, config.api_key_env, playing, *(one.api_key_env for one in judges)))
    # before OpenClaw is looked at, which takes seconds; other machines ask the model themselves
    asks_model = bool(prepared.slots) and pool is None
    targets = tuple(map(preflight.target_of, (*judges, prepared.user_model)))
    config = await preflight.ask_before_run(config, machine, targets, tell=observer.tell, asks_model=asks_model)
    run = run.settled(config)
    prepared = run.prepared
    observer.set_up("looking for OpenClaw")
    machine = await identified(machine)
    openclaw = machine.openclaw
    if warning := release_warning(openclaw.version):
        observer.tell(warning)
    for judge in judges or (None,):
        preflight.check_model_names(
            preflight.names_to_check(config, judge), machine, accepts_unknown=config.accept_unknown_model
        )
    preflight.check_thinking(config, machine)
    releases = await versions(openclaw)
    tools = machine.allowed(prepared.config)
    changes = accept_releases(resumption, releases, tools) if resumption is not None else ()
    if prepared.slots:
        noun = "slot" if prepared.slots == 1 else "slots"
        observer.tell(f"Setting up OpenClaw {openclaw.version} for {prepared.slots} {noun}.")

    slots: Sequence[Slot] = ()
    if prepared.slots and access is not None:
        run, sandboxing = await settle(run, access.wire)
    run = await _reusing(run, releases, tools) if pool is None else run
    prepared = run.prepared
    user_model = await stack.enter_async_context(open_user_model(prepared.user_model))
    if prepared.slots and pool is not None:
        opening_slots = pool.open(run, versions=releases, group=nodes, stack=stack, user_model=user_model)
        config, slots = await opening_slots
        run = await _reusing(run.settled(config), releases, tools)  # the nodes say which sandbox there is
    elif prepared.slots and access is not None:
        slots = await make_slots(run, sandboxing, folders.work, machine, access, user_model=user_model)
    first: Record
    if resumption is None:
        first = await _begin(run, releases=releases, agents=[slot.agent_id for slot in slots], tools=tools)
    else:
        first = RunResumed(
            at=time.time(),
            trials=len(run.prepared.attempts),
            config=plain_config(run.prepared.config),
            versions=releases,
            tasks=dict(resumption.tasks),
            gone=resumption.gone,
            changes=changes,
            additions=await to_thread.run_sync(addition_digests, run.prepared.config),
        )
    if config.judge is not None and config.judge.asks_openclaw:
        observer.set_up("making the homes of the judge's agents")
    opening = open_judges(config.judge, machine=machine, folder=folders.work / HOMES, run_id=run.run_id)
    return Ready(
        run=run, slots=slots, judges=await stack.enter_async_context(opening), first=first, check_sandbox=machine.checks
    )


def planned_reuse(prepared: Prepared) -> Prepared:
    """Return a plan without what would be reused if OpenClaw, and what a run settles, are as they were. Blocks."""
    if prepared.source is None:
        return prepared
    config = prepared.config
    return with_reused(prepared, plain_config(config), additions=addition_digests(config))


async def _reusing(run: RunContext, releases: Mapping[str, str], tools: Sequence[str]) -> RunContext:
    """Return the run without the trials that count from an earlier one, whose evidence is copied."""
    source = run.prepared.source
    if source is None:
        return run
    config = run.prepared.config
    additions = await to_thread.run_sync(addition_digests, config)
    choose = partial(with_reused, additions=additions, releases=releases, tools=tools)
    prepared = await to_thread.run_sync(choose, run.prepared, plain_config(config))
    for sentence in reuse_sentences(prepared):
        run.observer.tell(sentence)
    await to_thread.run_sync(copy_evidence, source, prepared.reused, run.files)
    return replace(run, prepared=prepared)


async def _begin(
    run: RunContext, *, releases: dict[str, str], agents: Sequence[str], tools: Sequence[str]
) -> RunStarted:
    """Write down what runs; return the record that a run begins with."""
    prepared, path = run.prepared, run.files.provenance
    facts = provenance(
        prepared,
        run_id=run.run_id,
        created_at=time.time(),
        releases=releases,
        agents=agents,
        additions=await to_thread.run_sync(addition_digests, prepared.config),
        tools=tools,
    )
    await to_thread.run_sync(write_json, path, facts)
    return RunStarted(
        run_id=run.run_id,
        model=prepared.config.model,
        at=time.time(),
        trials=len(prepared.trials),
        run_json=await to_thread.run_sync(file_digest, path),
    )
