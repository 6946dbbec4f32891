"""The stages of one attempt at a trial: workspace, agent, kept workspace, outcome."""

from __future__ import annotations

import time
import traceback
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from signal import SIGKILL
from typing import TYPE_CHECKING, Any

import anyio
from anyio import get_cancelled_exc_class, move_on_after, to_thread

from pinchbench.defaults import Network
from pinchbench.errors import GatewayError, PinchBenchError, ServiceError, WireError
from pinchbench.files.archive_write import keep_workspace
from pinchbench.files.folders import set_aside
from pinchbench.files.workspace import fill_workspace, unnamed
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.facts import Finding, FindingKind
from pinchbench.model.outcome import Outcome
from pinchbench.model.timeline import Ability
from pinchbench.openclaw.short_command import short_lived_folder
from pinchbench.openclaw.trial_clock import TrialClock, find_libfaketime
from pinchbench.process.capacity import is_disk_full, oom_kills
from pinchbench.process.supervise import never_held
from pinchbench.results.evidence_files import Evidence, digests_of
from pinchbench.runner.trial.browser_loss import browser_loss
from pinchbench.runner.trial.integrity import find_contamination, read_integrity
from pinchbench.runner.trial.simulated_user import AttemptUser, UserSource
from pinchbench.runner.trial.task_services import ServicePlace, open_services
from pinchbench.runner.trial.task_setup import missing_for, set_up_workspace
from pinchbench.runner.trial.wire_facts import TrialMeter, not_excused, read_wire, with_start, witnessed
from pinchbench.sandbox.ledger import Facts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
    from pathlib import Path

    from pinchbench.files.archive import Kept
    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.model.task import Task
    from pinchbench.model.trial import Attempt, TrialEvents
    from pinchbench.openclaw.agent import OpenClawAgent
    from pinchbench.openclaw.homes.sandbox import TurnSandbox
    from pinchbench.openclaw.task_result import TaskResult
    from pinchbench.process.spec import StopSignal
    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.run_context import Redactor
    from pinchbench.runner.trial.model_wire import ModelWire

MAX_NOTE = 4000  # characters of a note in the journal
FINISH_LIMIT_S = 60.0  # half a gigabyte on a busy machine
# What an outcome has from the result of the agent's task as it is.
OF_RESULT = (
    *("reason", "timed_out", "exit_code", "execution_time_s", "session_ids", "store", "usage", "cpu_s"),
    *("peak_rss_bytes", "leftovers", "asleep_s", "rate_limits", "level", "load"),
)
MAX_NOT_KEPT = 100  # files that are named in the journal


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialPlace:
    """Where a trial happens: its slot, its agent, its folders, and what receives its events."""

    slot: int
    agent: OpenClawAgent
    run_id: str
    run_folder: Path
    files: RunFiles
    stop_signal: StopSignal
    events: TrialEvents
    redactor: Redactor  # keeps keys out of the evidence; the outcome is not redacted
    before_turn: Callable[[int], Awaitable[None]] | None = None
    wire: ModelWire | None = None
    allowed: tuple[str, ...] = ()  # paths that a sandboxed agent sees besides its own
    check_sandbox: CheckSandbox | None = None  # where checks, and the task's set-up script, are run
    user: UserSource | None = None  # plays the task's simulated user, if it has one
    unusable: Mapping[Ability, str] = field(default_factory=dict)  # abilities that no agent can have, and why


