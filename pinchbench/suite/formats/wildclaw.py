"""WildClawBench: Markdown files by category, for a workspace at a fixed path, with a data set next to them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pinchbench.defaults import CheckTotal, SuiteFormat
from pinchbench.model.task import ScoreRule, Turn, WorkspaceFile
from pinchbench.model.task_programs import ShownFile
from pinchbench.suite.check_code import needed_modules
from pinchbench.suite.fixtures import relative_path
from pinchbench.suite.formats.markdown_folder import is_template
from pinchbench.suite.markdown import read_document
from pinchbench.suite.parse import parse_task
from pinchbench.suite.reading import BrokenTaskError, FieldReader, ReadTasks, TaskDialect, decoded, read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinchbench.model.task import LoadedSuite, Task
    from pinchbench.suite.markdown import CodeFence, Document, Section

RULE = ScoreRule(
    text="WildClawBench: the check's `overall_score` alone, or the mean of its numbers if it has none",
    check_total=CheckTotal.OVERALL,
)
DIALECT = TaskDialect(format=SuiteFormat.WILDCLAW, rule=RULE, id_is_stem=True, has_fixed_workspace=True)
WORKSPACE = "/tmp_workspace"  # noqa: S108 - a name that the suite has fixed, and no folder for temporary files
SKILLS = "/root/skills"
TRANSCRIPT = "/root/.openclaw/agents/main/sessions/chat.jsonl"
PREAMBLE = "Your workspace is the folder {workspace}. You have {limit:g} seconds for this task."
_CATEGORY = re.compile(r"\d\d_\w+")
_WORKSPACE_PATH = re.compile(r"^## +Workspace Path[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_HOME_FOLDER = re.compile(r"\bPath\.home\(\) */ *([\"'])(?P<name>\w[\w-]*)\1")
_NOTHING = frozenset({"", "none", "n/a", "-", "[]", "无"})
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ITEM = re.compile(r"^[-*] +")
# What in a check needs the suite's container, each with the reason.
_NEEDS_CONTAINER = (
    (re.compile(r"/root/(?!skills\b)|\.openclaw"), "its check reads OpenClaw's files in the suite's container"),
    (
        re.compile(r"\bPath\.home\(|\bexpanduser\("),
        "its check looks into the agent's home, which is not kept as a whole",
    ),
    (
        re.compile(r"OPENROUTER|JUDGE_MODEL|^\s*(?:import|from)\s+openai\b"),
        "its check asks a judge of its own, whose key checks don't have",
    ),
    (re.compile(r"localhost|127\.0\.0\.1|/audit\b"), "its check asks a service that has to outlive the agent"),
    (re.compile(r"\b(?:pip3?|apt|apt-get|npm)\s+install\b"), "its check installs packages, and has no network"),
)


def recognises(folder: Path) -> bool:
    """Return whether a task file states its workspace's path. Blocks. Raises OSError."""
    return any(map(_states_path, _task_files(folder)))


def read(folder: Path) -> LoadedSuite:
    """Read the tasks of a category, or of all, that need nothing of the suite's container but the path.

    Blocks. Raises OSError.
    """
    found = ReadTasks()
    notes: list[str] = []
    for path in _task_files(folder):
        reader = _TaskReader(path, _data_folder(folder))
        if found.add(reader.read, path):
            notes += reader.notes
    return found.suite(folder, SuiteFormat.WILDCLAW, " ".join(notes))


def _data_folder(folder: Path) -> Path:
    """Return the folder that has `workspace` and `skills`: that of `tasks`, or one above a category."""
    return next(
        (place for place in folder.resolve().parents if (place / "workspace").is_dir()), folder.resolve().parent
    )


def _task_files(folder: Path) -> Iterator[Path]:
    categories = sorted(path for path in folder.iterdir() if _CATEGORY.fullmatch(path.name) and path.is_dir())
    for place in (folder, *categories):
        for path in sorted(place.glob("*.md")):
            if path.stem.lower() != "readme" and not is_template(path.stem, path.stem) and path.is_file():
                yield path


def _states_path(path: Path) -> bool:
    try:
        return _WORKSPACE_PATH.search(decoded(read_bounded(path), path)) is not None
    except BrokenTaskError:
        return False


