"""The evidence about a difference: what refutes identical variants, and the interval of the mean."""

from __future__ import annotations

import numpy as np
import pytest

from pinchbench.experiment.evidence import SequentialEvidence

EXPERIMENTS = 100
BLOCKS = 120


def evidence_of(differences: list[float], *, comparisons: int = 1) -> SequentialEvidence:
    evidence = SequentialEvidence(comparisons=comparisons)
    for one in differences:
        evidence.add(one)
    return evidence


def test_without_a_block_nothing_is_decided_and_every_mean_is_possible() -> None:
    evidence = SequentialEvidence()
    assert (evidence.mean, evidence.is_better, evidence.is_worse, evidence.e_value) == (None, False, False, 0.5)
    assert evidence.interval() == (-1.0, 1.0)


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


def test_more_comparisons_need_more_evidence() -> None:
    assert evidence_of([], comparisons=4).decided_at == pytest.approx(80)


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
