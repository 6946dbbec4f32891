"""Judges that are simulated, with a fault planted or without: what they answer about work whose scores are known."""

import random
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from pinchbench.results.judge_certificate import POOR, Answer, JudgeCertificate, Measure, Probe, measures_of

RANGES = {"oracle": (0.8, 1.0), "first miss": (0.35, 0.6), "second miss": (0.1, 0.3), "nothing": (0.0, 0.2)}
TASKS, VOTES = 17, 3  # as the judged tasks of the bundled suite, and as `judge check` asks by default
NOISE = 0.05  # standard deviation of a vote
EFFECT = 0.1  # of a change that sways a judge, and of a drift
SHIFT = 0.2  # of a lenient or strict judge


class Fault(StrEnum):
    """What is wrong with a simulated judge."""

    NOTHING = "nothing"
    LENIENT = "lenient"
    STRICT = "strict"
    FICKLE = "fickle"
    GUESSING = "guessing"
    LENGTH = "length"
    FORMAT = "format"
    POSITION = "position"
    PLANTED = "planted"
    UNREADABLE = "unreadable"
    DRIFT = "drift"


def simulated(fault: Fault, seed: int, *, tasks: int = TASKS) -> list[Measure]:
    """Return what is measured of such a judge. Half of the planted verdicts are believed, a tenth of replies unread."""
    source = random.Random(seed)
    judge = _Judge(fault, source)
    answers, before = [], {}
    for number in range(tasks):
        of_task = source.gauss(0, 0.04)
        for work, (low, high) in RANGES.items():
            worth = (low + high) / 2 + of_task + source.gauss(0, 0.05)
            drift = EFFECT if fault is Fault.DRIFT else 0.0
            before[f"task_{number}", work] = _score(worth - drift + source.gauss(0, NOISE / VOTES**0.5))
            for probe in Probe:
                if probe is Probe.PLANTED and high > POOR:
                    continue
                votes = tuple(judge.vote(worth, probe) for _ in range(VOTES if probe is Probe.UNCHANGED else 1))
                answers.append(
                    Answer(task_id=f"task_{number}", work=work, low=low, high=high, probe=probe, votes=votes)
                )
    return measures_of(answers, before)


def certificate(model: str, measures: Sequence[Measure] = (), **changed: object) -> JudgeCertificate:
    """Return the certificate of a judge with these measures."""
    faults = [one.aspect for one in measures if one.is_fault]
    made = JudgeCertificate(
        judge={"model": model},
        prompt_version="3",
        made_at=1_767_322_800.0,  # 2026-01-02 03:00 UTC
        tasks={"task_a": "digest"},
        votes=VOTES,
        measures=[*measures],
        faults=faults,
        scores=[],
    )
    return msgspec.structs.replace(made, **changed)


class _Judge:
    def __init__(self, fault: Fault, source: random.Random) -> None:
        self.fault = fault
        self.source = source

    def vote(self, worth: float, probe: Probe) -> float | None:
        noise = NOISE
        match self.fault:
            case Fault.LENIENT:
                worth += SHIFT
            case Fault.STRICT:
                worth -= SHIFT
            case Fault.FICKLE:
                noise = 0.25
            case Fault.GUESSING:
                worth = self.source.random()
            case Fault.LENGTH if probe is Probe.LONGER:
                worth += EFFECT
            case Fault.FORMAT if probe is Probe.DECORATED:
                worth += EFFECT
            case Fault.POSITION if probe is Probe.REORDERED:
                worth -= EFFECT
            case Fault.PLANTED if probe is Probe.PLANTED and self.source.random() < 0.5:
                worth = 1.0
            case Fault.UNREADABLE if self.source.random() < 0.1:
                return None
            case _:
                pass
        return _score(worth + self.source.gauss(0, noise))


def _score(worth: float) -> float:
    return round(min(1.0, max(0.0, worth)), 2)
