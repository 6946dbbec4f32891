"""Sequential experiments: which blocks are made, and what they decide."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from pinchbench.experiment.sequential import Block, Design, Sequential, SequentialEvidence
from pinchbench.results.compare.verdict import SequentialVerdict
from pinchbench.runner.scheduling.queue import Admission

TASKS = tuple(f"task_{number:02}" for number in range(20))
DESIGN = Design(variants=("base", "other"), tasks=TASKS, runs=3, seed=1)
ALIKE = {"base": 0.6, "other": 0.6}


def play(sequential: Sequential, chances: dict[str, float], *, seed: int = 0) -> Sequential:
    """Make every block, with 0 or 1 for each variant, until the experiment is over."""
    source, made = np.random.default_rng(seed), 0
    while not sequential.is_over:
        block = sequential.planned[made]
        made += 1
        for name, chance in chances.items():
            if sequential.is_compared(name):
                sequential.settle(name, block.key, float(source.random() < chance))
    return sequential


def verdicts(sequential: Sequential) -> dict[str, SequentialVerdict]:
    return {one.variant: one.verdict for one in sequential.comparisons}


def first_repetition(sequential: Sequential) -> tuple[Block, ...]:
    return tuple(block for block in sequential.planned if block.key.repetition == 1)


def test_the_first_repetition_makes_every_task_once_in_an_order_of_the_seed() -> None:
    blocks = Sequential(DESIGN).planned
    assert sorted(block.key.task_id for block in blocks) == list(TASKS)
    assert {(block.key.repetition, block.weight) for block in blocks} == {(1, 1.0)}
    assert Sequential(DESIGN).planned == blocks
    assert Sequential(replace(DESIGN, seed=2)).planned != blocks


@pytest.mark.parametrize(("chance", "verdict"), [(1.0, SequentialVerdict.BETTER), (0.0, SequentialVerdict.WORSE)])
def test_a_clear_difference_is_decided_before_the_plan_is_complete(chance: float, verdict: SequentialVerdict) -> None:
    sequential = play(Sequential(DESIGN), {"base": 0.5, "other": chance})
    [comparison] = sequential.comparisons
    assert comparison.verdict is verdict
    assert comparison.e_value >= comparison.decided_at
    assert comparison.blocks < len(TASKS) * DESIGN.runs


def test_what_is_decided_does_not_depend_on_which_trial_ends_first() -> None:
    scores = np.random.default_rng(3).random((2, len(TASKS)))
    straight, turned = Sequential(DESIGN), Sequential(DESIGN)
    settled = [
        (name, block.key, float(scores[side, place]))
        for place, block in enumerate(first_repetition(straight))
        for side, name in enumerate(DESIGN.variants)
    ]
    for one in settled:
        straight.settle(*one)
    for one in reversed(settled):
        turned.settle(*one)
    assert turned.comparisons == straight.comparisons
    assert turned.planned == straight.planned


def test_tasks_that_agree_are_repeated_less_often_and_weigh_more() -> None:
    sequential = Sequential(DESIGN)
    scores = dict(zip(TASKS[:4], (1.0, 1.0, 1.0, 0.0), strict=True))
    differing = scores.keys()
    for block in sequential.planned:
        sequential.settle("base", block.key, 0.5)
        sequential.settle("other", block.key, scores.get(block.key.task_id, 0.5))
    second = [block for block in sequential.planned if block.key.repetition == 2]
    assert len(second) == 4 + 8
    assert differing <= {block.key.task_id for block in second}
    # the weights make up for it: they sum to that of so many tasks of equal weight
    assert sum(block.weight for block in second) == pytest.approx(len(second))
    assert len({block.weight for block in second}) == 2
    assert {block.bound for block in second} == {max(block.weight for block in second)}


def test_variants_that_are_always_alike_are_equal_if_what_is_left_can_tell_it_and_undecidable_if_not() -> None:
    alike = {"base": 1.0, "other": 1.0}
    assert verdicts(play(Sequential(replace(DESIGN, runs=10, margin=0.1)), alike)) == {"other": SequentialVerdict.EQUAL}
    narrow = play(Sequential(replace(DESIGN, runs=10, margin=0.001)), alike)
    assert verdicts(narrow) == {"other": SequentialVerdict.UNDECIDABLE}


def test_a_variant_that_is_decided_makes_no_further_blocks_while_the_others_go_on() -> None:
    design = replace(DESIGN, variants=("base", "bad", "alike"), runs=6)
    sequential = play(Sequential(design), {"base": 0.9, "bad": 0.0, "alike": 0.9})
    bad, alike = sequential.comparisons
    assert bad.verdict is SequentialVerdict.WORSE
    assert bad.blocks < alike.blocks


def test_a_variant_whose_run_ends_early_is_stopped_and_without_the_baseline_all_are() -> None:
    design = replace(DESIGN, variants=("base", "one", "two"))
    sequential = Sequential(design)
    sequential.leave("one")
    assert verdicts(sequential) == {"one": SequentialVerdict.STOPPED, "two": SequentialVerdict.OPEN}
    sequential.leave("base", by_budget=True)
    assert (verdicts(sequential)["two"], sequential.is_over) == (SequentialVerdict.BUDGET, True)


def test_trials_are_admitted_by_repetition_and_no_more_of_a_variant_that_is_decided() -> None:
    design = replace(DESIGN, variants=("base", "good", "alike"))
    sequential = Sequential(design)
    first, *_ = first_repetition(sequential)
    later = structs.replace(first.key, repetition=2)
    assert sequential.admits("good", first.key) is Admission.NOW
    assert sequential.admits("good", later) is Admission.LATER
    for block in first_repetition(sequential):
        for name, score in (("base", 0.5), ("good", 1.0), ("alike", 0.5)):
            sequential.settle(name, block.key, score)
    assert verdicts(sequential) == {"good": SequentialVerdict.BETTER, "alike": SequentialVerdict.OPEN}
    made = {block.key for block in sequential.planned if block.key.repetition == 2}
    for task in TASKS:
        key = structs.replace(later, task_id=task)
        assert sequential.admits("good", key) is Admission.NEVER
        assert sequential.admits("base", key) is (Admission.NOW if key in made else Admission.NEVER)


def test_identical_variants_are_seldom_distinguished_although_repetitions_depend_on_the_scores() -> None:
    wrong = sum(
        any(
            one.verdict is not SequentialVerdict.UNDECIDABLE
            for one in play(Sequential(design), ALIKE, seed=seed).comparisons
        )
        for seed, design in ((seed, replace(DESIGN, seed=seed)) for seed in range(60))
    )
    assert wrong <= 3


EXPERIMENTS = 100
BLOCKS = 120


def evidence_of(differences: list[float], *, comparisons: int = 1) -> SequentialEvidence:
    evidence = SequentialEvidence(comparisons=comparisons)
    for one in differences:
        evidence.add(one)
    return evidence


def test_blocks_without_a_difference_cost_no_evidence() -> None:
    before = evidence_of([0.5, 0.25, 0.5])
    after = evidence_of([0.5, 0.0, 0.25, 0.0, 0.0, 0.5])
    assert after.e_value == pytest.approx(before.e_value)
    assert after.mean == pytest.approx(1.25 / 6)


def test_steady_differences_are_decided_on_the_side_where_they_lie() -> None:
    better, worse = evidence_of([0.3] * 24), evidence_of([-0.3] * 24)
    assert (better.is_better, better.is_worse) == (True, False)
    assert (worse.is_better, worse.is_worse) == (False, True)
    assert worse.e_value == pytest.approx(better.e_value)
    assert better.e_value >= better.decided_at == pytest.approx(20)


def test_small_gains_decide_nothing_as_long_as_a_few_large_losses_could_outweigh_them() -> None:
    evidence = evidence_of([0.05] * 40)
    assert not evidence.is_better
    for _ in range(2):
        evidence.add(-1.0)
    assert evidence.mean == pytest.approx(0.0)
    assert not evidence.is_worse


def test_the_interval_narrows_around_the_mean_and_never_beyond_what_a_rare_difference_allows() -> None:
    low, high = evidence_of([0.0] * 60).interval()
    assert low < -0.03
    assert high > 0.03
    narrower = evidence_of([0.0] * 400).interval()
    assert low < narrower[0] < 0 < narrower[1] < high


def test_a_decision_seems_hopeless_only_where_the_differences_cancel_out() -> None:
    assert evidence_of([0.2] * 5).chance(40) > 0.5
    assert evidence_of([1.0, -1.0] * 40).chance(10) < 0.05
    assert evidence_of([0.0] * 10).chance(10) == 1.0


def test_identical_variants_are_seldom_called_different_however_often_one_looks() -> None:
    source = np.random.default_rng(5)
    wrong = 0
    for _ in range(EXPERIMENTS):
        ease = source.beta(1.5, 0.7, BLOCKS)
        differences = source.binomial(4, ease) / 4 - source.binomial(4, ease) / 4
        evidence = SequentialEvidence()
        for one in differences:
            evidence.add(float(one))
            if evidence.is_better or evidence.is_worse:
                wrong += 1
                break
    assert wrong <= 0.05 * EXPERIMENTS


def test_the_interval_holds_the_mean_at_every_look_in_at_least_95_of_100_experiments() -> None:
    source = np.random.default_rng(6)
    missed = 0
    for _ in range(40):
        evidence = SequentialEvidence()
        for number in range(BLOCKS):
            evidence.add(float(source.random() < 0.6) - float(source.random() < 0.5))
            low, high = evidence.interval() if number % 4 == 3 else (-1.0, 1.0)
            if not low <= 0.1 <= high:
                missed += 1
                break
    assert missed <= 2
