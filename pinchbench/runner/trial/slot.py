"""What a worker needs of its slot, a slot on this machine, and what a run needs of slots on others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from pinchbench.model.timeline import Ability
from pinchbench.openclaw.agent_processes import gateway_settings
from pinchbench.openclaw.homes.home_config import tools_of
from pinchbench.openclaw.homes.private import Home, PrivateHome
from pinchbench.process.spec import StopSignal
from pinchbench.results.evidence_files import Evidence
from pinchbench.runner.trial.attempt import TrialPlace, run_attempt
from pinchbench.runner.trial.simulated_user import ModelUser, RecordedUser, ScriptedUser, UserSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AsyncExitStack
    from pathlib import Path

    from anyio import Event
    from anyio.abc import TaskGroup

    from pinchbench.config.run_config import RunConfig
    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.llm.openai_api import Endpoint
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.task import Task
    from pinchbench.model.trial import Attempt, Trial, TrialEvents, TrialKey
    from pinchbench.openclaw.agent import OpenClawAgent
    from pinchbench.results.node_times import Hardware
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.trial.model_wire import ModelAccess


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot(ABC):
    """Where a worker makes its attempts, one at a time."""

    number: int  # in the run, from 1
    agent_id: str  # the name of its agent in OpenClaw
    machine: str = ""  # the name of its machine in a cluster; empty for this one
    machine_id: str = ""  # what the cluster calls its machine
    hardware: Hardware | None = None  # that of its machine in a cluster, for the first of its slots

    @property
    def is_closed(self) -> bool:
        """Whether no further attempt is made in it, because its machine is lost or left out."""
        return False

    @property
    def is_taken(self) -> bool:
        """Whether no attempt may be made in it now, because other runs use its machine; they tell when one ends."""
        return False

    @abstractmethod
    async def run(self, attempt: Attempt, events: TrialEvents, done: Callable[[Outcome], None], *, stop: Event) -> None:
        """Make one attempt at a trial and give its outcome to `done`, exactly once.

        `stop` is set when the attempt is to be ended in an orderly way, with the run or alone.
        The evidence that the outcome names is in the run's folder by then. A cancellation gives an `interrupted`
        outcome and propagates; nothing else is raised.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalSlot(Slot):
    """A slot on this machine: an agent, its home, and its way to the model."""

    agent: OpenClawAgent
    work: Path  # workspaces are below it
    context: RunContext
    access: ModelAccess
    check_sandbox: CheckSandbox | None = None  # where set-up scripts run
    user_model: Endpoint | None = None  # plays simulated users, if no script and no record does
    browser: Path | None = None  # the program of one, if there is any
    unusable: Mapping[Ability, str] = field(default_factory=dict)  # abilities that no agent can have, and why

    async def run(self, attempt: Attempt, events: TrialEvents, done: Callable[[Outcome], None], *, stop: Event) -> None:
        """Make one attempt at a trial, as `Slot.run` says."""
        context, config = self.context, self.context.prepared.config
        place = TrialPlace(
            slot=self.number,
            agent=replace(self.agent, home=home_for(attempt.trial.task, self.agent.home, self.browser)),
            run_id=context.run_id,
            run_folder=self.work,
            files=context.files,
            stop_signal=StopSignal(stop=stop, hurry=context.interrupt.hurry),
            events=events,
            redactor=context.redactor,
            before_turn=partial(self._play, attempt.key) if self.access.scripted is not None else None,
            wire=self.access.wire,
            allowed=tuple(path.removesuffix(":rw") for path in config.sandbox_allow),
            check_sandbox=self.check_sandbox,
            user=self._user_of(attempt.trial),
            unusable=self.unusable,
        )
        await run_attempt(attempt, place, done)

    def _user_of(self, trial: Trial) -> UserSource | None:
        user = trial.task.simulated_user
        if user is None:
            return None
        wire = self.access.wire
        recording = wire.recording_of(trial.key) if wire is not None else None
        if recording is not None:
            return RecordedUser(record=Evidence(folder=recording.parent).user, endpoint=self.user_model)
        if self.access.scripted is not None:
            script = self.access.scripts.get(trial.key.task_id, ())
            return ScriptedUser(messages=tuple(turn.user for turn in script if turn.user))
        return ScriptedUser(messages=user.messages) if self.user_model is None else ModelUser(endpoint=self.user_model)

    async def _play(self, key: TrialKey, turn: int) -> None:
        assert self.access.scripted is not None  # noqa: S101 - only called for scripted models
        self.access.scripted.play(slot_name(self.number), self.access.scripts[key.task_id][turn])


def slot_name(slot: int) -> str:
    """The name of a slot in paths and URLs: `slot-1`."""
    return f"slot-{slot}"


def home_for(task: Task, home: Home, browser: Path | None = None) -> Home:
    """Return the home in which a task's trials have the network that it states, its abilities, and a gateway for them.

    `browser` is the program of one, if this machine has any.
    """
    if not isinstance(home, PrivateHome):
        return home
    if home.sandbox is not None and home.networked is not None:
        # Landlock knows ports and no addresses: it can't allow 127.0.0.1 alone
        is_open = task.network or (task.own_servers and not home.sandbox.has_own_root)
        home = home.networked if is_open else home
    # the same for all runs, whatever their network is: otherwise two of them would not ask the same
    tools = tools_of(task.abilities, home.openclaw.version, has_web=task.network)
    if not tools:
        return home
    settings = gateway_settings(task, home.agent_id) if task.needs_gateway else {}
    home = replace(home, abilities=task.abilities, tools=tools, settings=settings)
    return home if browser is None or Ability.BROWSER not in task.abilities else home.with_browser(browser)


class SlotPool(Protocol):
    """Other machines, on which the slots of one run are."""

    async def open(
        self,
        run: RunContext,
        *,
        versions: Mapping[str, str],
        group: TaskGroup,
        stack: AsyncExitStack,
        user_model: Endpoint | None = None,
    ) -> tuple[RunConfig, Sequence[Slot]]:
        """Set up slots for a run; return its options, settled, with them.

        `versions` are the releases on this machine. `user_model` plays simulated users, and is asked from here. The
        connections live in `group`; they are closed with `stack`, and everything on the other machines is gone when
        `group` ends. Raises PinchBenchError.
        """

    async def watch(self, add: Callable[[Slot], None]) -> None:
        """Give `add` the slots of machines that join while the run works.

        Returns when every machine is lost, and none has joined for a while; else it is cancelled. Call it after `open`.
        """
