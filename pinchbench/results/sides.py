"""The sides of a comparison, found by what the user calls them: a run, or a model and with it all its runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pinchbench.errors import ConfigError, ResultsError
from pinchbench.model import Ending
from pinchbench.results.comparison import Side, settings_of, side_of
from pinchbench.results.facts import read_facts
from pinchbench.results.past_run import read_run
from pinchbench.results.store import find_run, runs_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pinchbench.results.past_run import PastRun
    from pinchbench.results.store import RunFiles


def find_sides(names: Sequence[str], output_dir: Path) -> tuple[Side, ...]:
    """Find what each name means and read it. Blocks, for some 50 microseconds a trial.

    Raises ConfigError when fewer than two are named or one run would stand on two sides, ResultsError when a name is
    neither a run nor a model of `output_dir`, or a run can't be read.
    """
    if len(names) < 2:  # noqa: PLR2004 - A and B
        raise ConfigError("A comparison needs at least two runs or models: pinchbench-async compare A B.")
    sides = []
    owner: dict[Path, str] = {}
    for name in names:
        side, folders = _find(name, output_dir)
        for folder in folders:
            if folder in owner:
                raise ConfigError(
                    f"The run {folder.name} is part of both {owner[folder]!r} and {name!r}; a run can't be compared with itself."
                )
            owner[folder] = name
        sides.append(side)
    return _labelled(sides)


def _find(name: str, output_dir: Path) -> tuple[Side, list[Path]]:
    try:
        files = find_run(name, output_dir)
    except ResultsError as error:
        found = _runs_of_model(name, output_dir)
        if not found:
            raise ResultsError(f"{error} Nor has any run a model {name!r}.") from error
        return _model_side(name, found)
    return side_of([read_run(files)]), [files.folder.resolve()]


def _runs_of_model(model: str, output_dir: Path) -> list[RunFiles]:
    """The runs of a model, the newest first. Those that can't be read are nobody's."""
    found = []
    for files in runs_of(output_dir):
        try:
            of = read_facts(files.provenance).config.get("model")
        except ResultsError:
            continue
        if of == model:
            found.append(files)
    return found


def _model_side(model: str, found: Sequence[RunFiles]) -> tuple[Side, list[Path]]:
    """Take the newest complete run of a model and all complete ones that were made as it was."""
    taken: list[PastRun] = []
    left_aside = []
    for files in found:
        run = read_run(files)
        if run.model != model:
            left_aside.append(f"{files.name} was not taken: it was resumed with another model.")
        elif not _is_complete(run):
            left_aside.append(f"{files.name} was not taken: it is not complete.")
        elif taken and (unlike := _unlike(taken[0], run)):
            left_aside.append(f"{files.name} was not taken: {unlike}.")
        else:
            taken.append(run)
    if not taken:
        raise ResultsError(
            f"No run of {model} is complete; finish one with `pinchbench-async resume`, or name a run instead."
        )
    return side_of(taken, label=model, left_aside=tuple(left_aside)), [run.files.folder.resolve() for run in taken]


def _is_complete(run: PastRun) -> bool:
    """Whether each trial was run to its end. One that failed or has no grade is left out of means and named, as ever."""
    ended = {one.key for one in run.outcomes if one.reason.ending is not Ending.INTERRUPTED}
    return ended >= set(run.facts.keys)


def _unlike(newest: PastRun, run: PastRun) -> str:
    """How a run was made otherwise than the newest; another choice of tasks makes no difference, as they are paired."""
    mine, theirs = settings_of(newest), settings_of(run)
    return ", ".join(
        f"{name} {theirs[name]} instead of {mine[name]}"
        for name in mine
        if name != "suite" and name in theirs and mine[name] != theirs[name]
    )


def _labelled(sides: Sequence[Side]) -> tuple[Side, ...]:
    """Call each side by its model where that tells them apart, else by its run."""
    models = [side.model for side in sides]
    return tuple(replace(side, label=side.model) if models.count(side.model) == 1 else side for side in sides)
