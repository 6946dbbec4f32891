"""The stages of one trial: workspace, agent, kept workspace, outcome."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
from anyio import get_cancelled_exc_class, to_thread

from pinchbench.errors import PinchBenchError
from pinchbench.model import Outcome, Reason
from pinchbench.snapshot import keep_workspace
from pinchbench.workspace import fill_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinchbench.model import Trial
    from pinchbench.openclaw.agent import OpenClawAgent, Watch
    from pinchbench.openclaw.task_result import TaskResult
    from pinchbench.process.supervise import Leave
    from pinchbench.results.store import RunFiles

MAX_NOTE = 4000  # characters of a note in the journal
MAX_NOT_KEPT = 100  # files that are named in the journal


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialPlace:
    """Where a trial happens: its slot, its agent, its folders, and who hears of it."""

    slot: int
    agent: OpenClawAgent
    run_id: str
    run_folder: Path
    files: RunFiles
    leave: Leave
    watch: Watch
    before_turn: Callable[[int], None] | None = None


async def run_trial(trial: Trial, place: TrialPlace, done: Callable[[Outcome], None]) -> None:
    """Run one trial and give its outcome to `done`, exactly once.

    Everything expected is an outcome; a bug of ours becomes one too, with its traceback. A cancellation gives an
    `interrupted` outcome and goes on.
    """
    workspace = place.run_folder / trial.key.folder
    evidence = place.files.trial(trial.key)
    blank = Outcome(
        key=trial.key,
        reason=Reason.INTERRUPTED,
        digest=trial.task.digest,
        slot=place.slot,
        started_at=time.time(),
        timeout_s=trial.timeout_s,
        agent_id=place.agent.home.agent_id,
        workspace=str(workspace),
        evidence=str(evidence.relative_to(place.files.folder)),
    )
    outcome = blank
    try:
        outcome = await _stages(trial, place, workspace, evidence, blank)
    except get_cancelled_exc_class():
        outcome = replace(blank, note="cancelled")
        raise
    except (OSError, PinchBenchError) as error:
        outcome = replace(blank, reason=Reason.WORKSPACE_FAILED, note=str(error)[:MAX_NOTE])
    except Exception:  # noqa: BLE001 - the one place where a bug becomes an outcome
        outcome = replace(blank, reason=Reason.RUNNER_BUG, note=traceback.format_exc()[-MAX_NOTE:])
    finally:
        done(replace(outcome, ended_at=time.time()))


async def _stages(trial: Trial, place: TrialPlace, workspace: Path, evidence: Path, blank: Outcome) -> Outcome:
    began = anyio.current_time()
    await to_thread.run_sync(fill_workspace, workspace, trial.task.workspace_files)
    await to_thread.run_sync(lambda: evidence.mkdir(mode=0o700, parents=True))
    prepared = anyio.current_time()
    result = await place.agent.execute_task(
        trial.task,
        workspace=workspace,
        evidence=evidence,
        timeout_s=trial.timeout_s,
        marker=f"{place.run_id}/{trial.key}/{blank.attempt}",
        leave=place.leave,
        watch=place.watch,
        before_turn=place.before_turn,
    )
    outcome = _outcome(blank, result, setup_s=prepared - began)
    if not outcome.reason.counts:
        return outcome  # nobody will grade it
    try:
        # after the whole tree is dead, so that no late write can help
        not_kept = await to_thread.run_sync(keep_workspace, workspace, result.evidence.workspace)
    except OSError as error:
        return replace(
            outcome, reason=Reason.EVIDENCE_LOST, note=f"the workspace could not be kept: {error}"[:MAX_NOTE]
        )
    return replace(outcome, not_kept=not_kept[:MAX_NOT_KEPT])


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
        level=result.level,
        note=result.note[:MAX_NOTE],
    )
