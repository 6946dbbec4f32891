"""Worked solutions of tasks, and near misses, written as an agent's tool calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, NoReturn

from pinchbench.errors import SuiteError
from pinchbench.model.task import Turn
from pinchbench.suite.yaml_nodes import YamlNode, YamlTextError, read_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.model.task import Task

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
        return (
            f"`user` in the first {own} turns: the task states what is said there"
            if own > 1
            else ("`user` in the first turn: the prompt is what is said there")
        )
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


def parse_solution(text: str, *, path: Path) -> Solution:
    """Read a solution. Unknown keys are refused: a misspelt one would give a script that does nothing.

    Raises:
        SuiteError: the text is not a valid solution; the message begins with `path:line:`.
    """
    return _SolutionReader(path).read(text)


class _SolutionReader:
    """Reads one solution; the first problem raises."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, text: str) -> Solution:
        try:
            root = read_yaml(text.removeprefix("\ufeff"))
        except YamlTextError as error:
            self._fail(error.line, error.reason)
        if root is None or root.fields is None or "turns" not in root.fields:
            self._fail(root.line if root else 1, "a solution needs a list of `turns`")
        self._know(root, "turns", "near_misses", "equivalent")
        misses = root.fields.get("near_misses")
        if misses is not None and not misses.is_null and misses.items is None:
            self._fail(misses.line, "`near_misses` must be a list")
        turns, cases = self._turns(root, "a solution")
        return Solution(
            turns=turns,
            cases=cases,
            near_misses=tuple(self._near_miss(item) for item in (misses.items if misses else None) or ()),
            equivalent=self._equivalent(root),
        )

    def _fail(self, line: int, reason: str) -> NoReturn:
        raise SuiteError(f"{self._path}:{line}: {reason}")

    def _know(self, node: YamlNode, *keys: str) -> None:
        for key, child in (node.fields or {}).items():
            if key not in keys:
                self._fail(child.line, f"the key `{key}` is not known here; there are {', '.join(keys)}")

    def _equivalent(self, root: YamlNode) -> tuple[str, ...]:
        node = (root.fields or {}).get("equivalent")
        if node is None or node.is_null:
            return ()
        if node.items is None:
            self._fail(node.line, "`equivalent` must be a list")
        patterns = []
        for item in node.items:
            fields = item.fields or {}
            self._know(item, "mutant", "why")
            mutant, why = fields.get("mutant"), fields.get("why")
            if mutant is None or not mutant.text or why is None or not why.text:
                self._fail(item.line, "an equivalent mutant needs its name as `mutant` and a reason as `why`")
            patterns.append(mutant.text)
        return tuple(patterns)

    def _turns(self, node: YamlNode, what: str) -> tuple[tuple[SolutionTurn, ...], tuple[SolutionTurn, ...]]:
        """Return the turns, and the cases that stand among them."""
        turns = (node.fields or {}).get("turns")
        if turns is None or not turns.items:
            self._fail((turns or node).line, f"{what} needs a list of `turns`")
        read = tuple(self._turn(item) for item in turns.items)
        return tuple(turn for turn in read if not turn.when), tuple(turn for turn in read if turn.when)

    def _near_miss(self, node: YamlNode) -> NearMiss:
        fields = node.fields or {}
        self._know(node, "name", "check", "judge", "turns")
        name = fields.get("name")
        if name is None or not name.text:
            self._fail(node.line, "a near miss needs a `name`, a text")
        check, judge = self._range(fields.get("check")), self._range(fields.get("judge"))
        if check is None and judge is None:
            self._fail(node.line, "a near miss needs the range of its score: `check: [low, high]`, or `judge`, or both")
        turns, cases = self._turns(node, "a near miss")
        return NearMiss(name=name.text, turns=turns, cases=cases, check=check, judge=judge)

    def _range(self, node: YamlNode | None) -> ScoreRange | None:
        if node is None or node.is_null:
            return None
        ends = [
            float(item.value)
            for item in node.items or ()
            if isinstance(item.value, int | float) and not isinstance(item.value, bool)
        ]
        if len(ends) != len(node.items or ()) or len(ends) != 2 or not 0 <= ends[0] <= ends[1] < 1:  # noqa: PLR2004
            self._fail(node.line, "a range is `[low, high]`, from 0 to below 1")
        return ScoreRange(low=ends[0], high=ends[1])

    def _turn(self, node: YamlNode) -> SolutionTurn:
        fields = node.fields or {}
        self._know(node, "steps", "answer", "user", "when")
        answer, steps = fields.get("answer"), fields.get("steps")
        user = self._line(fields, "user", "what the simulated user says before the turn")
        when = self._line(fields, "when", "what a message to a sub-agent or an automation contains")
        if answer is None or answer.text is None:
            self._fail(node.line, "a turn needs an `answer`, a text")
        if steps is not None and not steps.is_null and steps.items is None:
            self._fail(steps.line, "`steps` must be a list")
        played = tuple(self._step(item) for item in (steps.items if steps is not None else None) or ())
        return SolutionTurn(steps=played, answer=answer.text, user=user, when=when)

    def _line(self, fields: Mapping[str, YamlNode], key: str, what: str) -> str:
        node = fields.get(key)
        if node is None:
            return ""
        text = (node.text or "").strip()
        if not text:
            self._fail(node.line, f"`{key}` must be a text: {what}")
        return text

    def _step(self, node: YamlNode) -> ToolStep:
        fields = node.fields or {}
        self._know(node, "tool", "args")
        tool, args = fields.get("tool"), fields.get("args")
        if tool is None or not tool.text:
            self._fail(node.line, "a step needs a `tool`, a text")
        if args is None or args.is_null:
            return ToolStep(tool=tool.text)
        if not isinstance(args.value, dict):
            self._fail(args.line, "`args` must map names to values")
        return ToolStep(tool=tool.text, args=args.value)
