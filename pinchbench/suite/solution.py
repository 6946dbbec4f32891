"""Worked solutions of tasks, and near misses, written as an agent's tool calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from pinchbench.errors import SuiteError
from pinchbench.model.task import Task, Turn
from pinchbench.suite.reading import BrokenTaskError, FieldReader, yaml_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.suite.yaml_nodes import YamlNode

SOLUTIONS = "solutions"
SOLUTION_FILE = "solution.yaml"  # in the folder of a task


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolStep:
    """One tool call: the tool's name in OpenClaw and its arguments, which can be encoded as JSON."""

    tool: str
    args: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class SolutionTurn:
    """The tool calls of one turn, and the answer at its end.

    `user` is what the simulated user says before it; empty in the turns that the task states. `when` is set in what is
    no turn of the task's: what is done, at any time, in a conversation whose last message contains that text.
    """

    steps: tuple[ToolStep, ...]
    answer: str
    user: str = ""
    when: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRange:
    """Scores from `low` to `high`, both included; 0 <= low <= high <= 1."""

    low: float
    high: float

    def __contains__(self, score: float) -> bool:
        """Return whether a score is in the range, tolerating rounding errors."""
        slack = 1e-6
        return self.low - slack <= score <= self.high + slack

    def __str__(self) -> str:
        """Return a phrase such as `0.2 to 0.35`."""
        return f"{self.low:g} to {self.high:g}"


