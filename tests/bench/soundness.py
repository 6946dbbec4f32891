# ruff: noqa: T201 - it prints tables
"""How often the statements about the soundness of an experiment are right, by simulation.

`python tests/bench/soundness.py [drift|wandering|interference …]` prints, in %: how often drift and interference are
reported in experiments without any (false alarms, counted once an experiment), and how often planted ones are found,
drift at about its place, without probes and with them. The provider's latency and speed, and the load, wander:
successive trials correlate (`--correlations`), or, in `wandering`, they do so in other ways. Some two hours on one
core; `--designs`, `--probes` and `--experiments` select less.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.items import scores
from pinchbench.results.probe_json import ProbeFacts
from pinchbench.results.soundness.drift import Measure, Observation, drift_of
from pinchbench.results.soundness.interference import Effect, LoadedTrial, Pressure, interference_of
from pinchbench.results.soundness.probes import observed
from pinchbench.runner.expected_probes import PROBES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

    Values = NDArray[float64]
    Designs = Sequence[tuple[int, int, int]]
    Probes = Sequence[int | None]

PERMUTATIONS = 499  # estimates a p of 0.05 within 0.01; enough where hundreds of experiments are averaged
DESIGNS = ((1, 43, 1), (1, 43, 3), (3, 43, 1), (3, 43, 3))  # variants, tasks, repetitions
TRIAL_S = 60.0
USUAL = 0.9  # of answers to a probe are equal: a provider's machines compute in different orders
SCATTER = 0.4  # of the logarithm of a provider's latency
PLACE = 0.1  # a change point counts as found if it is off by at most this share of the experiment


class Wander(StrEnum):
    """How the state of a provider changes by itself."""

    CORRELATED = "correlated"
    WALK = "random walk with resets"
    DAILY = "daily ups and downs"
    OUTAGES = "short outages"


def wandering(source: Generator, length: int, memory: float) -> Values:
    """Draw a series of unit variance whose successive values correlate by `memory`, 0-1."""
    noise = source.standard_normal(length)
    fresh = np.sqrt(1 - memory**2)
    return np.array(list(accumulate(noise.tolist(), lambda state, new: memory * state + fresh * new)))


def states(source: Generator, length: int, *, wander: Wander, memory: float, step_s: float) -> Values:
    """Draw the states of a provider, one every `step_s` seconds."""
    state = wandering(source, length, memory)
    match wander:
        case Wander.CORRELATED:
            return state
        case Wander.WALK:  # in steps of a fifth of the noise, back to where it began once in 40 trials
            keeps, steps = source.random(length) >= 1 / 40, 0.2 * source.standard_normal(length)
            walk = [0.0]
            for keep, step in zip(keeps[1:], steps[1:], strict=True):
                walk.append(keep * (walk[-1] + step))
            return np.array(walk) + state
        case Wander.DAILY:  # a swing as large as the noise
            day = 24 * 3600
            turns = np.arange(length) * step_s / day + source.random()
            swing: Values = np.sqrt(2) * np.sin(2 * np.pi * turns)
            return state + swing
        case Wander.OUTAGES:  # one in 60 trials; for five trials, latency is three times as long
            begun = np.convolve(source.random(length) < 1 / 60, np.ones(5))[:length]
            longer: Values = np.where(begun > 0, np.log(3) / SCATTER, 0.0)
            return state + longer
        case _:
            assert_never(wander)


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
    """A drawn experiment: its trials and its probes."""

    trials: list[Observation]
    probes: list[Observation]


def observations(
    source: Generator, design: tuple[int, int, int], *, memory: float, planted: Planted
) -> list[Observation]:
    """Draw an experiment without probes whose provider's latency and speed wander."""
    return draw(source, design, memory=memory, planted=planted).trials


