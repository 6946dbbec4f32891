"""Reading a folder of tasks, of whatever format, into a suite."""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.suite.remembered import remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pinchbench.model.task import LoadedSuite, Suite, Task, TaskProblem
    from pinchbench.suite.solution import Solution


def _own_solution(suite: Suite, task: Task) -> Solution | None:
    """Return the solution in the task's folder, or that a user has put into `solutions`. Raises SuiteError."""
    from pinchbench.suite.solution import load_solution  # noqa: PLC0415 - a list needs none

    return load_solution(suite.root, task.task_id)


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteReader:
    """How tasks of one format are read; each that can't be represented is a problem with file and line.

    Attributes:
        tasks: what they look like, for a user.
        recognises: whether a folder holds such tasks. Blocks. Raises OSError.
        read: reads a folder. Blocks. Raises OSError if the folder can't be listed.
        solution: the worked solution of a task, None without one. Blocks. Raises SuiteError if it can't be used.
    """

    tasks: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path], LoadedSuite]
    solution: Callable[[Suite, Task], Solution | None] = _own_solution


def _reader(name: str, *, tasks: str, has_solutions: bool = False) -> SuiteReader:
    """Return the reader that a module of `formats` is, which is imported when it is used."""

    def module() -> ModuleType:
        return import_module(f"pinchbench.suite.formats.{name}")

    return SuiteReader(
        tasks=tasks,
        recognises=lambda folder: module().recognises(folder),
        read=lambda folder: module().read(folder),
        solution=(lambda suite, task: module().solution(suite, task)) if has_solutions else _own_solution,
    )


_READERS: Mapping[SuiteFormat, SuiteReader] = MappingProxyType(
    {
        SuiteFormat.PINCHBENCH: _reader("markdown_folder", tasks="task_*.md, or */task.md"),
        SuiteFormat.QWENCLAW: _reader("qwenclaw", tasks="task_12345_*.md with assets/<id>"),
        SuiteFormat.WILDCLAW: _reader("wildclaw", tasks="<category>/*.md with ## Workspace Path"),
        SuiteFormat.CLAW_BENCH: _reader(
            "claw_bench", tasks="<domain>/*/task.toml with verifier/test_output.py", has_solutions=True
        ),
        SuiteFormat.CLAWBENCH_CORE: _reader(
            "clawbench_core", tasks="MANIFEST.yaml with tier*/*.yaml", has_solutions=True
        ),
        SuiteFormat.HARBOR: _reader("harbor", tasks="*/task.toml with tests/test.sh", has_solutions=True),
    }
)
# Where the tasks lie in a checkout of a suite, below its folder.
_PLACES = ("tasks", "data/*/tasks", "tasks-public", "tasks[_-]*", "*/tasks")
# Suites that can't be run here: a file by which they are known unless their README names them, and why not.
_FOREIGN = (
    ("claw-eval", "T*/grader.py", "its graders take the records of an agent loop of its own"),
    ("Terminal-Bench", "*/run-tests.sh", "each of its tasks is a container of its own"),
    ("UniClawBench", "*/*/references/eval_rule.md", "a hidden model supervises the agent and scores it"),
    ("SafeClawBench", "SafeClawBench/*", "its judge and its attacks are part of a runner of its own"),
)
_LISTED = 3  # problems of one kind that are written out; of more, the first stands for all
_COUNTED_FILES = 5_000  # of an unknown folder, which could be a home
_NAMED = 8  # names of files that may all be shown
_EXAMINED = 500  # folders of an unknown folder in which tasks are looked for
_README_BYTES = 1_000  # in which a suite names itself
_PARTICULARS = re.compile(r"'[^']*'|(?<!\w)/\S+|\d+")


def find_tasks_folder(root: Path, wanted: SuiteFormat | None) -> tuple[SuiteFormat, Path]:
    """Return the format of a folder, or of the checkout of a suite, and the folder that holds the tasks.

    Without `wanted`, the format is detected from the files; a folder that no other reader recognises is PinchBench's.
    Blocks. Raises SuiteError if tasks of several formats lie side by side, and OSError.
    """
    own = SuiteFormat.PINCHBENCH
    if wanted is None and root == bundled_tasks_dir():
        return own, root
    names = [wanted] if wanted else [name for name in _READERS if name is not own]
    for folder in _folders(root):
        found = [name for name in names if _READERS[name].recognises(folder)]
        if len(found) > 1:
            both = " and ".join(found)
            raise SuiteError(f"{folder} holds tasks of the formats {both}. Name one of them with --suite-format.")
        if found:
            return found[0], folder
        if wanted is None and _READERS[own].recognises(folder):
            return own, folder
    from pinchbench.suite.formats import markdown_folder  # noqa: PLC0415 - only a folder that no reader knows

    with_ids = (folder for folder in _folders(root) if wanted is None and markdown_folder.holds_ids(folder))
    return wanted or own, next(with_ids, root)


def _folders(root: Path) -> Iterator[Path]:
    yield root
    for pattern in _PLACES:
        found = sorted(path for path in root.glob(pattern) if path.is_dir())
        yield from found if len(found) == 1 else ()


class RefusedSuiteError(SuiteError):
    """Files of a suite can't be used; `problems` says which and why."""

    def __init__(self, message: str, problems: Sequence[TaskProblem]) -> None:
        """Keep the problems next to the message, which may be shorter."""
        super().__init__(message)
        self.problems = tuple(problems)


