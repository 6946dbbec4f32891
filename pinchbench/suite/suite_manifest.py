"""`manifest.yaml`: the tasks of a suite, their order, core and categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.suite.reading import TaskProblem
from pinchbench.suite.yaml_nodes import YamlNode, YamlTextError, misspelt, read_yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


KEYS = ("tasks", "run_first", "core", "categories")


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The order, the core and the categories of a suite; `categories` maps task ids to category names.

    `listed` holds the ids of all tasks that it names, or None if it lists no tasks. `name` is the file's name.
    """

    name: str = ""

    run_first: tuple[str, ...] = ()
    core: tuple[str, ...] = ()
    categories: Mapping[str, str] = field(default_factory=dict)
    listed: frozenset[str] | None = None
    problems: tuple[TaskProblem, ...] = ()


def parse_manifest(text: str, *, path: Path, known: Mapping[str, str]) -> Manifest:
    """Read a manifest: `tasks` (a list, or lists by category), `categories`, `run_first` and `core`.

    `known` maps the names by which a task may be listed, its id or its file's name, to its id. Unknown names are
    reported as problems. Other keys are ignored unless they look misspelt. A task named in two categories keeps the
    first.
    """
    return _ManifestReader(path=path, known=known).read(text)


class _ManifestReader:
    """Reads one manifest and collects its problems."""

    def __init__(self, *, path: Path, known: Mapping[str, str]) -> None:
        self._path = path
        self._known = known
        self._problems: list[TaskProblem] = []

    def read(self, text: str) -> Manifest:
        try:
            root = read_yaml(text.removeprefix("\ufeff"))
        except YamlTextError as error:
            return Manifest(problems=(TaskProblem(path=self._path, line=error.line, reason=error.reason),))
        if root is None or root.is_null:
            return Manifest()
        if root.fields is None:
            self._problem(root, "the manifest must hold `key: value` lines")
            return Manifest(problems=tuple(self._problems))
        for key, meant in misspelt(root.fields, known=KEYS):
            self._problem(root.fields[key], f"`{key}` is not a key of a manifest: did you mean `{meant}`?")
        run_first = self._ids("run_first", root.fields.get("run_first"))
        core = self._ids("core", root.fields.get("core"))
        tasks = root.fields.get("tasks")
        flat: Collection[str] = ()
        categories: dict[str, str] = {}
        if tasks is not None and tasks.fields is not None:
            categories = self._categories("tasks", tasks)
        elif tasks is not None:
            flat = self._ids("tasks", tasks)
        categories |= self._categories("categories", root.fields.get("categories"))
        named = {*flat, *categories}
        listed = frozenset({*run_first, *core, *named}) if named else None
        return Manifest(
            name=self._path.name,
            run_first=run_first,
            core=core,
            categories=categories,
            listed=listed,
            problems=tuple(self._problems),
        )

    def _problem(self, node: YamlNode, reason: str) -> None:
        self._problems.append(TaskProblem(path=self._path, line=node.line, reason=reason))

    def _ids(self, key: str, node: YamlNode | None) -> tuple[str, ...]:
        if node is None or node.is_null:
            return ()
        if node.items is None:
            self._problem(node, f"`{key}` must be a list of task ids")
            return ()
        ids: dict[str, None] = {}
        for item in node.items:
            named = item.fields.get("id") if item.fields is not None else item
            if named is None or named.text is None:
                self._problem(item, f"`{key}` must hold task ids only")
            elif (task_id := self._known.get(named.text)) is not None:
                ids[task_id] = None
            else:
                near = misspelt([named.text], known=self._known)
                hint = f": did you mean {near[0][1]!r}?" if near else ""
                self._problem(named, f"`{key}` names the task {named.text!r}, which does not exist{hint}")
        return tuple(ids)

    def _categories(self, key: str, node: YamlNode | None) -> dict[str, str]:
        if node is None or node.is_null:
            return {}
        if node.fields is None:
            self._problem(node, f"`{key}` must map names to lists of task ids")
            return {}
        categories: dict[str, str] = {}
        for name, child in node.fields.items():
            for task_id in self._ids(f"{key}.{name}", child):
                categories.setdefault(task_id, name)
        return categories
