"""The stages of one attempt at a trial: workspace, agent, kept workspace, outcome."""

from __future__ import annotations

import time
import traceback
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio import get_cancelled_exc_class, move_on_after, to_thread

from pinchbench.errors import GatewayError, PinchBenchError, ServiceError, WireError
from pinchbench.files.archive_write import keep_workspace
from pinchbench.files.folders import set_aside
from pinchbench.files.workspace import fill_workspace, unnamed
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.outcome import Outcome
from pinchbench.process.disk import is_disk_full
from pinchbench.process.supervise import never_held
from pinchbench.results.evidence import Evidence, digests_of
from pinchbench.runner.contamination import find_contamination
from pinchbench.runner.integrity import read_integrity
from pinchbench.runner.sandboxing import missing_for
from pinchbench.runner.services import ServicePlace, open_services
from pinchbench.runner.simulated_user import AttemptUser, UserPlace
from pinchbench.runner.task_setup import set_up_workspace
from pinchbench.runner.wire_facts import read_wire

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.model.facts import SandboxFacts
    from pinchbench.model.trial import Attempt, Trial
    from pinchbench.model.usage import Usage
    from pinchbench.openclaw.agent import OpenClawAgent
    from pinchbench.openclaw.progress import ProgressCallbacks
    from pinchbench.openclaw.task_result import TaskResult
    from pinchbench.process.supervise import StopSignal
    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.model_wire import ModelWire
    from pinchbench.runner.run_redaction import Redactor
    from pinchbench.runner.simulated_user import UserSource
    from pinchbench.runner.trial_meter import TrialMeter
    from pinchbench.wire.messages import ExchangeEnded

MAX_NOTE = 4000  # characters of a note in the journal
FINISH_LIMIT_S = 60.0  # half a gigabyte on a busy machine
MAX_NOT_KEPT = 100  # files that are named in the journal


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialPlace:
    """Where a trial happens: its slot, its agent, its folders, and who hears of it.

    `redactor` keeps keys out of the evidence; the outcome is told as it is. `used` is called with what the wire has
    seen the trial use so far, `failed` with each call that it has seen fail. `allowed` are the paths that a sandboxed
    agent sees beside its own. `check_sandbox` is where checks, and the task's set-up script, are run.
    `user` plays the task's simulated user, if it has one.
    """

    slot: int
    agent: OpenClawAgent
    run_id: str
    run_folder: Path
    files: RunFiles
    stop_signal: StopSignal
    callbacks: ProgressCallbacks
    redactor: Redactor
    before_turn: Callable[[int], Awaitable[None]] | None = None
    wire: ModelWire | None = None
    used: Callable[[Usage], None] = lambda _: None
    failed: Callable[[ExchangeEnded], None] = lambda _: None
    is_gateway: bool = False
    allowed: tuple[str, ...] = ()
    check_sandbox: CheckSandbox | None = None
    user: UserSource | None = None


