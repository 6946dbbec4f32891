"""A comparison in the terminal and as a page."""

import io
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.defaults import FailureEvent
from pinchbench.model.ending import Reason
from pinchbench.report.terminal.compare_table import print_comparisons
from pinchbench.report.terminal.console import report_console
from pinchbench.results.compare.comparison import Comparison, compare
from pinchbench.results.compare.samples import find_sides

RUNS = {"mock/a": "20260102-030000-000a", "mock/b": "20260103-030000-000b", "mock/c": "20260104-030000-000c"}


def _comparisons(folder: Path, *trials: Mapping[str, tuple[Made, ...]], category: str = "") -> tuple[Comparison, ...]:
    for (model, run_id), own in zip(RUNS.items(), trials, strict=False):
        categories = dict.fromkeys(own, category) if category else {}
        write_run(folder, PlannedRun(trials=own, model=model, run_id=run_id, categories=categories))
    return compare(find_sides(list(RUNS.values())[: len(trials)], folder))


def _printed(comparisons: tuple[Comparison, ...]) -> str:
    text = io.StringIO()
    print_comparisons(report_console(text), comparisons)
    return text.getvalue()


def _lines(comparisons: tuple[Comparison, ...]) -> list[str]:
    return [line.rstrip() for line in _printed(comparisons).splitlines()]


def _trials(*scores: float) -> dict[str, tuple[Made, ...]]:
    return {f"task_{number}": (Made(score=score),) for number, score in enumerate(scores)}


def test_what_went_wrong_stands_next_to_each_other_for_the_tasks_that_are_compared(tmp_path: Path) -> None:
    lied, honest = (Made(events={FailureEvent.FALSE_CLAIM: (n, 8)}) for n in (2, 0))
    found = _comparisons(tmp_path, {"task_0": (lied,), "task_1": (lied,)}, {"task_0": (honest,)})

    [sheet] = [line for line in _lines(found) if line.startswith("claimed success falsely")]
    assert re.fullmatch(r"claimed success falsely +2 of 8 \(\d+–\d+%\) +0 of 8 \(0–\d+%\)", sheet)


def test_the_verdict_comes_first_and_all_it_rests_on_below(tmp_path: Path) -> None:
    found = _comparisons(tmp_path, _trials(*[0.1] * 8), _trials(*[0.9] * 7, 0.85))

    lines = _lines(found)

    assert lines[:2] == ["a is mock/a: mock-a_20260102-030000-000a", "b is mock/b: mock-b_20260103-030000-000b"]
    assert lines[3] == "mock/b is better than mock/a: 0.794 (0.650 to 0.934), p = 0.008."
    assert any(
        re.fullmatch(r"all +8 +0\.100 +0\.894 +0\.794 \(0\.650 to 0\.934\) +p = 0\.008 +–", line) for line in lines
    )
    assert any(re.fullmatch(r"basics +2 .* no test +–", line) for line in lines)
    assert "Passed (mean score of 0.5 or more): mock/a 0, mock/b 8 of 8 tasks; both 0, neither 0." in lines
    assert any(line.startswith("Only mock/b passes 8: task_0, ") for line in lines)
    assert any(re.match(r"task_0 +basics +0\.10 +0\.90 +\+0\.800 +1, 1$", line) for line in lines)
    cost = next(number for number, line in enumerate(lines) if re.fullmatch(r"cost +\$0\.1200 +\$0\.1200", line))
    assert re.fullmatch(r"  a trial +\$0\.0150 +\$0\.0150 +×1\.00", lines[cost + 1])
    assert (
        "Above 0, a difference means that mock/b scores higher than mock/a; a ratio above ×1, that it takes more."
        in lines
    )


def test_what_is_left_out_stands_next_to_the_number(tmp_path: Path) -> None:
    lost = Made(score=1.0, reason=Reason.NO_TRANSCRIPT)
    mine = {task: (*made, lost) for task, made in _trials(0.5, 0.5).items()}
    found = _comparisons(tmp_path, {**mine, "task_a": (Made(),)}, {**_trials(0.5, 0.7), "task_b": (Made(),)})

    text = _printed(found)

    assert re.search(r"\nall +2 .* 2; 0\n", text)
    assert "of a; b. In all: a 2 failed for infrastructure reasons." in text
    assert "Not compared, only in mock/a: task_a." in text
    assert "Not compared, only in mock/b: task_b." in text


@pytest.mark.parametrize("columns", [80, 60])
def test_a_narrow_terminal_shows_every_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    names = [random_trials(tasks=30, repetitions=3, seed=seed, trouble=0.2) for seed in (1, 2)]
    found = _comparisons(tmp_path, *names, category="a-category-with-a-long-name")
    text = io.StringIO()

    print_comparisons(report_console(text, is_terminal=True), found)

    lines = re.sub(r"\x1b\[[0-9;]*m", "", text.getvalue()).splitlines()
    [whole] = [line for line in lines if line.startswith("all ")]
    a, b = (side.score.mean for side in (found[0].paired_a, found[0].paired_b))
    out = f"{found[0].paired_a.left_out.total}; {found[0].paired_b.left_out.total}"
    assert f"{a:.3f}  {b:.3f}  " in whole
    assert re.search(rf"\(.* to .*\) +p = 0\.\d{{3}} +{out}$", whole)
    too_long = [line for line in lines if len(line) > columns]
    # of 60 columns, the numbers alone take more
    assert too_long == [] or (columns < 76 and max(map(len, too_long)) <= 76)


def test_runs_without_a_common_task_have_a_verdict_and_no_table(tmp_path: Path) -> None:
    found = _comparisons(tmp_path, {"one": (Made(),)}, {"other": (Made(),)})

    text = _printed(found)

    assert "Nothing can be compared" in text
    assert "difference" not in text


def test_many_tasks_are_named_up_to_a_dozen_and_without_an_interval_nothing_is_explained(tmp_path: Path) -> None:
    many = _lines(_comparisons(tmp_path / "many", _trials(*[0.1] * 14), _trials(*[0.9] * 14)))
    one = _printed(_comparisons(tmp_path / "one", _trials(0.1), _trials(0.9)))

    [only] = [line for line in many if line.startswith("Only mock/b passes 14: task_0, ")]
    assert (only.count(","), only.endswith(" and 2 more.")) == (11, True)
    assert "in parentheses" not in one
