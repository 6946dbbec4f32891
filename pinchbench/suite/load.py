"""Reading a folder of task files into a suite."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pinchbench.errors import SuiteError
from pinchbench.model import Suite, Task, WorkspaceFile
from pinchbench.suite.bundled import bundled_tasks_dir
from pinchbench.suite.fixtures import FixtureError, FixtureFolders, fixture_hash
from pinchbench.suite.manifest import Manifest, parse_manifest
from pinchbench.suite.parse import BrokenTaskError, ParsedTask, TaskProblem, head_id, parse_task
from pinchbench.suite.template import is_template

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

__all__ = ["LoadedSuite", "bundled_tasks_dir", "load_suite", "problem_list", "read_suite"]

# Far larger than any real task, and small enough to read at once.
MAX_TASK_FILE_BYTES = 4 * 1024 * 1024
MANIFESTS = ("manifest.yaml", "manifest.yml")
NAMED_FILES = 10  # listed by name in a note


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedSuite:
    """A suite, the problems of excluded files, and a note about task files that are not among its tasks.

    `note` is empty if every task file is a task.
    """

    suite: Suite
    problems: tuple[TaskProblem, ...] = ()
    note: str = ""


def load_suite(root: Path, *, skip_broken: bool = False) -> LoadedSuite:
    """Read a suite as `read_suite` does, and check that it can be used.

    Raises:
        SuiteError: the folder is missing, unreadable or without tasks; a file is broken and `skip_broken` is not set;
            or all of them are broken.
    """
    loaded = read_suite(root)
    if not (loaded.suite.by_id or loaded.problems):
        raise SuiteError(f"The tasks folder {root} holds no task files. A task is a file such as {root}/task_hello.md.")
    if loaded.problems and not (skip_broken and loaded.suite.by_id):
        advice = (
            "--skip-broken leaves them out and runs the rest."
            if loaded.suite.by_id
            else "No task is left to run without them, so --skip-broken does not help."
        )
        raise SuiteError(f"{problem_list(root, loaded.problems)}\n{advice}")
    return loaded


def read_suite(root: Path) -> LoadedSuite:
    """Read the tasks and the manifest of a folder, not of its subfolders; broken files become problems.

    Task files are every `task_*.md`, every other `*.md` whose head has an id, and the files that the manifest names.
    The suite's tasks are those that the manifest lists; if it lists none, all except templates. Raises SuiteError if
    the folder can't be read.
    """
    try:
        if not root.is_dir():
            raise SuiteError(f"The tasks folder {root} does not exist. Name one that does with --tasks-dir.")
        return _SuiteLoader(root).load()
    except OSError as error:
        raise SuiteError(f"The tasks folder {root} can't be read: {error.strerror}.") from error


def problem_list(root: Path, problems: Sequence[TaskProblem]) -> str:
    """Return all problems of a folder as text, one per line."""
    listed = "\n".join(map(str, problems))
    return f"The tasks folder {root} has problems:\n{listed}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _TaskFile:
    """A file that may hold a task; `key` is the id that its head appears to have, else its name without `.md`."""

    path: Path
    key: str
    data: bytes = b""
    text: str = ""
    problems: tuple[TaskProblem, ...] = ()
    has_id: bool = False

    @property
    def is_task_file(self) -> bool:
        return self.has_id or self.path.name.startswith("task_")


class _SuiteLoader:
    """Loads one folder and collects the problems of all its files."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders = FixtureFolders.of(root)
        self._problems: list[TaskProblem] = []
        self._tasks: dict[str, Task] = {}

    def load(self) -> LoadedSuite:
        files = [_read_file(path) for path in self._markdown_files()]
        manifest = self._manifest(files)
        listed = manifest.listed
        named = frozenset({*(listed or ()), *manifest.run_first, *manifest.core})
        files = [file for file in files if file.is_task_file or file.key in named]
        ids: dict[str, str] = {}  # task ids by file key
        others: list[Task] = []
        aside: list[str] = []
        # other files come last, so that none of them can claim a task's id
        for file in sorted(files, key=lambda file: (not _is_task(file, listed), file.path)):
            try:
                task = self._load_file(file)
            except BrokenTaskError as error:
                if _is_task(file, listed):
                    self._problems.extend(error.problems)
                else:
                    aside.append(f"{file.path.name} (can't be used: {error.problems[0].reason})")
                continue
            if _is_task(file, listed):
                ids[file.key] = task.task_id
                category = manifest.categories.get(file.key, task.category)
                self._tasks[task.task_id] = replace(task, category=category)
            else:
                others.append(task)
                aside.append(f"{file.path.name} ({task.task_id})")
        suite = Suite(
            root=self._root,
            tasks=tuple(sorted(self._tasks.values(), key=lambda task: task.task_id)),
            unlisted=tuple(sorted(others, key=lambda task: task.task_id)),
            run_first=tuple(ids[key] for key in manifest.run_first if key in ids),
            core=tuple(ids[key] for key in manifest.core if key in ids),
        )
        return LoadedSuite(
            suite=suite,
            problems=(*self._problems, *manifest.problems),
            note=_note(aside, manifest.name if listed is not None else ""),
        )

    def _markdown_files(self) -> list[Path]:
        names = sorted(path for path in self._root.iterdir() if path.suffix.lower() == ".md")
        # A dangling link stays in the list: opening it reports a problem.
        return [path for path in names if path.stem.lower() != "readme" and (path.is_file() or not path.exists())]

    def _load_file(self, file: _TaskFile) -> Task:
        if file.problems:
            raise BrokenTaskError(file.problems)
        parsed = parse_task(file.text, path=file.path)
        task = self._with_fixtures(parsed, file.data)
        # Ids become folder names, and on some systems `Task_a` and `task_a` are the same folder.
        twin = next((other for other in self._tasks.values() if other.task_id.lower() == task.task_id.lower()), None)
        if twin is not None:
            reason = f"the id {task.task_id!r} is already taken by {twin.path}"
            raise BrokenTaskError([TaskProblem(path=file.path, line=parsed.id_line, reason=reason)])
        return task

    def _with_fixtures(self, parsed: ParsedTask, data: bytes) -> Task:
        """Return the task with its sources resolved and its digest set."""
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

    def _manifest(self, files: Sequence[_TaskFile]) -> Manifest:
        path = next((one for name in MANIFESTS if (one := self._root / name).is_file()), None)
        if path is None:
            return Manifest()
        try:
            text = _decoded(_read_bounded(path), path)
        except BrokenTaskError as error:
            return Manifest(problems=error.problems)
        # an id takes precedence over the name of another file
        known = {file.path.name: file.key for file in files} | {file.path.stem: file.key for file in files}
        known |= {file.key: file.key for file in files}
        return parse_manifest(text, path=path, known=known)


