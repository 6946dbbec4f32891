"""The runs of an output folder, each in short: what `history` lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING

import msgspec

from pinchbench.errors import ResultsError
from pinchbench.results.altered import changed_result
from pinchbench.results.facts import RunFacts, read_facts
from pinchbench.results.lock import is_written
from pinchbench.results.past_run import read_run
from pinchbench.results.result_json import LeftOut
from pinchbench.results.statistics import ROUNDING, Estimate
from pinchbench.results.store import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pinchbench.results.past_run import PastRun
    from pinchbench.results.result_json import Aggregate
    from pinchbench.results.store import RunFiles

PAUSE_S = 600.0  # between two trials: a longer one was a night's or a resumption's, not the run's own set-up


class State(StrEnum):
    """How a run stands."""

    COMPLETE = "complete"
    UNFINISHED = "unfinished"
    INTERRUPTED = "interrupted"
    RUNNING = "running"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A run in short. Of one that is unreadable no more is known than `run_id`, `run` and the `problem`.

    `run` is the name of its folder. `created_at` is in seconds since the epoch (UTC). `score` is as in the results file.
    `planned` counts trials; `passed` those of its `score` that reach `pass_threshold`. Each planned trial is in the score
    or counted in `left_out`, by why. `caused_by_agent` of those that count there as infrastructure failed for
    reasons that the agent may have caused; with these as 0 the mean would be `score_if_zero`. `cost_usd` and `tokens` are the agents', `judge_cost_usd` is the judge's: None where
    none was told. `agents_s` sums up the agents' own times; `duration_s` is how long the run was at work, pauses of ten
    minutes and more left out. `stopped` says why the run ended itself early. `is_altered`: the
    journal, run.json or the result file is not as it was written.
    """

    run_id: str
    run: str
    state: State = State.UNREADABLE
    model: str = ""
    suite: str = ""
    created_at: float = 0.0
    score: Estimate = Estimate(mean=None, low=None, high=None, tasks=0, trials=0)  # noqa: RUF009 - frozen
    planned: int = 0
    passed: int = 0
    pass_threshold: float = 0.0
    left_out: LeftOut | None = None
    caused_by_agent: int = 0
    score_if_zero: float | None = None
    tokens: int = 0
    cost_usd: float | None = 0.0
    judge_cost_usd: float | None = None
    agents_s: float = 0.0
    duration_s: float = 0.0
    openclaw: str = ""
    stopped: str = ""
    is_altered: bool = False
    problem: str = ""

    @property
    def without_score(self) -> int:
        """How many of the planned trials have no score, or failed for infrastructure reasons."""
        return self.left_out.total if self.left_out is not None else 0


def past_runs(output_dir: Path, *, model: str = "") -> tuple[Listed, ...]:
    """The runs of an output folder, the newest first. Blocks, in proportion to their trials.

    `model` chooses those of one model, or, where no run is of a model of that name, those whose model holds the text,
    whatever its case. One that can't be read is listed with its `problem`, chosen by the name of its folder.
    """
    found = [(files, _read_facts(files)) for files in runs_of(output_dir)]
    models = {str(facts.config["model"]) for _, facts in found if isinstance(facts, RunFacts)}
    if model:
        found = [(files, facts) for files, facts in found if _is_chosen(files, facts, model, exactly=model in models)]
    return tuple(_listed(files, facts) for files, facts in found)


def _is_chosen(files: RunFiles, facts: RunFacts | str, model: str, *, exactly: bool) -> bool:
    if isinstance(facts, str):
        return model.replace("/", "-").casefold() in files.name.casefold()
    own = str(facts.config["model"])
    return own == model if exactly else model.casefold() in own.casefold()


def _read_facts(files: RunFiles) -> RunFacts | str:
    """What a run.json says, or why it can't be read."""
    try:
        return read_facts(files.provenance)
    except ResultsError as error:
        return str(error)


def _listed(files: RunFiles, facts: RunFacts | str) -> Listed:
    """A run in short, from its journal: what a resumption changed stands nowhere else, and nothing else is chained."""
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


def _unreadable(files: RunFiles, problem: str) -> Listed:
    return Listed(run_id=files.name.rpartition("_")[2], run=files.name, problem=problem)


def _in_short(run: PastRun, *, is_running: bool) -> Listed:
    data = run.data
    trials = data.trials
    took_s = at_work_s((trial.started_at, trial.ended_at) for trial in trials)
    judge_usd = data.judge.cost_usd if data.judge is not None else None
    if not all(map(isfinite, (took_s, data.execution_time, data.usage.cost_usd, judge_usd or 0.0))):
        raise ValueError("a time or a cost is beyond all bounds")
    needed = data.passing.threshold - ROUNDING
    return Listed(
        run_id=run.facts.run_id,
        run=run.files.name,
        state=_state(data, unfinished=run.unfinished, is_running=is_running),
        model=data.model,
        suite=data.suite or "",
        created_at=run.facts.created_at,
        score=data.score,
        planned=data.counts.planned,
        passed=sum(trial.score is not None and trial.score >= needed for trial in trials),
        pass_threshold=data.passing.threshold,
        left_out=LeftOut(**{name: getattr(data.left_out, name) for name in LeftOut.__struct_fields__}),
        caused_by_agent=len(data.possibly_caused_by_agent.trials),
        score_if_zero=data.possibly_caused_by_agent.score_if_zero,
        tokens=data.usage.total_tokens,
        cost_usd=data.usage.known_cost_usd,
        judge_cost_usd=judge_usd,
        agents_s=data.execution_time,
        duration_s=took_s,
        openclaw=run.facts.versions.get("openclaw", ""),
        stopped=data.stopped,
    )


def _state(data: Aggregate, *, unfinished: int, is_running: bool) -> State:
    if is_running:
        return State.RUNNING
    if not unfinished:
        return State.COMPLETE
    return State.INTERRUPTED if data.interrupted else State.UNFINISHED


def at_work_s(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of these spans of time went on, shorter breaks than `PAUSE_S` included."""
    total = 0.0
    end = float("-inf")
    for begin, until in sorted(spans):
        if until <= end:
            continue
        total += until - (end if begin - end < PAUSE_S else begin)
        end = until
    return total


def records(runs: Sequence[Listed]) -> list[dict[str, object]]:
    """The runs for machines: every field of `Listed`, and nothing else."""
    built: list[dict[str, object]] = msgspec.to_builtins(list(runs))
    return built
