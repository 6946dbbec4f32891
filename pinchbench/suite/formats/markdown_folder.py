"""PinchBench's own format: a folder of Markdown task files, each for itself or in a folder of its own."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pinchbench.model.task import PINCHBENCH_RULE, LoadedSuite, Suite, Task, TaskProblem, WorkspaceFile
from pinchbench.suite.check_code import module_text, needed_modules, own_modules
from pinchbench.suite.fixtures import FixtureError, FixtureFolders, fixture_hash, refuse_unkept
from pinchbench.suite.parse import ParsedTask, head_id, parse_task
from pinchbench.suite.reading import PINCHBENCH, BrokenTaskError, FieldReader, TaskDialect, decoded, read_bounded
from pinchbench.suite.suite_manifest import Manifest, parse_manifest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from pinchbench.model.task_programs import Service


_TEMPLATE_ID = re.compile(r"(?:^|_)XX(?:_|$)")
_WORD = re.compile(r"[a-z]+")


def is_template(stem: str, task_id: str) -> bool:
    """Return whether a file is a template: its id says so, or its name does and differs from its id.

    `stem` is the file's name without `.md`. `TASK_TEMPLATE` and `task0_template` are always templates, whatever their
    id; `task_12_email_template` with the same id is a task about a template.
    """
    words = set(_WORD.findall(stem.lower()))
    is_named_so = "template" in words and (words <= {"task", "template"} or task_id != stem)
    return is_named_so or is_template_id(task_id)


def is_template_id(task_id: str) -> bool:
    """Return whether an id such as `task_XX_name` marks a file as a template."""
    return _TEMPLATE_ID.search(task_id) is not None


MANIFESTS = ("manifest.yaml", "manifest.yml")
TASK_FILE, FILES = "task.md", "files"  # in the folder of a task
SCRIPTS = "scripts"  # next to the tasks or their folder: PinchBench's runner is there, and so are modules for checks
# PinchBench's own suite has flat files, of which its runner says so; here, a check that raises is a fault of the task.
FLAT_RULE = replace(
    PINCHBENCH_RULE,
    text=f"{PINCHBENCH_RULE.text}; a check that raises an exception, or returns no number, is a score of 0",
    failed_is_zero=True,
)
NAMED_FILES = 10  # listed by name in a note


def read(root: Path, dialect: TaskDialect = PINCHBENCH) -> LoadedSuite:
    """Read the tasks and the manifest of a folder; broken files become problems.

    A task is a file `<name>.md`, or a folder `<id>` that holds it as `task.md` and its fixtures in `files`. Task files
    are those named `task_*`, all others whose head has an id, and those that the manifest names. The suite's tasks are
    those that the manifest lists; if it lists none, all except templates. Blocks. Raises OSError if the folder can't be
    listed.
    """
    return _FolderReader(root, dialect).load()


@dataclass(frozen=True, kw_only=True, slots=True)
class _TaskFile:
    """A file that may hold a task; `key` is the id that its head appears to have, else its name.

    `folder` is set if the task has a folder of its own.
    """

    path: Path
    name: str
    key: str
    folder: Path | None = None
    data: bytes = b""
    text: str = ""
    problems: tuple[TaskProblem, ...] = ()
    has_id: bool = False

    @property
    def is_task_file(self) -> bool:
        return self.has_id or self.name.startswith("task_")

    @property
    def shown_name(self) -> str:
        return self.path.name if self.folder is None else f"{self.name}/{self.path.name}"


class _FolderReader:
    """Reads one folder and collects the problems of all its files."""

    def __init__(self, root: Path, dialect: TaskDialect) -> None:
        self._root = root
        self._dialect = dialect
        self._folders = FixtureFolders.of(root)
        self._problems: list[TaskProblem] = []
        self._tasks: dict[str, Task] = {}
        self._headings: list[str] = []  # where `##` is part of a prompt
        self._answers: list[str] = []  # where a section is for graders, and of no format

    def load(self) -> LoadedSuite:
        files = [_read_file(path, self._root) for path in self._task_files()]
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
                    aside.append(f"{file.shown_name} (can't be used: {error.problems[0].reason})")
                continue
            if _is_task(file, listed):
                ids[file.key] = task.task_id
                category = manifest.categories.get(file.key, task.category)
                self._tasks[task.task_id] = replace(task, category=category)
            else:
                others.append(task)
                aside.append(f"{file.shown_name} ({task.task_id})")
        suite = Suite(
            root=self._root,
            tasks=tuple(sorted(self._tasks.values(), key=lambda task: task.task_id)),
            unlisted=tuple(sorted(others, key=lambda task: task.task_id)),
            run_first=tuple(ids[key] for key in manifest.run_first if key in ids),
            core=tuple(ids[key] for key in manifest.core if key in ids),
            format=self._dialect.format,
        )
        return LoadedSuite(
            suite=suite,
            problems=(*self._problems, *manifest.problems),
            note=" ".join(filter(None, (_note(aside, manifest.name if listed is not None else ""), *self._notes()))),
        )

    def _notes(self) -> Iterator[str]:
        """Yield what other runners cut off from prompts, and what is not in them here either."""
        if self._headings:
            said = "A line with ## is part of the prompt, where other PinchBench runners cut it off"
            yield f"{said}: {_places(self._headings)}."
        if self._answers:
            yield f"Agents don't get sections that are for graders: {_places(self._answers)}."

    def _task_files(self) -> list[Path]:
        names = sorted(path for path in self._root.iterdir() if path.suffix.lower() == ".md")
        # A dangling link stays in the list: opening it reports a problem.
        flat = [path for path in names if path.stem.lower() != "readme" and (path.is_file() or not path.exists())]
        return [*flat, *sorted(self._root.glob(f"*/{TASK_FILE}"))]

    def _load_file(self, file: _TaskFile) -> Task:
        if file.problems:
            raise BrokenTaskError(file.problems)
        parsed = parse_task(file.text, path=file.path, dialect=self._dialect)
        if file.folder is not None and parsed.task.task_id != file.name:
            reason = f"the id {parsed.task.task_id!r} is not the name of the task's folder, {file.name!r}"
            raise BrokenTaskError.at(file.path, parsed.id_line, reason)
        if parsed.prompt_heading is not None and file.folder is None:
            self._headings.append(f"{file.shown_name}:{parsed.prompt_heading}")
        self._answers.extend(f"{file.shown_name}:{line}" for line in parsed.answers)
        try:
            task = self._with_fixtures(parsed, file)
        except FixtureError as error:  # of a module that the check imports
            raise BrokenTaskError.at(file.path, parsed.id_line, str(error)) from error
        if file.folder is None and task.rule is PINCHBENCH_RULE:
            task = replace(task, rule=FLAT_RULE)
        # Ids become folder names, and on some systems `Task_a` and `task_a` are the same folder.
        twin = next((other for other in self._tasks.values() if other.task_id.lower() == task.task_id.lower()), None)
        if twin is not None:
            raise BrokenTaskError.at(
                file.path, parsed.id_line, f"the id {task.task_id!r} is already taken by {twin.path}"
            )
        return task

    def _with_fixtures(self, parsed: ParsedTask, file: _TaskFile) -> Task:
        """Return the task with its sources resolved and its digest set."""
        task = parsed.task
        digest = hashlib.sha256(hashlib.sha256(file.data).digest())
        files: list[WorkspaceFile] = []
        services: list[Service] = []
        lines: dict[str, int] = {}
        found = FieldReader(path=file.path)
        folders = self._folders.of_task(task.task_id) if self._dialect.has_own_assets else self._folders
        if file.folder is not None:
            folders = folders.after(file.folder / FILES)
        for workspace_file, line in zip(task.workspace_files, parsed.dest_lines, strict=True):
            try:
                resolved, content_hash = _resolved(workspace_file, folders)
            except FixtureError as error:
                found.problem(line, str(error))
                continue
            files.append(resolved)
            lines[resolved.dest] = line
            digest.update(hashlib.sha256(resolved.dest.encode("utf-8")).digest() + content_hash)
        try:
            refuse_unkept(one.source for one in files if one.source is not None)
        except FixtureError as error:
            found.problem(min(lines.values()), str(error))
        for service, line in zip(task.services, parsed.service_lines, strict=True):
            try:
                served, content_hash = _served(service, folders)
            except FixtureError as error:
                found.problem(line, str(error))
                continue
            services.append(served)
            digest.update(content_hash)
        for inner, outer in _blocked(files):
            found.problem(lines[inner], f"{outer!r} is a file, so {inner!r} can't be placed inside it")
        found.refuse()
        task = replace(task, workspace_files=tuple(files), services=tuple(services))
        return self._with_modules(task, digest) if task.automated_checks else replace(task, digest=digest.hexdigest())

    def _with_modules(self, task: Task, digest: hashlib._Hash) -> Task:
        """Return the task with the modules that its check imports: the suite's own, and others as prerequisites."""
        code, root = task.automated_checks or "", self._root.resolve()
        inner, outer = root / SCRIPTS, root.parent / SCRIPTS
        folder = inner if (own := own_modules(code, inner)) else outer
        own = own or own_modules(code, outer)
        for path in own:
            name = hashlib.sha256(path.name.encode("utf-8")).digest()
            digest.update(name + fixture_hash(path, without="__pycache__"))  # which appears when somebody imports it
        names = {path.stem for path in own}
        texts = [code, *map(module_text, own)]
        needs = sorted({name for text in texts for name in needed_modules(text, own=names)})
        stated = {*task.prerequisites}
        return replace(
            task,
            modules=folder if own else None,
            prerequisites=(*task.prerequisites, *(one for name in needs if (one := f"module:{name}") not in stated)),
            digest=digest.hexdigest(),
        )

    def _manifest(self, files: Sequence[_TaskFile]) -> Manifest:
        path = next((one for name in MANIFESTS if (one := self._root / name).is_file()), None)
        if path is None:
            return Manifest()
        try:
            text = decoded(read_bounded(path), path)
        except BrokenTaskError as error:
            return Manifest(problems=error.problems)
        # an id takes precedence over the name of another file
        known = {file.path.name: file.key for file in files if file.folder is None}
        known |= {file.name: file.key for file in files}
        known |= {file.key: file.key for file in files}
        return parse_manifest(text, path=path, known=known)


