"""Which blocks an experiment makes, and when the trials so far decide its comparisons (pure).

A block is one trial of a task by every variant that is still compared. What follows depends on the scores, the plan and
the seed alone, not on which trial happened to end first: blocks are counted in the order in which they were planned.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.model.trial import Attempt, TrialKey
from pinchbench.results.compare.verdict import SequentialComparison, SequentialVerdict
from pinchbench.runner.scheduling.diagnosis import SANITY_TASKS
from pinchbench.runner.scheduling.queue import Admission

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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
SIZES = tuple(0.35 * (6.0 / 0.35) ** (number / 7) for number in range(8))
# Parts of what can be lost at once, and the share of the money that stakes each. The last one decides large differences
# early: with half of the money, 0.2 takes 15 to 25% fewer blocks than with eight equal shares.
STAKES = (0.15, 0.35, 0.65, 0.99)
SHARES = (0.1, 0.2, 0.2, 0.5)
MEANS = tuple(-1.0 + number / 200 for number in range(401))  # which the interval may include, in steps of 0.005
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
    up to 40% of simulated experiments, both together in at most 5% (tests/bench/sequential.py).
    """

    def __init__(self, *, comparisons: int = 1, alpha: float = ALPHA) -> None:
        """`comparisons` of one experiment share `alpha`, the probability that any of them is wrong (Bonferroni)."""
        self.decided_at = comparisons / alpha  # the e-value from which on a difference is decided
        self._limit = math.log(2 * self.decided_at)  # two sides
        # logarithms of wealths: for a positive and for a negative difference
        self._signs = [[0.0] * len(SIZES) for _ in range(2)]
        # and against each mean, by its place, after how many of the values: few means are ever looked at
        self._means = [[(0, (0.0,) * len(STAKES))] * len(MEANS) for _ in range(2)]
        self._values: list[tuple[float, float]] = []  # weighted differences, and the largest that each could have been
        self._sum = self._squares = 0.0
        self.blocks = 0

    def add(self, difference: float, *, weight: float = 1.0, bound: float = 1.0) -> None:
        """Take the next block's difference of scores, in -1 to 1.

        `weight` makes up for tasks that are made more seldom; `bound`, at least 1, is the largest weight that this
        block could have had. Both must be known before the block is made.
        """
        value = difference * weight
        for side, sign in enumerate((1, -1)):
            self._signs[side] = [
                wealth + math.log1p(sign * math.tanh(size * value))
                for wealth, size in zip(self._signs[side], SIZES, strict=True)
            ]
        self._values.append((value, bound))
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
        limit, places = math.exp(self._limit), range(len(MEANS))
        # The higher a mean, the less is won on a larger one, and the more on a smaller one.
        low = bisect_left(places, True, key=lambda place: self._wealth(0, place) < limit)
        high = bisect_left(places, True, key=lambda place: self._wealth(1, place) >= limit) - 1
        if low > high:  # both neighbours of a mean between two steps are refuted
            nearest = min(1.0, max(-1.0, self.mean or 0.0))
            return nearest, nearest
        return MEANS[low], MEANS[high]

    def chance(self, further: int) -> float:
        """Return roughly how probable, in 0-1, a decided difference is after `further` blocks.

        Favourably: the mean is taken to lie one standard error further from 0 than it does. By the normal approximation
        of the first martingale's best bettor, whose wealth is exp(sum² / (2 x sum of squares)).
        """
        if not self.blocks or not self._squares:
            return 1.0  # nothing has differed yet, so the rest is unknown
        variance = self._squares / self.blocks
        mean = abs(self._sum) / self.blocks + math.sqrt(variance / self.blocks)
        total = self._squares + further * variance
        needed = math.sqrt(2 * total * (self._limit + math.log(len(SIZES)) / 2))
        missing = needed - abs(self._sum) - further * mean
        return 0.5 * math.erfc(missing / math.sqrt(2 * max(further, 1) * variance))

    def _log_evidence(self, side: int) -> float:
        symmetric = math.fsum(math.exp(min(wealth, LARGEST)) for wealth in self._signs[side]) / len(SIZES) / 2
        return math.log(min(symmetric, self._wealth(side, ZERO)))

    def _wealth(self, side: int, place: int) -> float:
        """Return the wealth of all who bet that the mean is larger (side 0) or smaller (1) than the one at a place."""
        counted, wealths = self._means[side][place]
        mean, sign = MEANS[place], -1 if side else 1
        for value, bound in self._values[counted:]:
            part = sign * (value - mean) / (bound + sign * mean + 1e-9)
            wealths = tuple(own + math.log1p(stake * part) for own, stake in zip(wealths, STAKES, strict=True))
        self._means[side][place] = (len(self._values), wealths)
        return math.fsum(share * math.exp(min(own, LARGEST)) for share, own in zip(SHARES, wealths, strict=True))


