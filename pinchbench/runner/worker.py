"""N workers that take attempts from the dispatcher; each owns a slot."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from pinchbench.events import OutputLine, TrialActivity, TrialBegan, TrialWaits
from pinchbench.grading.grader import GradeJob
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.openclaw.progress import ProgressCallbacks
from pinchbench.process.supervise import StopSignal
from pinchbench.results.evidence import Evidence
from pinchbench.results.journal.records import Record, TrialStarted
from pinchbench.runner.recorder import hand_over
from pinchbench.runner.slots import slot_name
from pinchbench.runner.trial import TrialPlace, run_attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyio.streams.memory import MemoryObjectSendStream

    from pinchbench.config import RunConfig
    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.events import Event
    from pinchbench.model import Attempt, Outcome, Task, TrialKey, Usage
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.complaints import Retry
    from pinchbench.openclaw.homes.private import Home
    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.control import RunControl
    from pinchbench.runner.run_redaction import Redactor
    from pinchbench.runner.signals import Interrupt


class Pool:
    """What the workers of a run share. Each worker runs `work` with its own clones of the two streams."""

    def __init__(
        self,
        *,
        config: RunConfig,
        openclaw: OpenClaw,
        run_id: str,
        files: RunFiles,
        interrupt: Interrupt,
        control: RunControl,
        emit: Callable[[Event], None],
        scripted: ScriptedModel | None,
        scripts: Mapping[str, tuple[ScriptedTurn, ...]],
        timezone: str,
        redactor: Redactor,
    ) -> None:
        """`scripts` holds what the scripted model plays, by task id; empty without one. `timezone` is the agents'."""
        self._config = config
        self._openclaw = openclaw
        self._run_id = run_id
        self._files = files
        self._interrupt = interrupt
        self._control = control
        self._emit = emit
        self._scripted = scripted
        self._scripts = scripts
        self._timezone = timezone
        self._redactor = redactor

    async def work(
        self,
        slot: int,
        home: Home,
        jobs: MemoryObjectSendStream[GradeJob],
        records: MemoryObjectSendStream[Record],
    ) -> None:
        """Make attempts one after another until there are none left or the run is asked to stop.

        Owns the two streams it is given. Attempts that say something about the model go on to be graded, by `jobs`,
        which has room for all of them: a slow judge never holds up a slot.
        """
        agent = OpenClawAgent(
            openclaw=self._openclaw, home=home, thinking=self._config.thinking, linger_s=self._config.linger_s
        )
        with jobs, records:
            while (attempt := await self._control.take()) is not None:
                await self._run(attempt, slot, agent, jobs=jobs, records=records)

    async def _run(
        self,
        attempt: Attempt,
        slot: int,
        agent: OpenClawAgent,
        *,
        jobs: MemoryObjectSendStream[GradeJob],
        records: MemoryObjectSendStream[Record],
    ) -> None:
        key = attempt.key
        place = TrialPlace(
            slot=slot,
            agent=agent,
            run_id=self._run_id,
            run_folder=self._config.run_root / self._run_id,
            files=self._files,
            stop_signal=StopSignal(stop=self._interrupt.stop, hurry=self._interrupt.hurry),
            callbacks=self._watch(slot, attempt),
            redactor=self._redactor,
            before_turn=partial(self._play, slot, key) if self._scripted is not None else None,
        )
        hand_over(records, TrialStarted(key=key, slot=slot, attempt=attempt.number, at=time.time()))
        self._emit(TrialBegan(slot=slot, key=key, timeout_s=attempt.trial.timeout_s, attempt=attempt.number))

        def done(outcome: Outcome) -> None:
            self._control.ended(attempt, outcome)
            if outcome.reason.is_valid:
                job = grade_job(self._run_id, self._files, attempt.trial.task, outcome, timezone=self._timezone)
                hand_over(jobs, job)

        await run_attempt(attempt, place, done)

    def _watch(self, slot: int, attempt: Attempt) -> ProgressCallbacks:
        key = attempt.key

        def activity(text: str, usage: Usage) -> None:
            self._control.uses(attempt, usage)
            self._emit(TrialActivity(slot=slot, key=key, text=text, usage=usage))

        def output(stream: str, text: str) -> None:
            self._emit(OutputLine(key=key, stream=stream, text=text))

        def retrying(retry: Retry) -> None:
            self._emit(TrialWaits(slot=slot, key=key, text=str(retry), next_s=retry.delay_s))

        return ProgressCallbacks(
            activity=activity,
            output=output if self._config.verbose else None,
            rate_limited=partial(self._control.limited, attempt),
            retrying=retrying,
        )

    def _play(self, slot: int, key: TrialKey, turn: int) -> None:
        assert self._scripted is not None  # noqa: S101 - only called for scripted models
        place = f"{self._run_id}/{key.folder}"  # agents of a gateway share one address
        self._scripted.play(slot_name(slot), key, self._scripts[key.task_id][turn], place=place)


def grade_job(run_id: str, files: RunFiles, task: Task, outcome: Outcome, *, timezone: str) -> GradeJob:
    """What the graders need to know of a trial."""
    return GradeJob(
        key=outcome.key,
        attempt=outcome.attempt,
        task=task,
        evidence=Evidence(folder=files.folder / outcome.evidence),
        workspace=outcome.workspace,
        transcript_length=outcome.transcript_length,
        ended_at=outcome.ended_at,
        timezone=timezone,
        timeout_s=outcome.timeout_s,
        marker=f"{run_id}/{outcome.key}/{outcome.attempt}/check",
        not_kept=outcome.not_kept,
    )
