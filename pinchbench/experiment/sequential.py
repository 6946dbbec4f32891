"""Which blocks an experiment makes, and when its comparisons are decided (pure).

A block is one trial of a task by every variant that is still compared. What follows depends on the scores, the plan and
the seed alone, not on which trial happened to end first: blocks are counted in the order in which they were planned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from pinchbench.experiment.evidence import ALPHA, SequentialEvidence
from pinchbench.model import TrialKey

if TYPE_CHECKING:
    from collections.abc import Sequence

SELDOM = 0.5  # the share of the tasks without a difference so far that are repeated
HOPELESS = 0.05  # the chance of a decision below which a comparison ends


class SequentialVerdict(StrEnum):
    """What is decided of a variant against the baseline."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    UNDECIDABLE = "undecidable"
    STOPPED = "stopped"
    OPEN = "open"


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """What a sequential experiment is told.

    Attributes:
        variants: the baseline first.
        tasks: task ids.
        runs: the most repetitions of a task.
        seed: decides the order of blocks.
        margin: half the width, in 0-1, of what counts as equal; None if nothing does.
        alpha: the probability, in 0-1, that identical variants are told apart at all.
    """

    variants: tuple[str, ...]
    tasks: tuple[str, ...]
    runs: int
    seed: int
    margin: float | None = None
    alpha: float = ALPHA


@dataclass(frozen=True, kw_only=True, slots=True)
class SequentialComparison:
    """A variant against the baseline: the verdict, and what it rests on.

    `mean`, `low` and `high` are differences in -1 to 1 over the tasks of the experiment, positive where the variant is
    better; `low` and `high` hold at any time, for all comparisons together. `e_value` decides from `decided_at` on.
    """

    variant: str
    verdict: SequentialVerdict
    blocks: int
    mean: float | None
    low: float
    high: float
    e_value: float
    decided_at: float


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
        self._source = np.random.default_rng(design.seed)
        baseline, *others = design.variants
        self._baseline = baseline
        self._evidence = {name: SequentialEvidence(comparisons=len(others), alpha=design.alpha) for name in others}
        self._verdicts = dict.fromkeys(others, SequentialVerdict.OPEN)
        self._scores: dict[tuple[str, TrialKey], float | None] = {}
        self._differed: set[str] = set()
        self._repetition = 0
        self._blocks: list[Block] = []
        self._counted = 0
        self._plan()

    @property
    def is_over(self) -> bool:
        """Whether no comparison is open."""
        return not self._open

    @property
    def planned(self) -> Sequence[Block]:
        """The blocks planned so far, in their order."""
        return tuple(self._blocks)

    @property
    def comparisons(self) -> tuple[SequentialComparison, ...]:
        """Each variant against the baseline, as it now stands."""
        return tuple(self._comparison(name) for name in self._evidence)

    def is_compared(self, variant: str) -> bool:
        """Return whether a variant has to make further blocks."""
        return not self.is_over if variant == self._baseline else self._verdicts[variant] is SequentialVerdict.OPEN

    def settle(self, variant: str, key: TrialKey, score: float | None) -> None:
        """Take the score of a trial, in 0-1; None if it has none and will get none: its block is excluded."""
        self._scores[variant, key] = score
        self._advance()

    def leave(self, variant: str) -> None:
        """Go on without a variant whose run has ended early; without the baseline, every comparison ends."""
        for name in self._open if variant == self._baseline else [variant]:
            if self._verdicts[name] is SequentialVerdict.OPEN:
                self._verdicts[name] = SequentialVerdict.STOPPED
        self._advance()

    @property
    def _open(self) -> list[str]:
        return [name for name, verdict in self._verdicts.items() if verdict is SequentialVerdict.OPEN]

    def _advance(self) -> None:
        """Count the blocks that are complete, and plan what follows a complete repetition."""
        while not self.is_over:
            if self._counted < len(self._blocks):
                block = self._blocks[self._counted]
                if any((name, block.key) not in self._scores for name in (self._baseline, *self._open)):
                    return
                self._count(block)
                self._counted += 1
            elif self._repetition == self._design.runs:
                self._end_open(SequentialVerdict.UNDECIDABLE)
            else:
                self._give_up()
                if not self.is_over:
                    self._plan()

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
        margin = self._design.margin
        if margin is not None and self._repetition > 1:
            low, high = evidence.interval()
            if -margin <= low and high <= margin:
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
        margin, mean = self._design.margin, evidence.mean
        if margin is None or mean is None:
            return False
        low, high = evidence.interval()
        half = (high - low) / 2 * math.sqrt(evidence.blocks / (evidence.blocks + left))
        return half <= margin

    def _end_open(self, verdict: SequentialVerdict) -> None:
        for name in self._open:
            self._verdicts[name] = verdict

    def _plan(self) -> None:
        """Plan the next repetition: all tasks that have differed, and a share of the others, which weigh more.

        Tasks in which the variants agree tell little, but what they do must not be missed: each has the same chance.
        With the weights, every repetition estimates the mean over all tasks.
        """
        tasks = self._design.tasks
        agreed = [task for task in tasks if self._repetition and task not in self._differed]
        made = math.ceil(SELDOM * len(agreed))
        drawn = {agreed[place] for place in self._source.permutation(len(agreed))[:made]}
        chosen = [task for task in tasks if task not in agreed or task in drawn]
        share = len(chosen) / len(tasks)
        seldom = share * len(agreed) / made if made else share
        self._repetition += 1
        for place in self._source.permutation(len(chosen)):
            task = chosen[place]
            self._blocks.append(
                Block(
                    key=TrialKey(task_id=task, repetition=self._repetition),
                    weight=seldom if task in drawn else share,
                    bound=max(seldom, share),
                )
            )

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
