"""The runs of an output folder in brief, as `history` lists them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from pinchbench.errors import ResultsError
from pinchbench.model.ending import Reason
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.results.journal.journal import is_written
from pinchbench.results.manifest import RunFacts, read_facts
from pinchbench.results.paths import RunFiles, runs_of
from pinchbench.results.result_json import Aggregate, LeftOut
from pinchbench.results.statistics import Estimate, is_passed
from pinchbench.results.task_trials import NOT_GRADED
from pinchbench.results.verification import changed_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pinchbench.results.records import RunFinished

PAUSE_S = 600.0  # between two trials: a longer pause was a night's or a resumption's, not the run's own set-up


class State(StrEnum):
    """The state of a run."""

    COMPLETE = "complete"
    UNFINISHED = "unfinished"
    INTERRUPTED = "interrupted"
    RUNNING = "running"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEntry:
    """A run in brief, as `history --json` prints it; its help names the keys.

    For an unreadable one, only `run_id`, `run` and `problem` are known. `pending` is 0 if nobody works on the run.
    """

    run_id: str
    run: str
    state: State = State.UNREADABLE
    model: str = ""
    suite: str = ""
    created_at: float = 0.0
    score: Estimate = Estimate(mean=None, low=None, high=None, tasks=0, trials=0)  # noqa: RUF009 - frozen
    suites: Mapping[str, float | None] = field(default_factory=dict)
    planned: int = 0
    passed: int = 0
    pass_threshold: float = 0.0
    left_out: LeftOut | None = None
    pending: int = 0
    caused_by_agent: int = 0
    score_if_zero: float | None = None
    tokens: int = 0
    cost_usd: float | None = 0.0
    judge_cost_usd: float | None = None
    agents_s: float = 0.0
    duration_s: float = 0.0
    openclaw: str = ""
    stopped: str = ""
    reused: int = 0
    is_private: bool = False
    is_altered: bool = False
    problem: str = ""

    @property
    def excluded(self) -> int:
        """How many trials that were run are in no score, and not pending."""
        # those that were not run are pending while somebody works on the run
        return 0 if self.left_out is None else self.left_out.total - max(self.pending, self.left_out.not_run)


def past_runs(output_dir: Path, *, model: str = "") -> tuple[RunEntry, ...]:
    """Return the runs of an output folder, newest first. Blocks, in proportion to their trials.

    `model` selects the runs of that model, or, if there are none, those whose model contains the text, ignoring case. A
    run that can't be read is listed with its `problem` and selected by the name of its folder.
    """
    found = [(files, _read_facts(files)) for files in runs_of(output_dir)]
    models = {str(facts.config["model"]) for _, facts in found if isinstance(facts, RunFacts)}
    if model:
        found = [(files, facts) for files, facts in found if _is_chosen(files, facts, model, exactly=model in models)]
    return tuple(_listed(files, facts) for files, facts in found)


def run_entry(files: RunFiles) -> RunEntry:
    """Return one run in brief. Blocks, in proportion to its trials."""
    return _listed(files, _read_facts(files))


def _is_chosen(files: RunFiles, facts: RunFacts | str, model: str, *, exactly: bool) -> bool:
    if isinstance(facts, str):
        return model.replace("/", "-").casefold() in files.name.casefold()
    own = str(facts.config["model"])
    return own == model if exactly else model.casefold() in own.casefold()


def _read_facts(files: RunFiles) -> RunFacts | str:
    """Read a run.json, or return why it can't be read."""
    try:
        return read_facts(files.provenance)
    except ResultsError as error:
        return str(error)


