"""A bundle that `regrade` is given becomes a run of the output folder; all else is left to the command."""

from pathlib import Path

from pinchbench.cli.again import unpacked
from pinchbench.publish.bundle.bundle_file import write_bundle
from pinchbench.publish.bundle.public_copy import TextRemover, copy_publicly
from pinchbench.results.finished_run import read_run
from published_runs import published_run


def test_a_bundle_becomes_a_run_and_nothing_else_is_left(tmp_path: Path) -> None:
    past = published_run(tmp_path)
    copy_publicly(past, tmp_path / "copy", TextRemover(names=[], keys=[]))
    with (tmp_path / "run.tar").open("wb") as file:
        write_bundle(tmp_path / "copy", file)
    files = unpacked(str(tmp_path / "run.tar"), tmp_path / "new/results")
    assert files is not None
    assert read_run(files).data == past.data
    assert sorted((tmp_path / "new/results").iterdir()) == [files.folder, files.aggregate]


def test_a_run_that_is_no_bundle_is_left_alone(tmp_path: Path) -> None:
    assert unpacked("20260102-030405-9f3a", tmp_path / "results") is None
    assert unpacked(str(tmp_path / "none.tar"), tmp_path / "results") is None
    assert not (tmp_path / "results").exists()
