"""Sentences on a run: what they say, and when there is nothing to say."""

from dataclasses import replace
from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, facts_of, grade_of, outcome_of, write_run
from pinchbench.model.ending import Reason, Stop
from pinchbench.model.facts import Finding, FindingKind, LoadFacts
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.report.choice_text import notes
from pinchbench.report.export.trial_rows import trial_rows
from pinchbench.report.html.variants_page import write_comparison
from pinchbench.report.sentences import (
    MOST_ENTRIES,
    control_sentences,
    decided_sentence,
    disturbance_warnings,
    kinship_sentences,
    memorisation_sentences,
    node_sentences,
    run_warnings,
    unsandboxed_sentence,
    witness_sentences,
)
from pinchbench.results.aggregate import aggregate
from pinchbench.results.compare.choice import choice_of
from pinchbench.results.compare.comparison import compare
from pinchbench.results.compare.memorisation import memorisation_of
from pinchbench.results.compare.samples import Sample, TaskTrials, side_of
from pinchbench.results.compare.verdict import PRIVATE, warnings
from pinchbench.results.disturbances import Disturbances, LoadedTrial, Renamed
from pinchbench.results.finished_run import derive_result, read_run
from pinchbench.results.node_times import Hardware, node_times
from pinchbench.results.records import (
    GradeGiven,
    GradeOverridden,
    NoteAdded,
    Record,
    RunStarted,
    TrialFinished,
    TrialRequeued,
    TrialsSkipped,
    TrialStopped,
)
from pinchbench.results.run_list import past_runs
from pinchbench.results.run_state import RunState

DECIDED = "Decided: worse than base."


def test_trials_that_were_not_needed_are_reported_and_are_neither_missing_nor_planned(tmp_path: Path) -> None:
    lost = Made(reason=Reason.NO_TRANSCRIPT, score=None)  # is excluded, and makes a decided run no less complete
    trials = {"task_a": (Made(), Made()), "task_b": (lost,)}
    files = write_run(tmp_path, PlannedRun(trials=trials, planned_beyond=1, decided=DECIDED))

    run = read_run(files)
    assert decided_sentence(run.data) == f"{DECIDED} 2 further trials not needed."
    assert (run.unfinished, run.data.counts.planned, run.data.counts.not_run) == (0, 3, 0)
    assert (run.data.stop, run.data.not_needed, run.data.left_out.infrastructure) == (Stop.DECIDED, 2, 1)
    assert derive_result(files).complete


PLAN = tuple(TrialKey(task_id="task", repetition=number) for number in range(1, 4))
A, B, C = PLAN


def told(*records: Record) -> tuple[str, ...]:
    state = RunState.of([RunStarted(run_id="r", model="m", at=0.0, trials=3), *records])
    return control_sentences(aggregate(facts_of(PLAN), state))


def scored(key: TrialKey, score: float, *, attempt: int = 1) -> tuple[Record, Record]:
    return (
        TrialFinished(outcome=outcome_of(key, attempt=attempt)),
        GradeGiven(grade=grade_of(key, score, attempt=attempt, digest="d")),
    )


def test_skipped_trials_are_named_and_those_that_were_running() -> None:
    assert told(TrialsSkipped(at=1.0, keys=(B,)), TrialStopped(at=1.0, key=A)) == (
        "Skipped by the user, and in no score: task (stopped while it ran), task@2.",
    )


def test_a_retry_by_hand_is_reported_with_its_reason_and_the_score_without_it() -> None:
    retried = TrialRequeued(at=1.0, key=A, why="the disk\nwas slow")

    [sentence] = told(*scored(A, 0.0), *scored(B, 1.0), retried, *scored(A, 1.0, attempt=2))

    assert sentence == (
        "Retried by hand: 1 trial. With these retries the score is 1.000 (2 trials), without 0.500 (2 trials)."
        " task (the disk was slow)."
    )


def test_a_grade_by_hand_is_reported_next_to_the_measured_one_and_changes_no_mean() -> None:
    own = GradeOverridden(at=1.0, key=A, attempt=1, score=1.0, why="the check is wrong")

    [sentence] = told(*scored(A, 0.25), *scored(B, 0.75), own)

    assert sentence == (
        "Graded by hand: 1 trial. With these grades the score is 0.875 (2 trials), as measured 0.500 (2 trials)."
        " task 0.25 → 1.00 (the check is wrong)."
    )


