"""What the trials so far tell about the difference of two variants, valid however often one looks (pure)."""

from __future__ import annotations

import math

import numpy as np

ALPHA = 0.05
METHOD = (
    "test martingale of symmetric differences, mixed over sizes, and betting on the mean, mixed over stakes: both must"
    " decide; interval by betting; Bonferroni over variants"
)
SOURCE = (
    "V. de la Peña, A general class of exponential inequalities for martingales and ratios, Annals of Probability 27"
    " (1999); I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by betting, Journal of the"
    " Royal Statistical Society B 86 (2024)"
)
# Sizes of the bets: how strongly a difference is expected to be one-sided. Spread over all that occurs, because the
# size that suits an experiment is known at its end only; each one more costs a little (the wealth is their mean).
SIZES = np.geomspace(0.35, 6.0, 8)
# Parts of what can be lost at once, and the share of the money that stakes each. The last one decides large differences
# early: with half of the money, 0.2 takes 15 to 25 % fewer blocks than with eight equal shares.
STAKES = np.array([0.15, 0.35, 0.65, 0.99])
SHARES = np.array([0.1, 0.2, 0.2, 0.5])
MEANS = np.linspace(-1.0, 1.0, 401)  # which the interval may include, in steps of 0.005
ZERO = len(MEANS) // 2
LARGEST = 600.0  # exp() of more overflows


class SequentialEvidence:
    """Differences of one pair of variants, in the order of their blocks.

    Two test martingales, each the mean of the wealths of several bettors (Ville's inequality: one that starts at 1 ever
    reaches c with a probability of at most 1/c):

    - For *identical variants*, whose difference in a block is positive as often as negative, whichever block is made
      next: the product of 1 + tanh(size x difference), and of 1 - tanh(…) for the other side. This is the martingale of
      symmetric differences of de la Peña (1999, Annals of Probability 27), also in Ramdas, Ruf, Larsson and Koolen
      (2020, "Admissible anytime-valid sequential inference must rely on nonnegative martingales"). A block without a
      difference costs nothing, and small differences count as much as large ones if they all have the same sign.
    - For *a mean of m*: the product of 1 ± stake x (difference - m), which needs no symmetry; the means that are not
      refuted are the interval (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting",
      Journal of the Royal Statistical Society B 86).

    A difference is decided where both refute that the variants are the same: the first with alpha for both sides, the
    second with alpha a side. The first alone keeps to alpha for identical variants, but not for those that differ
    from task to task and on average not: where some tasks fail and all others gain a little, it called a difference in
    up to 40 % of simulated experiments, both together in at most 5 % (tests/bench/sequential.py).
    """

    def __init__(self, *, comparisons: int = 1, alpha: float = ALPHA) -> None:
        """`comparisons` of one experiment share `alpha`, the probability that any of them is wrong (Bonferroni)."""
        self.decided_at = comparisons / alpha  # the e-value from which on a difference is decided
        self._limit = math.log(2 * self.decided_at)  # two sides
        self._signs = np.zeros((2, len(SIZES)))  # logarithms of wealths: for a positive and for a negative difference
        self._means = np.zeros((2, len(STAKES), len(MEANS)))
        self._sum = self._squares = 0.0
        self.blocks = 0

    def add(self, difference: float, *, weight: float = 1.0, bound: float = 1.0) -> None:
        """Take the next block's difference of scores, in -1 to 1.

        `weight` makes up for tasks that are made more seldom; `bound`, at least 1, is the largest weight that this
        block could have had. Both must be known before the block is made.
        """
        value = difference * weight
        won = np.tanh(SIZES * value)
        self._signs += np.log1p(np.stack((won, -won)))
        away = value - MEANS
        stakes = STAKES[:, None]
        self._means[0] += np.log1p(stakes * away / (bound + MEANS + 1e-9))
        self._means[1] += np.log1p(-stakes * away / (bound - MEANS + 1e-9))
        self._sum += value
        self._squares += value * value
        self.blocks += 1

    @property
    def mean(self) -> float | None:
        """The estimated mean difference over the tasks; None without a block."""
        return self._sum / self.blocks if self.blocks else None

    @property
    def is_better(self) -> bool:
        """Whether it is decided that the second variant is better."""
        return self._log_evidence(0) >= math.log(self.decided_at)

    @property
    def is_worse(self) -> bool:
        """Whether it is decided that the second variant is worse."""
        return self._log_evidence(1) >= math.log(self.decided_at)

    @property
    def e_value(self) -> float:
        """The evidence for a difference, on the side that has more of it. Decided from `decided_at` on."""
        return math.exp(min(LARGEST, max(self._log_evidence(0), self._log_evidence(1))))

    def interval(self) -> tuple[float, float]:
        """Return the lowest and the highest mean difference that are not refuted, in -1 to 1."""
        shares = SHARES[None, :, None]
        wealth = np.log(np.sum(shares * np.exp(np.minimum(self._means, LARGEST)), axis=1)).max(axis=0)
        kept = MEANS[wealth < self._limit]
        if not len(kept):  # both neighbours of a mean between two steps are refuted
            nearest = float(np.clip(self.mean or 0.0, -1.0, 1.0))
            return nearest, nearest
        return float(kept[0]), float(kept[-1])

    def chance(self, further: int) -> float:
        """Return roughly how probable, in 0-1, a decided difference is after `further` blocks.

        Favourably: the mean is taken to lie one standard error further from 0 than it does. By the normal approximation
        of the first martingale's best bettor, whose wealth is exp(sum² / (2 x sum of squares)).
        """
        if not self.blocks or not self._squares:
            return 1.0  # nothing has differed yet, and nothing tells how the rest may
        variance = self._squares / self.blocks
        mean = abs(self._sum) / self.blocks + math.sqrt(variance / self.blocks)
        total = self._squares + further * variance
        needed = math.sqrt(2 * total * (self._limit + math.log(len(SIZES)) / 2))
        missing = needed - abs(self._sum) - further * mean
        return 0.5 * math.erfc(missing / math.sqrt(2 * max(further, 1) * variance))

    def _log_evidence(self, side: int) -> float:
        symmetric = np.mean(np.exp(np.minimum(self._signs[side], LARGEST))) / 2
        on_mean = np.sum(SHARES * np.exp(np.minimum(self._means[side, :, ZERO], LARGEST)))
        return float(np.log(min(symmetric, on_mean)))
