"""Skeletons of new tasks: a minimal but complete task file and solution, which pass all checks of tasks."""

from __future__ import annotations

import tomllib
from base64 import b64decode
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pinchbench.errors import ConfigError, SuiteError
from pinchbench.files.folders import folder_error, remove_folder
from pinchbench.model.task import GradingType
from pinchbench.suite.check_code import new_canary
from pinchbench.suite.formats.markdown_folder import TASK_FILE, is_template
from pinchbench.suite.loading import load_suite
from pinchbench.suite.parse import parse_task
from pinchbench.suite.reading import BrokenTaskError
from pinchbench.suite.select import KEYWORDS
from pinchbench.suite.solution import SOLUTION_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_TEXTS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("new_task.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A piece of a task: what it adds to the head, the prompt, the check and the solution.

    Attributes:
        ask: what the prompt asks in addition.
        criterion: what is expected, for people and judges.
        point: one item of the dict that the check returns.
        steps: the solution's tool calls after the prompt, as items of YAML.
        needs: parts without which it does not work.
        head: lines of the head.
        service: an item of its services.
        given: an item of its workspace files.
        timeline: items of the timeline.
        turns: the solution's entries for these items, and others by `when`.
        files: what the task's folder holds besides, by its place; an image in Base64.
    """

    ask: str
    criterion: str
    point: str
    steps: str
    needs: Sequence[str] = ()
    head: str = ""
    service: str = ""
    given: str = ""
    timeline: str = ""
    turns: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


PARTS: Mapping[str, Part] = MappingProxyType({name: Part(**texts) for name, texts in _TEXTS["parts"].items()})


def with_needed(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of parts together with those that they need, in the order of PARTS.

    Raises ConfigError for an unknown one.
    """
    if unknown := [name for name in names if name not in PARTS]:
        raise ConfigError(f"--with does not know {unknown[0]!r}: there are {', '.join(PARTS)}.")
    wanted = {*names, *(needed for name in names for needed in PARTS[name].needs)}
    return tuple(name for name in PARTS if name in wanted)


def head_of(names: Sequence[str]) -> str:
    """Return the lines of the head that these parts add."""
    abilities = [name for name in names if name not in {"clock", "service"}]
    lines = [f"abilities: [{', '.join(abilities)}]\n"] if abilities else []
    lines += [PARTS[name].head for name in names]
    services = "".join(PARTS[name].service for name in names)
    timeline = "".join(PARTS[name].timeline for name in names)
    lines += [f"{key}:\n{items}" for key, items in (("services", services), ("timeline", timeline)) if items]
    return "".join(lines)


def check_of(names: Sequence[str], *, canary: str) -> str:
    """Return the section of the check, with a point for each of these parts."""
    points = "\n        ".join(PARTS[name].point for name in names)
    check: str = _TEXTS["check_of_parts"]
    return check.replace("{canary}", canary).replace("{points}", points)


def write_skeleton(
    folder: Path, task_id: str, *, grading: GradingType, category: str, parts: Sequence[str] = ()
) -> tuple[Path, ...]:
    """Write a new task and its solution into a folder of its own below `folder`; return their paths. Blocks.

    `parts` are names of PARTS, whose files are written as well. The folder is created if necessary. Raises ConfigError
    if the id or the category is invalid or taken, and ResultsError if the files can't be written; none is left then.
    """
    if parts and grading is not GradingType.AUTOMATED:
        raise ConfigError("--with writes a task with a check: leave --grading out.")
    names = with_needed(parts)
    home = folder / task_id
    task, solution = home / TASK_FILE, home / SOLUTION_FILE
    canary = new_canary()
    text = task_text(task_id, grading=grading, category=category, canary=canary, names=names)
    try:
        parsed = parse_task(text, path=task)
    except BrokenTaskError as error:
        raise ConfigError(f"No task can be made of this: {error.problems[0].reason}.") from error
    if is_template(task_id, task_id) or task_id.lower() == "readme":
        raise ConfigError(f"A task can't have the id {task_id!r}: such files are not read as tasks.")
    if task_id.lower() in KEYWORDS:
        raise ConfigError(f"A task can't have the id {task_id!r}: for --suite it means something else.")
    if (parsed.task.task_id, parsed.task.category) != (task_id, category):
        raise ConfigError("The id and the category must be plain words, without marks that YAML gives a meaning.")
    _refuse_taken(folder, task_id)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        home.mkdir()
    except FileExistsError as error:
        raise ConfigError(f"{error.filename} is there already; choose another id.") from error
    except OSError as error:
        raise folder_error(folder, error, option="--tasks-dir") from error
    more = {
        home / place: b64decode(text) if place.endswith(".png") else text.encode()
        for name in names
        for place, text in PARTS[name].files.items()
    }
    solved = solution_text(grading, canary=canary, names=names)
    written = {task: text.encode(), solution: solved.encode(), **more}
    try:
        for path, content in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        remove_folder(home)
        raise folder_error(folder, error, option="--tasks-dir") from error
    return tuple(written)


def _refuse_taken(folder: Path, task_id: str) -> None:
    """Raise ConfigError if a task of the folder has this id, ignoring case, whatever its file name."""
    try:
        suite = load_suite(folder, skip_broken=True).suite
    except SuiteError:  # there are no readable tasks yet
        return
    taken = {task.task_id.lower(): task.path for task in suite.by_id.values()}
    if (place := taken.get(task_id.lower())) is not None:
        raise ConfigError(f"The id {task_id!r} is taken by {place}, which is there already; choose another id.")


def task_text(task_id: str, *, grading: GradingType, category: str, canary: str, names: Sequence[str] = ()) -> str:
    """Return the Markdown of a new task with these parts."""
    asked = _asked(grading)
    weights = "grading_weights:\n  automated: 0.6\n  llm_judge: 0.4\n" if grading is GradingType.HYBRID else ""
    criteria = [*(one["criterion"] for one in asked), *(PARTS[name].criterion for name in names)]
    check = check_of(names, canary=canary) if names else _TEXTS["check"].replace("{canary}", canary)
    parts = [
        _TEXTS["head"].format(
            id=task_id,
            category=category,
            type=grading.value,
            weights=weights,
            limit=600 if names else 180,
            more=head_of(names),
            given="".join(PARTS[name].given for name in names),
            canary=canary,
            ask="\n\n".join([*(one["ask"] for one in asked), *(PARTS[name].ask for name in names)]),
        ),
        "## Expected Behavior\n\n" + "\n".join(one["expected"] for one in asked) + "\n\n",
        "## Grading Criteria\n\n" + "".join(f"- [ ] {criterion}\n" for criterion in criteria) + "\n",
        check if grading is not GradingType.LLM_JUDGE else "",
        _TEXTS["rubric"] if grading is not GradingType.AUTOMATED else "",
        _TEXTS["notes"],
    ]
    return "".join(parts)


def _asked(grading: GradingType) -> list[dict[str, str]]:
    """Return what is asked: a number for a check, a letter for a judge, or both."""
    count = [_TEXTS["count"]] if grading is not GradingType.LLM_JUDGE else []
    return count + ([_TEXTS["letter"]] if grading is not GradingType.AUTOMATED else [])


def solution_text(grading: GradingType, *, canary: str, names: Sequence[str] = ()) -> str:
    """Return the YAML of its solution, with two near misses unless it has parts."""
    solved = _TEXTS["solve"] + "".join(one["solve"] for one in _asked(grading))
    lines = [
        f"# {canary}",
        "# One way to solve the task, as tool calls; it must earn every point of the check.",
        "turns:",
        "  - steps:",
        "      - tool: read",
        "        args: {path: orders.csv}",
        "      - tool: write",
        "        args:",
        *solved.rstrip("\n").split("\n"),
        "      - tool: exec",
        '        args: {command: "python3 solve.py"}',
        *"".join(PARTS[name].steps for name in names).splitlines(),
        '    answer: "Two different orders were sent."',
        *"".join(PARTS[name].turns for name in names).splitlines(),
    ]
    if names:
        return "\n".join(lines) + "\n"
    lines += [
        "",
        "# Work that is nearly right, and the score that it should get: from low to high, both included.",
        "near_misses:",
        *_near_misses(grading),
    ]
    return "\n".join(lines) + "\n"


def _near_misses(grading: GradingType) -> Iterator[str]:
    counted = grading is not GradingType.LLM_JUDGE
    written = grading is not GradingType.AUTOMATED
    misses = (
        ("Counted the double row", "3", "We sent 3 orders, 224.90 euros together.", (0.0, 0.1), (0.1, 0.5)),
        ("Wrote a sentence", "2 orders were sent.", "2 orders, 122.40 euros.", (0.45, 0.55), (0.3, 0.75)),
    )
    for name, count, letter, check, judge in misses:
        yield f"  - name: {name}"
        if counted:
            yield f"    check: [{check[0]}, {check[1]}]"
        if written:
            yield f"    judge: [{judge[0]}, {judge[1]}]"
        yield "    turns:"
        yield "      - steps:"
        if counted:
            yield f'          - {{tool: write, args: {{path: count.txt, content: "{count}"}}}}'
        if written:
            yield f'          - {{tool: write, args: {{path: letter.md, content: "{letter}"}}}}'
        yield '        answer: "Done."'