def _listed(files: RunFiles, facts: RunFacts | str) -> RunEntry:
    """Return a run in brief, from its journal: only that contains a resumption's changes, and only it is chained."""
    if isinstance(facts, str):
        return _unreadable(files, facts)
    try:
        is_running = is_written(files.journal)
        run = read_run(files)
        differs = run.differences or any(not is_running for _ in changed_result(files, run.journal, run.data))
        listed = _in_short(run, is_running=is_running)
    except ResultsError as error:
        return _unreadable(files, str(error))
    except OSError as error:
        return _unreadable(files, f"{files.journal} can't be read: {error.strerror}.")
    except (ValueError, ArithmeticError) as error:
        return _unreadable(files, f"{files.folder} holds numbers that make no result: {error}.")
    return replace(listed, is_altered=bool(differs))


def _unreadable(files: RunFiles, problem: str) -> RunEntry:
    return RunEntry(run_id=files.name.rpartition("_")[2], run=files.name, problem=problem)


def _in_short(run: PastRun, *, is_running: bool) -> RunEntry:
    data = run.data
    trials = data.trials
    took_s = at_work_s((one.started_at, one.ended_at) for one in trials if one.reused_from is UNSET)
    judge_usd = data.judge.cost_usd if data.judge is not None else None
    if not all(map(isfinite, (took_s, data.execution_time, data.usage.cost_usd, judge_usd or 0.0))):
        raise ValueError("a time or a cost is beyond all bounds")
    return RunEntry(
        run_id=run.facts.run_id,
        run=run.files.name,
        state=state_of(run.end, unfinished=run.unfinished, is_running=is_running),
        model=data.model,
        suite=data.suite or "",
        created_at=run.facts.created_at,
        score=data.score,
        suites={} if data.suites is UNSET else {name: totals.score.mean for name, totals in data.suites.items()},
        planned=data.counts.planned,
        passed=sum(trial.score is not None and is_passed(trial.score, data.passing.threshold) for trial in trials),
        pass_threshold=data.passing.threshold,
        left_out=_left_out(data),
        pending=_pending(run) if is_running else 0,
        caused_by_agent=len(data.possibly_caused_by_agent.trials),
        score_if_zero=data.possibly_caused_by_agent.score_if_zero,
        tokens=data.usage.total_tokens,
        cost_usd=data.usage.known_cost_usd,
        judge_cost_usd=judge_usd,
        agents_s=data.execution_time,
        duration_s=took_s,
        openclaw=run.facts.versions.get("openclaw", ""),
        stopped=data.stopped,
        reused=sum((data.reused or {}).values()),
        is_private=data.private is True,
    )


def _left_out(data: Aggregate) -> LeftOut:
    """Return the counts of the result, which has stopped trials among those of the infrastructure, as not run."""
    stopped = data.counts.reasons.get(Reason.INTERRUPTED, 0)
    given = LeftOut(**{name: getattr(data.left_out, name) for name in LeftOut.__struct_fields__})
    return structs.replace(given, infrastructure=given.infrastructure - stopped, not_run=given.not_run + stopped)


def _pending(run: PastRun) -> int:
    """Return how many trials have no score yet because a run goes on."""
    retried = run.journal.state.retried.keys()
    not_graded = sum(task.ungraded.get(NOT_GRADED, 0) for task in run.data.tasks)
    again = sum(not one.reason.is_valid for one in run.outcomes if one.key in retried)
    return run.data.left_out.not_run + not_graded + again


def state_of(end: RunFinished | None, *, unfinished: int, is_running: bool) -> State:
    """Return the state of a run that can be read. `end` is its last runner's, None if that died or is at work."""
    if is_running:
        return State.RUNNING
    if not unfinished:
        return State.COMPLETE
    return State.INTERRUPTED if end is not None and end.interrupted else State.UNFINISHED


def at_work_s(spans: Iterable[tuple[float, float]]) -> float:
    """Return how long at least one of these time spans lasted, including breaks shorter than `PAUSE_S`."""
    total = 0.0
    end = float("-inf")
    for begin, until in sorted(spans):
        if until <= end:
            continue
        total += until - (end if begin - end < PAUSE_S else begin)
        end = until
    return total
