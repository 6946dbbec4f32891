"""How long grading took, and which grades may be had later."""

from msgspec import json

from pinchbench.defaults import FailureEvent
from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade, Ungraded
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey


def test_grading_took_as_long_as_its_longer_part() -> None:
    grade = Grade(
        key=TrialKey(task_id="t", repetition=1),
        grading_type=GradingType.HYBRID,
        check=CheckGrade(duration_s=2.0),
        judge=JudgeGrade(latency_s=3.0),
    )

    assert grade.took_s == 3.0


def test_only_what_is_wrong_with_neither_task_nor_judge_may_be_graded_later() -> None:
    assert {one for one in Ungraded if one.is_transient} == {
        Ungraded.DISK_FULL,
        Ungraded.CHECK_NOT_STARTED,
        Ungraded.JUDGE_UNREACHABLE,
    }


def test_events_are_kept_and_grades_of_checks_that_count_none_read_and_write_as_before() -> None:
    counted = CheckGrade(score=0.5, events={FailureEvent.LEAKED: (1, 3)})
    before = b'{"score":0.5,"ungraded":null,"breakdown":{},"notes":[],"duration_s":0.0,"cpu_s":0.0}'

    assert json.decode(json.encode(counted), type=CheckGrade) == counted
    assert json.encode(json.decode(before, type=CheckGrade)) == before