LOT_BYTES = 8
SELDOM = 0.5  # the share of the tasks without a difference so far that are repeated
HOPELESS = 0.05  # the chance of a decision below which a comparison ends
MADE = "made"  # the lot that decides which of the tasks without a difference are repeated


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """What a sequential experiment is given.

    Attributes:
        variants: the baseline first.
        tasks: task ids.
        runs: the most repetitions of a task.
        seed: decides the order of blocks.
        margin: the largest difference, in 0-1, that counts as equal.
        alpha: the probability, in 0-1, that identical variants are distinguished at all.
    """

    variants: tuple[str, ...]
    tasks: tuple[str, ...]
    runs: int
    seed: int
    margin: float = DEFAULT_MARGIN
    alpha: float = ALPHA

    @property
    def keys(self) -> tuple[TrialKey, ...]:
        """Every trial that a variant may make."""
        return tuple(TrialKey(task_id=task, repetition=run) for run in range(1, self.runs + 1) for task in self.tasks)


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A block: the trial that every variant makes, and its weight, at most `bound`, in the estimated mean."""

    key: TrialKey
    weight: float
    bound: float


class Sequential:
    """The state of an experiment that ends when it is decided."""

    def __init__(self, design: Design) -> None:
        """Plan the first repetition, in which every task is made once."""
        self._design = design
        baseline, *others = design.variants
        self._baseline = baseline
        self._evidence = {name: SequentialEvidence(comparisons=len(others), alpha=design.alpha) for name in others}
        self._verdicts = dict.fromkeys(others, SequentialVerdict.OPEN)
        self._scores: dict[tuple[str, TrialKey], float | None] = {}
        self._absent: dict[str, SequentialVerdict] = {}  # what it is of variants whose runs have ended
        self._differed: set[str] = set()
        self._repetition = 0
        self.planned: list[Block] = []  # in their order
        self._keys: set[TrialKey] = set()  # theirs
        self._counted = 0
        self._plan()

    @property
    def is_over(self) -> bool:
        """Whether no comparison is open."""
        return not self._open

    @property
    def comparisons(self) -> tuple[SequentialComparison, ...]:
        """Each variant against the baseline, as it now stands."""
        return tuple(self._comparison(name) for name in self._evidence)

    def is_compared(self, variant: str) -> bool:
        """Return whether a variant has to make further blocks."""
        return not self.is_over if variant == self._baseline else self._verdicts[variant] is SequentialVerdict.OPEN

    def admits(self, variant: str, key: TrialKey) -> Admission:
        """Return whether a variant makes a trial: later, if that depends on scores that are not known yet."""
        if not self.is_compared(variant):
            return Admission.NEVER
        if key.repetition > self._repetition:
            return Admission.LATER
        return Admission.NOW if key in self._keys else Admission.NEVER

    def settle(self, variant: str, key: TrialKey, score: float | None) -> None:
        """Take the score of a trial, in 0-1; None if it has none and will get none: its block is excluded."""
        self._scores[variant, key] = score
        self._advance()

    def leave(self, variant: str, *, by_budget: bool = False) -> None:
        """Take note that the run of a variant has ended: blocks for which it has no score yet will get none.

        Without a score of the baseline, every comparison ends.
        """
        self._absent[variant] = SequentialVerdict.BUDGET if by_budget else SequentialVerdict.STOPPED
        self._advance()

    @property
    def _open(self) -> list[str]:
        return [name for name, verdict in self._verdicts.items() if verdict is SequentialVerdict.OPEN]

    def _advance(self) -> None:
        """Count the blocks that are complete, and plan what follows a complete repetition."""
        while not self.is_over:
            if self._counted < len(self.planned):
                block = self.planned[self._counted]
                missing = [one for one in (self._baseline, *self._open) if (one, block.key) not in self._scores]
                if not missing:
                    self._count(block)
                    self._counted += 1
                elif not self._end_absent(missing):
                    return
            elif self._repetition == self._design.runs:
                self._verdicts |= dict.fromkeys(self._open, SequentialVerdict.UNDECIDABLE)
            else:
                self._give_up()
                if not self.is_over:
                    self._plan()

    def _end_absent(self, missing: Sequence[str]) -> bool:
        """End the comparisons whose next block will not be complete; return whether there is one."""
        absent = [name for name in missing if name in self._absent]
        for name in self._open if self._baseline in absent else absent:
            self._verdicts[name] = self._absent[self._baseline if self._baseline in absent else name]
        return bool(absent)

    def _count(self, block: Block) -> None:
        before = self._scores[self._baseline, block.key]
        for name in self._open:
            after = self._scores[name, block.key]
            if before is None or after is None:
                continue
            evidence = self._evidence[name]
            evidence.add(after - before, weight=block.weight, bound=block.bound)
            if after != before:
                self._differed.add(block.key.task_id)
            self._verdicts[name] = self._verdict(evidence)

    def _verdict(self, evidence: SequentialEvidence) -> SequentialVerdict:
        if evidence.is_better:
            return SequentialVerdict.BETTER
        if evidence.is_worse:
            return SequentialVerdict.WORSE
        if self._repetition > 1:
            low, high = evidence.interval()
            if -self._design.margin <= low and high <= self._design.margin:
                return SequentialVerdict.EQUAL
        return SequentialVerdict.OPEN

    def _give_up(self) -> None:
        """End the comparisons that what is left can hardly decide."""
        left = (self._design.runs - self._repetition) * len(self._design.tasks)
        for name in self._open:
            evidence = self._evidence[name]
            if evidence.chance(left) < HOPELESS and not self._can_be_equal(evidence, left):
                self._verdicts[name] = SequentialVerdict.UNDECIDABLE

    def _can_be_equal(self, evidence: SequentialEvidence, left: int) -> bool:
        """Return whether the interval may come to lie within the margin: if it narrows with the root of the blocks."""
        low, high = evidence.interval()
        half = (high - low) / 2 * math.sqrt(evidence.blocks / (evidence.blocks + left))
        return half <= self._design.margin

    def _plan(self) -> None:
        """Plan the next repetition: all tasks that have differed, and a share of the others, which weigh more.

        Tasks in which the variants agree tell little, but what they do must not be missed: each has the same chance.
        With the weights, every repetition estimates the mean over all tasks.
        """
        tasks, seed = self._design.tasks, self._design.seed
        self._repetition += 1
        keys = [TrialKey(task_id=task, repetition=self._repetition) for task in tasks]
        agreed = [key for key in keys if self._repetition > 1 and key.task_id not in self._differed]
        made = math.ceil(SELDOM * len(agreed))
        drawn = set(sorted(agreed, key=lambda key: lot(key, seed=seed, purpose=MADE))[:made])
        chosen = [key for key in keys if key not in agreed or key in drawn]
        share = len(chosen) / len(tasks)
        seldom = share * len(agreed) / made if made else share
        self._keys.update(chosen)
        for key in sorted(chosen, key=lambda key: place(key, seed=seed)):
            weight = seldom if key in drawn else share
            self.planned.append(Block(key=key, weight=weight, bound=max(seldom, share)))

    def _comparison(self, name: str) -> SequentialComparison:
        evidence = self._evidence[name]
        low, high = evidence.interval()
        return SequentialComparison(
            variant=name,
            verdict=self._verdicts[name],
            blocks=evidence.blocks,
            mean=evidence.mean,
            low=low,
            high=high,
            e_value=evidence.e_value,
            decided_at=evidence.decided_at,
        )


def in_order(attempts: Iterable[Attempt], *, seed: int) -> tuple[Attempt, ...]:
    """Return a variant's attempts in the order in which they are started."""
    return tuple(sorted(attempts, key=lambda attempt: place(attempt.key, seed=seed)))


def place(key: TrialKey, *, seed: int) -> tuple[int, bool, float]:
    """Return by what trials are sorted.

    Repetition after repetition, so that an early end leaves whole ones; the sanity task first. Tasks are shuffled anew
    for each repetition. The place of a trial depends on its key and the seed alone: it stays when others are done.
    """
    return key.repetition, key.task_id not in SANITY_TASKS, lot(key, seed=seed)


def lot(key: TrialKey, *, seed: int, purpose: str = "") -> float:
    """Return a number in 0-1, evenly distributed, that a trial draws for a purpose."""
    text = f"{seed} {key.task_id} {key.repetition}{purpose}".encode()
    return int.from_bytes(blake2b(text, digest_size=LOT_BYTES).digest()) / (1 << 8 * LOT_BYTES)
