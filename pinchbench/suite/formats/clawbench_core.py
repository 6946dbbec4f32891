"""openclaw/clawbench Core: a YAML file for each task of a manifest, with packs of files; its completion is scored."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pinchbench.defaults import SuiteFormat
from pinchbench.model.task import GradingType, ScoreRule, Task, WorkspaceFile
from pinchbench.suite.fixtures import relative_path
from pinchbench.suite.formats.core_completion import programs_of, read_completion
from pinchbench.suite.formats.core_world import read_services, read_turns
from pinchbench.suite.parse import MAX_TIMEOUT_S, id_problem
from pinchbench.suite.reading import (
    CHECK_ALONE,
    BrokenTaskError,
    FieldReader,
    ReadTasks,
    decoded,
    read_bounded,
    yaml_root,
)
from pinchbench.suite.solution import ANY_SCORE, load_solution
from pinchbench.suite.yaml_nodes import setup_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pinchbench.model.task import LoadedSuite, Suite, TaskProblem
    from pinchbench.suite.solution import Solution
    from pinchbench.suite.yaml_nodes import YamlNode

RULE = ScoreRule(
    text="clawbench Core, completion alone (C): the share of a task's assertions on files and commands that hold. It"
    " is not the suite's own score, of which C is 4/9; the rest are rules on tool calls (trajectory) and on wording"
    " (behavior)"
)
MANIFEST, ASSETS = "MANIFEST.yaml", "assets"
DEFAULT_TIMEOUT_S = 180
# What makes a trial, and what other parts of the suite's own score are made of. All other keys describe a task.
PARTS = ("setup", "user", "phases", "completion")
UNSCORED = ("trajectory", "behavior", "judge")
_SETUP = {
    "asset_packs": "",
    "background_services": "",
    "workspace_files": "it lists files of the workspace, which only the suite's runner knows where to find",
    "memory_seed": "it needs entries in the gateway's memory",
    "config_overrides": "it needs settings of OpenClaw",
    "pre_check_gateway": "it asks the gateway before the agent starts",
}


def recognises(folder: Path) -> bool:
    """Return whether there is a manifest next to folders of tiers. Blocks. Raises OSError."""
    return (folder / MANIFEST).is_file() and any(folder.glob("tier*/*.yaml"))


def read(folder: Path) -> LoadedSuite:
    """Read the tasks that the manifest names. Blocks. Raises OSError if the folder can't be listed."""
    found = ReadTasks()
    listed: set[Path] = set()
    for task_id, path, line in _listed(folder, found.problems):
        listed.add(path)
        found.add(partial(_TaskReader(folder, path).read, task_id), folder / MANIFEST, line)
    others = sorted(path.stem for path in folder.glob("tier*/*.yaml") if path not in listed)
    note = f"Not in {MANIFEST}, and so not read: {', '.join(others)}." if others else ""
    return found.suite(folder, SuiteFormat.CLAWBENCH_CORE, note)


def solution(suite: Suite, task: Task) -> Solution | None:
    """Return the solution that a user has put into `solutions`: the format has none. Blocks. Raises SuiteError."""
    solution = load_solution(suite.root, task.task_id)
    # some assertions hold before the agent has done anything
    return None if solution is None else replace(solution, idle_check=ANY_SCORE)


def _listed(folder: Path, problems: list[TaskProblem]) -> Iterator[tuple[str, Path, int]]:
    """Yield the id of each task of the manifest, its file, and the manifest's line."""
    reader = FieldReader(path=folder / MANIFEST, problems=problems)
    try:
        root = _root(folder / MANIFEST)
    except BrokenTaskError as error:
        problems.extend(error.problems)
        return
    entries = reader.items(root.fields or {}, "tasks")
    if not entries:
        reader.problem(root, "it lists no `tasks`")
    for entry in entries:
        fields = entry.fields or {}
        task_id, place = reader.text(fields, "id"), reader.text(fields, "path")
        try:
            path = folder / relative_path(place)
        except ValueError as error:
            reader.problem(entry, f"the `path` of a task {error}")
            continue
        if path.is_file():
            yield task_id, path, entry.line
        else:
            reader.problem(entry, f"the task {task_id!r} is missing: there is no file {place}")


