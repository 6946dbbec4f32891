"""The sentences of a comparison: what is left out, who passes what, and how to read the tests."""

from pathlib import Path

from past_runs import Made, PlannedRun, write_run
from pinchbench.report.comparison_sentences import (
    flip_sentences,
    left_out_text,
    significance_sentences,
    unpaired_sentences,
)
from pinchbench.results.compare.comparison import Comparison, compare
from pinchbench.results.compare.samples import LeftOut, find_sides


def _compared(folder: Path, a: dict[str, float], b: dict[str, float]) -> Comparison:
    runs = ("20260102-030000-000a", "20260103-030000-000b")
    for model, run_id, scores in zip(("mock/a", "mock/b"), runs, (a, b), strict=True):
        trials = {task: (Made(score=score),) for task, score in scores.items()}
        write_run(folder, PlannedRun(trials=trials, model=model, run_id=run_id))
    [comparison] = compare(find_sides(list(runs), folder))
    return comparison


def test_reasons_for_excluded_trials_are_counted_and_those_without_trials_are_not_named() -> None:
    left_out = LeftOut(ungraded=1, infrastructure=3, possibly_caused_by_agent=2, untrusted=1)

    assert left_out_text(left_out) == (
        "1 ungraded, 3 infrastructure failures (1 possibly caused by the agent), 1 untrusted"
    )
    assert left_out_text(LeftOut()) == ""


def test_many_tasks_are_named_up_to_a_dozen(tmp_path: Path) -> None:
    names = [f"task_{number:02}" for number in range(14)]
    found = _compared(tmp_path, dict.fromkeys(names, 0.1), {**dict.fromkeys(names, 0.9), "task_x": 1.0})

    [passed, only] = flip_sentences(found)

    assert passed == "Passed (mean score of 0.5 or more): mock/a 0, mock/b 14 of 14 tasks; both 0, neither 0."
    assert only == f"Only mock/b passes 14: {', '.join(names[:12])} and 2 more."
    assert list(unpaired_sentences(found)) == ["Not compared, only in mock/b: task_x."]


def test_without_an_interval_nothing_is_explained(tmp_path: Path) -> None:
    assert list(significance_sentences(_compared(tmp_path, {"task_0": 0.1}, {"task_0": 0.9}))) == []
