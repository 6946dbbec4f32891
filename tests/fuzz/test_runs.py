"""The files of a run in any state: whole records are kept, all else is named, and the numbers stay numbers."""

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fuzz.examples import examples_of
from fuzz.mutation import BYTE_CHANGES, HOSTILE_TEXTS, Change, change_bytes, encoded, json_texts
from past_runs import aggregate_of, facts_of
from pinchbench.errors import ResultsError
from pinchbench.model.ending import Reason
from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.report.terminal.summary import print_summary
from pinchbench.report.text import amount, duration
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.manifest import RunFacts, TaskFacts, read_facts
from pinchbench.results.records import (
    GradeGiven,
    PaceSet,
    Record,
    RegradeStarted,
    RunFinished,
    RunResumed,
    RunStarted,
    TrialFinished,
    TrialStarted,
    encode,
)

KEYS = [TrialKey(task_id=task_id, repetition=number) for task_id in ("task_a", "task_b") for number in (1, 2)]
USAGE = Usage(requests=2, input_tokens=80, output_tokens=10, total_tokens=90, cost_usd=0.003)
OUTCOMES = [
    Outcome(
        key=key,
        reason=reason,
        digest="d",
        slot=1,
        exit_code=0,
        started_at=1.0,
        ended_at=9.5,
        execution_time_s=8.5,
        session_ids=("s",),
        workspace="/w",
        evidence=f"trials/{key.task_id}/{key.repetition}",
        transcript_length=7,
        models=("mock/m1",),
        usage=USAGE,
        note="so it went",
    )
    for key, reason in zip(
        KEYS, (Reason.COMPLETED, Reason.TIMED_OUT, Reason.PROVIDER_ERROR, Reason.COMPLETED), strict=True
    )
]
JUDGED = JudgeGrade(score=0.5, votes=(0.5,), model="judge-1", prompt_version="2", usage=USAGE, cost_usd=0.1, calls=1)
GRADES = [
    Grade(key=KEYS[0], grading_type=GradingType.HYBRID, score=0.75, breakdown={"automated.a": 1.0}, judge=JUDGED),
    Grade(key=KEYS[1], grading_type=GradingType.AUTOMATED, score=0.0, check=CheckGrade(score=0.0)),
    Grade(
        key=KEYS[3],
        grading_type=GradingType.HYBRID,
        ungraded=Ungraded.NO_JUDGE,
        check=CheckGrade(score=0.5),
        notes=("no judge",),
    ),
]
TASKS = {
    "task_a": TaskFacts(digest="d", category="coding", grading_type=GradingType.HYBRID, timeout_s=60.0),
    "task_b": TaskFacts(digest="d", category="writing", grading_type=GradingType.AUTOMATED, timeout_s=60.0),
}
RECORDS: list[Record] = [
    RunStarted(run_id="r", model="mock/m1", at=1.0, trials=4),
    *(TrialStarted(key=key, slot=1, attempt=1, at=2.0) for key in KEYS),
    *(TrialFinished(outcome=outcome) for outcome in OUTCOMES),
    *(GradeGiven(grade=grade) for grade in GRADES),
    PaceSet(at=3.0, limit=2, why="The provider is busy."),
    RunFinished(at=10.0, interrupted="SIGINT"),
    RunResumed(at=11.0, trials=1, config={"model": "mock/m1"}, versions={"openclaw": "2026.9.6"}, tasks=TASKS),
    RegradeStarted(at=12.0, trials=1, judge={"model": "j"}),
    RunFinished(at=20.0),
]
LINES = [encode(record).rstrip(b"\n") for record in RECORDS]
VALUES: list[object] = [json.loads(line) for line in LINES]
# None: the line stays as it is
FATES = st.lists(st.one_of(st.none(), st.none(), BYTE_CHANGES), min_size=len(LINES), max_size=len(LINES))
STRANGERS = st.lists(encoded(json_texts(VALUES)), max_size=2)


@given(fates=FATES, strangers=STRANGERS, cut=st.integers(0, 40))
@examples_of("journal")
def test_every_whole_line_of_a_damaged_journal_is_kept(
    tmp_path: Path, fates: list[Sequence[Change] | None], strangers: list[bytes], cut: int
) -> None:
    lines = [
        line if fate is None else change_bytes(line, fate, LINES[0]) for line, fate in zip(LINES, fates, strict=True)
    ]
    whole = [record for record, line, fate in zip(RECORDS, lines, fates, strict=True) if fate is None]
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"\n".join([*lines, *strangers, LINES[-1][: len(LINES[-1]) - cut]]))
    journal = read_journal(path)
    kept = iter(journal.records)
    assert all(any(record == found for found in kept) for record in whole)
    assert all(problem.startswith(f"{path}:") for problem in journal.problems)
    # what a resumed run and a report ask of it
    assert len(journal.state.outcomes) <= len(journal.state.attempts)
    assert journal.state.grades.keys() <= {key for key, _ in journal.state.attempt_grades}
    assert journal.state.finished is None or journal.state.finished in journal.records


FACTS = RunFacts(
    run_id="r",
    created_at=1.5,
    config={"model": "mock/m1", "suite": "all", "judge": None},
    versions={"openclaw": "2026.9.6"},
    containment="guardian",
    agents=["bench-mock-m1"],
    suite={"folder": "/tasks"},
    tasks=TASKS,
    plan=[(key.task_id, key.repetition) for key in KEYS],
)


@given(encoded(json_texts([msgspec.to_builtins(FACTS)])))
@examples_of("facts")
def test_a_run_json_is_facts_that_can_be_written_again_or_a_sentence_that_names_it(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(text)
    try:
        facts = read_facts(path)
    except ResultsError as error:
        assert str(error).startswith(str(path))  # noqa: PT017 - one of two good ends
        return
    assert len(facts.keys) == len(facts.plan)
    path.write_bytes(msgspec.json.encode(facts))
    assert read_facts(path) == facts


@given(STRANGERS, st.sets(st.sampled_from(KEYS)))
@examples_of("summary")
def test_the_numbers_of_any_journal_make_a_summary_without_control_characters(
    tmp_path: Path, strangers: list[bytes], skipped: set[TrialKey]
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"\n".join([*strangers, *LINES]) + b"\n")
    journal = read_journal(path)
    outcomes = [one for one in journal.state.outcomes if one.key not in skipped]
    plan = list(dict.fromkeys([*KEYS, *(one.key for one in outcomes)]))
    data = aggregate_of(
        outcomes,
        facts_of(plan, model=HOSTILE_TEXTS[2], categories={"task_a": HOSTILE_TEXTS[4], "task_b": "writing"}),
        journal.state.grades.values(),
        given=journal.state.given,
        stopped=HOSTILE_TEXTS[3],
    )
    console = Console(file=StringIO(), width=100)
    print_summary(console, data, outcomes, journal.state.grades, folder=Path("results"))
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert not [
        char for char in text if char != "\n" and (ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u2066")
    ]
    for outcome in outcomes:
        assert duration(outcome.execution_time_s)
        assert amount(outcome.usage.total_tokens)
