"""What a run is going to do, before anything has been started."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pinchbench.defaults import DEMO_MODELS, ORACLE, Isolation, Network, Sandbox
from pinchbench.errors import ConfigError
from pinchbench.events import GradedBefore
from pinchbench.model.task import GradingType, Suite, Task
from pinchbench.model.trial import Attempt, Trial
from pinchbench.openclaw.command import model_slug
from pinchbench.runner.plan.check_additions import check_additions, with_workspace_files
from pinchbench.runner.plan.prerequisites import examine_tasks
from pinchbench.runner.plan.trial_plan import expected_costs, expected_durations, plan_trials, start_order
from pinchbench.sandbox.levels import Level, find_support
from pinchbench.suite.form import FormTasks, load_form
from pinchbench.suite.loading import solution_of
from pinchbench.suite.named import SuitePlace, find_suites, load_named, load_places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from pinchbench.config.asked_models import UserModelConfig
    from pinchbench.config.run_config import RunConfig
    from pinchbench.llm.demo.script import ScriptedTurn
    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.journal.journal import JournalWriter
    from pinchbench.results.manifest import RunFacts, TaskFacts
    from pinchbench.results.paths import RunFiles
    from pinchbench.results.run_state import RunState
    from pinchbench.runner.plan.past_runs import PastTrial
    from pinchbench.suite.solution import Solution

SERVERS_REFUSED = "--network none excludes tasks that state `network: own` under Landlock"
NETWORK_REFUSED = "--network none excludes tasks that state `network: true`"
NEEDS_OWN_ROOT = (
    "it needs files at paths that it states, which takes --sandbox namespaces, --isolation private and a machine with"
    " namespaces"
)
NEEDS_OWN_LOOPBACK = (
    "it has services, which takes --sandbox namespaces, --isolation private, a network that is not open, and a machine"
    " with namespaces"
)
MOST_NAMED = 5  # tasks in a sentence; the others are left out


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """The plan of a run, and what of it is left."""

    config: RunConfig
    suite: Suite
    trials: tuple[Trial, ...]  # the whole plan in order
    attempts: tuple[Attempt, ...]  # what is to be run of it, in the order in which it is started
    # how long a trial of each task will take, in seconds, by task id; empty where no earlier run tells
    expected_s: Mapping[str, float] = field(default_factory=dict)
    expected_usd: Mapping[str, float] = field(default_factory=dict)  # what one will cost without its judge, likewise
    unmet: tuple[tuple[Attempt, str], ...] = ()  # not made as prerequisites are missing, each with a sentence on that
    skipped: tuple[str, ...] = ()
    note: str = ""  # a sentence on task files that are not among the tasks
    ungraded: tuple[tuple[Trial, Outcome], ...] = ()  # attempts that an earlier runner has ended but not graded
    done: int = 0  # the trials that need no further attempt
    tally: GradedBefore = field(default_factory=GradedBefore)  # counts those of them that are graded
    state: RunState | None = None  # what the journal says so far; None of a new run
    replayed: RunFacts | None = None  # of the run whose recorded replies are served; None to ask a model
    # what the scripted model plays instead of the tasks' own solutions, by task id
    played: Mapping[str, Solution] = field(default_factory=dict)
    source: PastRun | None = None  # the run of `--reuse`
    # the trials that count from there, with their grades unless they are graded again, and why others don't, with
    # their number: both are known once what runs is settled
    reused: tuple[tuple[Outcome, Grade | None], ...] = ()
    run_anew: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_mean(self) -> bool:
        """Whether a mean over all tasks is wanted."""
        return not self.suite.parts

    @property
    def slots(self) -> int:
        """How many slots there is work for."""
        return min(self.config.concurrency, len(self.attempts))

    @property
    def weights_s(self) -> Mapping[str, float]:
        """Return the expected duration of a trial of each task, else its limit, in seconds, by task id."""
        return self.expected_s or {trial.key.task_id: trial.timeout_s for trial in self.trials}

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences on what is not run or will not be graded, for the user to hear before the run."""
        lacking: dict[str, dict[str, None]] = {}
        for attempt, sentence in self.unmet:
            lacking.setdefault(sentence, {})[attempt.key.task_id] = None
        return (
            *(f"Excluded: {problem}" for problem in self.skipped),
            *filter(None, (self.note,)),
            *(f"Not run, as {sentence}: {', '.join(task_ids)}." for sentence, task_ids in lacking.items()),
            *filter(None, (self.unplayed, self.unjudged)),
        )

    @property
    def user_messages(self) -> int:
        """How many messages models can write as simulated users, at most, in the attempts that are to be made."""
        users = [user for attempt in self.attempts if (user := attempt.trial.task.simulated_user) is not None]
        return sum(user.most_messages for user in users if self.config.user is not None or not user.messages)

    @property
    def unplayed(self) -> str:
        """A sentence on the tasks whose users say what is fixed, as no model plays them; empty when none does."""
        users = {trial.key.task_id: trial.task.simulated_user for trial in self.trials}
        fixed = sum(user is not None and bool(user.messages) for user in users.values())
        if not fixed or self.config.user is not None or self.config.scripted_model is not None or self.config.replay:
            return ""
        what = f"In {fixed} of {len(users)} tasks the user writes the same whatever the agent answers"
        return f"{what}; with --user-model MODEL, a model plays the user."

    @property
    def user_model(self) -> UserModelConfig | None:
        """Which model is asked for what users say; None if that of no attempt is."""
        is_asked = self.user_messages and self.config.scripted_model is None
        return self.config.user if is_asked else None

    @property
    def unjudged(self) -> str:
        """A sentence on the tasks that will lack their judge; empty when none does."""
        tasks = {trial.key.task_id: trial.task.grading_type for trial in self.trials}
        lacking = sum(kind is not GradingType.AUTOMATED for kind in tasks.values())
        if self.config.judge is not None or not lacking:
            return ""
        return f"{lacking} of {len(tasks)} tasks need a judge and will be ungraded; add --judge MODEL."


