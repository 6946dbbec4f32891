"""run.json: a run's settings, versions and tasks, written once."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import UNSET

from pinchbench.decoding import Maybe, convert, doc
from pinchbench.defaults import DEFAULT_PASS_THRESHOLD, SuiteFormat
from pinchbench.errors import ResultsError
from pinchbench.model.task import GradingType  # noqa: TC001 - msgspec reads the annotations at run time
from pinchbench.model.trial import TrialKey
from pinchbench.results.paths import read_json


class TaskFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it was run. `timeout_s` is its limit, including the multiplier."""

    digest: str
    category: str
    grading_type: GradingType
    timeout_s: float
    suite: Annotated[Maybe[str], doc("its name; missing in a run of one suite")] = UNSET
    title: Annotated[str, doc("the task's name for people; missing in older runs")] = ""
    abilities: Annotated[Maybe[list[str]], doc("what agents may use besides files and shell; missing for none")] = UNSET
    private: Annotated[Maybe[bool], doc("whether it is made of its user's own work; else missing")] = UNSET


class SuiteFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One of several suites of a run. The last three are those of an added suite, else empty."""

    name: str
    folder: str
    format: SuiteFormat
    score_rule: str
    tasks: int
    source: str = ""
    commit: str = ""
    digest: str = ""


class _Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The types of those options of a run that its readers use; `resume` checks the others."""

    model: str
    suite: str = ""
    pass_threshold: float = 0.0
    max_cost: float | None = None
    max_tokens: int | None = None
    max_hours: float | None = None


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of a run and what ran it. Holds no keys.

    `config` holds the options by name, `versions` the releases of all programs involved, `tasks` the tasks by id,
    `plan` every trial in order as id and repetition. `timezone` is the agents' (a value for `TZ`, empty if unknown).
    `created_at` is in seconds since the epoch (UTC). `additions` holds digests of the files that
    the run adds to those of OpenClaw and of the tasks, by option. `tools` are those of OpenClaw's that all agents have;
    empty if they are the user's own OpenClaw's, missing in older runs, which denied some.
    """

    run_id: str
    created_at: float
    config: dict[str, object]
    versions: dict[str, str]
    containment: str
    agents: list[str]
    suite: dict[str, object]
    tasks: dict[str, TaskFacts]
    plan: list[tuple[str, int]]
    timezone: str = ""
    additions: dict[str, str] = {}
    tools: Maybe[list[str]] = UNSET

    def __post_init__(self) -> None:
        """Check the fields that locate other files; a ValueError's message becomes part of `read_facts`' error."""
        if Path(self.run_id).name != self.run_id or self.run_id in ("", ".."):
            raise ValueError("its run_id is no name")
        if not isinstance(folder := self.suite.get("folder"), str) or not folder:
            raise ValueError("it does not say where its suite is")
        try:
            convert(self.config, _Settings)
        except msgspec.ValidationError as error:
            said = str(error) if "`$" in str(error) else f"{error} - at `$`"
            raise ValueError(said.replace("`$", "`$.config")) from error

    @property
    def model(self) -> str:
        """The model's name in OpenClaw."""
        return str(self.config.get("model"))

    @property
    def pass_threshold(self) -> float:
        """The score from which a trial counts as passed, in 0-1."""
        value = self.config.get("pass_threshold")
        return float(value) if isinstance(value, int | float) else DEFAULT_PASS_THRESHOLD

    @property
    def suite_format(self) -> SuiteFormat | None:
        """The format in which the suite was read; None in runs of releases that read one alone."""
        named = self.suite.get("format")
        return SuiteFormat(named) if isinstance(named, str) and named in set(SuiteFormat) else None

    @property
    def form(self) -> int | None:
        """The seed of the fresh form that was run; None for the public tasks."""
        return form if isinstance(form := self.config.get("form"), int) else None

    @property
    def suite_folder(self) -> Path:
        """The folder of the suite; of a fresh form, that of the suite which has made it."""
        return Path(str(self.suite.get("form_of") or self.suite["folder"]))

    @property
    def score_rule(self) -> str:
        """How a task's score is made, in words; empty in runs of releases that had one rule."""
        return str(self.suite.get("score_rule", ""))

    @property
    def suites(self) -> tuple[SuiteFacts, ...]:
        """Its suites, if it has several; else empty. Raises ResultsError if they can't be read."""
        try:
            return convert(self.suite.get("suites", ()), tuple[SuiteFacts, ...])
        except msgspec.ValidationError as error:
            raise ResultsError(f"The suites in run.json of {self.run_id} can't be read: {error}.") from error

    @property
    def has_mean(self) -> bool:
        """Whether it has a mean over all tasks: not over several suites, unless an earlier release was asked for it."""
        return not self.suites or self.config.get("mean_across_suites") is True

    @property
    def titles(self) -> dict[str, str]:
        """The titles of those tasks that have one, by their ids."""
        return {task_id: title for task_id in self.tasks if (title := self.title_of(task_id))}

    def title_of(self, task_id: str) -> str:
        """Return a task's title; empty if it has none besides its id."""
        task = self.tasks.get(task_id)
        return "" if task is None or task.title == task_id else task.title

    @property
    def keys(self) -> tuple[TrialKey, ...]:
        """The trials of the plan, in order."""
        return tuple(TrialKey(task_id=task_id, repetition=repetition) for task_id, repetition in self.plan)


def read_facts(path: Path) -> RunFacts:
    """Read a run.json; keys of other releases are ignored. Blocks.

    Raises ResultsError if it is not a valid run.json, naming the line.
    """
    advice = (
        "This file is written once, when a run begins, and describes the run: put back a copy of it, or remove the run:"
        f" rm -r {shlex.quote(str(path.parent))}"
    )
    return read_json(path, RunFacts, advice=advice)