async def run_attempt(attempt: Attempt, place: TrialPlace, done: Callable[[Outcome], None]) -> None:
    """Make one attempt at a trial and give its outcome to `done`, exactly once.

    Everything expected is an outcome; a bug of ours becomes one too, with its traceback. A cancellation gives an
    `interrupted` outcome and goes on. What an earlier attempt has left in the same places is kept aside.
    """
    trial = attempt.trial
    workspace = place.agent.home.place(place.run_folder / trial.key.folder, attempt.number)
    evidence = place.files.trial(trial.key, attempt.number)
    blank = Outcome(
        key=trial.key,
        reason=Reason.INTERRUPTED,
        digest=trial.task.digest,
        slot=place.slot,
        attempt=attempt.number,
        started_at=time.time(),
        timeout_s=trial.timeout_s,
        agent_id=place.agent.home.agent_id,
        workspace=str(workspace),
        evidence=str(evidence.relative_to(place.files.folder)),
    )
    outcome = blank
    boxed = place.agent.home.sandbox
    seen_as = workspace if boxed is None else boxed.seen_workspace(workspace)
    user = _user(trial, place, evidence, seen_as)
    try:
        outcome = await _stages(trial, place, workspace, evidence, blank, seen_as=seen_as, user=user)
        if outcome.load is not None:
            outcome = replace(outcome, load=replace(outcome.load, is_alone=attempt.is_alone))
    except get_cancelled_exc_class():
        outcome = replace(blank, note="cancelled")
        raise
    except GatewayError as error:
        stopped = place.stop_signal.stop.is_set()
        outcome = replace(
            blank, reason=Reason.INTERRUPTED if stopped else Reason.GATEWAY_LOST, note=str(error)[:MAX_NOTE]
        )
    except WireError as error:
        outcome = replace(blank, reason=Reason.WIRE_LOST, note=str(error)[:MAX_NOTE])
    except ServiceError as error:
        stopped = place.stop_signal.stop.is_set()
        outcome = replace(
            blank, reason=Reason.INTERRUPTED if stopped else Reason.SERVICE_FAILED, note=str(error)[:MAX_NOTE]
        )
    except (OSError, PinchBenchError) as error:
        outcome = replace(blank, reason=_of_ours(error, Reason.WORKSPACE_FAILED), note=str(error)[:MAX_NOTE])
    except Exception:  # noqa: BLE001 - the one place where a bug becomes an outcome
        outcome = replace(blank, reason=Reason.RUNNER_BUG, note=traceback.format_exc()[-MAX_NOTE:])
    finally:
        if user is not None:
            outcome = replace(outcome, user=user.facts)  # whatever became of the attempt, its model has used that
        try:
            with move_on_after(FINISH_LIMIT_S, shield=True):
                files = await to_thread.run_sync(_finish_evidence, evidence, place.redactor, abandon_on_cancel=True)
                outcome = replace(outcome, files=files)
        finally:  # whatever becomes of that, an outcome is never lost
            done(replace(_awake(outcome), ended_at=time.time()))


def outcome_not_begun(attempt: Attempt, sentence: str, *, at: float) -> Outcome:
    """Return the outcome of an attempt that is not made because of a missing prerequisite, as `sentence` says."""
    return Outcome(
        key=attempt.key,
        reason=Reason.PREREQUISITE_MISSING,
        digest=attempt.trial.task.digest,
        attempt=attempt.number,
        started_at=at,
        ended_at=at,
        timeout_s=attempt.trial.timeout_s,
        note=sentence,
    )


def _of_ours(error: Exception, otherwise: Reason) -> Reason:
    return Reason.DISK_FULL if isinstance(error, OSError) and is_disk_full(error) else otherwise


def _awake(outcome: Outcome) -> Outcome:
    """Return the outcome; a failure of an agent that was suspended meanwhile becomes an infrastructure failure."""
    if outcome.asleep_s <= 0 or not outcome.reason.is_valid or outcome.reason is Reason.COMPLETED:
        return outcome
    note = f"{outcome.reason.value} after a suspension of {outcome.asleep_s:.0f} s; {outcome.note}"
    return replace(outcome, reason=Reason.SUSPENDED, note=note.removesuffix("; ")[:MAX_NOTE])


