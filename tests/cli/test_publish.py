"""`publish`, and what `verify` and `regrade` say of its bundle on another machine."""

import json
import shutil
from pathlib import Path

import pytest

from fakes import fake_openclaw, make_suite
from made_tasks import task_text
from pinchbench.cli import main
from pinchbench.publish.bundle.bundle_file import unpack_bundle, write_bundle

ALTERED = 10


def _task(score: float) -> str:
    return task_text("id: task_a", prompt="Do nothing.", check=f"def grade(t, w): return {{'done': {score}}}")


def _run(patch: pytest.MonkeyPatch, *words: object) -> int | str | None:
    patch.setattr("sys.argv", ["pinchbench-async", *map(str, words)])
    try:
        main()
    except SystemExit as exit_:
        return exit_.code
    return 0


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a run by zelda, whose suite is no longer where it was."""
    folder = tmp_path_factory.mktemp("made") / "zelda"
    folder.mkdir()
    suite = make_suite(folder, {})
    (suite / "task_a.md").write_text(_task(0.5), encoding="utf-8")
    where = ["--tasks-dir", suite, "--output-dir", folder / "results", "--run-root", folder / "root"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("PINCHBENCH_CACHE", str(folder / "cache"))
        program = fake_openclaw(folder)
        assert _run(patch, "--model", "mock/m1", "--openclaw", program, "--sandbox", "none", *where) == 0
        [result] = (folder / "results").glob("*.json")
        assert _run(patch, "publish", result, "-o", folder.parent / "run.tar") == 0
    shutil.rmtree(folder)
    return folder.parent / "run.tar"


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The suite as another user has it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folder = make_suite(tmp_path, {})
    (folder / "task_a.md").write_text(_task(0.5), encoding="utf-8")
    return folder


@pytest.mark.usefixtures("suite")
def test_a_bundle_is_verified_and_holds_nothing_of_who_made_it(
    bundle: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert b"zelda" not in bundle.read_bytes()
    assert _run(monkeypatch, "verify", bundle, "--json") == 0
    [found] = json.loads(capfd.readouterr().out)
    assert (found["state"], len(found["bundle"])) == ("verified", 64)
    assert found["taken_out"] > 0
    bundle.with_name("bad.tar").write_bytes(bundle.read_bytes().replace(b'"score":0.5', b'"score":0.9'))
    assert _run(monkeypatch, "verify", bundle.with_name("bad.tar")) == ALTERED
    assert "journal.jsonl" in capfd.readouterr().out


def test_a_bundle_is_graded_again_to_the_same_points(
    bundle: Path, suite: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    where = ["--tasks-dir", suite, "--output-dir", tmp_path / "mine", "--run-root", tmp_path / "root"]
    assert _run(monkeypatch, "regrade", bundle, *where) == 0
    assert "All 1 automated grades were reached again" in capfd.readouterr().err
    assert _run(monkeypatch, "verify", "--output-dir", tmp_path / "mine") == 0
    assert _run(monkeypatch, "regrade", bundle, *where) == 6
    assert "is there already" in capfd.readouterr().err


def test_another_score_is_named_and_has_an_exit_code(
    bundle: Path, suite: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (suite / "task_a.md").write_text(_task(0.75), encoding="utf-8")
    where = ["--tasks-dir", suite, "--output-dir", tmp_path / "mine", "--run-root", tmp_path / "root"]
    assert _run(monkeypatch, "regrade", bundle, *where) == ALTERED
    assert "task_a: 0.5, and now 0.75" in capfd.readouterr().err


def test_what_is_taken_out_is_shown_to_the_publisher_and_may_be_kept(
    bundle: Path, suite: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    where = ["--tasks-dir", suite, "--output-dir", tmp_path / "mine", "--run-root", tmp_path / "root"]
    assert _run(monkeypatch, "regrade", bundle, *where) == 0
    [result] = (tmp_path / "mine").glob("*.json")
    assert _run(monkeypatch, "publish", result, "--take-out", "Nothing", "--take-out", "m1", "--keep", "m1") == 0
    said = capfd.readouterr()
    assert "'nothing': taken out" in said.err
    assert "'m1'" not in said.err
    assert said.out.split()[-1] == str(result.with_suffix(".tar"))
    assert _run(monkeypatch, "publish", result, "-o", "run.zip") == 2


def test_an_altered_bundle_is_not_unpacked(
    bundle: Path, suite: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert unpack_bundle(bundle, tmp_path / "copy") == ()
    next((tmp_path / "copy").glob("*/run.json")).write_bytes(b"{}")
    bad = tmp_path / "bad.tar"
    with bad.open("wb") as file:
        write_bundle(tmp_path / "copy", file)
    bad.write_bytes(bad.read_bytes().replace(b"{}", b"[]"))
    assert _run(monkeypatch, "regrade", bad, "--tasks-dir", suite, "--output-dir", tmp_path / "mine") == ALTERED
    assert list((tmp_path / "mine").iterdir()) == []
