"""The sides of a comparison: a run, or all runs of a model, found by name and pooled by task."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from math import fsum
from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from pinchbench.defaults import DEFAULT_PASS_THRESHOLD, FailureEvent
from pinchbench.errors import AlteredRunError, ConfigError, ResultsError
from pinchbench.model.ending import Ending
from pinchbench.results import result_json
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.results.manifest import RunFacts, read_facts
from pinchbench.results.paths import RunFiles, find_run, runs_of
from pinchbench.results.statistics import mean_of
from pinchbench.results.task_trials import GradedTrial, by_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey

Origin = tuple[str, "TrialKey", int]  # the run that made a trial, and the attempt that counts
UNKNOWN = "unknown"
PUBLIC_FORM = "public"  # of a suite's tasks, as a side's setting; that of a fresh form is its seed
DIGEST_SHOWN = 12  # hexadecimal digits: no two folders of a user share them by chance


class LeftOut(result_json.LeftOut, frozen=True, kw_only=True, omit_defaults=False):
    """How many trials are excluded from a mean, by reason.

    `possibly_caused_by_agent` are those of `infrastructure` that the agent may have caused, and the `untrusted`.
    """

    possibly_caused_by_agent: int = 0

    def __add__(self, other: LeftOut) -> LeftOut:
        """Return the sum of each count."""
        return LeftOut(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})

    def __bool__(self) -> bool:
        """Whether any trial was excluded."""
        return bool(self.total)


NONE_LEFT_OUT = LeftOut(ungraded=0, infrastructure=0, not_run=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What the agents of valid `trials` used, graded or not. Time is the agents' own."""

    trials: int = 0
    time_s: float = 0.0
    tokens: int = 0
    cost_usd: float = 0.0

    @classmethod
    def of(cls, valid: Sequence[Outcome]) -> Self:
        """Return what the agents of these outcomes used."""
        return cls(
            trials=len(valid),
            time_s=fsum(one.execution_time_s for one in valid),
            tokens=sum(one.usage.total_tokens for one in valid),
            cost_usd=fsum(one.usage.cost_usd for one in valid),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskTrials:
    """All trials of one task on one side.

    `version` holds the digests of the task as it was run and as it was graded: scores are comparable only if both are
    equal. `title` is empty if it has none. `suite` is one of several of its run, else empty. `valid` are the outcomes
    of valid trials, graded or not. `events` is what went wrong in each trial whose check counts it.
    """

    task_id: str
    category: str
    title: str = ""
    suite: str = ""
    version: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    scores: tuple[float, ...] = ()
    left_out: LeftOut = NONE_LEFT_OUT
    valid: tuple[Outcome, ...] = field(default=(), repr=False)
    events: tuple[Mapping[FailureEvent, tuple[int, int]], ...] = ()

    @property
    def mean(self) -> float:
        """The mean score; there must be a score."""
        return mean_of(self.scores)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One side of a comparison: its runs pooled by task.

    `settings` maps names to the settings of the runs that affect their numbers. `left_aside` are sentences about runs
    that were not included. `reused` counts the trials that earlier runs have made, by their names. `is_private`:
    tasks are made of the user's own conversations.
    """

    label: str
    model: str
    runs: tuple[str, ...]
    tasks: Mapping[str, TaskTrials] = field(repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)
    threshold: float = DEFAULT_PASS_THRESHOLD
    left_aside: tuple[str, ...] = ()
    unfinished: int = 0
    reused: Mapping[str, int] = field(default_factory=dict)
    is_private: bool = False

    @property
    def form(self) -> str:
        """The form of its tasks: `PUBLIC_FORM`, or the seed of a fresh one."""
        return self.settings.get("form", PUBLIC_FORM)

    @property
    def left_out(self) -> LeftOut:
        """How many of its trials have no score."""
        return sum((task.left_out for task in self.tasks.values()), NONE_LEFT_OUT)

    @property
    def mean_if_zero(self) -> float:
        """The mean over its tasks if each of those trials had scored 0. There must be one."""
        scores = [(*task.scores, *[0.0] * task.left_out.possibly_caused_by_agent) for task in self.tasks.values()]
        return mean_of([mean_of(own) for own in scores if own])


def find_sides(names: Sequence[str], output_dir: Path) -> tuple[Sample, ...]:
    """Find the run or model that each name means, and read it. Blocks, for some 50 microseconds a trial.

    Each side is called by its model if that is unique, else by its run.

    Raises:
        ConfigError: if there are fewer than two names, or one run would be on two sides.
        ResultsError: if a name is neither a run nor a model in `output_dir`, or a run can't be read.
    """
    if len(names) < 2:  # noqa: PLR2004 - A and B
        raise ConfigError("A comparison needs at least two runs or models: pinchbench-async compare A B.")
    sides = []
    owner: dict[Path, str] = {}
    for name in names:
        side, folders = find_side(name, output_dir)
        for folder in folders:
            if folder in owner:
                raise ConfigError(
                    f"The run {folder.name} is part of both {owner[folder]!r} and {name!r}; a run can't be "
                    f"compared with itself."
                )
            owner[folder] = name
        sides.append(side)
    models = [side.model for side in sides]
    return tuple(replace(side, label=side.model) if models.count(side.model) == 1 else side for side in sides)


def find_side(name: str, output_dir: Path) -> tuple[Sample, list[Path]]:
    """Find and read the run or model that a name means, and return the folders of its runs too. Blocks.

    Raises ResultsError if it is neither a run nor a model in `output_dir`, or can't be read.
    """
    try:
        files = find_run(name, output_dir)
    except ResultsError as error:
        by_model, damaged = _runs_by_model(output_dir)
        if not (found := by_model.get(name)):
            close = difflib.get_close_matches(name, by_model, 1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            unread = " ".join(["", *damaged.values()])
            raise ResultsError(f"{error} No run is of a model {name!r} either.{meant}{unread}") from error
        return _model_side(name, found, damaged)
    return side_of([read_run(files)]), [files.folder.resolve()]


def _runs_by_model(output_dir: Path) -> tuple[dict[str, list[RunFiles]], dict[RunFiles, str]]:
    """Return the runs of each model, newest first, and unreadable runs of any model with the reason."""
    found: dict[str, list[RunFiles]] = {}
    damaged = {}
    for files in runs_of(output_dir):
        try:
            of = read_facts(files.provenance).config.get("model")
        except ResultsError as error:
            damaged[files] = str(error)
            continue
        found.setdefault(str(of), []).append(files)
    return found, damaged


def _model_side(model: str, found: Sequence[RunFiles], damaged: Mapping[RunFiles, str]) -> tuple[Sample, list[Path]]:
    """Pool the newest complete run of a model with all complete ones that have the same settings.

    A run that ended because its experiment was decided is not used: when it ended depended on its scores, which no
    interval of a fixed number of trials accounts for.
    """
    taken: list[PastRun] = []
    of_model = f"{found[0].name.rpartition('_')[0]}_"  # the prefix of its folders' names
    left_aside = [
        f"{files.name} was not taken: {said}" for files, said in damaged.items() if files.name.startswith(of_model)
    ]
    for files in found:
        run = read_run(files)
        if run.model != model:
            left_aside.append(f"{files.name} was not taken: it was resumed with another model.")
        elif not _is_complete(run):
            left_aside.append(f"{files.name} was not taken: it is not complete.")
        elif run.data.not_needed:
            left_aside.append(f"{files.name} was not taken: it ended when its experiment was decided.")
        elif taken and (unlike := unlike_runs(taken[0], run)):
            left_aside.append(f"{files.name} was not taken: {unlike}.")
        else:
            taken.append(run)
    if not taken:
        raise ResultsError(
            f"No run of {model} can stand for it. {' '.join(left_aside)} Finish one with `pinchbench-async resume`, or"
            " name a run instead."
        )
    return side_of(taken, label=model, left_aside=tuple(left_aside)), [run.files.folder.resolve() for run in taken]


def _is_complete(run: PastRun) -> bool:
    """Whether each trial has ended by itself. Failed and ungraded ones are excluded from means and listed as usual."""
    ended = {one.key for one in run.outcomes if one.reason.ending is not Ending.INTERRUPTED}
    return ended >= set(run.facts.keys)


def unlike_runs(newest: PastRun, run: PastRun) -> str:
    """Describe how a run's settings differ from the newest one's; other tasks are no difference, as they are paired."""
    mine, theirs = settings_of(newest), settings_of(run)
    return ", ".join(
        f"{name} {theirs[name]} instead of {mine[name]}"
        for name in mine
        if name != "suite" and name in theirs and mine[name] != theirs[name]
    )


def side_of(
    runs: Sequence[PastRun], *, label: str = "", left_aside: tuple[str, ...] = (), seen: set[Origin] | None = None
) -> Sample:
    """Pool one or more runs of a model by task. The first run determines the versions of the tasks.

    A trial that several runs count, as some reuse those of others, is taken once, and not if it is in `seen`, to which
    all are added.
    """
    seen = set() if seen is None else seen
    by_task: dict[str, TaskTrials] = {}
    others = []
    for run in runs:
        changed = []
        for task in _tasks_of(run, seen):
            earlier = by_task.get(task.task_id)
            if earlier is not None and earlier.version[0] != task.version[0]:
                changed.append(task.task_id)
            else:
                by_task[task.task_id] = task if earlier is None else _pooled(earlier, task)
        if changed:
            others.append(f"{run.files.name} had other versions of {', '.join(changed)}, which are not taken.")
        if run.data.not_needed and not label:
            others.append(
                "Its experiment ended when it was decided: tests of a fixed number of trials don't hold for it."
            )
        if run.differences:
            others.append(str(AlteredRunError.of(run.differences, run=run.files.folder)))
    return Sample(
        label=label or runs[0].files.name,
        model=runs[0].model,
        runs=tuple(run.files.name for run in runs),
        tasks=by_task,
        settings=_pooled_settings([settings_of(run) for run in runs]),
        threshold=runs[0].pass_threshold,
        left_aside=(*left_aside, *others),
        unfinished=sum(run.unfinished for run in runs),
        reused=sum((Counter(run.data.reused or {}) for run in runs), Counter()),
        is_private=any(task.private is True for run in runs for task in run.facts.tasks.values()),
    )


def _tasks_of(run: PastRun, seen: set[Origin]) -> Iterable[TaskTrials]:
    origins = {one.key: (one.reused_from or run.files.name, one.key, one.attempt) for one in run.outcomes}
    twice = {key for key, origin in origins.items() if origin in seen}
    seen.update(origins.values())
    facts_of = run.facts.tasks
    trials = (
        GradedTrial(outcome=one, grade=run.grades.get(one.key), caused_by_agent=one.key in run.caused_by_agent)
        for one in run.outcomes
        if one.key not in twice
    )
    plan = [key for key in run.facts.keys if key not in twice]
    categories = {task_id: facts.category for task_id, facts in facts_of.items()}
    for task in by_task(plan, trials, run.journal.state.skipped, categories):
        facts = facts_of.get(task.task_id)
        digest = facts.digest if facts is not None else ""
        scored = [trial for trial in task.trials if trial.score is not None]
        graded = {trial.grade.digest or digest for trial in scored if trial.grade is not None}
        yield TaskTrials(
            task_id=task.task_id,
            category=task.category or UNKNOWN,
            title=run.facts.title_of(task.task_id),
            suite=(facts.suite or "") if facts is not None else "",
            version=((digest,), tuple(sorted(graded))),
            scores=tuple(task.scores),
            left_out=LeftOut(
                **structs.asdict(task.left_out),
                possibly_caused_by_agent=sum(trial.caused_by_agent for trial in task.trials),
            ),
            valid=tuple(trial.outcome for trial in task.trials if trial.outcome.reason.is_valid),
            events=task.events,
        )


def _pooled(a: TaskTrials, b: TaskTrials) -> TaskTrials:
    return replace(
        a,
        version=(a.version[0], tuple(sorted({*a.version[1], *b.version[1]}))),
        scores=a.scores + b.scores,
        left_out=a.left_out + b.left_out,
        valid=a.valid + b.valid,
        events=a.events + b.events,
    )


def _pooled_settings(settings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    names = dict.fromkeys(name for one in settings for name in one)
    return {name: ", ".join(sorted({one[name] for one in settings if name in one})) for name in names}


def settings_of(run: PastRun) -> dict[str, str]:
    """Describe the settings that affect a run's numbers, besides model and tasks; those its files lack are omitted."""
    config, tools = run.facts.config, run.facts.tools
    told = {
        "suite": config.get("suite"),
        "form": PUBLIC_FORM if config.get("form") is None else config.get("form"),
        "thinking level": config.get("thinking") or "default",
        "timeout multiplier": config.get("timeout_multiplier"),
        "isolation": config.get("isolation"),
        "endpoint": config.get("base_url") or "the provider's",
        "retries of timeouts": _retried_timeouts(config),
        "OpenClaw release": run.facts.versions.get("openclaw"),
        "tools": "all but some denied ones" if tools is UNSET else ", ".join(tools) or "your OpenClaw's own",
        "judge": _judges(run.facts, run.grades.values()),
        "user's model": _users(run.outcomes),
        "skills": _short(run.facts.additions.get("skills")),
        "workspace files": _short(run.facts.additions.get("workspace_files")),
        "OpenClaw settings": _json(config.get("openclaw_config")),
        "environment": _json(config.get("env")),
    }
    return {
        name: f"{value:g}" if isinstance(value, int | float) else str(value)
        for name, value in told.items()
        if value is not None
    }


def _short(digest: str | None) -> str:
    return "none" if digest is None else f"with digest {digest[:DIGEST_SHOWN]}"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True) if value else "none"


def _retried_timeouts(config: Mapping[str, object]) -> str:
    kinds = (("retry_timeouts", "yes"), ("retry_timeouts_alone", "under load, alone"))
    return "; ".join(word for name, word in kinds if config.get(name)) or "no"


def _judges(facts: RunFacts, grades: Iterable[Grade]) -> str | None:
    """Name the judges of the grades that count; None if nothing in the run needed a judge."""
    asked = {
        " and ".join(f"{one.model} (prompt {one.prompt_version})" for one in grade.judge.each)
        for grade in grades
        if grade.judge is not None and grade.judge.model
    }
    if asked:
        return ", ".join(sorted(asked))
    is_needed = any(task.grading_type != "automated" for task in facts.tasks.values())
    return "none" if is_needed else None


def _users(outcomes: Iterable[Outcome]) -> str | None:
    """Name the models that played users in the attempts that count; None if no task had a simulated user."""
    users = [outcome.user for outcome in outcomes if outcome.user is not None]
    told = {f"{one.model} (prompt {one.prompt_version})" if one.model else "scripted" for one in users}
    return ", ".join(sorted(told)) or None