def _resolved(file: WorkspaceFile, folders: FixtureFolders) -> tuple[WorkspaceFile, bytes]:
    if file.source is None:
        return file, hashlib.sha256((file.content or "").encode("utf-8")).digest()
    source = folders.resolve(file.source)
    dest = file.dest.removesuffix("/")
    if dest != file.dest and not source.is_dir():
        dest = f"{dest}/{file.source.name}"
    return replace(file, source=source, dest=dest), fixture_hash(source)


def _served(service: Service, folders: FixtureFolders) -> tuple[Service, bytes]:
    """Return a service with the absolute path of its folder, and a hash of that. Raises FixtureError."""
    if service.folder is None:
        return service, b""
    folder = folders.resolve(service.folder)
    if not folder.is_dir():
        raise FixtureError(f"the source {str(service.folder)!r} is not a folder")
    return replace(service, folder=folder), fixture_hash(folder)


def _read_file(path: Path, root: Path) -> _TaskFile:
    folder = None if path.parent == root else path.parent
    name = path.stem if folder is None else folder.name
    try:
        data = read_bounded(path)
        text = decoded(data, path)
    except BrokenTaskError as error:
        return _TaskFile(path=path, name=name, key=name, folder=folder, problems=error.problems)
    task_id = head_id(text)
    return _TaskFile(
        path=path, name=name, key=task_id or name, folder=folder, data=data, text=text, has_id=task_id is not None
    )


