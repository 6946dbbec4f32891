"""A task, what its turns ask, what its workspace holds and how it is scored, and the suite that it belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from pinchbench.defaults import CheckTotal, SuiteFormat
from pinchbench.model.timeline import NEED_GATEWAY, Ability, Advance, TimelineEvent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.model.task_programs import Service, SetupScript, ShownFile, Verifier


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRule:
    """The rule by which a suite scores its tasks.

    Attributes:
        text: the rule in words, as the result names it.
        check_total: how the check's numbers become its score.
        judge_gate: the check's score, 0-1, below which a hybrid task's judge counts as 0.
        failed_is_zero: whether a check that raises an exception, or returns no number, means a score of 0 for the whole
            task.
        recomputes_judge: whether a judge's total is computed from its scores where the rubric states their weights.
    """

    text: str
    check_total: CheckTotal = CheckTotal.CLAMPED_MEAN
    judge_gate: float = 0.0
    failed_is_zero: bool = False
    recomputes_judge: bool = True


PINCHBENCH_RULE = ScoreRule(text="the mean of the check's points, each within 0–1, and the judge's total, by weight")


WORKSPACE_MARK = "{workspace}"
HOME_FOLDERS = ".home"  # of the workspace: it keeps what a check looks for in the home of the agent
MAX_SEARCHED = 20_000  # characters of a message that a gate looks at, which its author could make endless


class GradingType(StrEnum):
    """How a task is graded."""

    AUTOMATED = "automated"
    LLM_JUDGE = "llm_judge"
    HYBRID = "hybrid"


class Tier(StrEnum):
    """How hard a task is meant to be. Hard ones are long work that strong models are not expected to finish."""

    STANDARD = "standard"
    HARD = "hard"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceFile:
    """A file that is put into the workspace before the agent starts.

    Exactly one of `source` (a file or folder of the suite, copied) and `content` (text, written as
    UTF-8) is set. `dest` is relative to the workspace, with `/` between its parts, and never leaves it.
    `of_run`: it is not the task's, but of `--workspace-files`; a judge sees it only if the agent has changed it.
    """

    dest: str
    source: Path | None = None
    content: str | None = None
    of_run: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnGate:
    """What the model must have said in a trial, in whatever session, before a turn is sent.

    `replies` is the least number of its messages, those that call tools included; `pattern` is a regular expression
    that is found in the last one, whatever its case.
    """

    replies: int = 0
    pattern: str = ""

    def holds(self, replies: int, last: str) -> bool:
        """Return whether so many messages, of which `last` is the last one's text, are enough.

        Its first `MAX_SEARCHED` characters count: a search takes time that grows faster than the text does.
        """
        return replies >= self.replies and re.search(self.pattern, last[:MAX_SEARCHED], re.IGNORECASE) is not None

    def __str__(self) -> str:
        """Return a phrase such as `if the model has written 2 messages and its last one matches 'done'`."""
        plural = "" if self.replies == 1 else "s"
        said = [f"the model has written {self.replies} message{plural}"] if self.replies else []
        if self.pattern:
            whose = "its last one" if said else "the model's last message"
            said.append(f"{whose} matches {self.pattern!r}")
        return f"if {' and '.join(said)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One message to the agent. `new_session` starts a fresh session in the same workspace.

    `event` says what it is in a task whose agent lives in a gateway; without a message, `prompt` is empty.
    `names_workspace`: `WORKSPACE_MARK` stands in the prompt for the workspace's absolute path. A turn whose `gate` does
    not hold is not sent, nor is any after it in the same session. The first turn's gate counts for nothing.
    """

    prompt: str
    id: str | None = None
    new_session: bool = False
    names_workspace: bool = False
    gate: TurnGate | None = None
    event: TimelineEvent | None = None

    def prompt_in(self, workspace: Path) -> str:
        """Return the prompt for an agent that knows its workspace by this path."""
        return self.prompt.replace(WORKSPACE_MARK, str(workspace)) if self.names_workspace else self.prompt


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedUser:
    """The user of a task, whom a model plays by a script that the agent never sees.

    `most_messages` is how many messages it may write after the prompt, at least 1. Without a model, it says `messages`,
    whatever the agent answers; if there are none, it takes a model.
    """

    script: str
    most_messages: int
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One Markdown file of a suite.

    `timeout_s` is one budget for all turns together. `grading_weights` holds the shares of `automated`
    and `llm_judge` (they sum to 1). `frontmatter` is the whole YAML head, unknown keys included.
    `digest` is a SHA-256 over the file and every fixture it copies: two tasks with the same digest
    ask the same thing. `rule` says how its score is made; `network` is whether its trials have an open network.
    `own_servers` is whether they connect to servers on 127.0.0.1 that they start themselves, which Landlock can allow
    with an open network only.
    `verifier` is a check that is a program, in place of `automated_checks`. `workspace_path` is an absolute path at
    which agent and check find the workspace too, and `shown` are further files that they see; both take namespaces.
    `transcript_path` is an absolute path at which a check finds the transcript as a file, if the task states one.
    `home_folders` are names of folders of the agent's home that the check finds in its own; they are kept in
    `HOME_FOLDERS` of the workspace, and take namespaces too.
    `modules` is a folder of the suite whose Python modules the check can import.
    `check_files` are put into the check's copy of the workspace, so that the agent never sees them. `env` is what the
    environment of agent and check has besides what every trial's has. `services` run alongside the agent, which takes
    namespaces too. `simulated_user` answers the agent after the turns. `runs` is how many trials it has, unless the run
    says otherwise. `abilities` are what its agent may use of OpenClaw besides files and shell. `starts_at` is the time
    at which its trials begin for everything in the sandbox, in seconds since the epoch; None for the real one.
    `timezone` is the agent's, as a name such as `Europe/Berlin`; empty for UTC.
    """

    task_id: str
    name: str
    category: str
    grading_type: GradingType
    prompt: str
    turns: tuple[Turn, ...]
    tier: Tier = Tier.STANDARD
    timeout_s: float = 120.0
    workspace_files: tuple[WorkspaceFile, ...] = ()
    grading_weights: Mapping[str, float] = field(default_factory=dict)
    expected_behavior: str = ""
    grading_criteria: tuple[str, ...] = ()
    automated_checks: str | None = None
    llm_judge_rubric: str | None = None
    additional_notes: str = ""
    prerequisites: tuple[str, ...] = ()
    network: bool = False
    own_servers: bool = False
    frontmatter: Mapping[str, object] = field(default_factory=dict)
    path: Path | None = None
    digest: str = ""
    rule: ScoreRule = PINCHBENCH_RULE
    setup: SetupScript | None = None
    verifier: Verifier | None = None
    workspace_path: str = ""
    shown: tuple[ShownFile, ...] = ()
    transcript_path: str = ""
    home_folders: tuple[str, ...] = ()
    modules: Path | None = None
    check_files: tuple[WorkspaceFile, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    services: tuple[Service, ...] = ()
    simulated_user: SimulatedUser | None = None
    runs: int = 1
    abilities: tuple[Ability, ...] = ()
    starts_at: float | None = None
    timezone: str = ""

    @property
    def is_private(self) -> bool:
        """Whether its head says that it is made of its user's own work, which is not for others."""
        return self.frontmatter.get("private") is True

    @property
    def needs_gateway(self) -> bool:
        """Whether its agent lives in a gateway of its own, which receives all turns as events."""
        return not NEED_GATEWAY.isdisjoint(self.abilities)

    @property
    def needs_openclaw(self) -> bool:
        """Whether its solutions use more than files and a shell, so that only OpenClaw can play them."""
        return bool(self.abilities) or self.starts_at is not None

    @property
    def simulated_times(self) -> tuple[float, float] | None:
        """From when to when its clock goes in the timeline, in seconds since the epoch; None with the real clock."""
        if self.starts_at is None:
            return None
        now = self.starts_at
        for turn in self.turns:
            if isinstance(turn.event, Advance):
                now = now + turn.event.by_s if turn.event.to_s is None else turn.event.to_s
        return self.starts_at, now

    @property
    def needs_own_root(self) -> bool:
        """Whether its trials need a file system of their own, which only namespaces give."""
        return bool(self.workspace_path or self.shown or self.home_folders or self.starts_at is not None)

    @property
    def needs_namespaces(self) -> bool:
        """Whether its trials need namespaces: for a file system, or a 127.0.0.1, of their own."""
        return self.needs_own_root or bool(self.services) or self.needs_gateway


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """The tasks of a folder, in id order, and what its manifest says about them.

    `core` and `run_first` hold only ids that exist. `unlisted` are tasks of its folder that the suite does not consist
    of: they run only when they are named by id. `name` is given to the suites of a run that has several; their union
    has them as its `parts`, and is otherwise the first of them.
    """

    root: Path
    tasks: tuple[Task, ...]
    run_first: tuple[str, ...] = ()
    core: tuple[str, ...] = ()
    unlisted: tuple[Task, ...] = ()
    format: SuiteFormat = SuiteFormat.PINCHBENCH
    name: str = ""
    parts: tuple[Suite, ...] = ()

    def part_of(self, task_id: str) -> Suite:
        """Return which of its parts has a task; the suite itself if it has no parts."""
        return next((part for part in self.parts if task_id in part.by_id), self)

    @property
    def by_id(self) -> dict[str, Task]:
        """All tasks that can be run, those that are `unlisted` last."""
        return {task.task_id: task for task in (*self.tasks, *self.unlisted)}


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskProblem:
    """Why a file of a suite can't be used. `line` counts from 1."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        """Return `path:line: reason`, which editors and terminals can link to."""
        return f"{self.path}:{self.line}: {self.reason}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedSuite:
    """A suite, the problems of excluded files, and a note for the user.

    The note names task files that are not among the suite's tasks, and what is known to differ from the suite's own
    runner; it is empty without either.
    """

    suite: Suite
    problems: tuple[TaskProblem, ...] = ()
    note: str = ""