@dataclass(frozen=True, kw_only=True, slots=True)
class Resumption:
    """What is known of a run that is resumed."""

    facts: RunFacts  # those that hold so far
    files: RunFiles
    journal: JournalWriter  # open and locked
    tasks: Mapping[str, TaskFacts]  # those that are others now
    gone: tuple[str, ...]  # the ids of those that are no longer there
    changes: tuple[str, ...]  # what differs, in words
    accepts: bool  # whether further changes do no harm


def prepare(config: RunConfig, *, only_shown: bool = False) -> Prepared:
    """Read the suite, what earlier runs took and what the machine has, and plan the trials. Blocks.

    With an added suite, the options of the plan name its folder. With several suites they stay as they are, and the
    plan's suite has parts. A plan that is `only_shown` may be of the suite as it was read before, which is kept.

    Raises SuiteError, SelectionError and ConfigError.
    """
    suites = find_suites(config.suite, tasks_dir=config.tasks_dir, suite_format=config.suite_format)
    if len(suites) == 1:
        named = suites[0]
        config = replace(config, tasks_dir=named.tasks_dir, suite_format=named.suite_format, suite=named.selection)
    loaded, selected = load_named(suites, skip_broken=config.skip_broken, only_shown=only_shown)
    check_additions(config)
    found = FormTasks(loaded=loaded, tasks=selected)
    if config.form is not None:
        found = load_form(config.form, found)
    planned = _plan(config, found.loaded.suite, found.tasks)
    return replace(
        planned,
        skipped=tuple(map(str, loaded.problems)),
        note=" ".join(filter(None, (loaded.note, found.note))),
        source=_source(config),
    )


def _source(config: RunConfig) -> PastRun | None:
    """Read the run that `--reuse` names; None without one. Blocks: reads the evidence.

    Raises ResultsError or AlteredRunError if it can't be read or was changed, and ConfigError if it is a replay.
    """
    if config.reuse is None:
        return None
    from pinchbench.results.finished_run import read_run  # noqa: PLC0415
    from pinchbench.results.paths import find_run  # noqa: PLC0415
    from pinchbench.results.verification import refuse_altered  # noqa: PLC0415 - few runs reuse another

    files = find_run(config.reuse, config.output_dir)
    refuse_altered(files)
    run = read_run(files)
    if run.facts.config.get("replay") is not None:
        raise ConfigError(f"--reuse {config.reuse}: a replay asks no model; name a run that did.")
    return run


def prepare_named(config: RunConfig, places: Sequence[SuitePlace], task_ids: Collection[str]) -> Prepared:
    """Read suites where they are here, and plan the trials of those of their tasks that another machine has selected.

    A task that is not there is left out. Blocks; writes nothing. Raises SuiteError and ConfigError.
    """
    check_additions(config)
    suite = load_places(places).suite
    return _plan(config, suite, [task for task_id, task in suite.by_id.items() if task_id in task_ids])


def _plan(config: RunConfig, suite: Suite, selected: Sequence[Task]) -> Prepared:
    tasks = with_workspace_files(selected, config.workspace_files)
    trials = plan_trials(tasks, runs=config.runs, timeout_multiplier=config.timeout_multiplier)
    return plan(config, suite, trials, [Attempt(trial=trial) for trial in trials], past=config.output_dir)


def plan(
    config: RunConfig, suite: Suite, trials: Sequence[Trial], attempts: Sequence[Attempt], *, past: Path | None
) -> Prepared:
    """Return the plan of a run of which these attempts are left, in the order in which they are started. Blocks.

    `past` is the folder whose runs tell how long trials take and what they cost; None to expect nothing.
    Raises ConfigError if some of the tasks have a simulated user, and nobody plays it.
    """
    _require_user(config, (attempt.trial.task for attempt in attempts))
    earlier = _past_of(config, trials, past) if past is not None else ()
    expected_s = expected_durations(trials, earlier)
    made, unmet = split_unmet(config, attempts)
    slots = min(config.concurrency, len(made))
    return Prepared(
        config=config,
        suite=suite,
        trials=tuple(trials),
        attempts=start_order(made, expected_s=expected_s, slots=slots, first=suite.run_first),
        expected_s=expected_s,
        expected_usd=expected_costs(trials, earlier),
        unmet=unmet,
    )


