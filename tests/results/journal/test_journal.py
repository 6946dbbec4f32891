"""The journal: what was acknowledged is there, whatever became of its writer."""

import gc
import math
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import create_memory_object_stream
from hypothesis import given
from hypothesis import strategies as st

from past_runs import grade_of, outcome_of
from pinchbench.errors import ResultsError
from pinchbench.model.ending import Reason
from pinchbench.model.grade import CheckGrade, JudgeGrade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.results.journal.journal import MAX_GROUP, JournalWriter, collector_paused, read_journal, write_records
from pinchbench.results.journal.recovery import MAX_RECORD_BYTES
from pinchbench.results.records import (
    GradeGiven,
    Record,
    RegradeStarted,
    RunFinished,
    RunStarted,
    TrialFinished,
    TrialStarted,
    decode,
    encode,
)

STARTED = RunStarted(run_id="r", model="mock/m1", at=1.5, trials=2)
FINISHED = RunFinished(at=2.5)


def finished(number: int = 1) -> TrialFinished:
    return TrialFinished(outcome=outcome_of(f"task_{number}"))


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBER = st.floats(0, 1e9)
COUNT = st.integers(0, 2**60)
USAGE = st.builds(
    Usage,
    requests=COUNT,
    input_tokens=COUNT,
    output_tokens=COUNT,
    cache_read_tokens=COUNT,
    cache_write_tokens=COUNT,
    total_tokens=COUNT,
    cost_usd=NUMBER,
)
OUTCOME = st.builds(
    Outcome,
    key=st.builds(TrialKey, task_id=TEXT, repetition=st.integers(1, 1000)),
    reason=st.sampled_from(Reason),
    digest=TEXT,
    timed_out=st.booleans(),
    exit_code=st.none() | st.integers(-64, 255),
    started_at=NUMBER,
    execution_time_s=NUMBER,
    session_ids=st.lists(TEXT, max_size=3).map(tuple),
    workspace=TEXT,
    models=st.lists(TEXT, max_size=3).map(tuple),
    usage=USAGE,
    leftovers=st.lists(TEXT, max_size=3).map(tuple),
    note=TEXT,
)


@given(OUTCOME)
def test_an_outcome_comes_back_as_it_went(one: Outcome) -> None:
    line = encode(TrialFinished(outcome=one))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert decode(line) == TrialFinished(outcome=one)


@given(st.binary())
def test_no_line_is_too_broken_to_be_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(line)