async def run_attempt(attempt: Attempt, place: TrialPlace, done: Callable[[Outcome], None]) -> None:
    """Make one attempt at a trial and give its outcome to `done`, exactly once.

    Everything expected is an outcome; a bug of ours becomes one too, with its traceback. A cancellation gives an
    `interrupted` outcome and goes on. What an earlier attempt has left in the same places is kept aside.
    """
    making = _Making(attempt, place)
    outcome = making.blank
    try:
        outcome = await making.outcome()
    except get_cancelled_exc_class():
        outcome = replace(outcome, note="cancelled")
        raise
    except (OSError, PinchBenchError) as error:
        outcome = replace(outcome, reason=making.reason_of(error), note=str(error)[:MAX_NOTE])
    except Exception:  # noqa: BLE001 - the one place where a bug becomes an outcome
        outcome = replace(outcome, reason=Reason.RUNNER_BUG, note=traceback.format_exc()[-MAX_NOTE:])
    finally:
        if making.user is not None:
            # whatever became of the attempt, its model has used that
            outcome = replace(outcome, user=making.user.facts)
        try:
            with move_on_after(FINISH_LIMIT_S, shield=True):
                files = await to_thread.run_sync(
                    _finish_evidence, making.evidence, place.redactor, abandon_on_cancel=True
                )
                outcome = replace(outcome, files=files)
        finally:  # whatever becomes of that, an outcome is never lost
            done(replace(_awake(outcome), ended_at=time.time()))


def outcome_of(attempt: Attempt, reason: Reason, **facts: Any) -> Outcome:  # noqa: ANN401 - the fields of Outcome
    """Return an outcome of an attempt, which has begun now unless `facts` say otherwise."""
    task, at = attempt.trial.task, time.time()
    facts = {"started_at": at, "attempt": attempt.number, "timeout_s": attempt.trial.timeout_s, **facts}
    return Outcome(key=attempt.key, reason=reason, digest=task.digest, **facts)


def _of_ours(error: Exception, otherwise: Reason) -> Reason:
    return Reason.DISK_FULL if isinstance(error, OSError) and is_disk_full(error) else otherwise


def _awake(outcome: Outcome) -> Outcome:
    """Return the outcome; a failure of an agent that was suspended meanwhile becomes an infrastructure failure."""
    if outcome.asleep_s <= 0 or not outcome.reason.is_valid or outcome.reason is Reason.COMPLETED:
        return outcome
    note = f"{outcome.reason.value} after a suspension of {outcome.asleep_s:.0f} s; {outcome.note}"
    return replace(outcome, reason=Reason.SUSPENDED, note=note.removesuffix("; ")[:MAX_NOTE])


def _limited(outcome: Outcome, exceeded: str) -> Outcome:
    """Return the outcome of a trial that the wire has stopped answering, whatever OpenClaw made of that."""
    if not exceeded or outcome.reason is Reason.INTERRUPTED:
        return outcome
    return replace(outcome, reason=Reason.RESOURCE_LIMIT, note=f"the trial used {exceeded}")