def _root(path: Path) -> YamlNode:
    return yaml_root(decoded(read_bounded(path), path), path)


class _TaskReader:
    """Reads one task's file and collects all its problems."""

    def __init__(self, folder: Path, path: Path) -> None:
        self._folder = folder
        self._fields = FieldReader(path=path)

    def read(self, listed_id: str) -> Task:
        """Return the task that the manifest lists by this id. Raises BrokenTaskError."""
        fields, path = self._fields, self._fields.path
        root = _root(path)
        top = {key: node for key, node in (root.fields or {}).items() if not node.is_null}
        asked = {*setup_keys({key: node.value for key, node in top.items()}, (*PARTS, *UNSCORED))}
        for key, node in top.items():
            if (node.fields is not None or key in asked) and key not in (*PARTS, *UNSCORED):
                fields.problem(node, f"`{key[:80]}` is not known")
        task_id = fields.text(top, "id")
        if reason := id_problem(task_id):
            fields.problem(top.get("id", root), reason)
        elif task_id != listed_id:
            fields.problem(top["id"], f"`id` is {task_id!r}, but {listed_id!r} in {MANIFEST}")
        setup = self._setup(top)
        packs = self._packs(setup)
        services, marks = read_services(fields, setup)
        turns = read_turns(fields, top, root, marks)
        assets = {str(one.relative_to(pack)): one for pack in packs for one in sorted(pack.rglob("*")) if one.is_file()}
        capabilities = fields.texts(top, "capabilities")
        verifier, needs = read_completion(fields, top, root, assets, writes_tests="test_authoring" in capabilities)
        programs = sorted({program for one in services for program in programs_of(one.command[-1])})
        timeout_s = fields.whole(top, "timeout_seconds", DEFAULT_TIMEOUT_S, low=1, high=int(MAX_TIMEOUT_S))
        name, family = fields.text(top, "name"), fields.text(top, "family")
        tier = fields.text(top, "tier")
        own = hashlib.sha256(read_bounded(path)).digest()
        digest = fields.digest((("", pack.resolve()) for pack in packs), own=own)
        fields.refuse()
        return Task(
            task_id=task_id,
            name=name or task_id,
            category=family or tier or "uncategorized",
            grading_type=GradingType.AUTOMATED,
            prompt="\n\n".join(turn.prompt for turn in turns),
            turns=turns,
            timeout_s=float(timeout_s),
            workspace_files=tuple(
                WorkspaceFile(dest=one.name, source=one) for pack in packs for one in sorted(pack.iterdir())
            ),
            grading_weights=CHECK_ALONE,
            prerequisites=tuple(dict.fromkeys((*needs, *(f"cli:{one}" for one in programs)))),
            frontmatter={key: node.value for key, node in top.items() if key not in (*PARTS, *UNSCORED)},
            path=path,
            digest=digest,
            rule=RULE,
            verifier=verifier,
            check_files=tuple(WorkspaceFile(dest=place, source=assets[place]) for place in verifier.kept),
            services=services,
        )

    def _setup(self, top: Mapping[str, YamlNode]) -> Mapping[str, YamlNode]:
        """Return the values of a set-up; what it may need apart from packs and services is a problem."""
        if (node := top.get("setup")) is None:
            return {}
        setup = self._fields.mapping(node, "`setup`", known=_SETUP)
        for key, value in setup.items():
            if _SETUP[key] and value.value not in ([], {}, ""):
                self._fields.problem(value, _SETUP[key])
        return setup

    def _packs(self, setup: Mapping[str, YamlNode]) -> list[Path]:
        """Return the folders of the packs."""
        found = []
        for item in self._fields.items(setup, "asset_packs"):
            try:
                pack = self._folder / ASSETS / relative_path(item.text or "")
            except ValueError as error:
                self._fields.problem(item, f"the name of a pack {error}")
                continue
            if pack.is_dir():
                found.append(pack)
            else:
                self._fields.problem(item, f"the pack {item.text!r} is missing: there is no folder {pack}")
        return found