def _read_file(path: Path) -> _TaskFile:
    try:
        data = _read_bounded(path)
        text = _decoded(data, path)
    except BrokenTaskError as error:
        return _TaskFile(path=path, key=path.stem, problems=error.problems)
    task_id = head_id(text)
    return _TaskFile(path=path, key=task_id or path.stem, data=data, text=text, has_id=task_id is not None)


def _is_task(file: _TaskFile, listed: Collection[str] | None) -> bool:
    """Return whether a file is a task of the suite: one of those `listed`, or if that is None, any but a template."""
    return file.key in listed if listed is not None else not is_template(file.path.stem, file.key)


def _note(files: Sequence[str], manifest: str) -> str:
    """Return a sentence that lists files which are not tasks.

    `manifest` is the name of the manifest if it lists the tasks, else empty.
    """
    if not files:
        return ""
    more = len(files) - NAMED_FILES
    named = ", ".join(files[:NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
    number = "1 file" if len(files) == 1 else f"{len(files)} files"
    why = f"{manifest} does not list {number}" if manifest else f"{number} can only be meant as a template"
    return f"{why}: {named}. Not run unless --suite names the task's id."


def _blocked(files: list[WorkspaceFile]) -> list[tuple[str, str]]:
    """Return pairs (path, the file above it): a path below a file can't be written."""
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
