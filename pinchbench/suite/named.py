"""The suites that `--suite` names: those that the user has added, the bundled one, and several read as one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TYPE_CHECKING

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.defaults import SuiteFormat  # noqa: TC001 - msgspec reads the annotations
from pinchbench.errors import SelectionError, SuiteError
from pinchbench.files.user_data import FILES, PACK_NAME, RECORD, bundled_tasks_dir, pack_names, packs_dir
from pinchbench.model.task import LoadedSuite, Suite, Task
from pinchbench.suite.fixtures import FixtureError, fixture_hash
from pinchbench.suite.loading import load_suite, read_suite
from pinchbench.suite.select import KEYWORDS, select_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path


MAX_RECORD_BYTES = 16 * 1024 * 1024
SEPARATOR = ";"  # between the expressions of several `--suite`
_KEYWORDS = frozenset(KEYWORDS)


class Pack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is recorded of an added suite.

    `source` is a folder or a URL, `commit` that of a repository, `digest` a SHA-256 over all files, and `licence` the
    file that states one with its first line; `commit` and `licence` are empty without. `tasks` holds the category of
    each task that can be run by its id. `added_at` is in seconds since the epoch (UTC).
    """

    name: str
    source: str
    digest: str
    format: SuiteFormat
    added_at: float
    commit: str = ""
    licence: str = ""
    tasks: dict[str, str] = {}

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return packs_dir() / self.name / FILES

    def find_change(self) -> str:
        """Say how its files differ from those that were added, without a full stop; empty if they don't. Blocks."""
        try:
            is_same = tree_digest(self.folder) == self.digest
        except FixtureError as error:
            return str(error)
        return "" if is_same else f"the files in {self.folder} are not those that were added"


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedTasks:
    """What `--suite` stands for: a folder, None for the bundled tasks, the tasks' format, and a selection."""

    tasks_dir: Path | None
    suite_format: SuiteFormat | None
    selection: str


def read_pack(name: str) -> Pack | None:
    """Return the record of an added suite, None without one of that name. Blocks. Raises SuiteError if it is broken."""
    if not PACK_NAME.fullmatch(name):
        return None
    path = packs_dir() / name / RECORD
    advice = f"Remove it with `pinchbench-async suite {name} --remove` and add it again."
    try:
        with path.open("rb") as file:
            pack = decode_json(file.read(MAX_RECORD_BYTES), Pack)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SuiteError(f"{path} can't be read: {error.strerror}. {advice}") from error
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{path} is not the record of a suite: {error}. {advice}") from error
    if pack.name != name:
        raise SuiteError(f"{path} is the record of another suite, {pack.name!r}. {advice}")
    return pack


def pack_of(folder: Path) -> Pack | None:
    """Return the added suite whose files a folder holds or is, None if it is another folder's. Blocks."""
    try:
        name, *inside = folder.relative_to(packs_dir()).parts
    except ValueError:
        return None
    return read_pack(name) if inside[:1] == [FILES] else None


def tree_digest(folder: Path) -> str:
    """Return a SHA-256 over all files of a folder, in hexadecimal. Blocks. Raises FixtureError."""
    return fixture_hash(folder).hex()


def find_tasks(expression: str, *, tasks_dir: Path | None, suite_format: SuiteFormat | None) -> NamedTasks:
    """Return what a `--suite` stands for: `NAME[:selection]` is an added suite, all else a selection. Blocks.

    Raises:
        SelectionError: the name of an added suite is one of the bundled suite's too, or is given with other names.
        SuiteError: the suite's files have changed since it was added, or its record can't be read.
    """
    name, colon, selection = expression.strip().partition(":")
    pack = read_pack(name)
    is_of_folder = (
        pack is not None
        and tasks_dir is not None
        and not colon
        and name_taken(name, read_suite(tasks_dir, suite_format=suite_format).suite)
    )
    if pack is None or is_of_folder:
        _refuse_among_others(expression, tasks_dir)
        return NamedTasks(tasks_dir=tasks_dir, suite_format=suite_format, selection=expression)
    if taken := name_taken(name, read_suite(bundled_tasks_dir()).suite):
        raise SelectionError(
            f"--suite {name} could be the suite that you added from {pack.source}, or {taken} of the bundled suite."
            f" Remove the suite with `pinchbench-async suite {name} --remove` and add it under another name."
        )
    if change := pack.find_change():
        raise SuiteError(
            f"The suite {name} has changed since it was added: {change}. Remove it with `pinchbench-async suite"
            f" {name} --remove` and add it again from {pack.source}, or name the folder with --tasks-dir."
        )
    return NamedTasks(tasks_dir=pack.folder, suite_format=pack.format, selection=selection if colon else "all")


def name_taken(name: str, suite: Suite) -> str:
    """Return what else `--suite NAME` would mean, in words; empty if nothing."""
    if name in _KEYWORDS:
        return f"the keyword {name}"
    if any(name == task_id.casefold() for task_id in suite.by_id):
        return f"the task {name}"
    categories = {task.category.casefold(): task.category for task in suite.tasks}
    return f"the category {categories[name]}" if name in categories else ""


def _refuse_among_others(expression: str, tasks_dir: Path | None) -> None:
    """Raise SelectionError if names of added suites stand among others: each suite has a `--suite` of its own."""
    if tasks_dir is not None or "," not in expression:
        return
    added = set(pack_names())
    if named := [name for part in expression.split(",") if (name := part.strip().partition(":")[0]) in added]:
        raise SelectionError(
            f"--suite {expression} names the added suite {named[0]} among others. Give each suite a --suite of its"
            f" own; what is selected of it follows a colon: --suite core --suite {named[0]}:coding."
        )