def test_notes_are_shown_up_to_a_number() -> None:
    notes = [NoteAdded(at=1.0, text=f"note\n{number}", key=C) for number in range(MOST_ENTRIES + 2)]

    sentences = told(*notes)

    assert sentences[0] == "Note: task@3: note 0"
    assert sentences[-1] == "2 more notes in the result file."
    assert len(sentences) == MOST_ENTRIES + 1


def _outcomes(*levels: str) -> list[Outcome]:
    return [outcome_of(key, level=level) for key, level in zip(PLAN, levels, strict=False)]


def test_trials_without_a_sandbox_are_counted_with_the_way_to_one() -> None:
    every = unsandboxed_sentence(_outcomes("guardian", "session", ""))
    one = unsandboxed_sentence(_outcomes("guardian", "namespaces", "namespaces"))

    assert every.startswith("No sandbox: the agents of all trials could read and change checks")
    assert "--isolation private --sandbox auto" in every
    assert "the agents of 1 of 3 trials could" in one


def test_trials_without_the_wire_and_those_whose_store_differs_from_it_are_named() -> None:
    seen, unseen = (
        replace(one, witnessed=is_seen) for one, is_seen in zip(_outcomes("", ""), (True, False), strict=True)
    )
    found = Finding(kind=FindingKind.CHANGED, said="42 passed", sent="41 passed", number=2)

    assert list(witness_sentences([seen])) == []
    [unwitnessed, differing] = witness_sentences([replace(seen, findings=(found,)), unseen])
    assert unwitnessed.startswith("Unwitnessed: without the wire, OpenClaw's store alone")
    assert f"in 1 trial ({seen.key})" in differing
    assert str(found) == "OpenClaw's store has '42 passed', the wire saw '41 passed' (request 2)"


NOON = 1_767_355_200.0
LATE = LoadedTrial(
    variant="fast",
    task_id="t",
    repetition=2,
    waited_for="cpu",
    share=0.456,
    timed_out=True,
)


def test_where_nothing_is_found_nothing_is_said() -> None:
    assert disturbance_warnings(Disturbances()) == ()


def test_timeouts_under_load_are_named_with_what_to_do() -> None:
    sentences = disturbance_warnings(Disturbances(waited=(LATE,) * 7))

    assert sentences[0].startswith(
        "7 trials timed out while the machine was busy: t@2 of fast (waited for the processor 46% of its time), "
    )
    assert sentences[0].endswith(" and 2 more. Run them again with a lower `--concurrency`.")
    assert len(sentences) == 1


def test_another_model_that_answers_is_reported_with_its_time() -> None:
    renamed = Renamed(variant="fast", at=NOON, before=("m-1",), after=("m-2",))

    assert disturbance_warnings(Disturbances(renamed=(renamed,))) == (
        "From 2026-01-02 12:00 UTC on m-2 answered for fast, before m-1.",
    )


def test_a_single_run_warns_of_trials_that_waited_for_the_machine(tmp_path: Path) -> None:
    busy = LoadFacts(measured_s=10, io_stalled_s=9)
    trials = {"t": (Made(reason=Reason.TIMED_OUT, score=0.0, load=busy), Made(load=busy))}
    data = read_run(write_run(tmp_path, PlannedRun(trials=trials, slots=1))).data

    assert run_warnings(data) == (
        (
            "1 trial timed out while the machine was busy: t@1 (waited for reading and writing 90% of its time). Run"
            " them again while nothing else works."
        ),
        (
            "1 trial waited for the machine for 20% of the time or more; the longest, t@2 (waited for reading and"
            " writing 90% of its time). Times are longer than on an idle machine; run them while nothing else works."
        ),
    )


