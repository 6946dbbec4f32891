"""What a worker needs of its slot, and a slot on this machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from pinchbench.defaults import Isolation
from pinchbench.openclaw.progress import ProgressCallbacks
from pinchbench.process.supervise import StopSignal
from pinchbench.results.evidence import Evidence
from pinchbench.runner.simulated_user import ModelUser, RecordedUser, ScriptedUser
from pinchbench.runner.slots import home_for, slot_name
from pinchbench.runner.trial import TrialPlace, run_attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from anyio import Event

    from pinchbench.chat.endpoint import Endpoint
    from pinchbench.config.run import RunConfig
    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.task import Task
    from pinchbench.model.trial import Attempt, Trial, TrialKey
    from pinchbench.model.usage import Usage
    from pinchbench.openclaw.agent import OpenClawAgent
    from pinchbench.openclaw.complaints import Retry
    from pinchbench.results.node_times import Hardware
    from pinchbench.runner.model_wire import ModelWire
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.simulated_user import UserSource
    from pinchbench.wire.messages import ExchangeEnded


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialCallbacks:
    """Callbacks for the progress of an attempt, which are called on the event loop and must not block; and its end.

    Attributes:
        stop: is set when the attempt is to be ended in an orderly way, with the run or alone.
        activity: called with a line about what the agent does, and what its transcript says that it has used so far.
        output: called with the name of the stream (`stdout` or `stderr`) and a line; None if nobody wants them.
        waits: called with a sentence when a model call failed, and in how many seconds it is made again.
        rate_limited: called for each model call that the provider rejected as too many requests.
        used: called with what the wire has seen the trial use so far.
    """

    stop: Event
    activity: Callable[[str, Usage], None]
    output: Callable[[str, str], None] | None
    waits: Callable[[str, float], None]
    rate_limited: Callable[[], None]
    used: Callable[[Usage], None]


class Slot(Protocol):
    """Where a worker makes its attempts, one at a time."""

    @property
    def number(self) -> int:
        """Its number in the run, from 1."""

    @property
    def agent_id(self) -> str:
        """The name of its agent in OpenClaw."""

    @property
    def machine(self) -> str:
        """The name of its machine in a cluster; empty for this one."""

    @property
    def machine_id(self) -> str:
        """What the cluster calls its machine; empty for this one."""

    @property
    def hardware(self) -> Hardware | None:
        """That of its machine in a cluster, for the first of its slots; else None."""

    @property
    def is_closed(self) -> bool:
        """Whether no further attempt is made in it, because its machine is lost or left out."""

    @property
    def is_taken(self) -> bool:
        """Whether no attempt may be made in it now, because other runs use its machine; they tell when one ends."""

    async def run(self, attempt: Attempt, callbacks: TrialCallbacks, done: Callable[[Outcome], None]) -> None:
        """Make one attempt at a trial and give its outcome to `done`, exactly once.

        The evidence that the outcome names is in the run's folder by then. A cancellation gives an `interrupted`
        outcome and propagates; nothing else is raised.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalSlot:
    """A slot on this machine: an agent, its home, and its way to the model.

    Workspaces are below `work`. `scripted` plays `scripts`, by task id, instead of a model; None without.
    Set-up scripts run in `check_sandbox`. `user_model` plays simulated users, if no script and no record does.
    """

    number: int
    agent: OpenClawAgent
    work: Path
    context: RunContext
    config: RunConfig
    wire: ModelWire | None
    scripted: ScriptedModel | None
    scripts: Mapping[str, tuple[ScriptedTurn, ...]]
    check_sandbox: CheckSandbox | None = None
    user_model: Endpoint | None = None

    @property
    def agent_id(self) -> str:
        """The name of its agent in OpenClaw."""
        return self.agent.home.agent_id

    @property
    def machine(self) -> str:
        """This one."""
        return ""

    @property
    def machine_id(self) -> str:
        """Empty: this one is part of no cluster."""
        return ""

    @property
    def hardware(self) -> None:
        """None: it is recorded of nodes."""
        return

    @property
    def is_closed(self) -> bool:
        """Never: this machine is where the run is."""
        return False

    @property
    def is_taken(self) -> bool:
        """Never: the runs on one machine share what they have by number."""
        return False

    async def run(self, attempt: Attempt, callbacks: TrialCallbacks, done: Callable[[Outcome], None]) -> None:
        """Make one attempt at a trial, as `Slot.run` says."""
        context, config = self.context, self.config

        def retrying(retry: Retry) -> None:
            callbacks.waits(str(retry), retry.delay_s)

        def failed(call: ExchangeEnded) -> None:
            status = f"was answered with {call.status}" if call.status else "got no reply"
            callbacks.waits(f"model call {call.number} {status}", 0.0)

        place = TrialPlace(
            slot=self.number,
            agent=self._agent_for(attempt.trial.task),
            run_id=context.run_id,
            run_folder=self.work,
            files=context.files,
            stop_signal=StopSignal(stop=callbacks.stop, hurry=context.interrupt.hurry),
            callbacks=ProgressCallbacks(
                activity=callbacks.activity,
                output=callbacks.output,
                rate_limited=callbacks.rate_limited,
                retrying=retrying,
            ),
            redactor=context.redactor,
            before_turn=partial(self._play, attempt.key) if self.scripted is not None else None,
            wire=self.wire,
            used=callbacks.used,
            failed=failed,
            is_gateway=config.isolation is Isolation.GATEWAY,
            allowed=tuple(path.removesuffix(":rw") for path in config.sandbox_allow),
            check_sandbox=self.check_sandbox,
            user=self._user_of(attempt.trial),
        )
        await run_attempt(attempt, place, done)

    def _user_of(self, trial: Trial) -> UserSource | None:
        if trial.task.simulated_user is None:
            return None
        recording = self.wire.recording_of(trial.key) if self.wire is not None else None
        if recording is not None:
            return RecordedUser(record=Evidence(folder=recording.parent).user, endpoint=self.user_model)
        if self.user_model is None or self.scripted is not None:
            script = self.scripts.get(trial.key.task_id, ())
            return ScriptedUser(messages=tuple(turn.user for turn in script if turn.user))
        return ModelUser(endpoint=self.user_model)

    def _agent_for(self, task: Task) -> OpenClawAgent:
        return replace(self.agent, home=home_for(task, self.agent.home))

    async def _play(self, key: TrialKey, turn: int) -> None:
        assert self.scripted is not None  # noqa: S101 - only called for scripted models
        place = f"{self.context.run_id}/{key.folder}"  # agents of a gateway share one address
        self.scripted.play(slot_name(self.number), key, self.scripts[key.task_id][turn], place=place)
