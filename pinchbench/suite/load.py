"""A folder of task files, in; a suite, out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pinchbench.errors import SuiteError
from pinchbench.model import Suite, Task, WorkspaceFile
from pinchbench.suite.bundled import bundled_tasks_dir
from pinchbench.suite.fixtures import FixtureError, FixtureFolders, fixture_hash
from pinchbench.suite.manifest import Manifest, parse_manifest
from pinchbench.suite.parse import BrokenTaskError, ParsedTask, TaskProblem, head_id, is_template_id, parse_task

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LoadedSuite", "bundled_tasks_dir", "load_suite"]

# Far above any task worth reading, and small enough to read at once.
MAX_TASK_FILE_BYTES = 4 * 1024 * 1024
MANIFEST = "manifest.yaml"


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedSuite:
    """A suite, and the problems of the files that were left out of it."""

    suite: Suite
    problems: tuple[TaskProblem, ...] = ()


def load_suite(root: Path, *, skip_broken: bool = False) -> LoadedSuite:
    """Read the tasks of a folder and its manifest; folders below it hold no tasks.

    A task is every `task_*.md`, and every other `*.md` whose head has an id; README.md and templates
    (`task_XX_name`) are none.

    Raises:
        SuiteError: the folder is missing, unreadable or without tasks; a file is broken and `skip_broken` is not
            set; or all of them are broken.
    """
    try:
        if not root.is_dir():
            raise SuiteError(f"The tasks folder {root} does not exist. Name one that does with --tasks-dir.")
        loaded = _SuiteLoader(root).load()
    except OSError as error:
        raise SuiteError(f"The tasks folder {root} can't be read: {error.strerror}.") from error
    if not loaded.suite.tasks and not loaded.problems:
        raise SuiteError(f"The tasks folder {root} holds no task files. A task is a file such as {root}/task_hello.md.")
    if loaded.problems and not (skip_broken and loaded.suite.tasks):
        listed = "\n".join(map(str, loaded.problems))
        advice = (
            "--skip-broken leaves them out and runs the rest."
            if loaded.suite.tasks
            else "No task is left to run without them, so --skip-broken does not help."
        )
        raise SuiteError(f"The tasks folder {root} has problems:\n{listed}\n{advice}")
    return loaded


class _SuiteLoader:
    """Loads one folder and gathers the problems of all its files."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders = FixtureFolders.of(root)
        self._problems: list[TaskProblem] = []
        self._tasks: dict[str, Task] = {}
        self._broken: set[str] = set()

    def load(self) -> LoadedSuite:
        for path in self._markdown_files():
            try:
                self._load_file(path)
            except BrokenTaskError as error:
                self._problems.extend(error.problems)
                self._broken.add(path.stem)
        manifest = self._manifest()
        tasks = (
            replace(task, category=manifest.categories.get(key, task.category)) for key, task in self._tasks.items()
        )
        suite = Suite(
            root=self._root,
            tasks=tuple(sorted(tasks, key=lambda task: task.task_id)),
            run_first=manifest.run_first,
            core=manifest.core,
        )
        return LoadedSuite(suite=suite, problems=(*self._problems, *manifest.problems))

    def _markdown_files(self) -> list[Path]:
        names = sorted(path for path in self._root.iterdir() if path.suffix.lower() == ".md")
        # A dangling link stays in the list: opening it gives a problem instead of silence.
        return [path for path in names if path.stem.lower() != "readme" and (path.is_file() or not path.exists())]

    def _load_file(self, path: Path) -> None:
        is_named_task = path.name.startswith("task_")
        try:
            data = _read_bounded(path)
            text = _decoded(data, path)
        except BrokenTaskError:
            # A file that can't be read and is not named like a task may be anything.
            if is_named_task:
                raise
            return
        task_id = head_id(text)
        if (task_id is None and not is_named_task) or (task_id is not None and is_template_id(task_id)):
            return
        if task_id:
            self._broken.add(task_id)
        parsed = parse_task(text, path=path)
        task = self._with_fixtures(parsed, data)
        # Ids become folder names, and some systems take `Task_a` and `task_a` for one folder.
        twin = next((other for other in self._tasks.values() if other.task_id.lower() == task.task_id.lower()), None)
        if twin is not None:
            reason = f"the id {task.task_id!r} is already taken by {twin.path}"
            raise BrokenTaskError([TaskProblem(path=path, line=parsed.id_line, reason=reason)])
        self._tasks[task.task_id] = task

    def _with_fixtures(self, parsed: ParsedTask, data: bytes) -> Task:
        """Resolve the task's sources and give it its digest."""
        task = parsed.task
        path = task.path or self._root
        digest = hashlib.sha256(hashlib.sha256(data).digest())
        files: list[WorkspaceFile] = []
        problems: list[TaskProblem] = []
        for file, line in zip(task.workspace_files, parsed.dest_lines, strict=True):
            try:
                resolved, content_hash = self._resolved(file)
            except FixtureError as error:
                problems.append(TaskProblem(path=path, line=line, reason=str(error)))
                continue
            files.append(resolved)
            digest.update(hashlib.sha256(file.dest.encode("utf-8")).digest() + content_hash)
        lines = dict(zip((file.dest for file in task.workspace_files), parsed.dest_lines, strict=True))
        for inner, outer in _blocked(files):
            reason = f"{outer!r} is a file, so {inner!r} can't be placed inside it"
            problems.append(TaskProblem(path=path, line=lines[inner], reason=reason))
        if problems:
            raise BrokenTaskError(problems)
        return replace(task, workspace_files=tuple(files), digest=digest.hexdigest())

    def _resolved(self, file: WorkspaceFile) -> tuple[WorkspaceFile, bytes]:
        if file.source is None:
            return file, hashlib.sha256((file.content or "").encode("utf-8")).digest()
        source = self._folders.resolve(file.source)
        return replace(file, source=source), fixture_hash(source)

    def _manifest(self) -> Manifest:
        path = self._root / MANIFEST
        if not path.is_file():
            return Manifest()
        try:
            text = _decoded(_read_bounded(path), path)
        except BrokenTaskError as error:
            return Manifest(problems=error.problems)
        return parse_manifest(text, path=path, known=self._tasks, broken=self._broken)


def _blocked(files: list[WorkspaceFile]) -> list[tuple[str, str]]:
    """Return pairs (place, file above it): a place below a file can't be written."""
    plain = {file.dest for file in files if file.source is None or not file.source.is_dir()}
    pairs: list[tuple[str, str]] = []
    for file in files:
        parts = file.dest.split("/")
        above = ("/".join(parts[:count]) for count in range(1, len(parts)))
        pairs.extend((file.dest, outer) for outer in above if outer in plain)
    return pairs


def _read_bounded(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TASK_FILE_BYTES + 1)
    except OSError as error:
        reason = f"the file can't be read: {error.strerror}"
        raise BrokenTaskError([TaskProblem(path=path, line=1, reason=reason)]) from error
    if len(data) > MAX_TASK_FILE_BYTES:
        reason = f"the file is larger than {MAX_TASK_FILE_BYTES // 1024**2} MiB"
        raise BrokenTaskError([TaskProblem(path=path, line=1, reason=reason)])
    return data


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrokenTaskError([TaskProblem(path=path, line=line, reason="the file is not UTF-8 text")]) from error
