"""Unpacks the bundle that a command is given, so that it is a run of the output folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pinchbench.cli.output import say
from pinchbench.config.settings import absolute_path
from pinchbench.errors import AlteredRunError, ResultsError

if TYPE_CHECKING:
    from pinchbench.results.paths import RunFiles


def unpacked(run: str, output_dir: Path) -> RunFiles | None:
    """Unpack a bundle; return None if `run` is not one.

    Raises AlteredRunError if the bundle is not as it was written, and ResultsError if it can't be unpacked or its run
    is there already.
    """
    from pinchbench.publish.bundle.bundle_file import is_bundle, unpack_bundle
    from pinchbench.publish.bundle.check_bundle import run_in
    from pinchbench.results.paths import RunFiles

    bundle = Path(run)
    if not is_bundle(bundle):
        return None
    output_dir = absolute_path(output_dir, option="--output-dir")
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".unpacked-", dir=output_dir) as temporary:
            folder = Path(temporary) / "bundle"
            if differences := unpack_bundle(bundle, folder):
                raise AlteredRunError.of(differences, run=bundle)
            files, _ = run_in(folder)
            there = RunFiles(output_dir=output_dir, name=files.name)
            if there.folder.exists() or there.aggregate.exists():
                raise ResultsError(
                    f"{there.folder} is there already: grade that run, or name another folder with --output-dir."
                )
            files.folder.rename(there.folder)
            files.aggregate.rename(there.aggregate)
    except OSError as error:
        raise ResultsError(f"{bundle} can't be unpacked into {output_dir}: {error.strerror}.") from error
    say(f"Unpacked into {there.folder}.")
    return there