async def _stages(
    trial: Trial,
    place: TrialPlace,
    workspace: Path,
    evidence: Path,
    blank: Outcome,
    *,
    seen_as: Path,
    user: AttemptUser | None,
) -> Outcome:
    began = anyio.current_time()
    await to_thread.run_sync(_make_places, workspace, evidence, place.redactor)
    boxed = place.agent.home.sandbox
    if lacking := missing_for(trial.task, boxed):
        return replace(blank, reason=Reason.PREREQUISITE_MISSING, note=lacking)
    marker = f"{place.run_id}/{trial.key}/{blank.attempt}"
    await set_up_workspace(
        trial.task,
        workspace,
        seen_as=seen_as,
        sandbox=place.check_sandbox,
        marker=marker,
    )
    beside = ServicePlace(
        workspace=workspace,
        evidence=Evidence(folder=evidence),
        sandbox=place.check_sandbox,
        marker=marker,
        limits=place.agent.limits,
    )
    # where the agent sees another path, it must not recognise the real one, either
    with nullcontext() if seen_as == workspace else unnamed(workspace):
        async with (
            open_services(trial.task, beside, stop_signal=place.stop_signal) as services,
            _recorded(trial, place, workspace, evidence) as (before_turn, meter),
        ):
            prepared = anyio.current_time()
            result = await place.agent.execute_task(
                trial.task,
                workspace=workspace,
                evidence=evidence,
                timeout_s=trial.timeout_s,
                marker=marker,
                stop_signal=place.stop_signal,
                callbacks=place.callbacks,
                before_turn=before_turn,
                held_s=meter.held_s if meter is not None else never_held,
                services=services.forwards,
                user=user,
            )
    outcome = _outcome(blank, result, setup_s=prepared - began + result.setup_s)
    outcome = replace(outcome, services=tuple(services.ended))
    contradiction = ""
    if place.wire is not None:
        outcome, contradiction = await _with_wire(outcome, result.evidence, place.wire)
    if boxed is not None:
        read = partial(
            read_integrity,
            result.evidence,
            own_dirs=(*boxed.own_dirs(workspace), *filter(None, [trial.task.workspace_path])),
            network=boxed.network,
            lookups=(*result.lookups, *(meter.refused if meter is not None else ())),
            allowed=place.allowed,
            contradiction=contradiction,
        )
        outcome = await _with_integrity(outcome, read)
    if not outcome.reason.is_final:
        return outcome  # nobody will grade it
    try:
        # after the whole tree is dead, so that no late write can help
        not_kept, contamination = await to_thread.run_sync(_keep, workspace, result.evidence)
    except OSError as error:
        return replace(
            outcome,
            reason=_of_ours(error, Reason.EVIDENCE_LOST),
            note=f"the workspace could not be kept: {error}"[:MAX_NOTE],
        )
    if contamination and outcome.reason.ending is not Ending.UNTRUSTED:
        outcome = replace(outcome, reason=Reason.CONTAMINATED, note=contamination)
    return replace(outcome, not_kept=not_kept[:MAX_NOT_KEPT])


def _user(trial: Trial, place: TrialPlace, evidence: Path, seen_as: Path) -> AttemptUser | None:
    user = trial.task.simulated_user
    if user is None or place.user is None:
        return None
    return AttemptUser(
        place.user,
        UserPlace(
            user=user,
            prompt=trial.task.turns[0].prompt,
            record=Evidence(folder=evidence).user,
            workspace=seen_as,
            masked=place.redactor.text,
        ),
    )


def _keep(workspace: Path, evidence: Evidence) -> tuple[tuple[str, ...], str]:
    """Keep the workspace; return what was not kept, and how the evidence is contaminated. Blocks.

    One call, in one thread: a cancellation between two would lose a completed attempt. Raises OSError.
    """
    return keep_workspace(workspace, evidence.workspace), find_contamination(evidence)


@asynccontextmanager
async def _recorded(
    trial: Trial, place: TrialPlace, workspace: Path, evidence: Path
) -> AsyncGenerator[tuple[Callable[[int], Awaitable[None]] | None, TrialMeter | None]]:
    """Let the trial's requests pass the wire and be recorded.

    Yields what is to be awaited before each turn, and what the wire tells of the trial.
    """
    if place.wire is None:
        yield place.before_turn, None
        return
    lease = place.wire.lease(
        place.slot,
        trial=trial.key,
        recording=Evidence(folder=evidence).wire,
        workspace=workspace,
        is_gateway=place.is_gateway,
        used=place.used,
        failed=place.failed,
    )
    async with lease as (recorded, meter):

        async def before_turn(turn: int) -> None:
            await recorded.set_turn(turn)
            if place.before_turn is not None:
                await place.before_turn(turn)

        yield before_turn, meter


