"""Two sides of a comparison, each one or more runs, paired by task (pure)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import fsum
from typing import TYPE_CHECKING

from pinchbench.limits import DEFAULT_PASS_THRESHOLD
from pinchbench.results.difference import ALPHA, Difference, Needed, Pair, difference_of, holm, needed
from pinchbench.results.statistics import ROUNDING, SEED, Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pinchbench.model import Grade, Outcome, TrialKey
    from pinchbench.results.facts import RunFacts
    from pinchbench.results.past_run import PastRun

UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """How many trials have no part in a mean, and why."""

    ungraded: int = 0
    infrastructure: int = 0
    not_run: int = 0

    def __add__(self, other: LeftOut) -> LeftOut:
        """Sum each."""
        return LeftOut(
            ungraded=self.ungraded + other.ungraded,
            infrastructure=self.infrastructure + other.infrastructure,
            not_run=self.not_run + other.not_run,
        )

    def __bool__(self) -> bool:
        """Whether anything was left out."""
        return bool(self.ungraded or self.infrastructure or self.not_run)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What the agents of `trials` that say something about the model used, graded or not. Time is the agents' own."""

    trials: int = 0
    time_s: float = 0.0
    tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        """Sum each."""
        return Spent(
            trials=self.trials + other.trials,
            time_s=fsum((self.time_s, other.time_s)),
            tokens=self.tokens + other.tokens,
            cost_usd=fsum((self.cost_usd, other.cost_usd)),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskTrials:
    """All trials of one task on one side.

    `version` holds the digests of the task as it was run and as it was graded: scores are of the same thing only where
    both are the same.
    """

    task_id: str
    category: str
    version: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    scores: tuple[float, ...] = ()
    left_out: LeftOut = LeftOut()
    spent: Spent = Spent()

    @property
    def mean(self) -> float:
        """Of the scores; there must be one."""
        return min(1.0, max(0.0, fsum(self.scores) / len(self.scores)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """What one side of a comparison is: its runs pooled by task.

    `settings` says by name what the runs were made with that their numbers depend on. `left_aside` are sentences about
    runs that were not taken.
    """

    label: str
    model: str
    runs: tuple[str, ...]
    tasks: Mapping[str, TaskTrials] = field(repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)
    threshold: float = DEFAULT_PASS_THRESHOLD
    left_aside: tuple[str, ...] = ()
    unfinished: int = 0


class Unpaired(StrEnum):
    """Why a task has no part in a comparison."""

    ONLY_A = "only_a"
    ONLY_B = "only_b"
    CHANGED = "changed"
    GRADED_DIFFERENTLY = "graded_differently"
    NO_SCORE_A = "no_score_a"
    NO_SCORE_B = "no_score_b"
    NO_SCORE = "no_score"


class Verdict(StrEnum):
    """What the data say."""

    A_BETTER = "a_better"
    B_BETTER = "b_better"
    CANT_TELL = "cant_tell"
    TOO_FEW_TASKS = "too_few_tasks"
    NOTHING_PAIRED = "nothing_paired"


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedSide:
    """One side's numbers on the paired tasks alone."""

    score: Estimate
    left_out: LeftOut
    spent: Spent
    passed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedTask:
    """One task as both sides did it. `flipped` is 1 where only B passed, -1 where only A did, else 0."""

    task_id: str
    category: str
    a: TaskTrials
    b: TaskTrials
    difference: float
    passed_a: bool
    passed_b: bool

    @property
    def flipped(self) -> int:
        """Whether a model's passing is another's failing."""
        return int(self.passed_b) - int(self.passed_a)


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedCategory:
    """The tasks of one category."""

    category: str
    difference: Difference
    a: PairedSide
    b: PairedSide


@dataclass(frozen=True, kw_only=True, slots=True)
class Unlike:
    """A setting in which the sides differ though their numbers depend on it."""

    setting: str
    a: str
    b: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """B against A, the baseline.

    `p` is that of the test, adjusted by Holm's method where several sides were compared. `tasks` begin with the biggest
    difference. `unpaired` names the tasks without a part in any number. A task is passed from a mean score of
    `threshold` on.
    """

    a: Side
    b: Side
    verdict: Verdict
    difference: Difference
    p: float | None
    needed: Needed
    paired_a: PairedSide
    paired_b: PairedSide
    categories: tuple[PairedCategory, ...]
    tasks: tuple[PairedTask, ...]
    unpaired: Mapping[str, Unpaired]
    unlike: tuple[Unlike, ...]
    threshold: float


def compare(sides: Sequence[Side], *, seed: int = SEED) -> tuple[Comparison, ...]:
    """Compare each further side with the first. The same sides and seed give the same."""
    a, *others = sides
    paired = [_pair(a, b) for b in others]
    differences = [difference_of(_scores(tasks), seed=seed) for tasks, _ in paired]
    adjusted = holm([one.p for one in differences])
    return tuple(
        _comparison(a, b, tasks=tasks, unpaired=unpaired, difference=difference, p=p, seed=seed)
        for b, (tasks, unpaired), difference, p in zip(others, paired, differences, adjusted, strict=True)
    )


def _comparison(
    a: Side,
    b: Side,
    *,
    tasks: Sequence[PairedTask],
    unpaired: Mapping[str, Unpaired],
    difference: Difference,
    p: float | None,
    seed: int,
) -> Comparison:
    names = dict.fromkeys(task.category for task in tasks)
    return Comparison(
        a=a,
        b=b,
        verdict=verdict_of(difference, p),
        difference=difference,
        p=p,
        needed=needed(_scores(tasks)),
        paired_a=_told([task.a for task in tasks], a.threshold),
        paired_b=_told([task.b for task in tasks], a.threshold),
        categories=tuple(_category(name, tasks, a.threshold, seed) for name in names),
        tasks=tuple(sorted(tasks, key=lambda task: (-abs(task.difference), task.task_id))),
        unpaired=unpaired,
        unlike=_unlike(a, b),
        threshold=a.threshold,
    )


def verdict_of(difference: Difference, p: float | None) -> Verdict:
    """Say what the data tell: a difference only where the interval leaves 0 out and the test agrees."""
    if difference.mean is None:
        return Verdict.NOTHING_PAIRED
    if p is None or difference.low is None or difference.high is None:
        return Verdict.TOO_FEW_TASKS
    if p > ALPHA or difference.low <= 0.0 <= difference.high:
        return Verdict.CANT_TELL
    return Verdict.B_BETTER if difference.mean > 0 else Verdict.A_BETTER


def _pair(a: Side, b: Side) -> tuple[list[PairedTask], dict[str, Unpaired]]:
    paired: list[PairedTask] = []
    unpaired: dict[str, Unpaired] = {}
    needed_score = a.threshold - ROUNDING
    for task_id in dict.fromkeys((*a.tasks, *b.tasks)):
        of_a, of_b = a.tasks.get(task_id), b.tasks.get(task_id)
        if of_a is None:
            unpaired[task_id] = Unpaired.ONLY_B
        elif of_b is None:
            unpaired[task_id] = Unpaired.ONLY_A
        elif (why := _why_unpaired(of_a, of_b)) is not None:
            unpaired[task_id] = why
        else:
            paired.append(
                PairedTask(
                    task_id=task_id,
                    category=of_a.category,
                    a=of_a,
                    b=of_b,
                    difference=Pair(a=of_a.scores, b=of_b.scores).difference,
                    passed_a=of_a.mean >= needed_score,
                    passed_b=of_b.mean >= needed_score,
                )
            )
    return paired, unpaired


def _why_unpaired(a: TaskTrials, b: TaskTrials) -> Unpaired | None:
    if a.version[0] != b.version[0]:
        return Unpaired.CHANGED
    match bool(a.scores), bool(b.scores):
        case False, False:
            return Unpaired.NO_SCORE
        case False, True:
            return Unpaired.NO_SCORE_A
        case True, False:
            return Unpaired.NO_SCORE_B
        case _:
            return None if a.version == b.version else Unpaired.GRADED_DIFFERENTLY


def _scores(tasks: Iterable[PairedTask]) -> list[Pair]:
    return [Pair(a=task.a.scores, b=task.b.scores) for task in tasks]


def _told(tasks: Sequence[TaskTrials], threshold: float) -> PairedSide:
    return PairedSide(
        score=estimate([task.scores for task in tasks]),
        left_out=sum((task.left_out for task in tasks), LeftOut()),
        spent=sum((task.spent for task in tasks), Spent()),
        passed=sum(task.mean >= threshold - ROUNDING for task in tasks),
    )


def _category(name: str, tasks: Iterable[PairedTask], threshold: float, seed: int) -> PairedCategory:
    own = [task for task in tasks if task.category == name]
    return PairedCategory(
        category=name,
        difference=difference_of(_scores(own), seed=seed),
        a=_told([task.a for task in own], threshold),
        b=_told([task.b for task in own], threshold),
    )


def _unlike(a: Side, b: Side) -> tuple[Unlike, ...]:
    """Where one side does not know a setting, as runs of earlier releases don't, nothing can be said of it."""
    return tuple(
        Unlike(setting=name, a=a.settings[name], b=b.settings[name])
        for name in a.settings
        if name in b.settings and a.settings[name] != b.settings[name]
    )


def side_of(runs: Sequence[PastRun], *, label: str = "", left_aside: tuple[str, ...] = ()) -> Side:
    """Pool one or more runs of a model by task, the one first whose versions of the tasks are taken."""
    by_task: dict[str, TaskTrials] = {}
    others = []
    for run in runs:
        changed = []
        for task in _tasks_of(run):
            earlier = by_task.get(task.task_id)
            if earlier is not None and earlier.version[0] != task.version[0]:
                changed.append(task.task_id)
            else:
                by_task[task.task_id] = task if earlier is None else _pooled(earlier, task)
        if changed:
            others.append(f"{run.files.name} had other versions of {', '.join(changed)}, which are not taken.")
    return Side(
        label=label or runs[0].files.name,
        model=runs[0].model,
        runs=tuple(run.files.name for run in runs),
        tasks=by_task,
        settings=_pooled_settings([settings_of(run) for run in runs]),
        threshold=runs[0].pass_threshold,
        left_aside=(*left_aside, *others),
        unfinished=sum(run.unfinished for run in runs),
    )


def _tasks_of(run: PastRun) -> Iterable[TaskTrials]:
    planned = Counter(key.task_id for key in run.facts.keys)
    outcomes: dict[str, list[Outcome]] = {task_id: [] for task_id in planned}
    for outcome in run.outcomes:
        outcomes[outcome.key.task_id].append(outcome)
    for task_id, ended in outcomes.items():
        facts = run.facts.tasks.get(task_id)
        scores = {one.key: score for one in ended if (score := run.score(one.key)) is not None}
        counting = [one for one in ended if one.reason.counts]
        digest = facts.digest if facts is not None else ""
        yield TaskTrials(
            task_id=task_id,
            category=facts.category if facts is not None else UNKNOWN,
            version=((digest,), _graded_digests(scores, run.grades, digest)),
            scores=tuple(scores.values()),
            left_out=LeftOut(
                ungraded=len(counting) - len(scores),
                infrastructure=len(ended) - len(counting),
                not_run=planned[task_id] - len(ended),
            ),
            spent=Spent(
                trials=len(counting),
                time_s=fsum(one.execution_time_s for one in counting),
                tokens=sum(one.usage.total_tokens for one in counting),
                cost_usd=fsum(one.usage.cost_usd for one in counting),
            ),
        )


def _graded_digests(keys: Iterable[TrialKey], grades: Mapping[TrialKey, Grade], digest: str) -> tuple[str, ...]:
    return tuple(sorted({grades[key].digest or digest for key in keys}))


def _pooled(a: TaskTrials, b: TaskTrials) -> TaskTrials:
    return replace(
        a,
        version=(a.version[0], tuple(sorted({*a.version[1], *b.version[1]}))),
        scores=a.scores + b.scores,
        left_out=a.left_out + b.left_out,
        spent=a.spent + b.spent,
    )


def _pooled_settings(settings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    names = dict.fromkeys(name for one in settings for name in one)
    return {name: ", ".join(sorted({one[name] for one in settings if name in one})) for name in names}


def settings_of(run: PastRun) -> dict[str, str]:
    """What a run's numbers depend on besides its model and tasks, in words; what its files don't tell is left out."""
    config = run.facts.config
    told = {
        "suite": config.get("suite"),
        "thinking level": config.get("thinking") or "default",
        "timeout multiplier": config.get("timeout_multiplier"),
        "isolation": config.get("isolation"),
        "endpoint": config.get("base_url") or "the provider's",
        "retries of timeouts": "yes" if config.get("retry_timeouts") else "no",
        "OpenClaw release": run.facts.versions.get("openclaw"),
        "judge": _judges(run.facts, run.grades.values()),
    }
    return {
        name: f"{value:g}" if isinstance(value, int | float) else str(value)
        for name, value in told.items()
        if value is not None
    }


def _judges(facts: RunFacts, grades: Iterable[Grade]) -> str | None:
    """Who judged, by the grades that count; None where nothing of the run needed a judge."""
    asked = {
        f"{grade.judge.model} (prompt {grade.judge.prompt_version})"
        for grade in grades
        if grade.judge is not None and grade.judge.model
    }
    if asked:
        return ", ".join(sorted(asked))
    is_needed = any(task.grading_type != "automated" for task in facts.tasks.values())
    return "none" if is_needed else None
