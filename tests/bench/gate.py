"""How often the gate's verdicts on a run and its baseline are right, by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.calibration import UNEVEN, pairs_of
from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.results.gate.gate_record import GateVerdict
from pinchbench.results.gate.worse import verdict_of, weigh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.calibration import Shape, Table
    from pinchbench.results.gate.baseline_file import Stability

BASELINE_RUNS = 5
TRUTH_TRIALS = 400  # of each task, for its true mean score: with six tasks, it is known within 0.01
DEALS = 999


@dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
    """In 0-1, how often the gate failed, passed as shown, and had the lower end of its interval above the truth."""

    failed: float
    shown: float
    missed: float
    quarantined: float


def gate_shares(
    shape: Shape,
    *,
    tasks: int,
    runs: int,
    worse: float,
    pairs: int,
    stability: Stability | None,
    margin: float = DEFAULT_MARGIN,
    seed: int = 9,
) -> Shares:
    """Draw pairs of a baseline and a run, and apply the gate to each."""
    source = np.random.default_rng(seed)
    failed = shown = missed = quarantined = 0
    for _ in range(pairs):
        of_a = shape.ease(source, tasks)[:, None]
        of_b = np.clip(of_a - worse + UNEVEN * source.standard_normal(of_a.shape), 0, 1) if worse else of_a
        a, b = shape.scores(source, of_a, BASELINE_RUNS), shape.scores(source, of_b, runs)
        drawn = pairs_of(a, b)
        stable = [stability is None or stability.quarantine(pair.a) is None for pair in drawn]
        quarantined += tasks - sum(stable)
        found = weigh(drawn, stability=stability, margin=margin, deals=DEALS).difference
        verdict = verdict_of(found, margin=margin)
        failed += verdict is GateVerdict.FAILED
        shown += verdict is GateVerdict.PASSED
        if found.low is not None:
            truth = 0.0 if not worse else _mean(source, shape, of_b, stable) - _mean(source, shape, of_a, stable)
            missed += found.low > truth + 1e-9
    return Shares(
        failed=failed / pairs, shown=shown / pairs, missed=missed / pairs, quarantined=quarantined / pairs / tasks
    )


def _mean(source: np.random.Generator, shape: Shape, ease: Table, of: Sequence[bool]) -> float:
    return float(shape.scores(source, ease[of], TRUTH_TRIALS).mean())
