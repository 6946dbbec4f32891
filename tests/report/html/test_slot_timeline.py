"""The timeline of a run's slots: what is where, what is cut out, and the sums."""

from dataclasses import replace

import pytest

from pinchbench.model.ending import Reason
from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.report.html.slot_timeline import draw_timeline, timeline, where_the_time_went
from pinchbench.report.html.task_rows import Stage

BEGAN = 1_767_322_800.0


def _outcome(
    task_id: str, *, slot: int = 1, at: float = 0, setup_s: float = 2, agent_s: float = 8, attempt: int = 1
) -> Outcome:
    return Outcome(
        key=TrialKey(task_id=task_id, repetition=1),
        reason=Reason.COMPLETED,
        digest="",
        slot=slot,
        attempt=attempt,
        started_at=BEGAN + at,
        ended_at=BEGAN + at + setup_s + agent_s,
        setup_s=setup_s,
        execution_time_s=agent_s,
    )


def _graded(outcome: Outcome, at: float, took_s: float = 3.0) -> dict[tuple[TrialKey, int], Grade]:
    grade = Grade(
        key=outcome.key,
        grading_type=GradingType.HYBRID,
        score=1.0,
        check=CheckGrade(score=1.0, duration_s=0.1),
        judge=JudgeGrade(score=1.0, latency_s=took_s),
        graded_at=BEGAN + at,
    )
    return {(outcome.key, outcome.attempt): grade}


def test_slots_are_lanes_and_what_is_not_used_of_them_is_idle() -> None:
    outcomes = [_outcome("b", slot=2, at=5), _outcome("a"), _outcome("c", at=12)]

    line = timeline([(one, Stage.PASSED) for one in outcomes], {}, end=None)

    assert line is not None
    assert {slot: [span.key.task_id for span in spans] for (_, slot), spans in line.lanes.items()} == {
        1: ["a", "c"],
        2: ["b"],
    }
    assert line.length_s == 22
    assert (line.setup_s, line.agent_s, line.idle_s) == (6, 24, 14)
    assert where_the_time_went(line) == "2 slots for 22.0 s: agents 55%, set-up 14%, idle 32%"


def test_the_slots_of_a_node_lie_below_its_name_and_one_that_moved_is_counted_once() -> None:
    outcomes = [
        replace(_outcome("a", slot=1), node="second"),
        replace(_outcome("b", slot=2), node="first"),
        replace(_outcome("c", slot=1, at=10), node="first"),
    ]

    line = timeline([(one, Stage.PASSED) for one in outcomes], {}, end=None)

    assert line is not None
    assert list(line.lanes) == [("first", 1), ("first", 2), ("second", 1)]
    assert (line.slots, line.idle_s) == (2, 10)
    drawn = draw_timeline(line, url=lambda span: f"#{span.key.task_id}", title=lambda span: span.key.task_id)
    words = [label.text for label in drawn["wide"].labels if label.text != "0" and not label.text.endswith(" s")]
    assert words == ["first", "slot 1", "slot 2", "second", "slot 1"]
    assert [shape.href for shape in drawn["narrow"].shapes if shape.href] == ["#c", "#b", "#a"]


def test_a_rest_of_the_whole_run_is_cut_out_and_no_slot_was_idle_in_it() -> None:
    day_s = 86_400.0
    outcomes = [_outcome("a"), _outcome("b", at=day_s)]

    line = timeline([(one, Stage.PASSED) for one in outcomes], {}, end=None)

    assert line is not None
    assert [cut.rest_s for cut in line.cuts] == [day_s - 10]
    assert line.length_s == 21  # 10 s each, and a mark of 1 s
    assert line.idle_s == 0
    first, second = line.lanes["", 1]
    assert (first.end, second.start) == (10, 11)


def test_what_is_graded_after_a_pause_took_as_long_as_its_grading_and_not_as_the_pause() -> None:
    before, after = _outcome("a"), _outcome("b", at=400)
    grades = {**_graded(before, 409.4, took_s=7.4), **_graded(after, 411)}

    line = timeline([(one, Stage.PASSED) for one in (before, after)], grades, end=BEGAN + 420, resumed=[BEGAN + 395])

    assert line is not None
    assert line.grading_s == pytest.approx(7.4 + 1)  # no longer than since the second had ended
    assert [cut.rest_s for cut in line.cuts] == [390]
    first = line.lanes["", 1][0]
    assert first.grading is not None
    assert first.graded is not None
    assert first.graded - first.grading == pytest.approx(7.4)
