"""Models to choose from: what is ranked, what a solved task takes, and what is refused."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.ending import Reason
from pinchbench.results.compare.choice import Choice, choice_of, contrasts_by_intervals, contrasts_of, ranks_of
from pinchbench.results.compare.comparison import Conclusion, verdict_of
from pinchbench.results.compare.paired_difference import holm
from pinchbench.results.compare.samples import find_sides
from pinchbench.results.compare.verdict import SequentialComparison, SequentialVerdict

SETTINGS = {"timeout_multiplier": 1.0}


def _choice(
    folder: Path, models: Mapping[str, Mapping[str, Sequence[Made]]], *configs: Mapping[str, Any], **options: Any
) -> Choice:
    for number, (model, trials) in enumerate(models.items()):
        config = configs[number] if number < len(configs) else {}
        made = {task_id: tuple(own) for task_id, own in trials.items()}
        run = PlannedRun(trials=made, model=f"mock/{model}", run_id=f"20260102-03000{number}-000a", config=config)
        write_run(folder, run)
    return choice_of(find_sides([f"mock/{model}" for model in models], folder), **options)


def _tasks(score: float, *, number: int = 8, **made: Any) -> dict[str, list[Made]]:
    return {f"task_{n}": [Made(score=score, **made), Made(score=score, **made)] for n in range(number)}


def _sequential(
    verdict: SequentialVerdict, low: float, mean: float, high: float, *, variant: str = ""
) -> SequentialComparison:
    return SequentialComparison(
        variant=variant, verdict=verdict, blocks=9, mean=mean, low=low, high=high, e_value=50.0, decided_at=20.0
    )


def test_models_are_ranked_and_all_trials_count_for_the_cost_of_a_solved_task(tmp_path: Path) -> None:
    good = _tasks(0.9, cost_usd=0.3)
    good["task_0"] = [Made(score=0.9, cost_usd=0.3), Made(score=0.1, cost_usd=0.3, took_s=300.0)]
    found = _choice(tmp_path, {"bad": _tasks(0.2, cost_usd=0.1), "good": good})

    best, other = found.candidates
    assert (best.label, best.ranks, best.solved) == ("mock/good", (1,), 15)
    assert (other.label, other.ranks, other.solved) == ("mock/bad", (2,), 0)
    assert best.cost_per_solved_usd == pytest.approx(16 * 0.3 / 15)
    assert other.cost_per_solved_usd is None
    assert best.k == 2
    assert best.passed.pass_hat_k == pytest.approx(7 / 8)
    assert (best.median_s, best.ninth_decile_s) == (30.0, 30.0)
    assert found.best == (best,)
    assert found.within_margin == (best,)


def test_only_tasks_with_a_score_of_all_count_and_what_is_excluded_is_counted(tmp_path: Path) -> None:
    of_a = {**_tasks(0.5), "mine": [Made(score=1.0)]}
    of_b = _tasks(0.5, number=7) | {"task_7": [Made(score=1.0, reason=Reason.NO_TRANSCRIPT)]}
    of_b["task_0"] = [Made(score=0.5, reason=Reason.TIMED_OUT), Made(score=None)]
    found = _choice(tmp_path, {"a": of_a, "b": of_b})

    assert found.tasks == 7
    assert found.unpaired == {"mine": "only in mock/a", "task_7": "no score in mock/b"}
    a, b = found.candidates
    assert (a.ranks, b.ranks) == ((1,), (1,))
    assert (b.timed_out, b.left_out.total, b.planned, b.k) == (1, 2, 15, 1)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"suite": "core"}, "differ in suite (all; core)"),
        ({"retry_timeouts": True}, "differ in retries of timeouts (no; yes)"),
        ({"form": 3}, "differ in form (public; 3)"),
        ({"timeout_multiplier": 2.0}, "differ in timeout multiplier (1; 2)"),
    ],
)
def test_runs_that_measure_different_things_are_not_ranked(
    tmp_path: Path, config: Mapping[str, Any], said: str
) -> None:
    found = _choice(tmp_path, {"a": _tasks(0.9), "b": _tasks(0.1)}, SETTINGS, {**SETTINGS, **config})
    assert said in found.refused
    assert [one.ranks for one in found.candidates] == [(), ()]


def test_what_an_experiment_varies_may_differ(tmp_path: Path) -> None:
    models = {"a": _tasks(0.9), "b": _tasks(0.1)}
    found = _choice(tmp_path, models, SETTINGS, {"timeout_multiplier": 2.0}, may_differ={"timeout multiplier"})
    assert [one.ranks for one in found.candidates] == [(1,), (2,)]


def test_runs_without_a_common_task_are_not_ranked(tmp_path: Path) -> None:
    found = _choice(tmp_path, {"a": {"one": [Made()]}, "b": {"two": [Made()]}})
    assert "no task for which all have a score" in found.refused


def test_an_experiment_that_ended_when_it_was_decided_is_ranked_by_its_verdicts(tmp_path: Path) -> None:
    decided = _sequential(SequentialVerdict.BETTER, 0.1, 0.2, 0.3, variant="mock/b")
    found = _choice(tmp_path, {"a": _tasks(0.5), "b": _tasks(0.5)}, sequential=[decided])
    assert [(one.label, one.ranks) for one in found.candidates] == [("mock/b", (1,)), ("mock/a", (2,))]


def test_a_run_whose_experiment_was_decided_is_named_since_tests_do_not_hold_for_it(tmp_path: Path) -> None:
    trials = {task_id: tuple(own) for task_id, own in _tasks(0.5).items()}
    for number, decided in enumerate(("", "Decided: worse.")):
        run_id, more = f"20260102-03000{number}-000a", 2 if decided else 0
        write_run(tmp_path, PlannedRun(trials=trials, run_id=run_id, planned_beyond=more, decided=decided))
    sides = find_sides(["20260102-030000-000a", "20260102-030001-000a"], tmp_path)
    assert [len(one.left_aside) for one in sides] == [0, 1]
    assert "ended when it was decided" in sides[1].left_aside[0]


EXPERIMENTS, TASKS, TRIALS = 250, 10, 2
DECIDED = (Conclusion.A_BETTER, Conclusion.B_BETTER)


@pytest.mark.parametrize(
    ("sides", "apart", "ranks"),
    [
        (1, [], [(1,)]),
        (3, [], [(1,), (1,), (1,)]),
        (3, [(0, 1), (0, 2), (1, 2)], [(1,), (2,), (3,)]),
        (3, [(0, 2)], [(1,), (1, 2), (2,)]),
        (4, [(0, 2), (0, 3), (1, 2), (1, 3)], [(1,), (1,), (2,), (2,)]),
        (4, [(0, 1)], [(1,), (2,), (1, 2), (1, 2)]),
    ],
)
def test_sides_between_two_groups_have_the_ranks_of_both(
    sides: int, apart: Sequence[tuple[int, int]], ranks: Sequence[tuple[int, ...]]
) -> None:
    assert ranks_of(sides, apart) == tuple(ranks)


@given(st.sets(st.sampled_from(list(combinations(range(6), 2)))))
def test_two_sides_share_a_rank_exactly_if_they_are_not_apart(apart: set[tuple[int, int]]) -> None:
    ranks = ranks_of(6, apart)
    assert {pair for pair in combinations(range(6), 2) if not set(ranks[pair[0]]) & set(ranks[pair[1]])} == apart
    assert ranks[0][0] == 1


def _drawn(source: Random, worse: Sequence[float]) -> list[list[tuple[float, ...]]]:
    """Draw the scores of sides that are worse than the best by so much on average."""
    ease = [0.3 + 0.5 * source.random() for _ in range(TASKS)]
    return [
        [tuple(min(1.0, max(0.0, one - by + 0.4 * (source.random() - 0.5))) for _ in range(TRIALS)) for one in ease]
        for by in worse
    ]


@pytest.mark.parametrize("worse", [(0, 0, 0), (0, 0, 0.12, 0.12)], ids=["all equal", "two pairs"])
def test_equal_sides_are_split_in_at_most_5_of_100_experiments_and_others_more_often_than_by_holms_method(
    worse: tuple[float, ...],
) -> None:
    source = Random(1)
    false = split = split_pairwise = split_by_holm = false_pairwise = 0
    for _ in range(EXPERIMENTS):
        found = contrasts_of(_drawn(source, worse))
        equal = [one for one in found if worse[one.a] == worse[one.b]]
        others = [one for one in found if worse[one.a] != worse[one.b]]
        false += any(one.is_decided for one in equal)
        false_pairwise += any(verdict_of(one.difference, one.difference.p) in DECIDED for one in equal)
        split += sum(one.is_decided for one in others)
        split_pairwise += sum(verdict_of(one.difference, one.difference.p) in DECIDED for one in others)
        by_holm = zip(found, holm([one.difference.p for one in found]), strict=True)
        split_by_holm += sum(verdict_of(one.difference, p) in DECIDED for one, p in by_holm if one in others)
    assert false <= 0.05 * EXPERIMENTS < false_pairwise
    assert 0.6 * split_pairwise <= split <= split_pairwise
    assert split > split_by_holm or split_pairwise == 0


def test_fewer_tasks_than_a_test_needs_split_nobody() -> None:
    found = contrasts_of([[(1.0,)] * 5, [(0.0,)] * 5])
    assert [(one.p, one.is_decided) for one in found] == [(None, False)]


def test_variants_of_a_decided_experiment_are_apart_where_their_intervals_do_not_meet() -> None:
    against = {
        0: _sequential(SequentialVerdict.BETTER, 0.2, 0.3, 0.4),
        2: _sequential(SequentialVerdict.OPEN, -0.1, 0.0, 0.1),
        3: _sequential(SequentialVerdict.OPEN, -0.4, -0.1, 0.2),
    }
    found = contrasts_by_intervals(1, against)
    assert [(one.a, one.b) for one in found if one.is_decided] == [(0, 1), (0, 2)]
    assert [one.difference.mean for one in found if (one.a, one.b) == (0, 3)] == [pytest.approx(-0.4)]