def test_private_runs_are_marked_wherever_they_are_shown_compared_listed_or_exported(tmp_path: Path) -> None:
    planned = PlannedRun(trials={"task_a": (Made(score=1.0),)}, private=True)
    runs = [read_run(write_run(tmp_path, replace(planned, model=f"mock/{name}"))) for name in "ab"]
    sides = [side_of([run]) for run in runs]
    write_comparison(tmp_path / "compare.html", sides, compare(sides))

    assert runs[0].data.private is True
    assert run_warnings(runs[0].data)[0] == PRIVATE
    assert PRIVATE in list(warnings(compare(sides)[0]))
    assert notes(choice_of(sides)).count(PRIVATE) == 1
    assert (tmp_path / "compare.html").read_text("utf-8").count(PRIVATE) == 1
    assert [entry.is_private for entry in past_runs(tmp_path)] == [True, True]
    assert [row["private"] for row in trial_rows(runs[0])] == [True]


def test_a_slow_node_is_named_with_how_much_longer_the_same_tasks_took_there() -> None:
    outcomes = [
        outcome_of(f"task_{number}", node=node, execution_time_s=took_s)
        for number in range(5)
        for node, took_s in (("first", 100.0), ("second", 160.0))
    ]
    nodes, slow = node_sentences(node_times(outcomes, {}))
    assert nodes == "Nodes: first: 5 trials, median 1 min 40 s; second: 5 trials, median 2 min 40 s."
    assert slow.startswith(
        "second is slow: trials took 1.6 times as long there as the same tasks elsewhere (5 trials)."
    )


def test_a_node_is_reported_with_its_hardware_and_what_its_trials_waited_for() -> None:
    hardware = Hardware(processor="Some CPU", cpus=8, memory_bytes=16 * 2**30, kernel="Linux 6.1")
    load = LoadFacts(measured_s=10.0, cpu_stalled_s=3.0, memory_stalled_s=0.1, io_stalled_s=None)
    outcome = outcome_of(node="first", execution_time_s=60.0, load=load)
    [told] = node_sentences(node_times([outcome], {"first": hardware}))
    assert told == (
        "Nodes: first (8 × Some CPU, 16 GiB, Linux 6.1): 1 trial, median 1 min 00 s, waiting for cpu 30% of the time."
    )


def _side(form: str, score: float, tasks: str) -> Sample:
    made = {
        name: TaskTrials(task_id=name, category="data", scores=(score + 0.01 * number,))
        for number, name in enumerate(tasks)
    }
    return Sample(label=form, model="mock/a", runs=(form,), settings={"form": form}, tasks=made)


def test_the_estimate_has_its_interval_its_tasks_and_what_it_can_not_tell() -> None:
    [found] = memorisation_of([_side("public", 0.8, "abc"), _side("7", 0.5, "ab")])

    first, meaning, left_out = memorisation_sentences(found)

    assert first.startswith("Estimate of memorisation, mock/a: public − fresh is 0.300 (")
    assert first.endswith("over 2 tasks (0.805 − 0.505; 1 public run and 1 run of form 7).")
    assert "differ in difficulty" in meaning
    assert "several fresh forms" in meaning
    assert left_out.startswith("Not in the estimate: 1 task not run in a fresh form")


def test_without_a_common_task_it_is_said_that_there_is_none() -> None:
    [found] = memorisation_of([_side("public", 1.0, "a"), _side("7", 1.0, "b")])

    [first, _, other] = memorisation_sentences(found)
    assert "none, as no task has a score in both forms" in first
    assert other.endswith("changed in between: b.")


@pytest.mark.parametrize(
    ("model", "judge", "is_kin"),
    [
        ("openai/gpt-5.4-mini", "gpt-5.4", True),
        ("openrouter/anthropic/claude-opus-4", "anthropic/Claude-Sonnet-5", True),
        ("local/tuned", "local/other", True),
        ("openai/gpt-5.5", "anthropic/claude-opus-4", False),
        ("openai/gpt-5.5", "judge-1", False),
        ("local/405b", "70b", False),
    ],
)
def test_a_judge_of_the_models_own_family_is_named(model: str, judge: str, is_kin: bool) -> None:
    said = list(kinship_sentences(model, [judge], label="A"))
    assert said == ([f"A is of the same family as its judge {judge}, which may favour it."] if is_kin else [])
