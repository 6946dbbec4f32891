# ruff: noqa: T201 - it prints tables
"""How often the statements about the soundness of an experiment are right, by simulation.

`python tests/bench/soundness.py [--experiments 400] [--probes 2]` prints, in %: how often drift and interference are
reported in experiments without any (false alarms, counted once an experiment), and how often planted ones are found,
drift at about its place, without probes and with them. The provider's latency and speed, and the load, wander:
successive trials correlate. Some forty minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.items import scores
from pinchbench.results.probe_json import ProbeFacts
from pinchbench.results.soundness.drift import Measure, Observation, drift_of
from pinchbench.results.soundness.interference import Effect, LoadedTrial, Pressure, interference_of
from pinchbench.results.soundness.probes import points_of
from pinchbench.runner.expected_probes import PROBES

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

    Values = NDArray[float64]

PERMUTATIONS = 499  # estimates a p of 0.05 within 0.01; enough where hundreds of experiments are averaged
DESIGNS = ((1, 43, 1), (1, 43, 3), (3, 43, 1), (3, 43, 3))  # variants, tasks, repetitions
TRIAL_S = 60.0
USUAL = 0.9  # of answers to a probe are equal: a provider's machines compute in different orders
PLACE = 0.1  # a change point counts as found if it is off by at most this share of the experiment


def wandering(source: Generator, length: int, memory: float) -> Values:
    """Draw a series of unit variance whose successive values correlate by `memory`, 0-1."""
    lead = 200
    noise = source.standard_normal(length + lead)
    series = np.empty_like(noise)
    series[0] = noise[0]
    for place in range(1, length + lead):
        series[place] = memory * series[place - 1] + np.sqrt(1 - memory**2) * noise[place]
    return series[lead:]


def order(source: Generator, variants: int, tasks: int, repetitions: int) -> list[tuple[int, int, int]]:
    """Order trials as an experiment does: the tasks of a block at random, each with all variants close together."""
    return [
        (int(variant), int(task), repetition)
        for repetition in range(1, repetitions + 1)
        for task in source.permutation(tasks)
        for variant in source.permutation(variants)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Planted:
    """What changes in the first variant after half of its trials: a factor of latency, a difference of scores.

    `model`: another model answers, which the provider does not state.
    """

    latency: float = 1.0
    score: float = 0.0
    model: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """A drawn experiment: its trials, and the points at which probes were sent."""

    trials: list[Observation]
    points: list[Observation]


def observations(
    source: Generator, design: tuple[int, int, int], *, memory: float, planted: Planted
) -> list[Observation]:
    """Draw an experiment without probes whose provider's latency and speed wander."""
    return draw(source, design, memory=memory, planted=planted).trials


def draw(
    source: Generator, design: tuple[int, int, int], *, memory: float, planted: Planted, every: int | None = None
) -> Drawn:
    """Draw an experiment whose provider's latency and speed wander, with probes after `every` trials of a variant."""
    variants, tasks, repetitions = design
    trials = order(source, *design)
    ease = source.beta(2, 1, tasks)
    turn = tasks * repetitions // 2
    latency, speed = (
        np.exp(0.4 * np.array([wandering(source, tasks * repetitions, memory) for _ in range(variants)]))
        for _ in range(2)
    )
    length = np.exp(source.normal(6, 1, tasks))
    done = [0] * variants
    drawn = []
    probes: dict[int, list[ProbeFacts]] = {variant: [] for variant in range(variants)}
    for place, (variant, task, _) in enumerate(trials):
        number, done[variant] = done[variant], done[variant] + 1
        if every is not None and (number % every == 0 or number == tasks * repetitions - 1):
            changed = planted if variant == 0 and number >= turn else Planted()
            state = latency[variant, number] * changed.latency, speed[variant, number]
            probes[variant] += _probes(source, *state, at=place * TRIAL_S, point=number, is_other=changed.model)
        is_changed = variant == 0 and number >= turn
        expected = np.array([ease[task] + (planted.score if is_changed else 0.0)] * 2)
        drawn.append(
            Observation(
                variant=f"v{variant}",
                task_id=f"t{task}",
                at=place * TRIAL_S,
                values={
                    Measure.SCORE: float(scores(source, expected)[task % 2]),
                    Measure.LATENCY: float(latency[variant, number] * (planted.latency if is_changed else 1.0)),
                    Measure.SPEED: float(speed[variant, number]),
                    Measure.OUTPUT: float(length[task] * np.exp(0.3 * source.standard_normal())),
                },
            )
        )
    points = [point for variant, own in probes.items() for point in points_of(f"v{variant}", own)]
    return Drawn(trials=drawn, points=points)


def _probes(
    source: Generator, latency: float, speed: float, *, at: float, point: int, is_other: bool
) -> list[ProbeFacts]:
    """Draw the probes of one point: each scatters around the state of the provider, and one answer in ten differs."""
    drawn = []
    for number in range(PROBES):
        first_token_s, rest_s = latency * np.exp(0.3 * source.standard_normal()), 1 / speed
        usual = "other" if is_other else "usual"
        drawn.append(
            ProbeFacts(
                at=at + number,
                point=point,
                first_token_s=float(first_token_s),
                duration_s=float(first_token_s + rest_s),
                answer=usual if source.random() < USUAL else str(source.random()),
            )
        )
    return drawn