class _TaskReader:
    """Reads one file and collects all its problems."""

    def __init__(self, path: Path, data: Path) -> None:
        self._path = path
        self._data = data
        self._fields = FieldReader(path=path)
        self.notes: list[str] = []

    def read(self) -> Task:
        """Return the task. Raises BrokenTaskError."""
        raw = read_bounded(self._path)
        text = decoded(raw, self._path)
        document = read_document(text)
        task = parse_task(text, path=self._path, dialect=DIALECT).task
        self._refuse_containers(document)
        self._examine_check(document)
        needs = needed_modules(task.automated_checks or "")
        exec_files, gt = self._files(document)
        shown = tuple(self._skills(document))
        home_folders = _home_folders(document)
        if shown and home_folders:
            self._fields.problem(
                1, f"its check looks into {', '.join(home_folders)} of the agent's home, where its skills are not"
            )
        parts = [(one.dest, one.source) for one in (*exec_files, *gt) if one.source is not None]
        parts += [(one.path, one.source) for one in shown]
        digest = self._fields.digest(parts, own=hashlib.sha256(raw).digest())
        self._fields.refuse()
        prompt = f"{PREAMBLE.format(workspace=WORKSPACE, limit=task.timeout_s)}\n\n{task.prompt}"
        return replace(
            task,
            prompt=prompt,
            turns=(Turn(prompt=prompt),),
            workspace_files=exec_files,
            check_files=gt,
            shown=shown,
            workspace_path=WORKSPACE,
            transcript_path=TRANSCRIPT,
            home_folders=home_folders,
            prerequisites=tuple(f"module:{name}" for name in needs),
            network=True,
            digest=digest,
        )

    def _refuse_containers(self, document: Document) -> None:
        for title, reason in (
            ("warmup", "its warm-up runs commands that are made for the suite's container"),
            ("env", "it needs environment variables whose values the user supplies"),
        ):
            section = document.sections.get(title)
            if section is not None and _lines(section):
                self._fields.problem(section.line, f"{reason}: {', '.join(_lines(section)[:3])}")
        for key in ("sessions", "workspace_files"):
            if document.head is not None and re.search(rf"^{key}:", document.head, re.MULTILINE):
                self._fields.problem(document.head_line, f"`{key}` is no key of this format")

    def _examine_check(self, document: Document) -> None:
        """Report what in the check needs a container."""
        for fence in _check_fences(document):
            for number, line in enumerate(fence.text.split("\n"), start=fence.line + 1):
                for pattern, reason in _NEEDS_CONTAINER:
                    if pattern.search(_HOME_FOLDER.sub("", line.replace(TRANSCRIPT, ""))):
                        self._fields.problem(number, reason)

    def _files(self, document: Document) -> tuple[tuple[WorkspaceFile, ...], tuple[WorkspaceFile, ...]]:
        """Return the files of the workspace, and those that the check has in addition."""
        section = document.sections.get("workspace path")
        stated = _lines(section)
        line = section.line if section is not None else 1
        try:
            folder = self._data / relative_path(stated[0] if len(stated) == 1 else "")
        except ValueError as error:
            self._fields.problem(line, f"`## Workspace Path` {error}")
            return (), ()
        if not folder.is_dir():
            self._fields.problem(
                line, f"its files are not here: put the suite's data set next to its tasks, as {folder}"
            )
            return (), ()
        given = [WorkspaceFile(dest=path.name, source=path) for path in sorted((folder / "exec").glob("*"))]
        if (folder / "tmp").is_dir():
            given.append(WorkspaceFile(dest="tmp", source=folder / "tmp"))
        gt = (WorkspaceFile(dest="gt", source=folder / "gt"),) if (folder / "gt").is_dir() else ()
        return tuple(given), gt

    def _skills(self, document: Document) -> Iterator[ShownFile]:
        section = document.sections.get("skills")
        for name in _lines(section):
            *_, last = name.split("/")
            if not re.fullmatch(r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*", name):
                self._fields.problem(section.line if section else 1, f"{name[:80]!r} is not the name of a skill")
            elif (source := self._data / "skills" / name).is_dir():
                yield ShownFile(source=source, path=f"{SKILLS}/{last}")
            else:
                self.notes.append(f"{self._path.stem} names a skill that there is not: {name}.")


def _lines(section: Section | None) -> list[str]:
    """Return the lines of a section, in a fence, a list or neither, without comments, marks and words for nothing."""
    lines = (line.strip() for line in _COMMENT.sub("", section.text if section else "").split("\n"))
    words = (_ITEM.sub("", line, count=1).strip("`") for line in lines if not line.startswith(("```", "~~~", "#")))
    return [line for line in words if line.lower().rstrip(".") not in _NOTHING]


def _check_fences(document: Document) -> tuple[CodeFence, ...]:
    section = document.sections.get("automated checks")
    return section.fences if section else ()


def _home_folders(document: Document) -> tuple[str, ...]:
    """Return the folders of the agent's home that the check looks into."""
    return tuple(
        sorted({found["name"] for fence in _check_fences(document) for found in _HOME_FOLDER.finditer(fence.text)})
    )
