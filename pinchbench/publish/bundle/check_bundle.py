"""Checking a bundle: its file, and the run in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pinchbench.decoding import decode_json
from pinchbench.errors import ResultsError
from pinchbench.publish.bundle.bundle_file import unpack_bundle
from pinchbench.publish.bundle.public_copy import PUBLISHED, Published
from pinchbench.results.evidence_files import file_digest
from pinchbench.results.paths import RunFiles
from pinchbench.results.verification import Verified, check_run


def check_bundle(bundle: Path) -> Verified:
    """Compare a bundle with its digests, and the run in it with those of its journal. Blocks. Raises nothing."""
    try:
        with TemporaryDirectory(prefix="pinchbench-") as folder:
            target = Path(folder) / "bundle"
            if differences := unpack_bundle(bundle, target):
                return Verified(run=str(bundle), differences=differences)
            files, published = run_in(target)
            found = check_run(files)
            return replace(
                found,
                differences=tuple(one.replace(f"{target}/", "") for one in found.differences),
                problem=found.problem.replace(f"{target}/", ""),
                bundle=file_digest(bundle),
                taken_out=sum(one.places for one in published.taken_out),
            )
    except (ResultsError, OSError) as error:
        return Verified(run=str(bundle), problem=str(error))


def run_in(folder: Path) -> tuple[RunFiles, Published]:
    """Return the run that was unpacked into a folder. Blocks. Raises ResultsError if it holds anything else."""
    names = {path.name for path in folder.iterdir()}
    for path in folder.glob(f"*/{PUBLISHED}"):
        files = RunFiles(output_dir=folder, name=path.parent.name)
        if names == {files.folder.name, files.aggregate.name}:
            try:
                return files, decode_json(path.read_bytes(), Published)
            except (OSError, ValueError, RecursionError) as error:
                raise ResultsError(f"{PUBLISHED} can't be read: {error}.") from error
    raise ResultsError("It holds no published run.")
