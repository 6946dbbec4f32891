"""A baseline's file: the scores, task digests and conditions that runs are compared with; which tasks are stable."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from pinchbench.defaults import DEFAULT_MAX_SPREAD, DEFAULT_MIN_TRIALS
from pinchbench.errors import ConfigError, ResultsError
from pinchbench.results.compare.samples import Sample, TaskTrials, find_side, side_of, unlike_runs
from pinchbench.results.paths import RUN_JSON, read_json
from pinchbench.results.statistics import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.results.finished_run import PastRun


class Stability(msgspec.Struct, frozen=True, kw_only=True):
    """What a baseline demands of a task: a number of scored trials, and how far their scores may lie apart, in 0-1."""

    min_trials: Annotated[int, Meta(ge=1)] = DEFAULT_MIN_TRIALS
    max_spread: Annotated[float, Meta(ge=0, le=1)] = DEFAULT_MAX_SPREAD

    def quarantine(self, scores: Sequence[float]) -> Quarantine | None:
        """Return why a task with these scores is not compared with; None if it is stable."""
        low, high = (min(scores), max(scores)) if scores else (None, None)
        if len(scores) < self.min_trials:
            reason = f"too few repetitions: {len(scores)} with a score instead of {self.min_trials}"
        elif high is not None and low is not None and high - low > self.max_spread + ROUNDING:
            reason = f"varies: {low:.2f} to {high:.2f} in {len(scores)} trials"
        else:
            return None
        return Quarantine(reason=reason, trials=len(scores), lowest=low, highest=high)


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence that a task is not stable: how many trials have a score, and the lowest and highest of them."""

    reason: str
    trials: int
    lowest: float | None
    highest: float | None


Score = Annotated[float, Meta(ge=0, le=1)]


class BaselineTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task: its digests as it was run and as it was graded, and the score of each trial that has one.

    `quarantined` is for who reads the file: it follows from the scores and the file's `stability`.
    """

    category: str
    digest: str
    graded: tuple[str, ...]
    scores: tuple[Score, ...]
    quarantined: Quarantine | None = None


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What `baseline` writes. It holds no transcripts, no paths and no keys.

    `settings` are those that affect scores, by name; `suite_digest` changes with any task's.
    """

    kind: Literal["pinchbench-async baseline"] = "pinchbench-async baseline"
    schema: Literal[1] = 1
    model: str
    runs: tuple[str, ...]
    settings: dict[str, str]
    suite_digest: str
    pass_threshold: float
    stability: Stability
    tasks: dict[str, BaselineTask]

    @property
    def quarantined(self) -> Mapping[str, Quarantine]:
        """The tasks that no run is compared on, with the evidence."""
        found = {task_id: self.stability.quarantine(task.scores) for task_id, task in self.tasks.items()}
        return {task_id: why for task_id, why in found.items() if why is not None}

    @property
    def side(self) -> Sample:
        """The baseline as one side of a comparison, quarantined tasks included."""
        return Sample(
            label="baseline",
            model=self.model,
            runs=self.runs,
            tasks={
                task_id: TaskTrials(
                    task_id=task_id, category=task.category, version=((task.digest,), task.graded), scores=task.scores
                )
                for task_id, task in self.tasks.items()
            },
            settings=self.settings,
            threshold=self.pass_threshold,
        )


def baseline_of(runs: Sequence[PastRun], stability: Stability) -> Baseline:
    """Make a baseline of one or more runs that were made alike.

    Raises:
        ConfigError: if a run is named twice, or the runs have different models, settings or versions of a task.
        ResultsError: if no task is stable.
    """
    first, *others = runs
    for run in others:
        if run.model != first.model or (unlike := unlike_runs(first, run)):
            unlike = f"model {run.model} instead of {first.model}" if run.model != first.model else unlike
            raise ConfigError(f"{run.files.name} was not made like {first.files.name}: {unlike}.")
    if len({run.files.folder.resolve() for run in runs}) < len(runs):
        raise ConfigError("A run is named twice; each of its trials counts once.")
    side = side_of(runs)
    if side.left_aside:
        raise ConfigError(f"{' '.join(side.left_aside)} A baseline needs one version of each task.")
    tasks = {
        task.task_id: BaselineTask(
            category=task.category,
            digest=task.version[0][0],
            graded=task.version[1],
            scores=task.scores,
            quarantined=stability.quarantine(task.scores),
        )
        for task in side.tasks.values()
    }
    if all(task.quarantined is not None for task in tasks.values()):
        raise ResultsError(f"{_none_stable(tasks, stability)} Make more repetitions with `--runs`, or name more runs.")
    return Baseline(
        model=side.model,
        runs=side.runs,
        settings=dict(side.settings),
        suite_digest=hashlib.sha256(
            "\n".join(sorted(f"{name} {one.digest}" for name, one in tasks.items())).encode()
        ).hexdigest(),
        pass_threshold=side.threshold,
        stability=stability,
        tasks=dict(sorted(tasks.items())),
    )


def _none_stable(tasks: Mapping[str, BaselineTask], stability: Stability) -> str:
    few = sum(len(task.scores) < stability.min_trials for task in tasks.values())
    vary = len(tasks) - few
    return (
        f"No task is stable enough for a baseline: {few} of {len(tasks)} have fewer than {stability.min_trials} trials"
        f" with a score, and the scores of {vary} vary by more than {stability.max_spread:g}."
    )


def read_baseline(path: Path) -> Baseline:
    """Read a baseline's file. Blocks.

    Raises ResultsError, naming the line or the key, if it can't be read or no task in it is stable.
    """
    advice = (
        "This is no baseline that can be used: put back a copy of it, or write it again with"
        f" `pinchbench-async baseline RUN… -o {path.name}`."
    )
    baseline = read_json(path, Baseline, advice=advice)
    if len(baseline.quarantined) == len(baseline.tasks):
        raise ResultsError(f"{path}: {_none_stable(baseline.tasks, baseline.stability)}")
    return baseline


def find_baseline(name: str, output_dir: Path) -> tuple[Sample, Stability | None]:
    """Find and read what `--baseline` names: a file of `baseline`, a run, or a model's runs. Blocks.

    The second value is the rule by which the tasks of a file are stable; all tasks of a run are compared. Raises
    ResultsError.
    """
    path = Path(name)
    is_of_run = (path.with_suffix("") / RUN_JSON).exists() or (path.parent / RUN_JSON).exists()
    if path.is_file() and not is_of_run:
        baseline = read_baseline(path)
        return baseline.side, baseline.stability
    side, _ = find_side(name, output_dir)
    if not any(task.scores for task in side.tasks.values()):
        raise ResultsError(f"--baseline {name}: no trial has a score.")
    return side, None