def load_suite(
    root: Path, *, suite_format: SuiteFormat | None = None, skip_broken: bool = False, only_shown: bool = False
) -> LoadedSuite:
    """Read a suite as `read_suite` does, and check that it can be used.

    Raises:
        SuiteError: the folder is missing, unreadable or without tasks.
        RefusedSuiteError: a file is broken and `skip_broken` is not set, or all of them are broken.
    """
    loaded = read_suite(root, suite_format=suite_format, only_shown=only_shown)
    if not (loaded.suite.by_id or loaded.problems):
        raise SuiteError(_unknown(root, suite_format))
    if loaded.problems and not (skip_broken and loaded.suite.by_id):
        advice = (
            "--skip-broken leaves them out and runs the rest."
            if loaded.suite.by_id
            else "No task is left to run without them, so --skip-broken does not help."
        )
        raise RefusedSuiteError(f"{problem_list(root, loaded.problems)}\n{advice}", loaded.problems)
    return loaded


def read_suite(root: Path, *, suite_format: SuiteFormat | None = None, only_shown: bool = False) -> LoadedSuite:
    """Read the tasks of a folder, or of a suite's checkout; what can't be used becomes problems. Blocks.

    The format is detected from the files unless it is given. What is `only_shown` may be what was read before. Raises
    SuiteError if the folder can't be read, or holds tasks of several formats.
    """
    try:
        if root.is_file():
            raise SuiteError(
                f"{root} is a file. Name its folder with --tasks-dir {root.parent}, and the task with --suite."
            )
        if not root.is_dir():
            raise SuiteError(f"The tasks folder {root} does not exist. Name one that does with --tasks-dir.")
        name, folder = find_tasks_folder(root, suite_format)
        if only_shown and folder == bundled_tasks_dir():
            return remembered(folder, lambda: _READERS[name].read(folder))
        return _READERS[name].read(folder)
    except OSError as error:
        raise SuiteError(f"The tasks folder {root} can't be read: {error.strerror}.") from error


def solution_of(suite: Suite, task: Task) -> Solution | None:
    """Return the worked solution of a suite's task, None without one. Blocks. Raises SuiteError if it can't be used."""
    own = suite.part_of(task.task_id)
    return _READERS[own.format].solution(own, task)


def problem_list(root: Path, problems: Sequence[TaskProblem]) -> str:
    """Return all problems of a folder as text, one per line; many of one kind are one line with their number."""
    kinds: dict[str, list[TaskProblem]] = {}
    for problem in problems:
        kinds.setdefault(_PARTICULARS.sub("", problem.reason), []).append(problem)
    lines: list[str] = []
    for alike in kinds.values():
        if len(alike) > _LISTED:
            lines.append(f"{alike[0]} (and {len(alike) - 1} more like this)")
        else:
            lines += map(str, alike)
    lines += ["`tasks list --json` has them all."] if len(lines) < len(problems) else []
    listed = "\n".join(lines)
    return f"The tasks folder {root} has problems:\n{listed}"


def _unknown(root: Path, wanted: SuiteFormat | None) -> str:
    """Return what a folder without tasks looks like, and what tasks of each format look like. Blocks."""
    formats = [wanted] if wanted else [*SuiteFormat]
    known = "\n".join(f"  {name:<15} {_READERS[name].tasks}" for name in formats)
    return f"The tasks folder {root} holds no task files. {_looks_like(root, formats)}\nTasks are, by format:\n{known}"


def _looks_like(root: Path, formats: Sequence[SuiteFormat]) -> str:
    from pinchbench.suite.reading import TASK_TOML  # noqa: PLC0415 - only a folder without tasks

    if (root / TASK_TOML).is_file():
        return f"It is one task: name the folder above it, {root.resolve().parent}, and the task with --suite."
    places = (root / "README.md", root.resolve().parent / "README.md")
    titles = "\n".join(
        path.read_bytes()[:_README_BYTES].decode("utf-8", "replace") for path in places if path.is_file()
    )
    files = list(islice(_visible_files(root), _COUNTED_FILES))
    below = _recognised_below(root, files, formats)
    for name, mark, why in _FOREIGN:
        marked = any(next(root.glob(f"{place}{mark}"), None) for place in ("", "*/", "../injection/"))
        is_title = re.search(rf"^(?:#|<h1).*(?<![\w-]){name}(?![\w-])", titles, re.MULTILINE)
        if marked or (is_title and not below):
            return f"It looks like {name}, which is not supported: {why}."
    if below:
        return f"Tasks are in {' and '.join(str(root / one) for one in below[:_NAMED])}: name one with --tasks-dir."
    names = Counter(path.name for path in files)
    telling = {name for name, number in names.items() if number > 1 or len(names) <= _NAMED}
    found = Counter(
        "/".join(["*"] * (len(path.parts) - 1) + [path.name if path.name in telling else f"*{path.suffix}"])
        for path in files
    )
    counts = ", ".join(f"{number} {kind}" for kind, number in found.most_common(4))
    return f"It holds {counts}." if found else "It is empty."


def _visible_files(root: Path) -> Iterator[Path]:
    """Yield the relative paths of files, without those in hidden folders such as `.git`. Blocks."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name).relative_to(root) for name in sorted(names))


def _recognised_below(root: Path, files: Sequence[Path], formats: Sequence[SuiteFormat]) -> list[Path]:
    """Return the outermost folders that hold tasks of one of the formats, of those that hold files. Blocks."""
    folders = dict.fromkeys(folder for path in files for folder in list(path.parents)[-2:-6:-1])
    found: list[Path] = []
    for folder in islice(sorted(folders), _EXAMINED):
        with suppress(OSError):
            is_in_another = any(folder.is_relative_to(one) for one in found)
            if not is_in_another and any(_READERS[name].recognises(root / folder) for name in formats):
                found.append(folder)
    return found
