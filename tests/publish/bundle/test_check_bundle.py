"""A bundle is checked as a file and as a run."""

from pathlib import Path

from pinchbench.publish.bundle.bundle_file import write_bundle
from pinchbench.publish.bundle.check_bundle import check_bundle
from pinchbench.publish.bundle.public_copy import copy_publicly
from pinchbench.publish.bundle.taken_out import TextRemover
from pinchbench.results.evidence_files import file_digest
from pinchbench.results.verification import State
from published_runs import published_run


def _bundle(tmp_path: Path, folder: str = "copy") -> Path:
    with (tmp_path / "run.tar").open("wb") as file:
        write_bundle(tmp_path / folder, file)
    return tmp_path / "run.tar"


def test_a_bundle_is_verified_and_named_by_its_digest(tmp_path: Path) -> None:
    copy_publicly(published_run(tmp_path), tmp_path / "copy", TextRemover(names=["zelda"], keys=[]))
    bundle = _bundle(tmp_path)
    found = check_bundle(bundle)
    assert found.state is State.VERIFIED
    assert (found.bundle, found.taken_out) == (file_digest(bundle), 11)


def test_a_file_that_was_edited_and_packed_again_is_named(tmp_path: Path) -> None:
    files, _ = copy_publicly(published_run(tmp_path), tmp_path / "copy", TextRemover(names=[], keys=[]))
    transcript = files.folder / "trials/task_a/1/transcript.jsonl"
    transcript.write_bytes(b"{}\n")
    found = check_bundle(_bundle(tmp_path))
    assert found.differences == (f"{files.name}/trials/task_a/1/transcript.jsonl is not as it was written",)


def test_an_altered_byte_is_named(tmp_path: Path) -> None:
    copy_publicly(published_run(tmp_path), tmp_path / "copy", TextRemover(names=[], keys=[]))
    bundle = _bundle(tmp_path)
    bundle.write_bytes(bundle.read_bytes().replace(b"Done.", b"Gone."))
    found = check_bundle(bundle)
    assert found.state is State.ALTERED
    assert "stdout.log" in found.differences[0]


def test_another_archive_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("x", encoding="utf-8")
    found = check_bundle(_bundle(tmp_path, "other"))
    assert (found.state, found.problem) == (State.UNREADABLE, "It holds no published run.")
    assert check_bundle(tmp_path / "none.tar").state is State.UNREADABLE
