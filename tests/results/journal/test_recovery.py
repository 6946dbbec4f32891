"""The chain of a journal: whatever is changed in it is noticed and named, and a writer's death is no change."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from past_runs import outcome_of
from pinchbench.errors import AlteredRunError
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.records import Record, RunFinished, RunResumed, RunStarted, TrialFinished, encode

STARTED = RunStarted(run_id="r", model="m", at=1.0, trials=4)
RESUMED = RunResumed(at=3.0, trials=2, config={}, versions={})


def outcome(number: int) -> TrialFinished:
    return TrialFinished(outcome=outcome_of(f"task_{number}", note="a note"))


RECORDS: tuple[Record, ...] = (STARTED, *map(outcome, range(4)), RunFinished(at=2.0))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of six records."""
    path = tmp_path / "journal.jsonl"
    with JournalWriter(path) as writer:
        writer.append(RECORDS[:3])
        writer.append(RECORDS[3:])
    return path


def test_records_are_numbered_and_have_a_digest_each(path: Path) -> None:
    journal = read_journal(path)

    assert journal.records == RECORDS
    assert (journal.length, len(journal.digests), journal.differences) == (6, 7, ())
    assert b'"seq":6,"chain":"' + journal.digests[-1].encode() + b'"}\n' in path.read_bytes()


def _edited(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2].replace(b"a note", b"b note"), *lines[3:]]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_edited, ":3: record 3 is not as it was written"),
        (lambda lines: [*lines[:2], *lines[3:]], ":3: record 3 is missing or damaged: record 4 follows record 2"),
        (lambda lines: [*lines[:1], *lines[4:]], ":2: records 2 to 4 are missing or damaged"),
        (lambda lines: [*lines[:3], lines[2], *lines[3:]], "repeated or put in another order"),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "record 3 is missing or damaged"),
        (lambda lines: lines[1:], ":1: record 1 is missing or damaged"),
        (lambda lines: [*lines, encode(outcome(9))], ":7: it has no number and digest"),
        (lambda lines: [*lines[:2], b"garbage\n", *lines[3:]], "record 3 is missing or damaged"),
    ],
)
def test_a_change_is_named_with_its_line_and_nothing_more_is_written(path: Path, edit: object, said: str) -> None:
    assert callable(edit)
    path.write_bytes(b"".join(edit(path.read_bytes().splitlines(keepends=True))))

    assert any(said in one for one in read_journal(path).differences)
    changed = path.read_bytes()
    with pytest.raises(AlteredRunError, match="is not what the runner wrote"):
        JournalWriter(path, go_on=True)
    assert path.read_bytes() == changed


@settings(max_examples=100)
@given(at=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_changed_byte_is_noticed_wherever_it_is(
    tmp_path_factory: pytest.TempPathFactory, at: float, flip: int
) -> None:
    path = tmp_path_factory.mktemp("flip") / "journal.jsonl"
    with JournalWriter(path) as writer:
        writer.append(RECORDS)
    whole = read_journal(path)
    data = bytearray(path.read_bytes())
    data[int(at * (len(data) - 1))] ^= flip  # without the last newline: the records before it are whole without it
    path.write_bytes(data)

    changed = read_journal(path)

    # what is lost at the end, the result file notices: it names the last digest
    assert changed.differences or changed.digests[-1:] != whole.digests[-1:]


def test_a_journal_of_an_older_release_is_read_and_covered_from_its_first_new_record_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(map(encode, RECORDS)))
    assert (read_journal(path).records, read_journal(path).digests) == (RECORDS, ())
    with JournalWriter(path, go_on=True) as writer:
        writer.append([RESUMED])

    journal = read_journal(path)
    assert (journal.records, journal.length, journal.differences) == ((*RECORDS, RESUMED), 1, ())
    path.write_bytes(path.read_bytes().replace(b"task_2", b"task_3", 1))
    assert read_journal(path).differences == (
        f"{path}:7: record 1 is not as it was written, or what stands before it is not",
    )