def _require_user(config: RunConfig, tasks: Iterable[Task]) -> None:
    if config.user is not None or config.scripted_model is not None or config.replay is not None:
        return
    users = {task.task_id: task.simulated_user for task in tasks}
    lacking = [task_id for task_id, user in users.items() if user is not None and not user.messages]
    if lacking:
        many = f"{len(lacking)} tasks have" if len(lacking) > 1 else "1 task has"
        raise ConfigError(
            f"{many} a simulated user, whom a model plays: name one with --user-model, or select other tasks with"
            f" --suite ({', '.join(lacking[:MOST_NAMED])}{' …' if len(lacking) > MOST_NAMED else ''})."
        )


def split_unmet(
    config: RunConfig, attempts: Sequence[Attempt]
) -> tuple[list[Attempt], tuple[tuple[Attempt, str], ...]]:
    """Return the attempts that can be made, and those that lack a prerequisite with a sentence each. Blocks."""
    tasks = {attempt.key.task_id: attempt.trial.task for attempt in attempts}
    lacking = {
        task_id: needs.sentence
        for task_id, needs in examine_tasks(tasks.values(), openclaw=config.openclaw).items()
        if needs.missing
    }
    if config.network is Network.NONE:
        lacking.update((task.task_id, NETWORK_REFUSED) for task in tasks.values() if task.network)
    serving = [task.task_id for task in tasks.values() if task.own_servers and config.network is Network.NONE]
    boxed = [task.task_id for task in tasks.values() if task.needs_own_root]
    served = [task.task_id for task in tasks.values() if task.services]
    if (boxed or serving or served) and not _has_own_root(config):
        lacking.update(dict.fromkeys(served, NEEDS_OWN_LOOPBACK))
        lacking.update(dict.fromkeys(boxed, NEEDS_OWN_ROOT))
        lacking.update(dict.fromkeys(serving, SERVERS_REFUSED))
    elif config.network is Network.OPEN:
        lacking.update(dict.fromkeys(served, NEEDS_OWN_LOOPBACK))
    unmet = tuple((one, lacking[one.key.task_id]) for one in attempts if one.key.task_id in lacking)
    return [one for one in attempts if one.key.task_id not in lacking], unmet


def _has_own_root(config: RunConfig) -> bool:
    """Whether trials with these options can have a file system of their own. Blocks."""
    may_have = config.isolation is Isolation.PRIVATE and config.sandbox in (Sandbox.AUTO, Sandbox.NAMESPACES)
    return may_have and not find_support().reason(Level.NAMESPACES)


def _past_of(config: RunConfig, trials: Sequence[Trial], output_dir: Path) -> tuple[PastTrial, ...]:
    """Return earlier trials of these tasks in the runs of an output folder, the model's own if there are any. Blocks.

    Scripted models tell nothing about real ones, nor these about them.
    """
    try:
        if not output_dir.is_dir():
            return ()
    except OSError:
        return ()  # a folder that can't be reached is reported when something is to be written there
    from pinchbench.runner.plan.past_runs import past_trials  # noqa: PLC0415 - a first run has none to decode

    scripted = {model_slug(model) for model in DEMO_MODELS}
    return past_trials(
        output_dir,
        slug=model_slug(config.model),
        task_ids={trial.key.task_id for trial in trials},
        is_alike=lambda slug: (slug in scripted) == config.is_demo,
    )


def solution_folders(prepared: Prepared) -> tuple[Path, ...]:
    """Return the folders outside their workspaces that the solutions read, if the scripted model plays them. Blocks."""
    if prepared.config.scripted_model != ORACLE:
        return ()
    tasks = {attempt.key.task_id: attempt.trial.task for attempt in prepared.attempts}
    solutions = (_solution(prepared, task) for task in tasks.values())
    return tuple(folder for solution in solutions if solution is not None for folder in solution.reads)


def scripts(prepared: Prepared) -> Mapping[str, tuple[ScriptedTurn, ...]]:
    """What the scripted model plays for each task; empty for other models. Blocks."""
    model = prepared.config.scripted_model
    if model is None:
        return {}
    from pinchbench.llm.demo.script import plan_turns  # noqa: PLC0415 - for demo models only

    tasks = {attempt.key.task_id: attempt.trial.task for attempt in prepared.attempts}
    solve = model == ORACLE
    return {task_id: plan_turns(_solution(prepared, task) if solve else None, task) for task_id, task in tasks.items()}


def _solution(prepared: Prepared, task: Task) -> Solution | None:
    return prepared.played.get(task.task_id) or solution_of(prepared.suite, task)