BUNDLED = "bundled"


@dataclass(frozen=True, kw_only=True, slots=True)
class SuitePlace:
    """One of several suites of a run: the name by which the run's results list it, its folder, and its format."""

    name: str
    folder: Path
    format: SuiteFormat | None


def find_suites(
    expressions: str, *, tasks_dir: Path | None, suite_format: SuiteFormat | None
) -> tuple[NamedTasks, ...]:
    """Return the suites that expressions for `--suite`, joined by `;`, stand for, each once with all its selections.

    A folder and a format are those of the expressions that name no added suite. Blocks.

    Raises SuiteError, and SelectionError as `find_tasks`, or if several suites are named and none is of the folder.
    """
    parts = [part for each in expressions.split(SEPARATOR) if (part := each.strip())] or [expressions]
    found: dict[tuple[Path | None, SuiteFormat | None], NamedTasks] = {}
    for part in parts:
        named = find_tasks(part, tasks_dir=tasks_dir, suite_format=suite_format)
        place = (named.tasks_dir, named.suite_format)
        before = found.get(place)
        found[place] = named if before is None else replace(named, selection=f"{before.selection},{named.selection}")
    for option, value in (("--tasks-dir", tasks_dir), ("--suite-format", suite_format)):
        if value is not None and (tasks_dir, suite_format) not in found:
            raise SelectionError(
                f"--suite {expressions} names an added suite, and {option} {value} goes with a folder. Leave it out, or"
                " add --suite all."
            )
    return tuple(found.values())


def load_named(
    named: Sequence[NamedTasks], *, skip_broken: bool = False, is_lenient: bool = False, only_shown: bool = False
) -> tuple[LoadedSuite, tuple[Task, ...]]:
    """Read the suites that were named, several as one, and select their tasks. Blocks.

    `is_lenient` leaves it to the caller to report broken files, as long as any other can be used. What is `only_shown`
    may be what was read before.

    Raises SuiteError as `load_suite`, and if two suites have a task of the same id; SelectionError as `select_tasks`.
    """
    places = [_place(each) for each in named]

    def read(place: SuitePlace) -> LoadedSuite:
        loaded = read_suite(place.folder, suite_format=place.format) if is_lenient else None
        if loaded is not None and loaded.suite.by_id:
            return loaded
        return load_suite(place.folder, suite_format=place.format, skip_broken=skip_broken, only_shown=only_shown)

    union = _read_all(places, read)
    if not union.suite.parts:
        return union, select_tasks(union.suite, named[0].selection)
    by_id = union.suite.by_id
    chosen = [
        by_id[task.task_id]
        for part, each in zip(union.suite.parts, named, strict=True)
        for task in select_tasks(part, each.selection)
    ]
    return union, tuple(chosen)


def load_places(places: Sequence[SuitePlace]) -> LoadedSuite:
    """Read the suites of a run again, without those of their files that are broken. Blocks. Raises SuiteError."""
    return _read_all(places, lambda place: load_suite(place.folder, suite_format=place.format, skip_broken=True))


def _read_all(places: Sequence[SuitePlace], read: Callable[[SuitePlace], LoadedSuite]) -> LoadedSuite:
    if len(places) == 1:
        return read(places[0])
    loaded: list[LoadedSuite] = []
    taken: set[str] = set()
    for place in places:
        one = read(place)
        numbered = (f"{place.name}-{number}" for number in count(2))
        name = next(name for name in chain((place.name,), numbered) if name not in taken)
        taken.add(name)
        loaded.append(replace(one, suite=replace(one.suite, name=name)))
    return LoadedSuite(
        suite=_union([one.suite for one in loaded]),
        problems=tuple(problem for one in loaded for problem in one.problems),
        note=" ".join(f"{one.suite.name}: {one.note}" for one in loaded if one.note),
    )


def _union(parts: Sequence[Suite]) -> Suite:
    owner: dict[str, Suite] = {}
    for part in parts:
        for task_id in part.by_id:
            # ids become folder names, and on some systems `Task_a` and `task_a` are the same folder
            other = owner.setdefault(task_id.lower(), part)
            if other is not part:
                raise SuiteError(
                    f"The suites {other.name} ({other.root}) and {part.name} ({part.root}) both have a task {task_id},"
                    " and the tasks of a run need different ids. Run these suites one after the other."
                )
    return replace(
        parts[0],
        name="",
        tasks=tuple(task for part in parts for task in _in_union(part, part.tasks)),
        unlisted=tuple(task for part in parts for task in _in_union(part, part.unlisted)),
        run_first=tuple(task_id for part in parts for task_id in part.run_first),
        core=tuple(task_id for part in parts for task_id in part.core),
        parts=tuple(parts),
    )


def _in_union(part: Suite, tasks: Iterable[Task]) -> Iterable[Task]:
    """Yield tasks with their suite's name before their category: those of two suites have nothing in common."""
    return (replace(task, category=f"{part.name}: {task.category}") for task in tasks)


def _place(named: NamedTasks) -> SuitePlace:
    folder = named.tasks_dir or bundled_tasks_dir()
    pack = pack_of(folder)
    if pack is not None:
        name = pack.name
    elif named.tasks_dir is None:
        name = BUNDLED
    else:
        name = folder.name if folder.name != "tasks" else folder.parent.name
    return SuitePlace(name=name or BUNDLED, folder=folder, format=named.suite_format)
