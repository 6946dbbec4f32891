"""`--suite`: selecting tasks by an expression."""

from __future__ import annotations

import ast
import re
import shlex
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pinchbench.errors import SelectionError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.model.task import GradingType, Suite, Task, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_TOKENS = re.compile(r"[()]|[^\s()]+")
_WORDS = re.compile(r"[^\W_]+")
_OPERATORS = frozenset({"and", "or", "not", "(", ")"})
KEYWORDS = ("all", "core", "hard", "automated-only")


def select_tasks(suite: Suite, expression: str) -> tuple[Task, ...]:
    """Return the tasks an expression names: those of `run_first` first, then in the suite's order.

    The expression is a comma-separated list of `all`, `core`, `hard`, `automated-only`, category names and task ids.
    Only an id selects an unlisted task. Ids are case-sensitive, the other names are not. An ambiguous name is a keyword
    first, then an id, then a category, then one of several suites.

    Raises:
        SelectionError: a name is unknown (all of them are listed), or nothing is selected.
    """
    names = [name for part in expression.split(",") if (name := part.strip())]
    if not names:
        raise SelectionError(f"--suite names no tasks. Use `all`, or names from the list: {_list_hint(suite)}")
    found = {name: _named(suite, name) for name in names}
    unknown = [name for name, ids in found.items() if ids is None]
    if unknown:
        raise SelectionError(_unknown_message(suite, unknown))
    chosen = {task_id for ids in found.values() for task_id in ids or ()}
    if not chosen:
        raise SelectionError(f"--suite {','.join(names)} selects no tasks of {suite.root}. {_list_hint(suite)}")
    first = {task_id: place for place, task_id in enumerate(suite.run_first)}
    # Sorting is stable, so everything outside `run_first` keeps the suite's order.
    tasks = sorted(suite.by_id.values(), key=lambda task: first.get(task.task_id, len(first)))
    return tuple(task for task in tasks if task.task_id in chosen)


def find_task(suite: Suite, task_id: str) -> Task:
    """Return the task with an id. Raises SelectionError if there is none."""
    task = suite.by_id.get(task_id)
    if task is None:
        near = _near(task_id, _spelled(suite.by_id))
        advice = f"Did you mean {near!r}?" if near else _list_hint(suite)
        raise SelectionError(f"{_called(suite)} has no task {task_id!r}. {advice}")
    return task


def fits(expression: str, text: str) -> bool:
    """Return whether a text fits words joined by `and`, `or`, `not` and parentheses; capitals make no difference.

    Raises SelectionError for an expression that can't be read.
    """
    text = text.casefold()
    tokens = _TOKENS.findall(expression.casefold())
    logic = " ".join(one if one in _OPERATORS else str(one in text) for one in tokens)
    try:
        return _holds(ast.parse(logic, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = f"-k {expression!r}: write words, joined by and, or, not and parentheses."
        raise SelectionError(message) from error


def likely_word(expression: str, texts: Iterable[str]) -> str:
    """Return a word of the texts that may be meant by one of the expression that is in none; empty if there is none."""
    known = {word for text in texts for word in _WORDS.findall(text.casefold())}
    unknown = [word for word in _WORDS.findall(expression.casefold()) if not any(word in one for one in known)]
    return next((near[0] for word in unknown if (near := get_close_matches(word, sorted(known), 1, 0.75))), "")


def _holds(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=bool() as value):
            return value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _holds(operand)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(_holds, values))
        case ast.BoolOp(values=values):
            return any(map(_holds, values))
        case _:
            raise ValueError("neither words nor what joins them")


def _named(suite: Suite, name: str) -> set[str] | None:
    """Return the ids that a name stands for; None for an unknown name."""
    match name.casefold():
        case "all":
            return {task.task_id for task in suite.tasks}
        case "core":
            return set(suite.core)
        case "hard":
            return {task.task_id for task in suite.tasks if task.tier is Tier.HARD}
        case "automated-only":
            return {task.task_id for task in suite.tasks if task.grading_type is GradingType.AUTOMATED}
        case folded:
            if name in suite.by_id:
                return {name}
            named = {task.task_id for task in suite.tasks if task.category.casefold() == folded}
            return named or {task.task_id for part in suite.parts if part.name == name for task in part.tasks} or None


def _unknown_message(suite: Suite, unknown: list[str]) -> str:
    known = [*KEYWORDS, *(task.category for task in suite.tasks)]
    known += suite.by_id
    spelled = _spelled(known)
    hints: list[str] = []
    is_any_far = False
    for name in unknown:
        near = None if "/" in name else _near(name, spelled)
        hint = " (use --tasks-dir for a folder)" if "/" in name else f" (did you mean {near!r}?)" if near else ""
        is_any_far = is_any_far or not hint
        hints.append(f"{name!r}{hint}")
    message = f"{_called(suite)} has no task or category {', '.join(hints)}."
    return f"{message} {_list_hint(suite)}" if is_any_far else message


def _called(suite: Suite) -> str:
    return "The bundled suite" if suite.root == bundled_tasks_dir() else str(suite.root)


def _list_hint(suite: Suite) -> str:
    """Return a sentence on where the names are that can be used."""
    if suite.root == bundled_tasks_dir():
        return "`pinchbench-async tasks list` shows all tasks and categories, `suite` the suites that were added."
    folder = shlex.quote(str(suite.root))
    return f"`pinchbench-async tasks list --tasks-dir {folder}` shows all tasks and categories."


def _spelled(known: Iterable[str]) -> dict[str, str]:
    """Return names by their case-insensitive form. The first spelling is kept."""
    return {name.casefold(): name for name in reversed(list(known))}


def _near(name: str, spelled: Mapping[str, str]) -> str | None:
    folded = name.casefold()
    # A name that begins so, or has this among its words, is a better suggestion than one that is only similar.
    longer = [candidate for candidate in spelled if candidate.startswith(folded)]
    longer = longer or [candidate for candidate in spelled if folded in candidate.split("_")]
    near = get_close_matches(folded, longer or spelled, n=1) or longer
    return spelled[near[0]] if near else None
