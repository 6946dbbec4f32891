"""`manifest.yaml`: the tasks of a suite, their order, core and categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.suite.reading import BrokenTaskError, FieldReader, yaml_root
from pinchbench.suite.yaml_nodes import YamlNode, misspelt

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.model.task import TaskProblem


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
    reader = _ManifestReader(fields=FieldReader(path=path), known=known)
    try:
        return reader.read(yaml_root(text, path, what="the manifest", or_nothing=True).fields or {})
    except BrokenTaskError as error:
        return Manifest(problems=error.problems)


@dataclass(frozen=True, kw_only=True, slots=True)
class _ManifestReader:
    """Reads one manifest and collects its problems."""

    fields: FieldReader
    known: Mapping[str, str]

    def read(self, given: Mapping[str, YamlNode]) -> Manifest:
        for key, meant in misspelt(given, known=KEYS):
            self.fields.problem(given[key], f"`{key}` is not a key of a manifest: did you mean `{meant}`?")
        top = {key: node for key, node in given.items() if not node.is_null}
        run_first, core = (self._ids(key, top.get(key)) for key in ("run_first", "core"))
        tasks = top.get("tasks")
        by_category = tasks is not None and tasks.fields is not None
        flat = () if by_category else self._ids("tasks", tasks)
        categories = self._categories("tasks", tasks if by_category else None)
        categories |= self._categories("categories", top.get("categories"))
        named = {*flat, *categories}
        return Manifest(
            name=self.fields.path.name,
            run_first=run_first,
            core=core,
            categories=categories,
            listed=frozenset({*run_first, *core, *named}) if named else None,
            problems=tuple(self.fields.problems),
        )

    def _ids(self, key: str, node: YamlNode | None) -> tuple[str, ...]:
        if node is None or node.is_null:
            return ()
        if node.items is None:
            self.fields.problem(node, f"`{key}` must be a list of task ids")
        ids: dict[str, None] = {}
        for item in node.items or ():
            named = item.fields.get("id") if item.fields is not None else item
            if named is None or named.text is None:
                self.fields.problem(item, f"`{key}` must hold task ids only")
            elif (task_id := self.known.get(named.text)) is not None:
                ids[task_id] = None
            else:
                near = misspelt([named.text], known=self.known)
                hint = f": did you mean {near[0][1]!r}?" if near else ""
                self.fields.problem(named, f"`{key}` names the task {named.text!r}, which does not exist{hint}")
        return tuple(ids)

    def _categories(self, key: str, node: YamlNode | None) -> dict[str, str]:
        if node is not None and node.fields is None:
            self.fields.problem(node, f"`{key}` must map names to lists of task ids")
        categories: dict[str, str] = {}
        for name, child in ({} if node is None else node.fields or {}).items():
            for task_id in self._ids(f"{key}.{name}", child):
                categories.setdefault(task_id, name)
        return categories