class _Making:
    """One attempt in the making: where its files are, who its user is, and the outcome that it has if it is cut off."""

    def __init__(self, attempt: Attempt, place: TrialPlace) -> None:
        self.trial = trial = attempt.trial
        self.place = place
        self.boxed = place.agent.home.sandbox
        self.workspace = place.agent.home.place(place.run_folder / trial.key.folder, attempt.number)
        self.seen_as = self.workspace if self.boxed is None else self.boxed.seen_workspace(self.workspace)
        self.evidence = Evidence(folder=place.files.trial(trial.key, attempt.number))
        self.marker = f"{place.run_id}/{trial.key}/{attempt.number}"
        self.blank = outcome_of(
            attempt,
            Reason.INTERRUPTED,
            slot=place.slot,
            agent_id=place.agent.home.agent_id,
            workspace=str(self.workspace),
            evidence=str(self.evidence.folder.relative_to(place.files.folder)),
        )
        self.user: AttemptUser | None = None
        if trial.task.simulated_user is not None and place.user is not None:
            self.user = AttemptUser(
                source=place.user,
                user=trial.task.simulated_user,
                prompt=trial.task.turns[0].prompt,
                record=self.evidence.user,
                workspace=self.seen_as,
                masked=place.redactor.text,
            )

    def reason_of(self, error: OSError | PinchBenchError) -> Reason:
        """Return why an attempt ends with an error that comes before, or instead of, its agent's end."""
        if isinstance(error, WireError):
            return Reason.WIRE_LOST
        if isinstance(error, GatewayError | ServiceError):
            if self.place.stop_signal.stop.is_set():
                return Reason.INTERRUPTED
            return Reason.GATEWAY_LOST if isinstance(error, GatewayError) else Reason.SERVICE_FAILED
        return _of_ours(error, Reason.WORKSPACE_FAILED)

    async def outcome(self) -> Outcome:
        """Go through all stages. Raises OSError and PinchBenchError for what goes wrong around the agent."""
        trial, place, boxed = self.trial, self.place, self.boxed
        began = anyio.current_time()
        await to_thread.run_sync(_make_places, self.workspace, self.evidence, place.redactor)
        if lacking := missing_for(trial.task, boxed, place.unusable):
            return replace(self.blank, reason=Reason.PREREQUISITE_MISSING, note=lacking)
        await set_up_workspace(
            trial.task, self.workspace, seen_as=self.seen_as, sandbox=place.check_sandbox, marker=self.marker
        )
        async with _simulated(trial.task) as (clock, socket):
            service_place = ServicePlace(
                workspace=self.workspace,
                evidence=self.evidence,
                sandbox=place.check_sandbox,
                marker=self.marker,
                limits=place.agent.limits,
                clock=clock,
            )
            # where the agent sees another path, it must not recognise the real one, either
            with nullcontext() if self.seen_as == self.workspace else unnamed(self.workspace):
                async with (
                    open_services(trial.task, service_place, stop_signal=place.stop_signal) as services,
                    self._recorded() as (agent, before_turn, meter),
                ):
                    prepared = anyio.current_time()
                    killed_before = await to_thread.run_sync(oom_kills)
                    result = await agent.execute_task(
                        trial.task,
                        workspace=self.workspace,
                        evidence=self.evidence.folder,
                        timeout_s=trial.timeout_s,
                        marker=self.marker,
                        stop_signal=place.stop_signal,
                        events=place.events,
                        before_turn=before_turn,
                        held_s=meter.held_s if meter is not None else never_held,
                        services=services.forwards,
                        user=self.user,
                        clock=clock,
                        socket=socket,
                    )
        outcome = _outcome(self.blank, result, setup_s=prepared - began + result.setup_s)
        outcome = replace(outcome, services=tuple(services.ended))
        if outcome.reason is Reason.KILLED_BY_SIGNAL:
            is_memory = outcome.exit_code == -SIGKILL and await to_thread.run_sync(oom_kills) > killed_before
            outcome = _killed(outcome, boxed, is_memory=is_memory)
        if meter is not None:
            outcome = _limited(outcome, meter.exceeded)
        if place.wire is not None:
            outcome = await self._with_wire(outcome, result, place.wire, turn=meter.turn if meter is not None else 0)
        if Ability.BROWSER in trial.task.abilities and outcome.reason.is_valid:
            outcome = await self._with_browser(outcome, result.evidence)
        if boxed is not None:
            outcome = await self._with_integrity(outcome, result, boxed, meter)
        # nobody will grade what is not final
        return await self._with_workspace(outcome, result.evidence) if outcome.reason.is_final else outcome

    @asynccontextmanager
    async def _recorded(
        self,
    ) -> AsyncGenerator[tuple[OpenClawAgent, Callable[[int], Awaitable[None]] | None, TrialMeter | None]]:
        """Let the trial's requests pass the wire and be recorded.

        Yields the agent that makes them, what is to be awaited before each turn, and what the wire reports of the
        trial.
        """
        place = self.place
        if place.wire is None:
            yield place.agent, place.before_turn, None
            return
        lease = place.wire.lease(
            place.slot,
            trial=self.trial.key,
            recording=self.evidence.wire,
            events=place.events,
            simulated=self.trial.task.simulated_times,
        )
        async with lease as (recorded, meter):

            async def before_turn(turn: int) -> None:
                await recorded.set_turn(turn)
                meter.turn = turn
                if place.before_turn is not None:
                    await place.before_turn(turn)

            home = place.agent.home.addressed((recorded.instead_of, recorded.token))
            yield replace(place.agent, home=home), before_turn, meter

    async def _with_wire(self, outcome: Outcome, result: TaskResult, wire: ModelWire, *, turn: int) -> Outcome:
        """Return the outcome as the wire saw it; the transcript is what it saw then.

        `turn` is the index of the last turn that was begun.
        """
        replayed, evidence = wire.recording_of(outcome.key), result.evidence
        try:
            # as the recording, in which keys are masked already
            await to_thread.run_sync(self.place.redactor.files, (evidence.transcript,))
            read = await to_thread.run_sync(read_wire, evidence, outcome.session_ids, replayed)
        except (OSError, PinchBenchError) as error:
            return _unkept(outcome, error)
        outcome = replace(
            outcome, wire=read.found.facts, replay=read.replay, findings=(*outcome.findings, *read.findings)
        )
        if read.events is not None:
            facts = read.found.facts
            outcome = replace(
                outcome,
                witnessed=True,
                transcript_length=read.events,
                tool_calls=read.tool_calls,
                usage=outcome.usage.completed_by(facts.usage),
                models=outcome.models or facts.models,
            )
            outcome = not_excused(outcome, read.found, is_ours=result.is_ours)
        if wire.has_failed:
            return replace(outcome, reason=Reason.WIRE_LOST, note="the wire failed during this trial")
        if read.replay is not None and read.replay.refused:
            return replace(outcome, reason=Reason.DIVERGED, note=read.replay.first[:MAX_NOTE])
        reason, said = witnessed(outcome, read.found, turn=turn, is_concurrent=result.is_concurrent)
        outcome = replace(outcome, reason=reason, note=said[:MAX_NOTE])
        if outcome.reason.is_valid and outcome.usage.requests and not read.found.facts.calls:
            note = "the transcript has answers of a model, but no request went through the wire"
            return replace(outcome, reason=Reason.EVIDENCE_LOST, note=note)
        return with_start(outcome, read.found)

    async def _with_browser(self, outcome: Outcome, evidence: Evidence) -> Outcome:
        try:
            loss = await to_thread.run_sync(browser_loss, evidence.transcript)
        except PinchBenchError as error:
            return _unkept(outcome, error)
        return replace(outcome, reason=Reason.SERVICE_FAILED, note=loss[:MAX_NOTE]) if loss else outcome

    async def _with_integrity(
        self, outcome: Outcome, result: TaskResult, boxed: TurnSandbox, meter: TrialMeter | None
    ) -> Outcome:
        own_dirs = (*boxed.own_dirs(self.workspace), *filter(None, [self.trial.task.workspace_path]))
        hosts, requests = (meter.refused, meter.refused_requests) if meter is not None else ((), ())
        facts = Facts(
            own_dirs=(*own_dirs, *self.place.allowed),
            lookups=(*result.lookups, *hosts),
            refused=(*(f"a connection by {name}" for name in result.refused), *requests),
            is_network_open=boxed.network is Network.OPEN,
        )
        try:
            seen = await to_thread.run_sync(read_integrity, result.evidence, boxed.network, facts)
            return replace(outcome, sandbox=seen)
        except (OSError, PinchBenchError) as error:
            return _unkept(outcome, error)

    async def _with_workspace(self, outcome: Outcome, evidence: Evidence) -> Outcome:
        """Keep the workspace after the whole tree is dead, so that no late write can help; return the outcome then."""
        try:
            kept, contamination = await to_thread.run_sync(_keep, self.workspace, evidence)
        except OSError as error:
            return _unkept(outcome, error, "the workspace could not be kept: ")
        if contamination and outcome.reason.ending is not Ending.UNTRUSTED:
            outcome = replace(outcome, reason=Reason.CONTAMINATED, note=contamination)
        elif kept.beyond and outcome.reason.is_valid and outcome.reason is not Reason.RESOURCE_LIMIT:
            # what could not be kept is not absent: a check that misses it would say nothing about the agent
            outcome = replace(outcome, reason=Reason.EVIDENCE_LOST, note=f"of the workspace, {kept.beyond}"[:MAX_NOTE])
        return replace(outcome, not_kept=kept.left_out[:MAX_NOT_KEPT])