def drift_found(
    design: tuple[int, int, int],
    *,
    memory: float,
    planted: Planted = Planted(),
    experiments: int,
    every: int | None = None,
    seed: int = 5,
) -> tuple[float, float]:
    """How often, in 0-1, drift is reported, and how often that of the planted measure at about its place."""
    source = np.random.default_rng(seed)
    reported = placed = 0
    variants, tasks, repetitions = design
    for _ in range(experiments):
        drawn = draw(source, design, memory=memory, planted=planted, every=every)
        found = drift_of(drawn.trials, probes=drawn.points, permutations=PERMUTATIONS)
        measures = (
            {Measure.SCORE}
            if planted.score
            else {Measure.PROBE_ANSWER}
            if planted.model
            else {Measure.LATENCY, Measure.PROBE_LATENCY, Measure.PROBE_TIME}
        )
        off = [
            abs(change.at / TRIAL_S / (variants * tasks * repetitions) - 0.5)
            for change in found.changes
            if change.variant == "v0" and change.measure in measures
        ]
        reported += bool(found.changes)
        placed += any(one <= PLACE for one in off)
    return reported / experiments, placed / experiments


def loaded_trials(
    source: Generator, design: tuple[int, int, int], *, memory: float, effect: float, variants_apart: float = 0.5
) -> list[LoadedTrial]:
    """Draw an experiment under a wandering load; `effect` is by how much a trial at full pressure takes longer."""
    variants, tasks, _ = design
    trials = order(source, *design)
    load, provider = (wandering(source, len(trials), memory) for _ in range(2))
    share = 1 / (1 + np.exp(-1.2 * load + 1.5))  # mostly below a quarter
    hard, slow = source.normal(4, 1, tasks), source.normal(0, variants_apart, variants)
    own_load = source.uniform(0, 0.2, tasks)  # heavy tasks make pressure themselves, and may be long or short
    ease = source.beta(2, 1, tasks)
    drawn = []
    for place, (variant, task, repetition) in enumerate(trials):
        pressure = float(np.clip(share[place] + own_load[task] + 0.03 * source.standard_normal(), 0, 1))
        time = hard[task] + slow[variant] + 0.3 * source.standard_normal() + 0.15 * provider[place]
        drawn.append(
            LoadedTrial(
                variant=f"v{variant}",
                task_id=f"t{task}",
                repetition=repetition,
                at=place * TRIAL_S,
                time_s=float(np.exp(time) * (1 + effect * pressure)),
                score=float(scores(source, ease[[task, task]])[task % 2]),
                pressure={
                    Pressure.CPU: pressure,
                    Pressure.MEMORY: 0.0,
                    Pressure.IO: float(np.clip(0.3 * share[place] + 0.05 * abs(source.standard_normal()), 0, 1)),
                },
            )
        )
    return drawn


def interference_found(
    design: tuple[int, int, int], *, memory: float, effect: float = 0.0, experiments: int, seed: int = 6
) -> tuple[float, float]:
    """How often, in 0-1, interference is reported, and how often that CPU pressure lengthens times."""
    source = np.random.default_rng(seed)
    reported = right = 0
    for _ in range(experiments):
        drawn = loaded_trials(source, design, memory=memory, effect=effect)
        found = interference_of(drawn, permutations=PERMUTATIONS).associations
        reported += bool(found)
        right += any(one.pressure is Pressure.CPU and one.effect is Effect.TIME for one in found)
    return reported / experiments, right / experiments


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="How often the statements about soundness are right.")
    parser.add_argument("--experiments", type=int, default=400, help="simulated experiments for each cell")
    parser.add_argument("--probes", type=int, default=2, help="trials of a variant from one point to the next")
    options = parser.parse_args()
    asked = options.experiments
    memories = (0.0, 0.4, 0.8)
    cells = "  ".join(f"{'correlation ' + format(memory, 'g'):>16}" for memory in memories)
    print("drift, in % of experiments; `probes N`: after every N trials of a variant")
    print(f"{'variants x tasks x repetitions':<32} {'planted':<32} {cells}")
    for design in DESIGNS:
        for name, planted in (
            ("nothing", Planted()),
            ("latency x 1.5", Planted(latency=1.5)),
            ("latency x 2", Planted(latency=2)),
            ("another model, unsaid", Planted(model=True)),
            ("score - 0.3", Planted(score=-0.3)),
        ):
            for every in (options.probes,) if planted.model else (None, options.probes):
                row = [
                    drift_found(design, memory=memory, planted=planted, every=every, experiments=asked)
                    for memory in memories
                ]
                texts = [f"{100 * (found if name == 'nothing' else placed):>16.1f}" for found, placed in row]
                told = name if every is None else f"{name}, probes {every}"
                print(f"{' x '.join(map(str, design)):<32} {told:<32} " + "  ".join(texts), flush=True)
    loads = (0.0, 0.9, 0.98)
    print("\ninterference, in % of experiments")
    cells = "  ".join(f"{'correlation ' + format(memory, 'g'):>16}" for memory in loads)
    print(f"{'variants x tasks x repetitions':<32} {'planted':<22} {cells}")
    for design in DESIGNS[1:]:
        for effect in (0.0, 0.5, 1.0):
            rows = [interference_found(design, memory=memory, effect=effect, experiments=asked) for memory in loads]
            texts = [f"{100 * (found if not effect else right):>16.1f}" for found, right in rows]
            name = f"+{100 * effect:.0f} % at full load" if effect else "nothing"
            print(f"{' x '.join(map(str, design)):<32} {name:<22} " + "  ".join(texts), flush=True)


if __name__ == "__main__":
    main()
