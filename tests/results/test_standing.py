"""How far a run has come: the same as its whole records tell, whatever state its journal is in."""

from __future__ import annotations

import re
from dataclasses import replace
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.model import CheckGrade, Grade, GradingType, JudgeGrade, Outcome, Reason, TrialKey, Ungraded, Usage
from pinchbench.results.attempts import promised_retries, trial_attempts
from pinchbench.results.facts import TaskFacts
from pinchbench.results.journal import read_journal
from pinchbench.results.records import (
    GradeGiven,
    Record,
    RunFinished,
    RunResumed,
    RunStarted,
    TrialFinished,
    TrialStarted,
    decode,
    encode,
)
from pinchbench.results.standing import Standing, decode_mark

STARTED = RunStarted(run_id="r", model="mock/m1", at=1.5, trials=4)
PLAN = [(task_id, repetition) for task_id in ("task_a", "task_b") for repetition in (1, 2)]
KEY = st.sampled_from([TrialKey(task_id=task_id, repetition=repetition) for task_id, repetition in PLAN])
DIGEST = st.sampled_from(["old", "new"])
ATTEMPT = st.integers(1, 3)
USAGE = st.builds(Usage, requests=st.integers(0, 5), total_tokens=st.integers(0, 99), cost_usd=st.floats(0, 9))


def resumed(task_ids: list[str], digest: str, gone: list[str]) -> RunResumed:
    facts = TaskFacts(digest=digest, category="c", grading_type=GradingType.AUTOMATED, timeout_s=1.0)
    return RunResumed(at=0.0, trials=1, config={}, versions={}, tasks=dict.fromkeys(task_ids, facts), gone=tuple(gone))


TASK_IDS = st.lists(st.sampled_from(["task_a", "task_b"]), unique=True)
OUTCOME = st.builds(
    Outcome, key=KEY, reason=st.sampled_from(Reason), digest=DIGEST, attempt=ATTEMPT, usage=USAGE, note=st.text()
)
GRADE = st.builds(
    Grade,
    key=KEY,
    grading_type=st.just(GradingType.LLM_JUDGE),
    attempt=ATTEMPT,
    score=st.none() | st.floats(0, 1),
    ungraded=st.none() | st.sampled_from(Ungraded),
    judge=st.none() | st.builds(JudgeGrade, usage=USAGE, cost_usd=st.none() | st.floats(0, 9)),
    digest=DIGEST,
)
RECORD: st.SearchStrategy[Record] = st.one_of(
    st.builds(TrialFinished, outcome=OUTCOME, retried=st.booleans()),
    st.builds(GradeGiven, grade=GRADE),
    st.builds(TrialStarted, key=KEY, slot=st.just(1), attempt=ATTEMPT, at=st.floats(0, 9)),
    st.builds(resumed, TASK_IDS, DIGEST, TASK_IDS.filter(lambda ids: len(ids) < 2)),
    st.builds(RunFinished, at=st.floats(0, 9)),
)


DAMAGE = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=3)


def damaged(data: bytes, damage: list[tuple[float, int]]) -> bytes:
    """With other bytes, each at its part of the whole."""
    changed = bytearray(data)
    for part, byte in damage:
        changed[int(part * len(data))] = byte
    return bytes(changed)


@given(
    st.lists(st.tuples(RECORD, st.booleans()), max_size=20),
    DAMAGE,
    st.sampled_from([b"", b"\0\0", b"garbage\n", b'{"type":"outco']),
)
def test_it_tells_what_the_whole_records_tell(
    records: list[tuple[Record, bool]], damage: list[tuple[float, int]], tail: bytes
) -> None:
    lines = [encode(record).removesuffix(b"\n" if is_spliced else b"") for record, is_spliced in records]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(encode(STARTED) + (damaged(b"".join(lines), damage) if lines else b"") + tail)
        journal, standing = read_journal(path), Standing(path)
        left = standing.left(PLAN)
    attempts, promised = trial_attempts(journal.records), promised_retries(journal.records)
    gone = {task_id for record in journal.resumed for task_id in record.gone}
    keys = [TrialKey(task_id=task_id, repetition=number) for task_id, number in PLAN if task_id not in gone]
    ended = {key for key, trial in attempts.items() if trial.counting.reason.counts} - promised.keys()
    assert left.keys == tuple(key for key in keys if key not in ended)
    assert left.ungraded == tuple(
        outcome
        for key in keys
        if key in attempts
        for outcome in attempts[key].outcomes
        if outcome.reason.counts and (key, outcome.attempt) not in journal.graded
    )
    assert standing.retried == promised
    assert tuple(standing.resumed) == journal.resumed
    assert standing.gone == gone
    for key in keys:
        own = (one for one in journal.attempts if one.key == key and one.reason.is_attempt)
        assert standing.next_attempt(key) == max((one.attempt + 1 for one in own), default=1)
    counting = {key: attempts[key].counting for key in keys if key in ended}
    given = [journal.attempt_grades.get((key, one.attempt)) for key, one in counting.items()]
    done = [grade for grade in given if grade is not None and not (grade.ungraded and grade.ungraded.passes)]
    scores = [grade.score for grade in done if grade.score is not None]
    tally = standing.tally(counting, threshold=0.5)
    assert (tally.scores, tally.points) == (len(scores), fsum(scores))
    assert (tally.passed, tally.ungraded) == (sum(one >= 0.5 for one in scores), len(done) - len(scores))
    assert tally.passed + tally.failed == tally.scores
    for mark, outcome in zip(standing.outcomes, journal.attempts, strict=True):
        assert (mark.reason, mark.attempt, mark.digest) == (outcome.reason, outcome.attempt, outcome.digest)
        assert Usage(**{name: getattr(mark.usage, name) for name in mark.usage.__struct_fields__}) == outcome.usage


