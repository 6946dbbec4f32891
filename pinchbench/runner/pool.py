"""N workers over one stream of trials; each owns a slot."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from pinchbench.grading.grader import GradeJob
from pinchbench.model import OutputLine, Reason, TrialActivity, TrialBegan
from pinchbench.openclaw.agent import OpenClawAgent, Watch
from pinchbench.openclaw.task_result import Evidence
from pinchbench.process.supervise import Leave
from pinchbench.results.records import Record, TrialFinished, TrialStarted
from pinchbench.runner.diagnose import SANITY, diagnose
from pinchbench.runner.handover import hand_over
from pinchbench.runner.slots import slot_name
from pinchbench.runner.trial import TrialPlace, run_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.config import RunConfig
    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.model import Event, Outcome, Task, Trial, TrialKey, Usage
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.home import Home
    from pinchbench.results.store import RunFiles
    from pinchbench.runner.interrupt import Interrupt


class Pool:
    """What the workers of a run share. Each worker runs `work` with its own clones of the three streams."""

    def __init__(
        self,
        *,
        config: RunConfig,
        openclaw: OpenClaw,
        run_id: str,
        files: RunFiles,
        interrupt: Interrupt,
        emit: Callable[[Event], None],
        scripted: ScriptedModel | None,
        scripts: Mapping[str, tuple[ScriptedTurn, ...]],
        timezone: str,
    ) -> None:
        """`scripts` holds what the scripted model plays, by task id; empty without one. `timezone` is the agents'."""
        self._config = config
        self._openclaw = openclaw
        self._run_id = run_id
        self._files = files
        self._interrupt = interrupt
        self._emit = emit
        self._scripted = scripted
        self._scripts = scripts
        self._timezone = timezone
        self._works = False  # whether a trial has said something about the model

    async def work(
        self,
        slot: int,
        home: Home,
        trials: MemoryObjectReceiveStream[Trial],
        jobs: MemoryObjectSendStream[GradeJob],
        records: MemoryObjectSendStream[Record],
    ) -> None:
        """Run trials one after another until there are none left or the run is asked to stop.

        Owns the three streams it is given. Trials that say something about the model go on to be graded, by `jobs`,
        which has room for all of them: a slow judge never holds up a slot.
        """
        agent = OpenClawAgent(
            openclaw=self._openclaw, home=home, thinking=self._config.thinking, linger_s=self._config.linger_s
        )
        with trials, jobs, records:
            async for trial in trials:
                if self._interrupt.stop.is_set():
                    break
                await self._run(trial, slot, agent, jobs, records)

    async def _run(
        self,
        trial: Trial,
        slot: int,
        agent: OpenClawAgent,
        jobs: MemoryObjectSendStream[GradeJob],
        records: MemoryObjectSendStream[Record],
    ) -> None:
        key = trial.key
        place = TrialPlace(
            slot=slot,
            agent=agent,
            run_id=self._run_id,
            run_folder=self._config.run_root / self._run_id,
            files=self._files,
            leave=Leave(stop=self._interrupt.stop, hurry=self._interrupt.hurry),
            watch=self._watch(slot, key),
            before_turn=partial(self._play, slot, key) if self._scripted is not None else None,
        )
        hand_over(records, TrialStarted(key=key, slot=slot, attempt=1, at=time.time()))
        self._emit(TrialBegan(slot=slot, key=key, timeout_s=trial.timeout_s))

        def done(outcome: Outcome) -> None:
            hand_over(records, TrialFinished(outcome=outcome))
            if outcome.reason.counts:
                self._works = True
                hand_over(jobs, grade_job(self._run_id, self._files, trial.task, outcome, timezone=self._timezone))
            elif self._is_hopeless(outcome):
                self._interrupt.halt(diagnose(outcome))

        await run_trial(trial, place, done)

    def _is_hopeless(self, outcome: Outcome) -> bool:
        """Whether the rest of the run would end as this trial did. One that already works is past that question."""
        is_sanity = outcome.key.task_id == SANITY and outcome.reason is not Reason.INTERRUPTED
        return self._config.fail_fast and is_sanity and not self._works

    def _watch(self, slot: int, key: TrialKey) -> Watch:
        def activity(text: str, usage: Usage) -> None:
            self._emit(TrialActivity(slot=slot, key=key, text=text, usage=usage))

        def output(stream: str, text: str) -> None:
            self._emit(OutputLine(key=key, stream=stream, text=text))

        return Watch(activity=activity, output=output if self._config.verbose else None)

    def _play(self, slot: int, key: TrialKey, turn: int) -> None:
        assert self._scripted is not None  # noqa: S101 - only called for scripted models
        self._scripted.play(slot_name(slot), key, self._scripts[key.task_id][turn])


def grade_job(run_id: str, files: RunFiles, task: Task, outcome: Outcome, *, timezone: str) -> GradeJob:
    """What the graders need to know of a trial."""
    return GradeJob(
        key=outcome.key,
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
