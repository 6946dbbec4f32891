"""`manifest.yaml`: what a suite says about its tasks as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.suite.parse import TaskProblem
from pinchbench.suite.yaml_nodes import YamlNode, YamlTextError, read_yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The order, the core and the categories of a suite; `categories` maps ids to names."""

    run_first: tuple[str, ...] = ()
    core: tuple[str, ...] = ()
    categories: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[TaskProblem, ...] = ()


def parse_manifest(text: str, *, path: Path, known: Collection[str], broken: Collection[str] = ()) -> Manifest:
    """Read a manifest. Keys other than `run_first`, `core` and `categories` are ignored.

    `known` are the ids of the suite. Ids outside it are left out and become problems, save those in
    `broken`: their files have problems of their own already. A task named in two categories keeps the first.
    """
    reader = _ManifestReader(path=path, known=known, broken=broken)
    return reader.read(text)


class _ManifestReader:
    """Reads one manifest and notes its problems on the way."""

    def __init__(self, *, path: Path, known: Collection[str], broken: Collection[str]) -> None:
        self._path = path
        self._known = known
        self._broken = broken
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
        return Manifest(
            run_first=self._ids("run_first", root.fields.get("run_first")),
            core=self._ids("core", root.fields.get("core")),
            categories=self._categories(root.fields.get("categories")),
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
            if item.text is None:
                self._problem(item, f"`{key}` must hold task ids only")
            elif item.text in self._known:
                ids[item.text] = None
            elif item.text not in self._broken:
                self._problem(item, f"`{key}` names the task {item.text!r}, which does not exist")
        return tuple(ids)

    def _categories(self, node: YamlNode | None) -> dict[str, str]:
        if node is None or node.is_null:
            return {}
        if node.fields is None:
            self._problem(node, "`categories` must map names to lists of task ids")
            return {}
        categories: dict[str, str] = {}
        for name, child in node.fields.items():
            for task_id in self._ids(f"categories.{name}", child):
                categories.setdefault(task_id, name)
        return categories