def _unkept(outcome: Outcome, error: Exception, said: str = "") -> Outcome:
    return replace(outcome, reason=_of_ours(error, Reason.EVIDENCE_LOST), note=f"{said}{error}"[:MAX_NOTE])


def _killed(outcome: Outcome, sandbox: TurnSandbox | None, *, is_memory: bool) -> Outcome:
    """Return the outcome of an attempt whose OpenClaw was killed by a signal that this program did not send.

    In namespaces only the kernel and the agent's own commands can send one: an agent must not earn another attempt by
    it.
    """
    if is_memory:
        note = f"{outcome.note}: the machine ran out of memory meanwhile; use a lower --concurrency"
        return replace(outcome, reason=Reason.OUT_OF_MEMORY, note=note)
    if sandbox is None or not sandbox.has_own_root:
        return outcome
    return replace(outcome, reason=Reason.AGENT_KILLED, note=f"{outcome.note} from within its sandbox")


@asynccontextmanager
async def _simulated(task: Task) -> AsyncGenerator[tuple[TrialClock | None, Path | None]]:
    """Give a trial the clock and the gateway's socket, with a short path, that its task needs. Raises OSError."""
    library = await to_thread.run_sync(find_libfaketime) if task.starts_at is not None else None
    if library is None and not task.needs_gateway:
        yield None, None
        return
    async with short_lived_folder() as folder:
        clock = None
        if task.starts_at is not None and library is not None:
            make = partial(TrialClock, folder / "clock", starts_at=task.starts_at, library=library)
            clock = await to_thread.run_sync(make)
        yield clock, folder / "link.sock"


