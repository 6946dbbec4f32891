"""What a shell can complete: runs, tasks, models and releases, read from no more than the files that name them.

Each function completes a parameter: `click.argument("run", shell_complete=complete_run)`. Whatever can't be read is not
offered, and nothing is said of it: the user is in the middle of a line.
"""

from __future__ import annotations

import json
import os
import re
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from pinchbench import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from click import Context, Parameter

    Items = list[CompletionItem[str]]
    Completer = Callable[[Context, Parameter, str], Items]

MAX_MODELS = 50  # whose run.json is read
MAX_HEAD_BYTES = 4096  # of a task file: its head begins with its id and category
MAX_JSON_BYTES = 4 * 1024 * 1024
RUN = re.compile(r"(.+)_([0-9]{8}-[0-9]{6}-[0-9a-f]{4})")  # a slug, and an id as a run has it
TASK_KEY = re.compile(r"""^(id|category):[ \t]*["']?([^"'#\n]*)""", re.MULTILINE)
MANIFEST_CATEGORY = re.compile(r"""^[ \t]+["']?([^"'#\n:-][^"'#\n:]*)["']?:""", re.MULTILINE)
KEYWORDS = ("all", "core", "automated-only")
# what a shell reads as it stands: a name from a file of somebody else's must not become a command in the user's line
SAFE = re.compile(r"[\w.,/@:+-]+", re.ASCII)


def _silent(completer: Completer) -> Completer:
    """Offer nothing where something fails."""

    @wraps(completer)
    def complete(context: Context, parameter: Parameter, begun: str) -> Items:
        try:
            return [item for item in completer(context, parameter, begun) if _is_harmless(item)]
        except Exception:  # noqa: BLE001 - a traceback in the middle of a command line helps nobody
            return []

    return complete


def _is_harmless(item: CompletionItem[str]) -> bool:
    """Whether a shell can take it as it stands; of a path, it gets no more than what the user has typed."""
    if item.type != "plain":
        return True
    # a control character in a help would go to the terminal, or be a line of its own to the shell
    return SAFE.fullmatch(item.value) is not None and (item.help or "").isprintable()


@_silent
def complete_run(context: Context, parameter: Parameter, begun: str) -> Items:
    """Complete a RUN: names and ids of the runs of --output-dir, newest first, or paths. Leaves out what is there already."""
    if "/" in begun or begun.startswith((".", "~")):
        return _as_paths(begun)
    given = context.params.get(parameter.name or "")
    there = set(given) if isinstance(given, tuple) else set()
    items: Items = []
    for name in _runs(_output_dir(context)):
        slug, run_id = _parts(name)
        if there & {name, run_id}:
            continue
        if name.startswith(begun):
            items.append(CompletionItem(name))
        elif run_id.startswith(begun):
            items.append(CompletionItem(run_id, help=slug))
    return items


@_silent
def complete_tasks(context: Context, _parameter: Parameter, begun: str) -> Items:
    """Complete the last name of a --suite: keywords, categories and task ids, without those that are named before it."""
    before, comma, last = begun.rpartition(",")
    named = set(before.split(","))
    tasks = _tasks(context)
    folder = _tasks_dir(context)
    categories = {category for _, category in tasks if category} | set(_manifest_categories(folder))
    offered = [
        *((keyword, "") for keyword in KEYWORDS),
        *((category, "category") for category in sorted(categories)),
        *tasks,
    ]
    return [
        CompletionItem(f"{before}{comma}{name}", help=told or None)
        for name, told in offered
        if name.startswith(last) and name not in named and "," not in name
    ]


@_silent
def complete_task(context: Context, _parameter: Parameter, begun: str) -> Items:
    """Complete the id of a task of --tasks-dir."""
    return [
        CompletionItem(task_id, help=told or None) for task_id, told in _tasks(context) if task_id.startswith(begun)
    ]


@_silent
def complete_model(context: Context, _parameter: Parameter, begun: str) -> Items:
    """Complete a model: those of the runs of --output-dir, the latest first, and the built-in ones."""
    models = dict.fromkeys((*_models(_output_dir(context)), *limits.DEMO_MODELS))
    return [CompletionItem(model) for model in models if model.startswith(begun)]


@_silent
def complete_openclaw(_context: Context, _parameter: Parameter, begun: str) -> Items:
    """Complete an OpenClaw: a release that is installed, or the path of a program."""
    if "/" in begun or begun.startswith((".", "~")):
        return _as_paths(begun)
    from pinchbench.openclaw.install import installed  # noqa: PLC0415 - the other completions must not wait for it

    return [CompletionItem(one.version) for one in installed() if one.version.startswith(begun)]


def _as_paths(begun: str) -> Items:
    return [CompletionItem(begun, type="file")]


def _output_dir(context: Context) -> Path:
    return Path(context.params.get("output_dir") or limits.DEFAULT_OUTPUT_DIR)


def _tasks_dir(context: Context) -> Path:
    given = context.params.get("tasks_dir")
    if given:
        return Path(given)
    from pinchbench.suite.bundled import bundled_tasks_dir  # noqa: PLC0415 - as above

    return bundled_tasks_dir()


def _runs(output_dir: Path) -> list[str]:
    """The names of what looks like a run, newest first."""
    with os.scandir(output_dir) as entries:
        names = [entry.name for entry in entries if RUN.fullmatch(entry.name) and entry.is_dir()]
    return sorted(names, key=lambda name: (_parts(name)[1], name), reverse=True)


def _parts(name: str) -> tuple[str, str]:
    slug, _, run_id = name.rpartition("_")
    return slug, run_id


def _models(output_dir: Path) -> Iterator[str]:
    """The models of the runs: a run's name tells no more than their slugs, so one run.json of each is read."""
    newest: dict[str, str] = {}
    try:
        for name in _runs(output_dir):
            newest.setdefault(_parts(name)[0], name)
    except OSError:
        return
    for name in list(newest.values())[:MAX_MODELS]:
        try:
            with (output_dir / name / "run.json").open("rb") as file:
                model = json.loads(file.read(MAX_JSON_BYTES))["config"]["model"]
        except (OSError, ValueError, LookupError, TypeError):
            continue
        if isinstance(model, str):
            yield model


def _tasks(context: Context) -> list[tuple[str, str]]:
    """The tasks of the suite in use: their ids, and the categories that their heads name."""
    return sorted(filter(None, map(_head, _task_files(_tasks_dir(context)))))


def _task_files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.iterdir() if path.suffix.lower() == ".md" and path.stem.lower() != "readme")


def _head(path: Path) -> tuple[str, str] | None:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    head = text.split("\n---", 1)[0] if text.startswith("---") else ""
    told = {key: value.strip() for key, value in TASK_KEY.findall(head)}
    task_id = told.get("id") or (path.stem if path.name.startswith("task_") else "")
    return (task_id, told.get("category", "")) if task_id else None


def _manifest_categories(folder: Path) -> list[str]:
    """The categories that a manifest gives the tasks, as far as they stand on lines of their own."""
    try:
        with (folder / "manifest.yaml").open("rb") as file:
            text = file.read(MAX_JSON_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    _, _, after = text.rpartition("\ncategories:")
    block = re.split(r"^\S", after, maxsplit=1, flags=re.MULTILINE)[0]
    return [name.strip() for name in MANIFEST_CATEGORY.findall(block)]
