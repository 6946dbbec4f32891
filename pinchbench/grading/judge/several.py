"""One grade from those of several judges."""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING

from pinchbench.grading.judge.votes import sum_known
from pinchbench.model.grade import JudgeGrade
from pinchbench.model.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def mean_grade(grades: Sequence[JudgeGrade]) -> JudgeGrade:
    """Return the grade of a trial from those of its judges (pure): the mean of each criterion, and of the totals.

    A criterion that only some judges name has the mean of theirs. The trial is ungraded if a judge gave no score, for
    the first such judge's reason: a mean over fewer judges would be another measurement. One judge's grade is returned
    as it is. The latency is the longest, as judges are asked at the same time.
    """
    if len(grades) == 1:
        return grades[0]
    common = JudgeGrade(
        ungraded=next((one.ungraded for one in grades if one.ungraded is not None), None),
        notes=tuple(f"{one.model}: {note}" for one in grades for note in one.notes),
        model=" and ".join(one.model for one in grades),
        prompt_version=grades[0].prompt_version,
        usage=sum((one.usage for one in grades), Usage()),
        cost_usd=sum_known(one.cost_usd for one in grades),
        latency_s=max(one.latency_s for one in grades),
        calls=sum(one.calls for one in grades),
        cached=sum(one.cached for one in grades),
        reply=next((one.reply for one in grades if one.reply), ""),
        judges=tuple(grades),
    )
    scores = [one.score for one in grades if one.score is not None]
    if common.ungraded is not None:
        return common
    criteria = dict.fromkeys(name for one in grades for name in one.breakdown)
    return replace(
        common,
        score=_mean(scores),
        breakdown={name: _mean(one.breakdown[name] for one in grades if name in one.breakdown) for name in criteria},
        votes=tuple(scores),
        spread=round(max(scores) - min(scores), 6),
    )


def _mean(values: Iterable[float]) -> float:
    known = tuple(values)
    return fsum(known) / len(known)
