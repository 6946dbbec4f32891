"""Export a run as an Inspect AI log, by Inspect's own types: a sample per trial, an epoch per repetition.

Needs the extra `inspect`, and takes seconds to import.
"""

from __future__ import annotations

import shutil
from hashlib import sha256
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalScore,
    EvalSpec,
    EvalStats,
    EvalStatus,
    HeadlineMetric,
    condense_sample,
    write_eval_log,
)
from inspect_ai.model import (
    ModelConfig,
    ModelUsage,
)

from pinchbench.errors import ConfigError
from pinchbench.model.task import GradingType
from pinchbench.model.usage import Usage
from pinchbench.report.export.bounded_conversation import conversation_of, iso, json_value
from pinchbench.report.export.inspect_sample import (
    CHECK,
    FINAL,
    JUDGE,
    judge_usage,
    part_score,
    sample_of,
    stable_id,
    usage_of,
    used_model,
)
from pinchbench.results.paths import whole_file
from pinchbench.results.statistics import estimate, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.results.finished_run import PastRun

    StopReason: TypeAlias = Literal["stop", "max_tokens", "tool_calls", "unknown"]

FORMATS = (".eval", ".json")
# options that describe how the trials were run; folders and endpoints are not exported
OPTIONS = (
    "suite",
    "runs",
    "concurrency",
    "timeout_multiplier",
    "thinking",
    "isolation",
    "pass_threshold",
    "infra_retries",
    "retry_timeouts",
    "retry_timeouts_alone",
    "max_cost",
    "max_tokens",
    "max_hours",
    "seed",
)


def write_inspect(run: PastRun, path: Path) -> None:
    """Write a run's log atomically, as an archive (`.eval`, Inspect's own format) or one JSON document (`.json`).

    All conversations are in memory at once. Blocks. Raises ConfigError for any other suffix and ResultsError if it
    can't be written.
    """
    if path.suffix not in FORMATS:
        raise ConfigError(f"{path} is no name for a log of Inspect's: it has to end in {' or '.join(FORMATS)}.")
    log = _log(run)
    with whole_file(path) as file, TemporaryDirectory() as folder:
        written = Path(folder) / f"log{path.suffix}"
        write_eval_log(log, written)
        with written.open("rb") as source:
            shutil.copyfileobj(source, file)


def _log(run: PastRun) -> EvalLog:
    scorers = _scorers(run)
    finished = run.journal.state.finished
    usage, grading = _run_usage(run)
    return EvalLog(
        status=_status(run),
        eval=_spec(run),
        plan=EvalPlan(steps=[EvalPlanStep(solver="openclaw")]),
        results=_results(run, scorers),
        stats=EvalStats(
            started_at=iso(run.facts.created_at) or "",
            completed_at=(iso(finished.at) if finished is not None else None) or "",
            model_usage=usage,
            role_usage=grading,
        ),
        samples=[
            condense_sample(sample_of(run, attempts.counting, conversation_of(run, attempts.counting), scorers))
            for key in run.facts.keys
            if (attempts := run.attempts.get(key)) is not None
        ],
    )


def _scorers(run: PastRun) -> tuple[str, ...]:
    """Return the scorers that any task has; every task has the final one."""
    kinds = {task.grading_type for task in run.facts.tasks.values()}
    kinds |= {grade.grading_type for grade in run.grades.values()}
    has_check = kinds & {GradingType.AUTOMATED, GradingType.HYBRID}
    has_judge = kinds & {GradingType.LLM_JUDGE, GradingType.HYBRID}
    return (FINAL, *([CHECK] if has_check else []), *([JUDGE] if has_judge else []))


def _status(run: PastRun) -> EvalStatus:
    if not run.unfinished:
        return "success"
    if run.end is None:  # its runner died or is still running
        return "started"
    return "cancelled" if run.end.interrupted or run.end.stopped or run.end.stop is not None else "success"


