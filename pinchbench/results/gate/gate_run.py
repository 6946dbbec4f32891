"""Apply a gate to a finished run (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET

from pinchbench.results.compare.comparison import pair_tasks, unlike_settings
from pinchbench.results.compare.paired_difference import Pair
from pinchbench.results.compare.samples import side_of
from pinchbench.results.compare.verdict import UNPAIRED, describe_difference, describe_p
from pinchbench.results.gate.gate_record import BaselineVerdict, GateRecord, GateVerdict, RuleVerdict, counted
from pinchbench.results.gate.worse import GateEvidence, verdict_of, weigh
from pinchbench.results.result_json import JournalEnd
from pinchbench.results.statistics import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.results.compare.samples import Sample
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.gate.baseline_file import Stability

SEVEREST_FIRST = (GateVerdict.FAILED, GateVerdict.NOT_APPLICABLE, GateVerdict.CANNOT_TELL, GateVerdict.PASSED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """When a run fails: with a score below `least_score` (0-1), or if it is worse than the baseline; one is given.

    `margin`, in 0-1, is the loss that does not matter. `name`, `baseline` and `stability` are the baseline's name, its
    scores as they were when the run began, and its rule of stability.
    """

    least_score: float | None
    margin: float
    name: str = ""
    baseline: Sample | None = None
    stability: Stability | None = None

    def judge(self, run: PastRun, *, is_complete: bool) -> GateRecord:
        """Apply the gate to a run, of which some trials may not count (pure)."""
        verdicts = []
        compared = None
        if self.least_score is not None:
            verdicts.append(_judge_score(run.data.score.mean, self.least_score))
        if self.baseline is not None:
            compared, verdict = self._compare(self.baseline, side_of([run]))
            verdicts.append(verdict)
        return GateRecord(
            verdict=min((one.verdict for one in verdicts), key=SEVEREST_FIRST.index),
            is_complete=is_complete,
            rules=tuple(verdicts),
            baseline=compared,
            journal=JournalEnd(records=0, digest="") if run.data.journal is UNSET else run.data.journal,
        )

    def _compare(self, a: Sample, b: Sample) -> tuple[BaselineVerdict, RuleVerdict]:
        margin = self.margin
        paired, unpaired = pair_tasks(a, b)
        pairs = [Pair(a=task.a.scores, b=task.b.scores) for task in paired]
        quarantined = {
            task_id: why.reason
            for task_id, task in a.tasks.items()
            if self.stability is not None and (why := self.stability.quarantine(task.scores)) is not None
        }
        evidence = weigh(pairs, stability=self.stability, margin=margin)
        is_itself = bool(set(a.runs) & set(b.runs))
        if is_itself:
            evidence = GateEvidence()
        difference = evidence.difference
        left_out = {
            name: UNPAIRED[why].format(a="the baseline", b="this run")
            for name, why in unpaired.items()
            if name not in quarantined
        }
        verdict = verdict_of(difference, margin=margin)
        compared = BaselineVerdict(
            name=self.name,
            model=a.model,
            margin=margin,
            mean=difference.mean,
            low=difference.low,
            high=difference.high,
            p=difference.p,
            tasks=difference.tasks,
            trials=evidence.trials,
            repetitions_needed=evidence.needed,
            quarantined={name: why for name, why in quarantined.items() if name in b.tasks},
            unpaired=left_out,
            warnings=tuple(_warnings(a, b)),
        )
        sentence = (
            "The gate can't be applied: the run is part of the baseline, and a run can't be compared with itself."
            if is_itself
            else _sentence(verdict, evidence, margin)
        )
        return compared, RuleVerdict(rule="worse", verdict=verdict, sentence=sentence)


def _judge_score(mean: float | None, least: float) -> RuleVerdict:
    if mean is None:
        verdict, sentence = GateVerdict.NOT_APPLICABLE, "The gate can't be applied: no trial has a score."
    elif mean < least - ROUNDING:
        verdict, sentence = GateVerdict.FAILED, f"The score {_below(mean, least)} is below {least:g}."
    else:
        verdict, sentence = GateVerdict.PASSED, f"The score {mean:.3f} is not below {least:g}."
    return RuleVerdict(rule=f"score<{least:g}", verdict=verdict, sentence=sentence)


def _below(mean: float, least: float) -> str:
    """Format a mean with as many digits as show that it is below."""
    return next(text for digits in range(3, 18) if float(text := f"{mean:.{digits}f}") < least)


def _sentence(verdict: GateVerdict, evidence: GateEvidence, margin: float) -> str:
    found = evidence.difference
    count = f"{counted(found.tasks, 'task')}, {counted(evidence.trials, 'trial')}"
    facts = f"the difference is {describe_difference(found)}, {describe_p(found.p)}, over {count}"
    match verdict:
        case GateVerdict.NOT_APPLICABLE:
            return (
                "The gate can't be applied: no stable task of the baseline has a score on both sides in the same"
                " version. Save a new baseline of this suite."
            )
        case GateVerdict.PASSED:
            return f"Not worse than the baseline by more than {margin:g}: {facts}."
        case GateVerdict.FAILED:
            return f"Worse than the baseline: {facts}."
        case GateVerdict.CANNOT_TELL:
            return f"The data can't tell whether it is worse than the baseline: {facts}. {_what_would_decide(evidence)}"


def _what_would_decide(evidence: GateEvidence) -> str:
    if evidence.difference.low is None:
        return "One trial does not tell how much the next would differ: run it again with --runs."
    if evidence.needed is None:
        return "No practical number of repetitions would decide it; take more tasks, or a larger --margin."
    return (
        f"About {evidence.needed} repetitions of each task, here and in the baseline, would decide it (--runs"
        f" {evidence.needed}; now {evidence.repetitions})."
    )


def _warnings(a: Sample, b: Sample) -> Iterator[str]:
    if a.model != b.model:
        yield f"The baseline is of {a.model}, this run of {b.model}."
    for one in unlike_settings(a, b):
        yield f"Different {one.setting}: the baseline {one.a}, this run {one.b}."
    yield from (f"Baseline: {sentence}" for sentence in a.left_aside)