@given(RECORD, DAMAGE)
def test_a_mark_is_made_of_exactly_the_lines_that_are_records(record: Record, damage: list[tuple[float, int]]) -> None:
    line = damaged(encode(record), damage)
    try:
        decode(line)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            decode_mark(line)
    else:
        decode_mark(line)


COMPLETED = Outcome(key=TrialKey(task_id="task_a", repetition=1), reason=Reason.COMPLETED, digest="old")
GIVEN = Grade(key=COMPLETED.key, grading_type=GradingType.AUTOMATED, breakdown={"a": 1.0}, check=CheckGrade())


@pytest.mark.parametrize(
    ("record", "whole", "broken"),
    [
        (TrialFinished(outcome=replace(COMPLETED, store="jsonl")), b"jsonl", b"\xffsonl"),
        (TrialFinished(outcome=replace(COMPLETED, note="\u2026")), b"\xe2\x80\xa6", b"\\ud800"),
        (TrialFinished(outcome=COMPLETED), b'"slot":0', b'"slot":null'),
        (TrialFinished(outcome=COMPLETED), b'"exit_code":null', b'"exit_code":true'),
        (GradeGiven(grade=GIVEN), b'"automated"', b'"avtomated"'),
        (GradeGiven(grade=GIVEN), b'"grading_type":"automated",', b""),
        (GradeGiven(grade=GIVEN), b'{"a":1.0}', b'{"a":"1"}'),
        (GradeGiven(grade=GIVEN), b'"cpu_s":0.0', b'"cpu_s":""'),
        (GradeGiven(grade=replace(GIVEN, judge=JudgeGrade())), b'"cached":0', b'"cached":[]'),
        (TrialStarted(key=COMPLETED.key, slot=1, attempt=1, at=0.0), b'"slot":1', b'"slot":"1"'),
    ],
)
def test_what_a_mark_does_not_hold_is_checked_all_the_same(record: Record, whole: bytes, broken: bytes) -> None:
    line = encode(record)
    decode_mark(line)
    assert whole in line
    with pytest.raises(ValueError, match=r"\S"):
        decode(line.replace(whole, broken))
    with pytest.raises(ValueError, match=r"\S"):
        decode_mark(line.replace(whole, broken))


def test_of_a_line_with_several_outcomes_each_that_waits_is_graded_once_and_no_other(tmp_path: Path) -> None:
    failed = replace(COMPLETED, reason=Reason.PROVIDER_ERROR)
    second, other = replace(COMPLETED, attempt=2), replace(COMPLETED, key=TrialKey(task_id="task_b", repetition=1))
    line = b"".join(encode(TrialFinished(outcome=one)).rstrip() for one in (failed, other, second)) + b"\n"
    path = tmp_path / "journal.jsonl"
    path.write_bytes(encode(STARTED) + line)
    assert Standing(path).left(PLAN).ungraded == (second, other)


def test_a_waiting_outcome_that_was_taken_back_meanwhile_is_none(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(encode(STARTED) + encode(TrialFinished(outcome=COMPLETED)))
    standing = Standing(path)
    path.write_bytes(encode(STARTED))
    assert standing.left(PLAN).ungraded == ()


@pytest.mark.parametrize(
    ("reasons", "number"),
    [
        ([Reason.INTERRUPTED], 1),
        ([Reason.PROVIDER_ERROR, Reason.INTERRUPTED], 2),
        ([Reason.PREREQUISITE_MISSING], 1),
        ([Reason.PROVIDER_ERROR, Reason.PREREQUISITE_MISSING], 2),
        ([Reason.COMPLETED, Reason.TIMED_OUT], 3),
    ],
)
def test_only_an_interrupted_attempt_is_made_again_under_its_number(
    tmp_path: Path, reasons: list[Reason], number: int
) -> None:
    key, attempt = TrialKey(task_id="task_a", repetition=1), 1
    records: list[Record] = [STARTED]
    for reason in reasons:
        records.append(TrialFinished(outcome=Outcome(key=key, reason=reason, digest="old", attempt=attempt)))
        attempt += reason.is_attempt
    # one with an earlier state of the task has used its number up
    records.append(resumed(["task_a"], "new", []))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(map(encode, records)))
    assert Standing(path).next_attempt(key) == number


def test_a_run_without_a_journal_has_everything_left(tmp_path: Path) -> None:
    standing = Standing(tmp_path / "journal.jsonl")
    assert [str(key) for key in standing.left(PLAN).keys] == ["task_a", "task_a@2", "task_b", "task_b@2"]
    assert (standing.outcomes, standing.grades, standing.resumed) == ([], [], [])
