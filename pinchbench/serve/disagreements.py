"""Trials on whose grades several judges differ, for a person to look at: the largest difference first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.report.html.safe_text import safe_line
from pinchbench.report.sentences import agreement_sentence
from pinchbench.report.text import words
from pinchbench.results.judge_agreement import agreement_of, alpha_interval
from pinchbench.serve.live_run import LiveRun, trial_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinchbench.model.grade import JudgeGrade
    from pinchbench.model.trial import TrialKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Disagreement:
    """The judges' grades of a trial, all scores in 0-1.

    `judges` holds each one's name and score, `difference` the largest less the smallest, `criterion` what they differ
    on most and by how much. `by_hand` is a person's own score, None without one; `note` is the command that gives one.
    """

    trial: str
    url: str
    run: str
    model: str
    judges: tuple[tuple[str, float], ...]
    difference: float
    criterion: tuple[str, float]
    by_hand: float | None
    note: str


def disagreements_of(run: LiveRun) -> list[Disagreement]:
    """Return the trials that several judges have graded differently, in no particular order."""
    found = (
        _disagreement(run, key, graded)
        for key, grade in run.grades.items()
        if grade.judge is not None and len(graded := [one for one in grade.judge.each if one.score is not None]) > 1
    )
    return [one for one in found if one.difference or one.criterion[1]]


def sorted_by_difference(found: Iterable[Disagreement]) -> list[Disagreement]:
    """Return the trials whose scores differ most first; those that a person has graded come last."""
    return sorted(found, key=lambda one: (one.by_hand is not None, -one.difference, -one.criterion[1], one.run))


def agreement_of_run(run: LiveRun) -> str:
    """Say how far the judges of a run agree; empty where a trial has one judge."""
    judged = [grade.judge for grade in run.grades.values() if grade.judge is not None]
    agreement = agreement_of(judged)
    return "" if agreement is None else agreement_sentence(agreement, alpha_interval(judged))


def _disagreement(run: LiveRun, key: TrialKey, graded: Sequence[JudgeGrade]) -> Disagreement:
    scores = [one.score for one in graded if one.score is not None]
    names = dict.fromkeys(name for one in graded for name in one.breakdown)
    spans = {name: _span([one.breakdown[name] for one in graded if name in one.breakdown]) for name in names}
    widest = max(spans, key=lambda name: spans[name], default="")
    attempt = run.attempts[key].counting.attempt
    own = run.state.control.overridden.get((key, attempt))
    return Disagreement(
        trial=run.name_of(key),
        url=trial_url(run.files.name, key),
        run=run.files.name,
        model=run.model,
        judges=tuple((safe_line(one.model, 200), score) for one, score in zip(graded, scores, strict=True)),
        difference=_span(scores),
        criterion=(safe_line(words(widest), 200), spans.get(widest, 0.0)),
        by_hand=None if own is None else own.score,
        note=f'pinchbench-async ctl {run.facts.run_id} note "REASON" --trial {key} --score X',
    )


def _span(values: Sequence[float]) -> float:
    return round(max(values) - min(values), 6)
