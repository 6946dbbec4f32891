"""`verify`, and what other commands do about a run whose files are not what the runner wrote."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import fake_openclaw, make_suite
from pinchbench.cli import main
from pinchbench.errors import AlteredRunError
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.results.evidence_files import Evidence, digests_of
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.paths import RunFiles, create_run, find_run
from pinchbench.results.records import Record, RunStarted, TrialFinished, TrialStarted
from pinchbench.results.verification import State, changed_evidence, check_run, refuse_altered

pytestmark = pytest.mark.usefixtures("checks_in_process")

ALTERED = 10
KEY = TrialKey(task_id="task_a", repetition=1)
STARTED = RunStarted(run_id="r", model="m", at=1.0, trials=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of two tasks, made by the program with a fake OpenClaw."""
    folder = tmp_path_factory.mktemp("made")
    prompts = dict.fromkeys(("task_a", "task_b"), "Do nothing.")
    suite = make_suite(folder, prompts, check="print('seen'); return {'done': 0.5}")
    program = fake_openclaw(folder)
    where = ["--tasks-dir", str(suite), "--output-dir", str(folder / "results"), "--run-root", str(folder / "root")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("PINCHBENCH_CACHE", str(folder / "cache"))
        _run(patch, "--model", "mock/m1", "--openclaw", str(program), "--sandbox", "none", *where)
    return folder


@pytest.fixture
def files(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFiles:
    """A copy of that run, for one test."""
    shutil.copytree(made / "results", tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    [found] = (tmp_path / "results").glob("*/run.json")
    return find_run(found.parent.name, tmp_path / "results")


def _run(patch: pytest.MonkeyPatch, *words: str) -> int | str | None:
    patch.setattr("sys.argv", ["pinchbench-async", *words])
    try:
        main()
    except SystemExit as exit_:
        return exit_.code
    return 0


@pytest.fixture
def pinchbench(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int | str | None]:
    """Run the program in this process; return its exit code."""
    return lambda *words: _run(monkeypatch, *words)


def _edit(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def _log(files: RunFiles, name: str) -> Path:
    return files.folder / "trials/task_b/1" / name


def _linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


# what is changed of a run, and what is said of it
CHANGES: dict[str, tuple[Callable[[RunFiles], object], str]] = {
    "score": (lambda files: _edit(files.journal, b'"score":0.5', b'"score":0.9'), "journal.jsonl:"),
    "end": (
        lambda files: files.journal.write_bytes(files.journal.read_bytes().rstrip(b"\n").rpartition(b"\n")[0] + b"\n"),
        "the journal has lost its end",
    ),
    "result": (
        lambda files: _edit(files.aggregate, b'"mean": 0.5', b'"mean": 0.7'),
        ".json is not what the journal gives: ",
    ),
    "settings": (
        lambda files: _edit(files.provenance, b"mock/m1", b"mock/m2"),
        "run.json is not as it was written",
    ),
    "archive": (
        lambda files: shutil.copy(_log(files, "stdout.log"), files.folder / "trials/task_a/1/workspace.tar.zst"),
        "task_a/1/workspace.tar.zst is not as it was written",
    ),
    "transcript": (
        lambda files: _edit(_log(files, "transcript.jsonl"), b"\n", b" "),
        "task_b/1/transcript.jsonl is not as it was written",
    ),
    "check log": (
        lambda files: _edit(_log(files, "check.log"), b"seen", b"SEEN"),
        "task_b/1/check.log is not as it was written",
    ),
    "no log": (lambda files: _log(files, "stdout.log").unlink(), "task_b/1/stdout.log is missing"),
    "linked log": (lambda files: _linked(_log(files, "stdout.log")), "task_b/1/stdout.log can't be read"),
    "new log": (lambda files: _log(files, "gateway.log").write_bytes(b"all is well"), "task_b/1/gateway.log was added"),
}


def _changed(files: RunFiles, name: str) -> str:
    """Change something of a run; return what is said of it."""
    change, said = CHANGES[name]
    change(files)
    return said


def test_a_run_as_it_was_written_is_verified(
    files: RunFiles, pinchbench: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert pinchbench("verify") == 0

    assert capfd.readouterr().out.startswith(f"verified    {files.name}\n")
    found = check_run(files)
    assert (found.state, found.differences, found.unverified) == (State.VERIFIED, (), ())
    assert found.files >= 2 * 4 + 2 + 1  # outputs, transcript and archive of both, their checks' logs, and run.json


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_named_and_has_an_exit_code_of_its_own(
    files: RunFiles, pinchbench: Callable[..., int], capfd: pytest.CaptureFixture[str], change: str
) -> None:
    said = _changed(files, change)

    assert pinchbench("verify", files.name) == ALTERED

    out, err = capfd.readouterr()
    assert said in out
    assert "1 of 1 run is altered." in err
    assert pinchbench("verify", "--json") == ALTERED
    [row] = json.loads(capfd.readouterr().out)
    assert row["state"] == "altered"
    assert any(said in one for one in row["differences"])


@pytest.mark.parametrize("command", ["resume", "regrade", "upload"])
def test_what_writes_or_sends_refuses_a_run_whose_journal_was_edited(
    files: RunFiles, pinchbench: Callable[..., int], capfd: pytest.CaptureFixture[str], command: str
) -> None:
    said = _changed(files, "score")
    before = files.journal.read_bytes()

    assert pinchbench(command, files.name) == ALTERED

    err = capfd.readouterr().err
    assert said in err
    assert "is not as it was written" in err
    assert "pinchbench-async verify" in err
    assert files.journal.read_bytes() == before


@pytest.mark.parametrize("change", ["archive", "transcript", "linked log", "settings"])
def test_a_run_is_not_graded_again_with_other_evidence(
    files: RunFiles, pinchbench: Callable[..., int], capfd: pytest.CaptureFixture[str], change: str
) -> None:
    said = _changed(files, change)

    assert pinchbench("regrade", files.name) == ALTERED

    assert said in capfd.readouterr().err


@pytest.mark.parametrize("words", [("report",), ("export", "--format", "csv")])
@pytest.mark.parametrize("change", ["score", "settings"])
def test_what_only_shows_a_run_warns(
    files: RunFiles,
    pinchbench: Callable[..., int],
    capfd: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    change: str,
) -> None:
    said = _changed(files, change)

    assert pinchbench(words[0], files.name, *words[1:]) == 0

    assert said in capfd.readouterr().err


def test_grading_again_verifies_before_and_leaves_a_run_that_verifies(
    files: RunFiles, pinchbench: Callable[..., int], made: Path
) -> None:
    assert pinchbench("regrade", files.name, "--run-root", str(made / "root"), "--no-report") == 0

    assert check_run(files).differences == ()
    refuse_altered(files)


def test_a_run_of_an_older_release_is_unverified_and_stays_readable(
    files: RunFiles, pinchbench: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    lines = []
    for line in files.journal.read_bytes().splitlines():
        record = json.loads(line)
        for name in ("seq", "chain", "run_json"):
            record.pop(name, None)
        for name in ("outcome", "grade"):
            record.get(name, {}).pop("files", None)
        lines.append(json.dumps(record))
    files.journal.write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = json.loads(files.aggregate.read_bytes())
    del data["journal"]
    files.aggregate.write_text(json.dumps(data), encoding="utf-8")

    assert pinchbench("verify") == 0

    assert capfd.readouterr().out == (
        f"unverified  {files.name}\n  the journal has no digests: an older release wrote it\n"
        "  unwitnessed: OpenClaw's store alone says what the agents of 2 trials did\n"
    )
    assert pinchbench("resume", files.name) == 0
    refuse_altered(files)


def test_a_run_that_cannot_be_read_is_named(
    files: RunFiles, pinchbench: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    files.journal.unlink()

    assert pinchbench("verify") == 6

    out, err = capfd.readouterr()
    assert out.startswith(f"unreadable  {files.name}\n")
    assert "1 of 1 run is unreadable." in err


def _attempt(folder: Path, reason: Reason = Reason.COMPLETED, after: Sequence[Record] = ()) -> RunFiles:
    """A run of one attempt that has left its output, and then `after`."""
    files = create_run(folder, "m_r")
    evidence = Evidence(folder=files.trial(KEY))
    evidence.folder.mkdir(parents=True)
    evidence.stdout.write_bytes(b"out")
    outcome = Outcome(key=KEY, reason=reason, digest="d", evidence=str(evidence.folder.relative_to(files.folder)))
    ended = TrialFinished(outcome=replace(outcome, files=digests_of(evidence.of_agent)))
    with JournalWriter(files.journal) as journal:
        journal.append([STARTED, ended, *after])
    return files


def test_evidence_of_attempts_that_are_not_asked_for_keeps_nothing_from_going_on(tmp_path: Path) -> None:
    files = _attempt(tmp_path)
    Evidence(folder=files.trial(KEY)).stdout.write_bytes(b"Out")

    refuse_altered(files, attempts=set())
    with pytest.raises(AlteredRunError, match=r"task_a/1/stdout\.log is not as it was written"):
        refuse_altered(files, attempts={(KEY, 1)})
    with pytest.raises(AlteredRunError):
        refuse_altered(files)


def test_evidence_that_is_missing_is_named_and_keeps_nothing_from_going_on(tmp_path: Path) -> None:
    files = _attempt(tmp_path)
    Evidence(folder=files.trial(KEY)).stdout.unlink()

    refuse_altered(files)
    assert list(changed_evidence(files, read_journal(files.journal))) == [f"{files.trial(KEY)}/stdout.log is missing"]


@pytest.mark.parametrize("reason", [Reason.INTERRUPTED, Reason.COMPLETED])
def test_an_attempt_that_is_being_made_again_may_write_its_files_anew(tmp_path: Path, reason: Reason) -> None:
    files = _attempt(tmp_path, reason, after=[TrialStarted(key=KEY, slot=1, attempt=1, at=2.0)])
    Evidence(folder=files.trial(KEY)).stdout.write_bytes(b"Out")

    refuse_altered(files)
