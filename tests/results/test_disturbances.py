from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.facts import LoadFacts, WireFacts
from pinchbench.results.disturbances import disturbances_of
from pinchbench.results.finished_run import read_run
from pinchbench.results.result_json import Aggregate

BUSY = LoadFacts(measured_s=100, cpu_wait_s=20)
CALM = LoadFacts(measured_s=100, cpu_wait_s=10, io_stalled_s=19)


def _run(folder: Path, *made: Made) -> Aggregate:
    return read_run(write_run(folder, PlannedRun(trials={"task": made}, slots=1))).data


def test_trials_that_waited_for_a_fifth_of_their_time_are_named(tmp_path: Path) -> None:
    late = Made(reason=Reason.TIMED_OUT, score=0.0, load=BUSY)
    broken = Made(reason=Reason.NO_TRANSCRIPT, score=None, load=BUSY)
    data = _run(tmp_path, late, Made(load=CALM), Made(), Made(load=CALM), broken, Made(load=BUSY))

    found = disturbances_of({"v": data})

    assert [(one.variant, one.task_id, one.repetition, one.timed_out) for one in found.waited] == [
        ("v", "task", 1, True),
        ("v", "task", 6, False),
    ]
    assert {(one.waited_for, one.share) for one in found.waited} == {("cpu", 0.2)}


@pytest.mark.parametrize(
    ("answered", "changes"),
    [
        (["a", "a", "b", "b"], {2: ("a", "b")}),
        (["a", "b", "a", "b"], {}),
        (["a", "", "b", "c"], {2: ("a", "b"), 3: ("b", "c")}),
        (["a", "a+b", "b"], {}),
    ],
)
def test_another_model_that_answers_for_good_is_a_change_and_one_that_takes_turns_is_none(
    tmp_path: Path, answered: list[str], changes: dict[int, tuple[str, str]]
) -> None:
    models = [tuple(filter(None, one.split("+"))) for one in answered]
    data = _run(tmp_path, *(Made(wire=WireFacts(calls=1, models=one)) for one in models))

    found = disturbances_of({"v": data}).renamed

    [task] = data.tasks
    assert [(one.at, one.before, one.after) for one in found] == [
        (task.runs[place].started_at, (before,), (after,)) for place, (before, after) in changes.items()
    ]