def test_what_is_appended_is_there_also_while_the_journal_is_open(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    key = TrialKey(task_id="task_1", repetition=1)
    records: list[Record] = [STARTED, TrialStarted(key=key, slot=1, attempt=1, at=2.0), finished(), FINISHED]
    with JournalWriter(path) as journal:
        journal.append(records[:1])
        assert read_journal(path).records == tuple(records[:1])
        journal.append(records[1:])
        journal.append([])
    assert read_journal(path).records == tuple(records)
    assert read_journal(path).state.outcomes == (outcome_of("task_1"),)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_torn_line_is_left_out_and_named_whatever_follows(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    whole = encode(STARTED) + encode(finished())
    line = encode(finished(2))
    for cut in (*range(1, len(line) - 2, 4), len(line) - 2):
        for behind, kept in ((b"", ()), (b"\n" + encode(FINISHED), (FINISHED,))):  # the next writer begins a new line
            path.write_bytes(whole + line[:cut] + behind)
            journal = read_journal(path)
            assert journal.records == (STARTED, finished(), *kept)
            [problem] = journal.problems
            assert problem.startswith(f"{path}:3: torn: ")
    path.write_bytes(whole + line[:-1])  # whole but for its newline: nothing is lost
    assert read_journal(path).records == (STARTED, finished(), finished(2))


def test_garbage_between_records_is_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    no_text = encode(finished()).rstrip().replace(b'"store":"', b'"store":"\xff')
    garbage = [b"garbage", b'{"type":5}', b'{"type":"unknown"}', b"[]", b'{"type":"outcome"}', b"[" * 9999, no_text]
    path.write_bytes(encode(STARTED) + b"\n\n" + b"\n".join(garbage) + b"\n" + encode(FINISHED))
    journal = read_journal(path)
    assert journal.records == (STARTED, FINISHED)
    assert [problem.split(": ")[1] for problem in journal.problems] == ["no record"] * len(garbage)
    assert journal.problems[0].startswith(f"{path}:4: ")


def test_a_huge_line_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    huge = [b"x" * size for size in (MAX_RECORD_BYTES - 1, MAX_RECORD_BYTES, 3 * MAX_RECORD_BYTES)]
    path.write_bytes(encode(STARTED) + b"\n".join([*huge, b"garbage", encode(FINISHED), huge[-1]]))
    journal = read_journal(path)
    assert journal.records == (STARTED, FINISHED)
    assert [problem.removeprefix(f"{path}:").split(":")[0] for problem in journal.problems] == list(
        "23458"
    )  # 7 is empty
    assert sum("longer than" in problem for problem in journal.problems) == 3


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_is_reported_with_what_is_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with JournalWriter(tmp_path / "journal.jsonl") as journal:
        journal.append([STARTED])
        with monkeypatch.context() as patch:
            patch.setattr(os, call, full)
            with pytest.raises(ResultsError, match=r"No space left on device.*held before is safe"):
                journal.append([FINISHED])
    assert read_journal(tmp_path / "journal.jsonl").records[0] == STARTED


class Disk(JournalWriter):
    """A journal that remembers its groups."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.groups: list[int] = []

    def append(self, records: Sequence[Record]) -> None:
        super().append(records)
        self.groups.append(len(records))


async def test_records_are_reported_in_order_and_only_when_they_are_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    sender, receiver = create_memory_object_stream[Record](math.inf)
    records: list[Record] = [finished(number) for number in range(MAX_GROUP + 44)]
    with sender:
        for record in records:
            sender.send_nowait(record)
    told: list[Record] = []
    safe: list[int] = []

    def written(record: Record) -> None:
        told.append(record)
        safe.append(len(disk.groups))

    with Disk(path) as disk:
        await write_records(receiver, disk.append, written)
    assert told == records == list(read_journal(path).records)
    assert disk.groups == [MAX_GROUP, 44]
    assert safe == [1] * MAX_GROUP + [2] * 44


def grade(number: int, score: float | None) -> GradeGiven:
    judge = JudgeGrade(score=score, votes=(0.5, 1.0), reply="\x00é")
    check = CheckGrade(ungraded=Ungraded.CHECK_DIED, breakdown={"a": 0.5})
    hybrid = GradingType.HYBRID
    return GradeGiven(
        grade=grade_of(f"task_{number}", score, grading_type=hybrid, check=check, judge=judge, graded_at=1.5)
    )


def test_a_grade_comes_back_as_it_was_and_the_latest_of_a_trial_counts(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "journal.jsonl") as journal:
        journal.append([STARTED, grade(1, 0.25), grade(2, None)])
        journal.append([FINISHED, RegradeStarted(at=3.0, trials=1, judge={"model": "m"}), grade(1, 0.75)])
    read = read_journal(tmp_path / "journal.jsonl")
    assert read.problems == ()
    assert [one.score for one in read.state.grades.values()] == [0.75, None]
    assert read.records[1] == grade(1, 0.25)
    assert (read.state.started, read.state.finished) == (STARTED, FINISHED)


@pytest.mark.parametrize("digest", ["d", "another"])
def test_a_failure_to_grade_takes_no_score_away_unless_the_task_has_changed(tmp_path: Path, digest: str) -> None:
    first, failed = grade(1, 0.25), grade(1, None)
    failed = GradeGiven(grade=replace(failed.grade, digest=digest, ungraded=Ungraded.JUDGE_REFUSED))
    with JournalWriter(tmp_path / "journal.jsonl") as journal:
        journal.append([GradeGiven(grade=replace(first.grade, digest="d")), failed])
    [counting] = read_journal(tmp_path / "journal.jsonl").state.grades.values()
    assert counting.score == (0.25 if digest == "d" else None)


def test_a_journal_that_is_gone_on_with_keeps_what_it_held_and_seals_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(encode(STARTED) + encode(finished())[:20])
    with JournalWriter(path, go_on=True) as journal:
        journal.append([grade(1, 1.0)])
    read = read_journal(path)
    assert read.records == (STARTED, grade(1, 1.0))
    assert [problem.rpartition(":")[0].partition(": ")[0] for problem in read.problems] == [f"{path}:2"]
    assert read.state.finished is None


def test_a_journal_has_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with JournalWriter(path) as journal:
        with pytest.raises(ResultsError, match="Another pinchbench-async is writing the run"):
            JournalWriter(path, go_on=True)
        journal.append([STARTED])
    with JournalWriter(path, go_on=True) as journal:
        journal.append([FINISHED])
    assert read_journal(path).records == (STARTED, FINISHED)


def test_a_journal_that_its_runner_did_not_come_to_make_is_made_to_go_on(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "journal.jsonl", go_on=True) as journal:
        journal.append([STARTED])
    assert read_journal(tmp_path / "journal.jsonl").records == (STARTED,)
    with pytest.raises(ResultsError, match="can't be opened: No such file"):
        JournalWriter(tmp_path / "gone" / "journal.jsonl", go_on=True)


def test_nul_bytes_that_a_power_cut_left_are_torn_and_hide_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    line = encode(finished())
    for zeros in (1, 4096, 2 * MAX_RECORD_BYTES + 7):
        nuls = b"\0" * zeros
        for tail, kept in {
            nuls: (),
            nuls + b"\n" + encode(FINISHED): (FINISHED,),
            nuls + encode(FINISHED): (FINISHED,),
            line[:-1] + nuls[:5000]: (finished(),),
            line[:-9] + nuls[:5000]: (),
            line[:-9] + nuls[:5000] + b"\n" + encode(FINISHED): (FINISHED,),
        }.items():
            path.write_bytes(encode(STARTED) + tail)
            journal = read_journal(path)
            assert journal.records == (STARTED, *kept)
            [problem] = journal.problems
            assert problem.startswith(f"{path}:2: torn: ")
            assert problem.endswith(" NUL bytes")


def test_a_record_of_a_newer_release_is_named_and_keeps_no_other(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(encode(STARTED) + b'{"type":"\\u001b[2Jnew","at":1}\n' + encode(FINISHED))
    journal = read_journal(path)
    assert journal.records == (STARTED, FINISHED)
    assert journal.problems == (f"{path}:2: no record: of a kind that this release does not know: '\\x1b[2Jnew'",)


def test_two_pauses_that_overlap_leave_it_on_and_one_of_a_program_without_it_leaves_it_off() -> None:
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(collector_paused())
        second.enter_context(collector_paused())
        first.close()
        second.close()
        assert gc.isenabled()

    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("place", ["trials", "trials/task_1", "trials/task_1/1"])
def test_a_link_in_place_of_a_trials_folder_is_refused(tmp_path: Path, place: str) -> None:
    run = tmp_path / "run"
    (run / place).parent.mkdir(parents=True)
    with JournalWriter(run / "journal.jsonl") as journal:
        journal.append([STARTED])
    assert read_journal(run / "journal.jsonl").records == (STARTED,)
    (tmp_path / "elsewhere").mkdir()
    (run / place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ResultsError, match="is a link, and none is followed"):
        read_journal(run / "journal.jsonl")


@pytest.mark.parametrize("put", ["link", "pipe"])
def test_a_link_or_a_pipe_in_the_journals_place_is_not_read(tmp_path: Path, put: str) -> None:
    path = tmp_path / "journal.jsonl"
    if put == "link":
        path.symlink_to("/proc/self/environ")
    else:
        os.mkfifo(path)
    with pytest.raises(ResultsError, match="can't be read"):
        read_journal(path)
