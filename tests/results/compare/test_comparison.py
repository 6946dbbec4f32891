"""Runs compared: which tasks are paired, what is pooled, what is said of it, and its JSON."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from past_runs import BEGAN, Made, PlannedRun, random_trials, write_run
from pinchbench.defaults import FailureEvent
from pinchbench.errors import ConfigError, ResultsError
from pinchbench.model.ending import Reason
from pinchbench.model.facts import UserFacts
from pinchbench.model.grade import Ungraded
from pinchbench.model.task import GradingType
from pinchbench.results.compare.comparison import Comparison, Conclusion, Unpaired, compare
from pinchbench.results.compare.comparison_json import record
from pinchbench.results.compare.samples import find_sides
from pinchbench.results.compare.verdict import outlook, verdict, warnings
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.records import GradeGiven

A, B = "20260102-030000-000a", "20260103-030000-000b"


def _write(folder: Path, run_id: str, trials: Mapping[str, tuple[Made, ...]], **planned: Any) -> None:
    write_run(folder, PlannedRun(trials=trials, run_id=run_id, **{"model": f"mock/{run_id[-1]}", **planned}))


def _scored(*scores: float) -> tuple[Made, ...]:
    return tuple(Made(score=score) for score in scores)


def _compared(folder: Path, *names: str) -> Comparison:
    [found] = compare(find_sides(names or (A, B), folder))
    return found


def _many(score: float, number: int = 8) -> dict[str, tuple[Made, ...]]:
    """Tasks around a score, with two repetitions."""
    return {f"task_{n:02d}": _scored(score + 0.01 * n, score) for n in range(number)}


# What is paired


def test_only_tasks_that_both_have_with_the_same_digest_are_paired(tmp_path: Path) -> None:
    _write(tmp_path, A, {"both": _scored(0.5, 0.7), "old": _scored(1), "changed": _scored(1)}, digests={"changed": "1"})
    _write(tmp_path, B, {"both": _scored(0.9), "new": _scored(1), "changed": _scored(1)}, digests={"changed": "2"})

    found = _compared(tmp_path)

    [task] = found.tasks
    assert (task.task_id, task.a.mean, task.b.mean) == ("both", 0.6, 0.9)
    assert found.unpaired == {"old": Unpaired.ONLY_A, "changed": Unpaired.CHANGED, "new": Unpaired.ONLY_B}
    assert found.difference.mean == pytest.approx(0.3)


def test_trials_without_a_score_are_in_no_mean_and_counted_next_to_it(tmp_path: Path) -> None:
    broken = Made(score=1.0, reason=Reason.NO_TRANSCRIPT)
    ungraded = Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE)
    _write(tmp_path, A, {"task": (*_scored(0.25), broken, ungraded), "none": (broken,)}, planned_beyond=2)
    _write(tmp_path, B, {"task": (*_scored(0.5), Made(score=0.0, reason=Reason.TIMED_OUT)), "none": _scored(1)})

    found = _compared(tmp_path)

    [task] = found.tasks
    assert (task.a.scores, task.b.scores) == ((0.25,), (0.5, 0.0))
    left = task.a.left_out
    assert (left.ungraded, left.infrastructure, left.not_run) == (1, 1, 2)
    assert found.paired_a.left_out == left
    assert not found.paired_b.left_out
    assert found.unpaired == {"none": Unpaired.NO_SCORE_A}


def test_a_task_that_one_side_graded_with_another_version_is_not_paired(tmp_path: Path) -> None:
    _write(tmp_path, A, {"task": _scored(0.5), "other": _scored(0.5)})
    _write(tmp_path, B, {"task": _scored(0.5), "other": _scored(0.5)})
    [files] = tmp_path.glob(f"*{B}")
    given = [one for one in read_journal(files / "journal.jsonl").records if isinstance(one, GradeGiven)]
    with JournalWriter(files / "journal.jsonl", go_on=True) as journal:
        newer = replace(given[0].grade, digest="newer", graded_at=given[0].grade.graded_at + 1000)
        journal.append([GradeGiven(grade=newer)])

    found = _compared(tmp_path)

    assert found.unpaired == {"task": Unpaired.GRADED_DIFFERENTLY}
    assert [task.task_id for task in found.tasks] == ["other"]


def test_time_tokens_and_cost_are_those_of_the_paired_tasks_alone(tmp_path: Path) -> None:
    spent = Made(score=1.0, took_s=10, tokens=1000, cost_usd=0.5)
    lost = replace(spent, reason=Reason.NO_TRANSCRIPT)
    _write(tmp_path, A, {"task": (spent, spent, lost), "only_a": (spent,)})
    _write(tmp_path, B, {"task": (replace(spent, tokens=3000),)})

    found = _compared(tmp_path)

    a, b = found.paired_a.spent, found.paired_b.spent
    assert (a.trials, a.time_s, a.tokens, a.cost_usd) == (2, 20.0, 2000, 1.0)
    assert (b.trials, b.tokens) == (1, 3000)


def test_a_task_flips_when_only_one_side_has_a_mean_from_the_threshold_on(tmp_path: Path) -> None:
    _write(tmp_path, A, {"up": _scored(0.4, 0.5), "down": _scored(1.0), "same": _scored(0.5), "low": _scored(0.1)})
    _write(tmp_path, B, {"up": _scored(0.4, 0.6), "down": _scored(0.3), "same": _scored(1.0), "low": _scored(0.4)})

    found = _compared(tmp_path)

    assert {task.task_id: task.flipped for task in found.tasks} == {"up": 1, "down": -1, "same": 0, "low": 0}
    assert (found.paired_a.passed, found.paired_b.passed) == (2, 2)
    assert found.tasks[0].task_id == "down"  # the biggest difference


def test_categories_have_their_own_difference_and_a_test_only_with_enough_tasks(tmp_path: Path) -> None:
    categories = {f"task_{n:02d}": "few" if n < 2 else "many" for n in range(8)}
    _write(tmp_path, A, _many(0.2), categories=categories)
    _write(tmp_path, B, _many(0.6), categories=categories)

    found = _compared(tmp_path)

    told = {one.category: one.difference for one in found.categories}
    assert (told["few"].tasks, told["few"].p) == (2, None)
    assert told["few"].low is not None
    assert told["many"].tasks == 6
    assert told["many"].p == pytest.approx(2 / 2**6)


# The verdict


def test_the_same_scores_can_not_be_distinguished(tmp_path: Path) -> None:
    _write(tmp_path, A, _many(0.5))
    _write(tmp_path, B, _many(0.5))

    found = _compared(tmp_path)

    assert found.verdict is Conclusion.CANT_TELL
    assert (
        verdict(found)
        == "The data can't tell mock/a from mock/b: mock/b scores as much as mock/a (−0.324 to 0.324), p = 1.000."
    )
    assert [line for line in outlook(found) if "would be detected 4 times in 5" in line]


def test_a_small_difference_comes_with_the_repetitions_that_would_tell_it(tmp_path: Path) -> None:
    _write(tmp_path, A, random_trials(tasks=16, repetitions=2, ability=0.7, seed=1))
    _write(tmp_path, B, random_trials(tasks=16, repetitions=2, ability=0.7, seed=2))

    *_, sentence = outlook(_compared(tmp_path))

    assert sentence.startswith("About ")
    assert " repetitions of each task (now 2) or " in sentence
    assert " tasks like these (now 16) would show" in sentence


@pytest.mark.parametrize("theirs", [{"other": _scored(1.0)}, {"task": (Made(score=None),)}])
def test_nothing_in_common_is_said_plainly(tmp_path: Path, theirs: dict[str, tuple[Made, ...]]) -> None:
    _write(tmp_path, A, {"task": _scored(1.0)})
    _write(tmp_path, B, theirs)

    found = _compared(tmp_path)

    assert found.verdict is Conclusion.NOTHING_PAIRED
    assert verdict(found).startswith("Nothing can be compared")
    assert list(outlook(found)) == []
    assert found.unpaired
    json.dumps(record([found]), allow_nan=False)


def test_what_the_runs_are_unlike_in_is_named(tmp_path: Path) -> None:
    def tasks(user: str) -> dict[str, tuple[Made, ...]]:
        return {f"task_{n:02d}": (Made(user=UserFacts(model=user, prompt_version="1")),) for n in range(8)}

    config = {"thinking": "high", "timeout_multiplier": 2.0, "isolation": "private", "suite": "core"}
    _write(tmp_path, A, tasks("x/1"), config={"thinking": None, "timeout_multiplier": 1.0, "isolation": "private"})
    _write(tmp_path, B, tasks("x/2"), config=config, grading=GradingType.AUTOMATED, tools=["exec", "read"])

    found = _compared(tmp_path)

    assert {one.setting: (one.a, one.b) for one in found.unlike} == {
        "suite": ("all", "core"),
        "thinking level": ("default", "high"),
        "timeout multiplier": ("1", "2"),
        "tools": ("all but some denied ones", "exec, read"),
        "user's model": ("x/1 (prompt 1)", "x/2 (prompt 1)"),
    }
    assert "Different thinking level: mock/a default, mock/b high." in list(warnings(found))


# Several sides, and models


def test_with_several_sides_each_is_compared_with_the_first_and_the_p_are_adjusted(tmp_path: Path) -> None:
    for run_id, ability, seed in ((A, 0.5, 1), (B, 0.6, 2), ("20260104-030000-000c", 0.7, 3)):
        _write(tmp_path, run_id, random_trials(tasks=12, repetitions=2, ability=ability, seed=seed))

    first, second = compare(find_sides([A, B, "20260104-030000-000c"], tmp_path))

    assert (first.a.label, first.b.label, second.b.label) == ("mock/a", "mock/b", "mock/c")
    values = sorted((one.difference.p or 0, one.p or 0) for one in (first, second))
    assert values[0][1] == pytest.approx(2 * values[0][0])
    assert values[1][1] == pytest.approx(max(values[1][0], 2 * values[0][0]))


def test_a_model_stands_for_its_complete_runs_that_were_made_alike(tmp_path: Path) -> None:
    config = {"thinking": "low"}
    tasks = {"task": _scored(0.5), "more": _scored(0.25)}
    decided: dict[str, Any] = {"planned_beyond": 1, "decided": "Decided: worse."}
    _write(tmp_path, "20260101-010000-0000", tasks, model="mock/m", config=config | {"env": {"LANG": "C"}})
    _write(tmp_path, "20260101-030000-0001", {"task": _scored(1.0)}, model="mock/m", config={"thinking": "high"})
    _write(tmp_path, "20260102-030000-0002", {"task": _scored(0.0)}, model="mock/m", config=config)
    _write(tmp_path, "20260103-030000-0003", tasks, model="mock/m", config=config, began=BEGAN + 9)
    _write(tmp_path, "20260104-030000-0004", tasks, model="mock/m", config=config, planned_beyond=1)
    _write(tmp_path, "20260105-030000-0005", tasks, model="mock/m", config=config, **decided)
    _write(tmp_path, B, tasks)

    side, _ = find_sides(["mock/m", B], tmp_path)

    assert side.label == "mock/m"
    assert side.runs == ("mock-m_20260103-030000-0003", "mock-m_20260102-030000-0002")
    assert {task_id: task.scores for task_id, task in side.tasks.items()} == {"task": (0.5, 0.0), "more": (0.25,)}
    assert side.left_aside == (
        "mock-m_20260105-030000-0005 was not taken: it ended when its experiment was decided.",
        "mock-m_20260104-030000-0004 was not taken: it is not complete.",
        "mock-m_20260101-030000-0001 was not taken: thinking level high instead of low.",
        'mock-m_20260101-010000-0000 was not taken: environment {"LANG": "C"} instead of none.',
    )


def test_what_can_not_be_compared_is_refused_with_what_to_do(tmp_path: Path) -> None:
    _write(tmp_path, A, _many(0.5))
    _write(tmp_path, B, _many(0.5), planned_beyond=1)

    with pytest.raises(ConfigError, match="at least two"):
        find_sides([A], tmp_path)
    with pytest.raises(ConfigError, match="with itself"):
        find_sides([A, f"{tmp_path}/mock-a_{A}"], tmp_path)
    with pytest.raises(ConfigError, match="part of both"):
        find_sides([A, "mock/a"], tmp_path)
    with pytest.raises(ResultsError, match=r"No run is of a model 'other' either\.$"):
        find_sides([A, "other"], tmp_path)
    with pytest.raises(ResultsError, match=r"No run is of a model 'mock/x' either\. Did you mean 'mock/"):
        find_sides([A, "mock/x"], tmp_path)
    with pytest.raises(ResultsError, match=r"No run of mock/b can stand for it. \S+ was not taken: it is not complete"):
        find_sides([A, "mock/b"], tmp_path)


# JSON


def test_the_json_holds_the_documented_keys_and_no_nan(tmp_path: Path) -> None:
    _write(tmp_path, A, random_trials(tasks=9, repetitions=2, trouble=0.3, seed=1))
    _write(tmp_path, B, random_trials(tasks=9, repetitions=2, trouble=0.3, seed=2))

    told = json.loads(json.dumps(record(compare(find_sides([A, B], tmp_path))), allow_nan=False))

    assert set(told) == {"schema", "baseline", "seed", "alpha", "power", "notes", "comparisons", "memorisation"}
    [one] = told["comparisons"]
    assert set(one) == {
        "b", "verdict", "sentence", "outlook", "warnings", "unlike", "difference", "scores", "needed", "pass_threshold",
        "categories", "tasks", "unpaired",
    }  # fmt: skip
    assert set(one["difference"]) == {"mean", "low", "high", "p", "p_adjusted", "is_exact", "tasks"}
    assert set(one["tasks"][0]) == {"task_id", "category", "difference", "flipped", "a", "b"}
    assert set(one["tasks"][0]["a"]) == {"score", "scores", "passed", "left_out", "spent"}
    assert one["difference"]["tasks"] + len(one["unpaired"]) == 9


def test_what_went_wrong_is_in_the_json_as_in_the_result_of_the_run(tmp_path: Path) -> None:
    wrong = {f"task_{n}": (Made(events={FailureEvent.FALSE_CLAIM: (n, 4)}), Made()) for n in range(3)}
    _write(tmp_path, A, {**wrong, "only_a": (Made(events={FailureEvent.HARMED: (1, 1)}),)})
    run = read_run(write_run(tmp_path, PlannedRun(trials={**wrong, "task_0": (Made(),)}, model="mock/b", run_id=B)))

    [one] = json.loads(json.dumps(record([_compared(tmp_path)])))["comparisons"]

    assert one["scores"]["a"]["events"]["false_claim"]["of"] == 12
    assert set(one["scores"]["a"]["events"]) == {"false_claim"}  # of the tasks that are compared
    assert one["scores"]["b"]["events"] == msgspec.to_builtins(run.data.events)
    of_tasks = {task["task_id"]: task["b"].get("events", {}) for task in one["tasks"]}
    assert of_tasks == {task.task_id: msgspec.to_builtins(task.events or {}) for task in run.data.tasks}