FULL = ScoreRange(low=1, high=1)
NEXT_TO_NOTHING = ScoreRange(low=0, high=0.2)
ANY_SCORE = ScoreRange(low=0, high=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class NearMiss:
    """Plausible but wrong or partial work, and the score that the check, or a fair judge, should give it.

    At least one of the ranges is set, and neither includes 1. `cases` are as in a solution.
    """

    name: str
    turns: tuple[SolutionTurn, ...]
    cases: tuple[SolutionTurn, ...] = ()
    check: ScoreRange | None = None
    judge: ScoreRange | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Solution:
    """One complete way to do a task, with an entry for each of its turns, and its near misses.

    `cases` are what sub-agents and automations do, each for a text of their task. `check` is the score that the check
    should give it, `idle_check` the score of doing nothing. `reads` are folders outside the workspace that its commands
    need. `equivalent` are patterns (as of `fnmatch`) for the names of mutants that are as good as the solution.
    """

    turns: tuple[SolutionTurn, ...]
    cases: tuple[SolutionTurn, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    check: ScoreRange = FULL
    idle_check: ScoreRange = NEXT_TO_NOTHING
    reads: tuple[Path, ...] = ()
    equivalent: tuple[str, ...] = ()


def turns_of(task: Task, script: Sequence[SolutionTurn]) -> tuple[Turn, ...]:
    """Return the task's turns, and where it has a simulated user those in which it says what the script has it say."""
    own = task.turns
    if task.simulated_user is None:
        return own
    said = takewhile(bool, (turn.user for turn in script[len(own) :]))
    return (*own, *(Turn(prompt=message) for message in said))


def script_problem(task: Task, script: Sequence[SolutionTurn]) -> str:
    """Return why a script can't be played for a task; empty if it can."""
    user, own = task.simulated_user, len(task.turns)
    if any(turn.user for turn in script[:own]):
        return "`user` in a turn that the task states: the prompt is what is said there"
    if len(script) < own or (user is None and len(script) > own):
        return f"it has {len(script)} turns, the task {own}"
    if user is None:
        return ""
    if not all(turn.user for turn in script[own:]):
        return "a turn after the prompt needs `user`: what the simulated user says before it"
    if len(script) - own > user.most_messages:
        return f"the simulated user says {len(script) - own} messages; `user_messages` is {user.most_messages}"
    return ""


def load_solution(root: Path, task_id: str) -> Solution | None:
    """Return a tasks folder's solution of a task, None if it has none.

    It is `solution.yaml` in the task's own folder, or `<task id>.yaml` in `solutions`.

    Raises:
        SuiteError: the file exists but can't be read or used.
    """
    own, path = root / task_id / SOLUTION_FILE, root / SOLUTIONS / f"{task_id}.yaml"
    path = own if own.exists() else path
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"The solution {path} can't be read: {error}.") from error
    return parse_solution(text, path=path)


def command_solution(command: str, *, reads: Path) -> Solution:
    """Return a solution of one command, which need not earn every point."""
    turn = SolutionTurn(steps=(ToolStep(tool="exec", args={"command": command}),), answer="Done.")
    return Solution(turns=(turn,), check=ANY_SCORE, idle_check=ANY_SCORE, reads=(reads,))


def parse_solution(text: str, *, path: Path) -> Solution:
    """Read a solution. Unknown keys are refused: a misspelt one would give a script that does nothing.

    Raises:
        SuiteError: the text is not a valid solution; each line of the message begins with `path:line:`.
    """
    try:
        return _SolutionReader(path).read(text)
    except BrokenTaskError as error:
        raise SuiteError(str(error)) from error


class _SolutionReader:
    """Reads one solution and collects all its problems."""

    def __init__(self, path: Path) -> None:
        self._fields = FieldReader(path=path)

    def read(self, text: str) -> Solution:
        root = yaml_root(text, self._fields.path, what="a solution")
        top = self._fields.mapping(root, "a solution", known=("turns", "near_misses", "equivalent"))
        turns, cases = self._turns(top, root)
        solution = Solution(
            turns=turns,
            cases=cases,
            near_misses=tuple(self._near_miss(item) for item in self._fields.items(top, "near_misses")),
            equivalent=tuple(self._equivalent(item) for item in self._fields.items(top, "equivalent")),
        )
        self._fields.refuse()
        return solution

    def _needed(self, fields: Mapping[str, YamlNode], key: str, node: YamlNode, what: str) -> str:
        """Return a text that must be there and not be empty."""
        text = self._fields.text(fields, key)
        if not text and (key not in fields or fields[key].text == ""):
            self._fields.problem(fields.get(key, node), f"{what} needs `{key}`")
        return text

    def _equivalent(self, item: YamlNode) -> str:
        what = "an equivalent mutant"
        fields = self._fields.mapping(item, what, known=("mutant", "why"))
        self._needed(fields, "why", item, what)
        return self._needed(fields, "mutant", item, what)

    def _turns(
        self, fields: Mapping[str, YamlNode], node: YamlNode
    ) -> tuple[tuple[SolutionTurn, ...], tuple[SolutionTurn, ...]]:
        """Return the turns, and the cases that stand among them."""
        read = tuple(self._turn(item) for item in self._fields.items(fields, "turns"))
        if not read:
            self._fields.problem(fields.get("turns", node), "a list of `turns` is needed")
        return tuple(turn for turn in read if not turn.when), tuple(turn for turn in read if turn.when)

    def _near_miss(self, node: YamlNode) -> NearMiss:
        fields = self._fields.mapping(node, "a near miss", known=("name", "check", "judge", "turns"))
        check, judge = self._range(fields.get("check")), self._range(fields.get("judge"))
        if "check" not in fields and "judge" not in fields:
            reason = "a near miss needs the range of its score: `check: [low, high]`, or `judge`, or both"
            self._fields.problem(node, reason)
        turns, cases = self._turns(fields, node)
        name = self._needed(fields, "name", node, "a near miss")
        return NearMiss(name=name, turns=turns, cases=cases, check=check, judge=judge)

    def _range(self, node: YamlNode | None) -> ScoreRange | None:
        match None if node is None else node.value:
            case None:
                return None
            case [int() | float() as low, int() | float() as high] if 0 <= low <= high < 1:
                return ScoreRange(low=float(low), high=float(high))
        self._fields.problem(node, "a range is `[low, high]`, from 0 to below 1")
        return None

    def _turn(self, node: YamlNode) -> SolutionTurn:
        fields = self._fields.mapping(node, "a turn", known=("steps", "answer", "user", "when"))
        if "answer" not in fields:
            self._fields.problem(node, "a turn needs `answer`")
        return SolutionTurn(
            steps=tuple(self._step(item) for item in self._fields.items(fields, "steps")),
            answer=self._fields.text(fields, "answer"),
            user=self._line(fields, "user", "what the simulated user says before the turn"),
            when=self._line(fields, "when", "what a message to a sub-agent or an automation contains"),
        )

    def _line(self, fields: Mapping[str, YamlNode], key: str, what: str) -> str:
        text = self._fields.text(fields, key).strip()
        if key in fields and not text:
            self._fields.problem(fields[key], f"`{key}` must be a text: {what}")
        return text

    def _step(self, node: YamlNode) -> ToolStep:
        fields = self._fields.mapping(node, "a step", known=("tool", "args"))
        tool = self._needed(fields, "tool", node, "a step")
        args = fields["args"].value if "args" in fields else {}
        if not isinstance(args, dict):
            self._fields.problem(fields["args"], "`args` must map names to values")
            args = {}
        return ToolStep(tool=tool, args=args)
