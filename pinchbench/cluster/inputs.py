"""Takes the files that a run reads to a node, as one compressed tar file: its suites, its additions, its recordings."""

from __future__ import annotations

import tarfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.cluster.messages import SentSuite
from pinchbench.errors import ClusterError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.paths import RunFiles
from pinchbench.runner.plan.stored_run import recordings_of
from pinchbench.suite.named import SuitePlace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pinchbench.config.run_config import RunConfig
    from pinchbench.model.task import Suite
    from pinchbench.model.trial import TrialKey
    from pinchbench.runner.plan.prepare import Prepared

SUITES = "suites"  # each in a folder of its own, called by its number from 0
TASKS = "tasks"
BESIDE = ("assets", "fixtures")  # where fixtures are looked for next to a suite's folder
SKILLS = "skills"
FILES = "files"  # those of workspaces, by their number in the order of their places
REPLAYED = "replayed"
MAX_BYTES = 1024 * 1024 * 1024  # of all files: those of the bundled suite, which is not sent, are 6 MB


def needs_inputs(prepared: Prepared) -> bool:
    """Return whether the nodes need files for a run: those of suites other than the bundled one, forms among them."""
    config = prepared.config
    return bool(_folders(prepared.suite) or config.skills or config.workspace_files or config.replay)


def suites_of(suite: Suite) -> tuple[SentSuite, ...]:
    """Return the description of a run's suites for the nodes (pure)."""
    folders = _folders(suite)
    return tuple(
        SentSuite(name=part.name, format=part.format, folder=folders.index(part.root) if part.root in folders else None)
        for part in suite.parts or (suite,)
    )


def _folders(suite: Suite) -> list[Path]:
    return [part.root for part in suite.parts or (suite,) if part.root != bundled_tasks_dir()]


def pack_inputs(prepared: Prepared, archive: Path) -> None:
    """Write an archive, with what links lead to in place of them. Blocks.

    Of a suite's own folder, hidden files and folders, such as `.git`, are left out.
    Raises ClusterError if it is too large or can't be read.
    """
    config, total = prepared.config, 0

    def counted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        nonlocal total
        if not (entry.isreg() or entry.isdir()):
            return None
        total += entry.size
        if total > MAX_BYTES:
            raise ClusterError("The files of the run are larger than 1 GiB, too much to send to each node.")
        return entry

    try:
        with tarfile.open(archive, "w:gz", compresslevel=1, dereference=True) as tar:
            for number, folder in enumerate(_folders(prepared.suite)):
                _add_suite(tar, folder.resolve(), f"{SUITES}/{number}", counted)
            if config.skills is not None:
                tar.add(config.skills, SKILLS, filter=counted)
            for number, (_, source) in enumerate(sorted(config.workspace_files.items())):
                tar.add(source, f"{FILES}/{number}", filter=counted)
            if config.replay is not None:
                _add_recordings(tar, Path(config.replay.folder), {one.key for one in prepared.attempts})
    except OSError as error:
        raise ClusterError(f"The files of the run can't be sent to the nodes: {error}.") from error


def _add_suite(
    tar: tarfile.TarFile, root: Path, place: str, counted: Callable[[tarfile.TarInfo], tarfile.TarInfo | None]
) -> None:
    """Add a suite's folder at a place, and those next to it that it can have fixtures in."""
    tasks = f"{place}/{TASKS}"

    def visible(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        folder, _, name = entry.name.rpartition("/")
        return None if folder == tasks and name.startswith(".") else counted(entry)

    tar.add(root, tasks, filter=visible)
    for name in BESIDE:
        if (folder := root.parent / name).is_dir():
            tar.add(folder, f"{place}/{name}", filter=visible)


def _add_recordings(tar: tarfile.TarFile, run: Path, keys: Collection[TrialKey]) -> None:
    """Add the recordings of trials, and the journal that names them."""
    files = RunFiles(output_dir=run.parent, name=run.name)
    tar.add(files.journal, f"{REPLAYED}/{files.journal.name}")
    for key, path in recordings_of(str(run)).items():
        if key in keys:
            tar.add(path, f"{REPLAYED}/{path.relative_to(files.folder)}")
            if (user := Evidence(folder=path.parent).user).is_file():
                tar.add(user, f"{REPLAYED}/{user.relative_to(files.folder)}")


def places_in(folder: Path, suites: Sequence[SentSuite]) -> tuple[SuitePlace, ...]:
    """Return where suites are on a node that has unpacked the files of its run into a folder (pure)."""
    return tuple(
        SuitePlace(
            name=suite.name,
            folder=bundled_tasks_dir() if suite.folder is None else folder / SUITES / str(suite.folder) / TASKS,
            format=suite.format,
        )
        for suite in suites
    )


def unpack_inputs(archive: Path, folder: Path, config: RunConfig) -> RunConfig:
    """Unpack an archive into a new folder, and return the options with the places of their files there. Blocks.

    Raises OSError and tarfile.TarError.
    """
    folder.mkdir(mode=0o700)
    with tarfile.open(archive, "r:gz") as tar:
        tar.extractall(folder, filter="data")
    with suppress(OSError):
        archive.unlink()
    if config.replay is not None:
        config = replace(config, replay=replace(config.replay, folder=str(folder / REPLAYED)))
    files = {place: str(folder / FILES / str(number)) for number, place in enumerate(sorted(config.workspace_files))}
    return replace(config, skills=config.skills and folder / SKILLS, workspace_files=files)