def draw(
    source: Generator,
    design: tuple[int, int, int],
    *,
    memory: float,
    planted: Planted,
    every: int | None = None,
    wander: Wander = Wander.CORRELATED,
) -> Drawn:
    """Draw an experiment whose provider's latency and speed wander, with probes after `every` trials of a variant."""
    variants, tasks, repetitions = design
    trials = order(source, *design)
    ease = source.beta(2, 1, tasks)
    turn = tasks * repetitions // 2
    latency, speed = (
        np.exp(
            SCATTER
            * np.array(
                [
                    states(source, tasks * repetitions, wander=wander, memory=memory, step_s=variants * TRIAL_S)
                    for _ in range(variants)
                ]
            )
        )
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
    return Drawn(trials=drawn, probes=[one for variant, own in probes.items() for one in observed(f"v{variant}", own)])


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
    wander: Wander = Wander.CORRELATED,
    seed: int = 5,
) -> tuple[float, float]:
    """How often, in 0-1, drift is reported, and how often that of the planted measure at about its place."""
    source = np.random.default_rng(seed)
    reported = placed = 0
    variants, tasks, repetitions = design
    for _ in range(experiments):
        drawn = draw(source, design, memory=memory, planted=planted, every=every, wander=wander)
        found = drift_of(drawn.trials, probes=drawn.probes, draws=PERMUTATIONS)
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


def print_drift(designs: Designs, probes: Probes, correlations: Sequence[float], experiments: int) -> None:
    """Print how often drift is reported, and how often a planted one is found."""
    _heading("drift", correlations)
    for design in designs:
        for name, planted in (
            ("nothing", Planted()),
            ("latency x 1.5", Planted(latency=1.5)),
            ("latency x 2", Planted(latency=2)),
            ("another model, unsaid", Planted(model=True)),
            ("score - 0.3", Planted(score=-0.3)),
        ):
            for every in probes:
                if planted.model and every is None:
                    continue
                row = [
                    drift_found(design, memory=memory, planted=planted, every=every, experiments=experiments)
                    for memory in correlations
                ]
                told = name if every is None else f"{name}, probes {every}"
                _row(design, told, [found if name == "nothing" else placed for found, placed in row])


def print_wandering(designs: Designs, probes: Probes, experiments: int) -> None:
    """Print how often drift is reported though nothing is planted, if the provider wanders in other ways."""
    print("\ndrift without any planted, in % of experiments; noise that correlates by 0.4 is added")
    for design in designs:
        for wander in (Wander.WALK, Wander.DAILY, Wander.OUTAGES):
            for every in probes:
                found, _ = drift_found(design, memory=0.4, every=every, experiments=experiments, wander=wander)
                _row(design, wander if every is None else f"{wander}, probes {every}", [found])


def print_interference(designs: Designs, experiments: int) -> None:
    """Print how often interference is reported, and how often a planted one is found."""
    loads = (0.0, 0.9, 0.98)
    _heading("\ninterference", loads)
    for design in designs:
        if design[2] > 1 or design[0] > 1:
            for effect in (0.0, 0.5, 1.0):
                rows = [interference_found(design, memory=one, effect=effect, experiments=experiments) for one in loads]
                name = f"+{100 * effect:.0f} % at full load" if effect else "nothing"
                _row(design, name, [right if effect else found for found, right in rows])


def _heading(what: str, correlations: Sequence[float]) -> None:
    cells = "  ".join(f"{'correlation ' + format(memory, 'g'):>16}" for memory in correlations)
    print(f"{what}, in % of experiments; `probes N`: after every N trials of a variant")
    print(f"{'variants x tasks x repetitions':<32} {'planted':<36} {cells}")


def _row(design: tuple[int, int, int], name: str, shares: Sequence[float]) -> None:
    cells = "  ".join(f"{100 * share:>16.1f}" for share in shares)
    print(f"{' x '.join(map(str, design)):<32} {name:<36} {cells}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="How often the statements about soundness are right.")
    parser.add_argument("parts", nargs="*", default=["drift", "wandering", "interference"], help="the tables to print")
    parser.add_argument("--experiments", type=int, default=400, help="simulated experiments for each cell")
    parser.add_argument(
        "--probes", type=int, nargs="+", default=[0, 5, 2], help="trials of a variant between points; 0: none"
    )
    parser.add_argument("--correlations", type=float, nargs="+", default=[0.0, 0.4, 0.6, 0.8, 0.9])
    parser.add_argument(
        "--designs", nargs="+", default=[",".join(map(str, one)) for one in DESIGNS], help="variants,tasks,repetitions"
    )
    options = parser.parse_args()
    chosen = [one for one in DESIGNS if ",".join(map(str, one)) in options.designs]
    probes = [every or None for every in options.probes]
    if "drift" in options.parts:
        print_drift(chosen, probes, options.correlations, options.experiments)
    if "wandering" in options.parts:
        print_wandering(chosen, probes, options.experiments)
    if "interference" in options.parts:
        print_interference(chosen, options.experiments)


if __name__ == "__main__":
    main()