def _is_task(file: _TaskFile, listed: Collection[str] | None) -> bool:
    """Return whether a file is a task of the suite: one of those `listed`, or if that is None, any but a template."""
    return file.key in listed if listed is not None else not is_template(file.name, file.key)


def _note(files: Sequence[str], manifest: str) -> str:
    """Return a sentence that lists files which are not tasks.

    `manifest` is the name of the manifest if it lists the tasks, else empty.
    """
    if not files:
        return ""
    number = "1 file" if len(files) == 1 else f"{len(files)} files"
    why = f"{manifest} does not list {number}" if manifest else f"{number} can only be meant as a template"
    return f"{why}: {_places(files)}. Not run unless --suite names the task's id."


def _places(places: Sequence[str]) -> str:
    more = f" and {len(places) - NAMED_FILES} more" if len(places) > NAMED_FILES else ""
    return ", ".join(places[:NAMED_FILES]) + more


def _blocked(files: list[WorkspaceFile]) -> list[tuple[str, str]]:
    """Return pairs (path, the file above it): a path below a file can't be written."""
    plain = {file.dest for file in files if file.source is None or not file.source.is_dir()}
    pairs: list[tuple[str, str]] = []
    for file in files:
        parts = file.dest.split("/")
        above = ("/".join(parts[:count]) for count in range(1, len(parts)))
        pairs.extend((file.dest, outer) for outer in above if outer in plain)
    return pairs


def recognises(folder: Path) -> bool:
    """Return whether a Markdown file, or a folder with `task.md`, is named as a task. Blocks. Raises OSError."""
    named = (path for path in folder.iterdir() if path.name.startswith("task_"))
    return any(path.suffix.lower() == ".md" or (path / TASK_FILE).is_file() for path in named)


def holds_ids(folder: Path) -> bool:
    """Return whether the head of a Markdown file has an id, whatever the file's name. Blocks. Raises OSError."""
    files = (path for path in folder.glob("*.md") if path.stem.lower() != "readme")
    return any(_read_file(path, folder).has_id for path in files)
