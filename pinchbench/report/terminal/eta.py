"""Forecast how long the rest of a run will take, with bounds (pure)."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

RESAMPLES = 200  # estimates the bounds within some per cent of their width, in some milliseconds
SEED = 20_250_601  # arbitrary but fixed: the same state gives the same forecast
SHARE = 0.8  # of the resamples that lie between the two bounds
MIN_TOOK_S = 0.1  # ratios below this are clock noise
TOLD = 3  # trials that must have ended if there is no earlier run: fewer are not enough for a forecast
SIMULATED = 250  # trials at the end that are assigned to slots one by one; those before keep all slots busy anyway

# Ratios of actual to expected time (or to the limit, which is less informative) are assumed to be lognormal. The prior,
# expressed in numbers of trials:
SPREAD = 0.6  # standard deviation of the logarithm
SPREAD_WORTH = 3.0
SHIFT_WORTH = 2.0  # for the mean, if earlier runs give the expected time; a limit counts for nothing
TASK_SHARE = 0.5  # of the variance is between tasks, as long as no task has been repeated
WORTH = 0.5  # of a trial, for the mean: future trials are not drawn like past ones
ROUNDS = 8  # of imputing the time of censored trials: those cut off by their limit or still running
_NORMAL = NormalDist()


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """A trial that has ended or is running, with its time so far in seconds, including set-up.

    `is_cut`: it would have taken longer, because it is still running or reached its limit.
    """

    task_id: str
    took_s: float
    timeout_s: float
    expected_s: float | None = None
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A trial that has not started yet."""

    task_id: str
    timeout_s: float
    expected_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """The state of a run: `waiting` is in the order of starting, on `slots` at once."""

    ended: Sequence[Timed]
    running: Sequence[Timed]
    waiting: Sequence[Waiting]
    slots: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """Seconds until the last agent ends: the median, and the bounds of the middle 80 %."""

    median_s: float
    low_s: float
    high_s: float


def forecast(question: Question) -> Forecast | None:
    """Forecast how long the rest of a run will take; None while there is too little data.

    A trial takes its expected time, multiplied by one random factor of its own and one of its task. The variances of
    both come from the trials that have ended; no trial exceeds its limit. Running trials are known to take longer than
    they have so far. Future retries and grading are not included.
    """
    if question.slots < 1 or not (question.running or question.waiting):
        return None
    known = [*question.ended, *question.running]
    has_history = any(one.expected_s is not None for one in known)
    has_history = has_history or any(one.expected_s is not None for one in question.waiting)
    if not has_history and sum(not one.is_cut for one in question.ended) < TOLD:
        return None

    source = np.random.default_rng(SEED)
    model = _fit(known, has_history=has_history)
    draws = _Draws(model, source)
    left = [draws.of_running(one) for one in question.running]
    waiting = [draws.of_waiting(one) for one in question.waiting]
    ends_s = _makespans(left, waiting, slots=max(question.slots, len(left)), free=question.slots)
    low, median, high = np.quantile(ends_s, [(1 - SHARE) / 2, 0.5, (1 + SHARE) / 2])
    return Forecast(median_s=float(median), low_s=float(low), high_s=float(high))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Model:
    """The distribution of the logarithms of the ratios: their mean, how certain it is, and their spread."""

    mean: float
    worth: float  # how many trials the mean is based on
    spread: float
    spread_worth: float
    task_share: float
    by_task: Mapping[str, tuple[int, float]]  # number of trials of a task, and their mean


def _base_s(one: Timed | Waiting) -> float:
    return max(MIN_TOOK_S, one.timeout_s if one.expected_s is None else min(one.expected_s, one.timeout_s))


def _ratio(one: Timed) -> float:
    return math.log(max(MIN_TOOK_S, one.took_s) / _base_s(one))


def _fit(known: Sequence[Timed], *, has_history: bool) -> _Model:
    """Fit to the ended trials, with running ones as censored: those that end first are the short ones."""
    seen = [(one, _ratio(one)) for one in known]
    whole = [ratio for one, ratio in seen if not one.is_cut]
    prior_worth = SHIFT_WORTH if has_history else 0.0
    mean = fmean(whole) * len(whole) / (len(whole) + prior_worth) if whole else 0.0
    variance = SPREAD**2
    tasks: dict[str, list[float]] = defaultdict(list)
    values, surplus = whole, 0.0
    for _ in range(ROUNDS):
        spread = math.sqrt(variance)
        tasks.clear()
        values, surplus = [], 0.0
        for one, ratio in seen:
            value = ratio
            if one.is_cut:
                value, rest = _beyond((ratio - mean) / spread)
                value, rest = mean + spread * value, variance * rest
                surplus += rest
            values.append(value)
            tasks[one.task_id].append(value)
        worth = len(values) + prior_worth
        mean = sum(values) / worth if worth else 0.0
        squares = sum((value - mean) ** 2 for value in values) + prior_worth * mean**2 + surplus
        variance = (squares + SPREAD_WORTH * SPREAD**2) / (max(0, len(values) - 1) + SPREAD_WORTH)
    # imputed values of censored trials carry little information of their own
    ended = len(whole)
    return _Model(
        mean=mean,
        worth=max(1.0, WORTH * (ended + 0.3 * (len(seen) - ended)) + prior_worth),
        spread=math.sqrt(variance),
        spread_worth=max(0, ended - 1) + SPREAD_WORTH,
        task_share=_task_share(tasks, variance),
        by_task={task_id: (len(found), fmean(found)) for task_id, found in tasks.items()},
    )