async def _with_wire(outcome: Outcome, evidence: Evidence, wire: ModelWire) -> tuple[Outcome, str]:
    """Return the outcome with what the wire measured, and how the transcript contradicts it if it was tampered with."""
    try:
        read = await to_thread.run_sync(read_wire, evidence.wire, evidence.transcript, wire.recording_of(outcome.key))
    except (OSError, PinchBenchError) as error:
        return replace(outcome, reason=_of_ours(error, Reason.EVIDENCE_LOST), note=str(error)[:MAX_NOTE]), ""
    outcome = replace(outcome, wire=read.facts, replay=read.replay)
    if wire.has_failed:
        return replace(outcome, reason=Reason.WIRE_LOST, note="the wire failed during this trial"), ""
    if read.replay is not None and read.replay.refused:
        return replace(outcome, reason=Reason.DIVERGED, note=read.replay.first[:MAX_NOTE]), ""
    note = read.contradiction[:MAX_NOTE]
    if note and outcome.reason.is_attempt and read.facts.calls:  # what the transcript says of a failure is forged too
        outcome = replace(outcome, reason=Reason.TAMPERED, note=note)
    elif note and outcome.reason.is_valid:  # no agent works without a model: the requests went another way
        outcome = replace(outcome, reason=Reason.EVIDENCE_LOST, note=note)
    return outcome, read.contradiction


async def _with_integrity(outcome: Outcome, read: Callable[[], SandboxFacts]) -> Outcome:
    """Return the outcome with what the agent attempted."""
    try:
        return replace(outcome, sandbox=await to_thread.run_sync(read))
    except (OSError, PinchBenchError) as error:
        return replace(outcome, reason=_of_ours(error, Reason.EVIDENCE_LOST), note=str(error)[:MAX_NOTE])


def _make_places(workspace: Path, evidence: Path, redactor: Redactor) -> None:
    fill_workspace(workspace, ())
    _redact_evidence(evidence, redactor)  # of an attempt that died with its runner
    set_aside(evidence)
    evidence.mkdir(mode=0o700, parents=True)


def _finish_evidence(folder: Path, redactor: Redactor) -> dict[str, str] | None:
    """Redact what is kept, which is its last change, and return the digests; None where the folder has vanished."""
    _redact_evidence(folder, redactor)
    return digests_of(Evidence(folder=folder).of_agent) if folder.is_dir() else None


def _redact_evidence(folder: Path, redactor: Redactor) -> None:
    """Keys have no business in what is kept: providers and programs like to print them."""
    evidence = Evidence(folder=folder)
    output = evidence.stdout, evidence.stderr, evidence.gateway_log, *evidence.service_logs
    redactor.files((*output, evidence.user, evidence.transcript))


def _outcome(blank: Outcome, result: TaskResult, *, setup_s: float) -> Outcome:
    return replace(
        blank,
        reason=result.reason,
        timed_out=result.timed_out,
        exit_code=result.exit_code,
        execution_time_s=result.execution_time_s,
        setup_s=round(setup_s, 3),
        session_ids=result.session_ids,
        store=result.store,
        transcript_length=result.facts.events,
        damaged_lines=result.facts.damaged,
        tool_calls=result.facts.tool_calls,
        models=result.facts.models,
        usage=result.usage,
        cpu_s=result.cpu_s,
        peak_rss_bytes=result.peak_rss_bytes,
        leftovers=result.leftovers,
        asleep_s=result.asleep_s,
        rate_limits=result.rate_limits,
        level=result.level,
        load=result.load,
        note=result.note[:MAX_NOTE],
    )