def _keep(workspace: Path, evidence: Evidence) -> tuple[Kept, str]:
    """Keep the workspace; return what was not kept, and how the evidence is contaminated. Blocks.

    One call, in one thread: a cancellation between two would lose a completed attempt. Raises OSError.
    """
    return keep_workspace(workspace, evidence.workspace), find_contamination(evidence)


def _make_places(workspace: Path, evidence: Evidence, redactor: Redactor) -> None:
    fill_workspace(workspace, ())
    _redact_evidence(evidence, redactor)  # of an attempt that died with its runner
    set_aside(evidence.folder)
    evidence.folder.mkdir(mode=0o700, parents=True)


def _finish_evidence(evidence: Evidence, redactor: Redactor) -> dict[str, str] | None:
    """Redact what is kept, which is its last change, and return the digests; None where the folder has vanished."""
    _redact_evidence(evidence, redactor)
    return digests_of(evidence.of_agent) if evidence.folder.is_dir() else None


def _redact_evidence(evidence: Evidence, redactor: Redactor) -> None:
    """Keys have no business in what is kept: providers and programs like to print them."""
    output = evidence.stdout, evidence.stderr, *evidence.service_logs
    redactor.files((*output, evidence.user, evidence.chat, evidence.transcript, evidence.store))


def _outcome(blank: Outcome, result: TaskResult, *, setup_s: float) -> Outcome:
    return replace(
        blank,
        **{name: getattr(result, name) for name in OF_RESULT},
        setup_s=round(setup_s, 3),
        transcript_length=result.facts.events,
        damaged_lines=result.facts.damaged,
        tool_calls=result.facts.tool_calls,
        models=result.facts.models,
        findings=tuple(Finding(kind=FindingKind.SETTINGS, said=name) for name in result.changed),
        witnessed=False,  # until the wire's recording is read
        note=result.note[:MAX_NOTE],
    )