def _beyond(cut: float) -> tuple[float, float]:
    """Return mean and variance of a standard normal value that is known to exceed `cut`."""
    if cut > 6:  # noqa: PLR2004 - beyond it the tail probability underflows
        return cut + 1 / cut, 0.0
    hazard = _NORMAL.pdf(cut) / (1 - _NORMAL.cdf(cut))
    return hazard, max(0.0, 1 + cut * hazard - hazard**2)


def _task_share(tasks: Mapping[str, Sequence[float]], variance: float) -> float:
    """Return the share of the variance that is between tasks, from the tasks that were run more than once."""
    repeated = [found for found in tasks.values() if len(found) > 1]
    freedom = sum(len(found) - 1 for found in repeated)
    if not freedom or variance <= 0:
        return TASK_SHARE
    within = sum((value - fmean(found)) ** 2 for found in repeated for value in found) / freedom
    weight = freedom / (freedom + SPREAD_WORTH)
    return weight * min(0.95, max(0.0, 1 - within / variance)) + (1 - weight) * TASK_SHARE


class _Draws:
    """Draws times of trials, one for each resample. All trials of a task share its factor."""

    def __init__(self, model: _Model, source: Generator) -> None:

        self._model = model
        self._source = source
        self._exp = np.exp
        self._clip = np.clip
        self._minimum = np.minimum
        scale = np.sqrt(model.spread_worth / source.chisquare(model.spread_worth, RESAMPLES))
        self._spread = model.spread * np.minimum(scale, 3.0)
        self._mean = model.mean + self._spread / math.sqrt(model.worth) * source.standard_normal(RESAMPLES)
        self._task = self._spread * math.sqrt(model.task_share)
        self._own = self._spread * math.sqrt(1 - model.task_share)
        self._tasks: dict[str, NDArray[float64]] = {}

    def _of_task(self, task_id: str) -> NDArray[float64]:
        """Draw the logarithm of a task's factor, including the mean."""
        if task_id not in self._tasks:
            number, found = self._model.by_task.get(task_id, (0, 0.0))
            share = self._model.task_share
            known = number * share / (number * share + 1 - share) if number else 0.0
            middle = (1 - known) * self._mean + known * found
            self._tasks[task_id] = middle + self._task * math.sqrt(1 - known) * self._source.standard_normal(RESAMPLES)
        return self._tasks[task_id]

    def of_waiting(self, one: Waiting) -> NDArray[float64]:
        """Draw the seconds from a waiting trial's start to its end."""
        logs = self._of_task(one.task_id) + self._own * self._source.standard_normal(RESAMPLES)
        return self._minimum(_base_s(one) * self._exp(logs), one.timeout_s)

    def of_running(self, one: Timed) -> NDArray[float64]:
        """Draw the seconds from now to a running trial's end, given that it has not ended yet."""
        middle = self._of_task(one.task_id)
        cuts = (_ratio(one) - middle) / self._own
        below = np.array([_NORMAL.cdf(cut) for cut in cuts])
        shares = self._clip(below + (1 - below) * self._source.random(RESAMPLES), 1e-9, 1 - 1e-9)
        logs = middle + self._own * np.array([_NORMAL.inv_cdf(share) for share in shares])
        took_s = self._minimum(_base_s(one) * self._exp(logs), one.timeout_s)
        left_s: NDArray[float64] = np.maximum(took_s - one.took_s, 0.0)
        return left_s


def _makespans(
    left: Sequence[NDArray[float64]], waiting: Sequence[NDArray[float64]], *, slots: int, free: int
) -> NDArray[float64]:
    """Return, for each resample, when the last slot finishes if free slots take the waiting trials in order.

    `free` is how many trials may run at once from now on; more may still be running.
    """
    busy = np.zeros((RESAMPLES, slots))
    for place, one in enumerate(left):
        busy[:, place] = one
    if slots > free:  # no trial follows those that end last
        busy.sort(axis=1)
    ends = busy[:, free:].max(axis=1, initial=0.0)
    busy = busy[:, :free]
    rows = np.arange(RESAMPLES)
    early, late = waiting[: max(0, len(waiting) - SIMULATED)], waiting[max(0, len(waiting) - SIMULATED) :]
    if early:
        level = (busy.sum(axis=1) + sum(early)) / free
        # slots that are busy beyond that level stay so
        busy = np.maximum(busy, level[:, None])
    for one in late:
        first = busy.argmin(axis=1)
        busy[rows, first] += one
    last: NDArray[float64] = np.maximum(ends, busy.max(axis=1))
    return last
