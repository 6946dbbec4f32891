"""The copy of a run that is published: nothing private is in it, it verifies, and says what is gone."""

from pathlib import Path

import pytest

from pinchbench.errors import AlteredRunError, ResultsError
from pinchbench.files.archive import unpacked
from pinchbench.files.archive_restore import restore_workspace
from pinchbench.publish.bundle.public_copy import TextRemover, copy_publicly
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.finished_run import read_run
from pinchbench.results.verification import State, check_run
from pinchbench.wire.recording import RecordingReader
from published_runs import KEY, published_run, with_digests


def _bytes(folder: Path) -> dict[str, bytes]:
    """All files by name; those that are compressed as what is in them."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            found[name] = b"".join(unpacked(path)) if name.endswith("workspace.tar.zst") else path.read_bytes()
            if name.endswith("wire.jsonl.zst"):
                found[name] = repr([*RecordingReader(path)]).encode()
    return found


def test_neither_names_nor_keys_are_left_and_the_copy_verifies(tmp_path: Path) -> None:
    past = published_run(tmp_path)
    files, published = copy_publicly(past, tmp_path / "copy", TextRemover(names=["zelda"], keys=[KEY]))
    assert check_run(files).state is State.VERIFIED
    for name, content in _bytes(files.output_dir).items():
        assert b"zelda" not in content, name
        assert KEY.encode() not in content, name
    [recorded] = RecordingReader(Evidence(folder=files.folder / "trials/task_a/1").wire)
    assert (
        recorded.reply
        == b'data: {"content":"Hello **"}\n\ndata: {"content":"***, how"}\n\ndata: {"content":" are you?"}\n\n'
    )
    restore_workspace(Evidence(folder=files.folder / "trials/task_a/1").workspace, tmp_path / "restored")
    assert (tmp_path / "restored/link").read_text(encoding="utf-8") == "***** was here"
    listed = {(one.file.rpartition("/")[2], one.what): one.places for one in published.taken_out}
    assert listed == {
        ("run.json", "name 1"): 1,
        ("journal.jsonl", "name 1"): 1,
        ("transcript.jsonl", "key"): 1,
        ("transcript.jsonl", "name 1"): 1,
        ("wire.jsonl.zst", "name 1"): 4,
        ("workspace.tar.zst", "name 1"): 4,
    }
    assert read_run(files).data.score == past.data.score


def test_where_nothing_is_private_all_files_stay_as_they_were(tmp_path: Path) -> None:
    past = published_run(tmp_path)
    files, published = copy_publicly(past, tmp_path / "copy", TextRemover(names=["ganon"], keys=[]))
    assert not published.taken_out
    assert not published.left_out
    assert published.journal == past.journal.digests[-1]
    for path in past.files.folder.rglob("*"):
        if path.is_file():
            assert (files.folder / path.relative_to(past.files.folder)).read_bytes() == path.read_bytes()
    assert files.aggregate.read_bytes() == past.files.aggregate.read_bytes()


def test_the_same_run_gives_the_same_copy(tmp_path: Path) -> None:
    past = published_run(tmp_path)
    copies = [
        copy_publicly(past, tmp_path / name, TextRemover(names=["zelda"], keys=[KEY]))[0].output_dir for name in "ab"
    ]
    first, second = ({p.relative_to(c): p.read_bytes() for p in c.rglob("*") if p.is_file()} for c in copies)
    assert first == second


def test_files_without_a_digest_are_left_out_and_listed(tmp_path: Path) -> None:
    past = published_run(tmp_path)
    (past.files.folder / "zelda.html").write_text("mine", encoding="utf-8")
    files, published = copy_publicly(past, tmp_path / "copy", TextRemover(names=["zelda"], keys=[]))
    assert [one.file for one in published.left_out] == ["*****.html"]
    assert not (files.folder / "*****.html").exists()


def test_a_recording_that_cannot_be_searched_is_left_out_and_listed(tmp_path: Path) -> None:
    past = published_run(tmp_path)
    wire = Evidence(folder=past.files.trial(past.outcomes[0].key)).wire
    wire.write_bytes(wire.read_bytes()[:-3])
    with pytest.raises(AlteredRunError, match="wire"):
        copy_publicly(past, tmp_path / "copy", TextRemover(names=[], keys=[]))
    # the runner's wire ended within an exchange
    files, published = copy_publicly(
        with_digests(past.files, tmp_path / "workspace"), tmp_path / "other", TextRemover(names=[], keys=[])
    )
    assert [one.file for one in published.left_out] == ["trials/task_a/1/wire.jsonl.zst"]
    assert check_run(files).state is State.VERIFIED


def test_a_name_that_the_files_need_is_no_silent_damage(tmp_path: Path) -> None:
    past = published_run(tmp_path)
    with pytest.raises(ResultsError, match="--keep"):
        copy_publicly(past, tmp_path / "copy", TextRemover(names=["hybrid"], keys=[]))


SIGNED_KEY = "sk-Abc123+/x"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/home/zelda/results", "/home/*****/results"),
        ("Zelda's ZELDA-box", "*****'s *****-box"),
        (r"{\"a\": \"x\nzelda\"}", r"{\"a\": \"x\n*****\"}"),
        ("\\u001bzelda", "\\u001b*****"),
        ("grizelda, zeldas, zélda", "grizelda, zeldas, zélda"),
        (f"Bearer{SIGNED_KEY}x", f"Bearer{'*' * len(SIGNED_KEY)}x"),
        (SIGNED_KEY.upper(), SIGNED_KEY.upper()),
        ("ruf-ex.local:8080", "************:8080"),
    ],
)
def test_a_name_is_taken_out_as_a_word_and_a_key_everywhere(text: str, left: str) -> None:
    remove = TextRemover(names=["zelda", "ruf-ex.local"], keys=[SIGNED_KEY])
    assert remove(text.encode()) == left.encode()


def test_a_short_name_is_taken_out_only_where_it_names_a_home() -> None:
    remove = TextRemover(names=["pi"], keys=[])
    assert remove(b"pi is 3.14; /home/pi/x, /Users/pi, pi@box") == b"pi is 3.14; /home/**/x, /Users/**, pi@box"


def test_a_name_beyond_ascii_is_found_as_json_writes_it_too() -> None:
    remove = TextRemover(names=["zoë"], keys=[])
    assert remove(rb"/home/zo\u00eb/") == b"/home/" + b"*" * 8 + b"/"
    assert remove("/home/zoë/".encode()) == b"/home/" + b"*" * 4 + b"/"


def test_what_was_taken_out_is_counted_without_saying_it() -> None:
    remove = TextRemover(names=["zelda", "hyrule.example"], keys=[SIGNED_KEY])
    remove(f"zelda@hyrule.example zelda {SIGNED_KEY}".encode())
    assert remove.text("zelda") == "*****"  # and is not counted
    assert remove.take_found() == {"key": 1, "name 1": 1, "name 2": 2}
    assert remove.take_found() == {}
    assert remove.labels == {"name 1": "hyrule.example", "name 2": "zelda"}