def _spec(run: PastRun) -> EvalSpec:
    facts = run.facts
    digests = "".join(f"{task_id} {task.digest}\n" for task_id, task in sorted(facts.tasks.items()))
    options = {name: json_value(facts.config[name]) for name in OPTIONS if name in facts.config}
    graded = (grade.judge for grade in run.grades.values() if grade.judge is not None)
    judges = {one.model for judge in graded for one in judge.each if one.model}
    tasks = _tasks(run)
    concurrency = facts.config.get("concurrency")
    return EvalSpec(
        eval_id=stable_id("eval", facts.run_id, run.model),
        run_id=facts.run_id,
        created=iso(facts.created_at) or "1970-01-01T00:00:00+00:00",
        task="pinchbench",
        task_id=stable_id("task", digests),
        task_version=sha256(digests.encode("utf-8", "replace")).hexdigest()[:12],
        task_args=options,
        task_args_passed=options,
        solver="openclaw",
        dataset=EvalDataset(
            name=str(facts.config.get("suite", "all")), samples=len(tasks), sample_ids=[*tasks], shuffled=False
        ),
        model=run.model,
        model_roles={"grader": ModelConfig(model=judges.pop())} if len(judges) == 1 else None,
        config=EvalConfig(
            epochs=max((key.repetition for key in facts.keys), default=1),
            epochs_reducer=["mean"],
            fail_on_error=False,
            max_samples=concurrency if isinstance(concurrency, int) else None,
        ),
        packages=dict(facts.versions),
        headline_metric=HeadlineMetric(scorer=FINAL, metric="mean") if facts.has_mean else None,
        metadata={
            "run": run.files.name,
            "containment": facts.containment,
            "timezone": facts.timezone,
            "unfinished": run.unfinished,
            "interrupted": run.end.interrupted if run.end is not None else None,
            "stopped": run.end.stopped if run.end is not None else "",
            "changes": list(run.data.changes),
            "reused": run.data.reused or {},
        },
    )


def _tasks(run: PastRun) -> list[str]:
    return list(dict.fromkeys(key.task_id for key in run.facts.keys))


def _results(run: PastRun, scorers: Sequence[str]) -> EvalResults:
    # what has a mean: the run, under an empty name, unless that would mix suites; then each of its suites
    groups = (*([""] if run.facts.has_mean else []), *(one.name for one in run.facts.suites))
    has_headline = any(_by_task(run, FINAL).values()) and run.facts.has_mean
    return EvalResults(
        total_samples=len(run.facts.plan),
        completed_samples=sum(
            run.attempts[key].counting.reason.is_valid for key in run.facts.keys if key in run.attempts
        ),
        scores=[_metrics(run, scorer, suite) for suite in groups for scorer in scorers],
        headline=HeadlineMetric(scorer=FINAL, score=FINAL, metric="mean") if has_headline else None,
        metadata={
            "counts": msgspec.to_builtins(run.data.counts),
            "left_out": msgspec.to_builtins(run.data.left_out),
            "pass": msgspec.to_builtins(run.data.passing),
            "retries": msgspec.to_builtins(run.data.retries),
        },
    )


def _by_task(run: PastRun, scorer: str, suite: str = "") -> dict[str, list[float]]:
    """Return the scores of each task, of one suite or of all."""
    own = {task_id for task_id, task in run.facts.tasks.items() if not suite or task.suite == suite}
    scores: dict[str, list[float]] = {task_id: [] for task_id in _tasks(run) if task_id in own}
    for key in run.facts.keys:
        if key.task_id in scores and (score := part_score(run, key, scorer)) is not None:
            scores[key.task_id].append(score)
    return scores


def _metrics(run: PastRun, scorer: str, suite: str) -> EvalScore:
    """Return the mean over tasks of their repetitions' means, as Inspect reduces epochs; empty without a score."""
    by_task = _by_task(run, scorer, suite)
    known = [mean for scores in by_task.values() if (mean := summarise(scores).mean) is not None]
    spread = summarise(known).sd
    score = estimate(by_task)
    error = spread / sqrt(len(known)) if spread is not None else None
    values = {"mean": score.mean, "stderr": error, "ci_low": score.low, "ci_high": score.high}
    return EvalScore(
        name=f"{suite}: {scorer}" if suite else scorer,
        scorer=scorer,
        reducer="mean",
        scored_samples=len(known),
        unscored_samples=len(by_task) - len(known),
        metrics={name: EvalMetric(name=name, value=value) for name, value in values.items() if value is not None},
        metadata={"mean_of": "task means", "tasks": score.tasks, "trials": score.trials, "interval": 0.95},
    )


def _run_usage(run: PastRun) -> tuple[dict[str, ModelUsage], dict[str, ModelUsage]]:
    """Return the usage of the attempts that count by model, and separately the usage of judging them."""
    by_model: dict[str, Usage] = {}
    judged = []
    for key in run.facts.keys:
        if (attempts := run.attempts.get(key)) is None:
            continue
        outcome, grade = attempts.counting, run.grades.get(key)
        if outcome.usage.requests:
            name = used_model(run, outcome)
            by_model[name] = by_model.get(name, Usage()) + outcome.usage
        if grade is not None and grade.judge is not None:
            judged.append(grade.judge)
    return {name: usage_of(usage, usage.known_cost_usd) for name, usage in by_model.items()}, judge_usage(*judged)
