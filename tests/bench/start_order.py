"""How long is the tail of a run? Start orders on a virtual clock.

`python tests/bench/start_order.py [--seeds 100]` plays suites whose tasks take lognormal times, 5% of them ten times
longer, with the runner's own order and schedule, and prints how long each run takes over what no order can beat: all
work
evenly on all slots, or the longest trial. The orders are the plan's, longest first by the limits alone (a first run),
by one and by three earlier runs, and by the true durations, which nobody knows.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import machine, print_table
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType, Task
from pinchbench.model.trial import Attempt, TrialKey
from pinchbench.runner.plan.past_runs import PastTrial
from pinchbench.runner.plan.trial_plan import expected_durations, plan_trials, start_order
from pinchbench.runner.scheduling.queue import AttemptQueue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MEDIAN_S = 120.0  # of a task
SIGMA = 0.8  # how much tasks differ
NOISE = 0.25  # how much the trials of one task differ
LONG, LONG_SHARE = 10.0, 0.05
LIMIT, LIMIT_SIGMA = 3.0, 0.5  # how many times the usual duration authors allow, and how differently
FIRST = "task_00_sanity"
SUITES = ((43, 4, 1), (43, 16, 1), (150, 4, 1), (150, 16, 1), (43, 4, 3), (43, 16, 3))  # tasks, slots, repetitions


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """A suite, how long its trials take now, by key, and what `earlier` runs of it took, the newest first. Seconds."""

    tasks: tuple[Task, ...]
    runs: int
    takes_s: Mapping[TrialKey, float]
    earlier: tuple[tuple[PastTrial, ...], ...]


def make_world(seed: int, *, tasks: int, runs: int = 1, by_chance: bool = False) -> World:
    """Draw a world. Tasks take ten times longer, or with `by_chance` any trials do, which no history foretells."""
    source = random.Random(seed)

    def factor() -> float:
        return LONG if source.random() < LONG_SHARE else 1.0

    usual = {FIRST: MEDIAN_S / 4}
    for number in range(1, tasks):
        usual[f"task_{number:03}"] = source.lognormvariate(math.log(MEDIAN_S), SIGMA) * (1.0 if by_chance else factor())

    def drawn(task_id: str) -> float:
        return usual[task_id] * source.lognormvariate(0, NOISE) * (factor() if by_chance else 1.0)

    suite = tuple(
        Task(
            task_id=task_id,
            name="",
            category="",
            grading_type=GradingType.AUTOMATED,
            prompt="",
            turns=(),
            timeout_s=60 * math.ceil(usual_s * LIMIT * source.lognormvariate(0, LIMIT_SIGMA) / 60),
            digest="1",
        )
        for task_id, usual_s in usual.items()
    )
    keys = [TrialKey(task_id=task_id, repetition=number) for number in range(1, runs + 1) for task_id in usual]
    takes_s = {key: drawn(key.task_id) for key in keys}
    earlier = tuple(
        tuple(PastTrial(task_id=task_id, digest="1", took_s=drawn(task_id), same_model=True) for task_id in usual)
        for _ in range(3)
    )
    return World(tasks=suite, runs=runs, takes_s=takes_s, earlier=earlier)


def planned(world: World) -> tuple[Attempt, ...]:
    """The attempts in the plan's order, with limits that none reaches."""
    trials = plan_trials(world.tasks, runs=world.runs, timeout_multiplier=LONG * LIMIT)
    return tuple(Attempt(trial=trial) for trial in trials)


def ordered(world: World, *, slots: int, earlier: int) -> tuple[Attempt, ...]:
    """The attempts as the runner starts them when so many earlier runs are known."""
    attempts = planned(world)
    past = [one for run in world.earlier[:earlier] for one in run]
    expected_s = expected_durations([attempt.trial for attempt in attempts], past)
    return start_order(attempts, expected_s=expected_s, slots=slots)


def known(world: World) -> tuple[Attempt, ...]:
    """The attempts, longest first as they will turn out."""
    return tuple(sorted(planned(world), key=lambda attempt: -world.takes_s[attempt.key]))


def makespan(world: World, attempts: Sequence[Attempt], *, slots: int) -> float:
    """How long the run takes, in seconds, when free slots take what the runner's schedule gives them."""
    schedule = AttemptQueue(attempts, retries=2, delay_s=10, jitter=lambda: 1.0)
    running: list[tuple[float, int, Attempt]] = []
    numbers = count()
    now = 0.0
    while True:
        while len(running) < slots and isinstance(attempt := schedule.next(now), Attempt):
            heapq.heappush(running, (now + world.takes_s[attempt.key], next(numbers), attempt))
        if not running:
            return now
        now, _, attempt = heapq.heappop(running)
        schedule.ended(attempt, Outcome(key=attempt.key, reason=Reason.COMPLETED, digest="1"), now)


def lower_bound(world: World, *, slots: int) -> float:
    """What no order can beat, in seconds: all slots busy all the time, or the longest trial."""
    takes_s = world.takes_s.values()
    return max(math.fsum(takes_s) / slots, *takes_s)


def ratios(
    seeds: Iterable[int], *, tasks: int, slots: int, runs: int = 1, by_chance: bool = False
) -> dict[str, list[float]]:
    """The makespan of each order over the lower bound, a value a seed."""
    found: dict[str, list[float]] = {}
    for seed in seeds:
        world = make_world(seed, tasks=tasks, runs=runs, by_chance=by_chance)
        least = lower_bound(world, slots=slots)
        for name, attempts in (
            ("plan order", planned(world)),
            ("by limits", ordered(world, slots=slots, earlier=0)),
            ("1 earlier run", ordered(world, slots=slots, earlier=1)),
            ("3 earlier runs", ordered(world, slots=slots, earlier=3)),
            ("foreknown", known(world)),
        ):
            found.setdefault(name, []).append(makespan(world, attempts, slots=slots) / least)
    return found


def high(values: Sequence[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description="Start orders on a virtual clock.")
    parser.add_argument("--seeds", type=int, default=100, help="suites a line (default: 100)")
    options = parser.parse_args()
    for by_chance in (False, True):
        what = "trials, by chance" if by_chance else "tasks"
        lines = {
            f"{tasks} tasks × {runs}, {slots} slots": ratios(
                range(options.seeds), tasks=tasks, slots=slots, runs=runs, by_chance=by_chance
            )
            for tasks, slots, runs in SUITES
        }
        print_table(
            f"Makespan over the lower bound, 5% of the {what}, ten times longer: median / 95th percentile",
            ["suite", *next(iter(lines.values()))],
            [
                [name, *(f"{median(values):.3f} / {high(values):.3f}" for values in found.values())]
                for name, found in lines.items()
            ],
            note=f"{options.seeds} drawn suites a line, virtual clock; {machine()}",
        )


if __name__ == "__main__":
    main()
