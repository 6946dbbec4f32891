"""How long the rest of a run will take, and how sure that is (pure)."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

RESAMPLES = 200  # puts the bounds within some per cent of their width, in some milliseconds
SEED = 20_250_601  # any number will do, as long as it stays: the same state gives the same forecast
SHARE = 0.8  # of the resamples between the two bounds
MIN_TOOK_S = 0.1  # a ratio of less is the clock's
TOLD = 3  # trials that must have come to their end where no earlier run tells: of fewer, nothing honest can be said
SIMULATED = 250  # trials at the end that are given to slots one by one; those before keep all slots busy anyway

# Times beside what was expected (or beside the limit, which says less) are taken as lognormal. What is known before the
# first has ended, as so many trials' worth of data:
SPREAD = 0.6  # standard deviation of the logarithm
SPREAD_WORTH = 3.0
SHIFT_WORTH = 2.0  # that the expected times of earlier runs are right; that limits are says nothing
TASK_SHARE = 0.5  # of the variance that is the task's, while no task has been repeated
WORTH = 0.5  # of a trial for the mean: those that come are not drawn as those that have been
ROUNDS = 8  # of putting in what trials would have taken that are cut off, by their limit or by now
_NORMAL = NormalDist()


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """A trial that has come to its end, or runs: what it took so far, in seconds, set-up included.

    `is_cut`: it would have taken longer, because it still runs or has run into its limit.
    """

    task_id: str
    took_s: float
    timeout_s: float
    expected_s: float | None = None
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A trial that is still to be started."""

    task_id: str
    timeout_s: float
    expected_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Where a run stands: `waiting` in the order in which they will be started, on `slots` at once."""

    ended: Sequence[Timed]
    running: Sequence[Timed]
    waiting: Sequence[Waiting]
    slots: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """How many seconds it takes until the last agent has ended: the median, and where it lies in 4 of 5 cases."""

    median_s: float
    low_s: float
    high_s: float


def forecast(question: Question) -> Forecast | None:
    """How long the rest of a run will take; None while there is nothing honest to say.

    Trials take what was expected of them, times a factor of their own and one of their task, both as scattered as what
    has ended so far shows; never more than their limits. Trials that still run are known to take longer than they have. What
    retries and grading will add is in no forecast.
    """
    if question.slots < 1 or not (question.running or question.waiting):
        return None
    known = [*question.ended, *question.running]
    has_history = any(one.expected_s is not None for one in known)
    has_history = has_history or any(one.expected_s is not None for one in question.waiting)
    if not has_history and sum(not one.is_cut for one in question.ended) < TOLD:
        return None
    import numpy as np  # noqa: PLC0415 - a view that draws nothing must not wait for it

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
    """What is known of the logarithms of the ratios: their mean and how well it is known, and their spread."""

    mean: float
    worth: float  # how many trials the mean rests on
    spread: float
    spread_worth: float
    task_share: float
    by_task: Mapping[str, tuple[int, float]]  # how many of a task, and their mean


def _base_s(one: Timed | Waiting) -> float:
    return max(MIN_TOOK_S, one.timeout_s if one.expected_s is None else min(one.expected_s, one.timeout_s))


def _ratio(one: Timed) -> float:
    return math.log(max(MIN_TOOK_S, one.took_s) / _base_s(one))


def _fit(known: Sequence[Timed], *, has_history: bool) -> _Model:
    """Fit to what has ended, with what still runs as cut off: the first to end are the short ones, and not all."""
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
    # what is put in for those that are cut off tells little of its own
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
    """Mean and variance of a standard normal value of which is known that it lies beyond `cut`."""
    if cut > 6:  # noqa: PLR2004 - where the tail is no number any more
        return cut + 1 / cut, 0.0
    hazard = _NORMAL.pdf(cut) / (1 - _NORMAL.cdf(cut))
    return hazard, max(0.0, 1 + cut * hazard - hazard**2)


def _task_share(tasks: Mapping[str, Sequence[float]], variance: float) -> float:
    """How much of the variance is between tasks, by those that were run more than once."""
    repeated = [found for found in tasks.values() if len(found) > 1]
    freedom = sum(len(found) - 1 for found in repeated)
    if not freedom or variance <= 0:
        return TASK_SHARE
    within = sum((value - fmean(found)) ** 2 for found in repeated for value in found) / freedom
    weight = freedom / (freedom + SPREAD_WORTH)
    return weight * min(0.95, max(0.0, 1 - within / variance)) + (1 - weight) * TASK_SHARE


class _Draws:
    """Times of trials, one for each resample. All of one task share its factor."""

    def __init__(self, model: _Model, source: Generator) -> None:
        import numpy as np  # noqa: PLC0415 - as above

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
        """The logarithm of a task's factor, the mean included."""
        if task_id not in self._tasks:
            number, found = self._model.by_task.get(task_id, (0, 0.0))
            share = self._model.task_share
            known = number * share / (number * share + 1 - share) if number else 0.0
            middle = (1 - known) * self._mean + known * found
            self._tasks[task_id] = middle + self._task * math.sqrt(1 - known) * self._source.standard_normal(RESAMPLES)
        return self._tasks[task_id]

    def of_waiting(self, one: Waiting) -> NDArray[float64]:
        """Seconds from its start to its end."""
        logs = self._of_task(one.task_id) + self._own * self._source.standard_normal(RESAMPLES)
        return self._minimum(_base_s(one) * self._exp(logs), one.timeout_s)

    def of_running(self, one: Timed) -> NDArray[float64]:
        """Seconds from now to its end, of which is known that it has not come yet."""
        import numpy as np  # noqa: PLC0415 - as above

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
    """When the last slot is done, for each resample, when free slots take what waits in its order.

    `free` is how many may run at once from now on; more may still be running.
    """
    import numpy as np  # noqa: PLC0415 - as above

    busy = np.zeros((RESAMPLES, slots))
    for place, one in enumerate(left):
        busy[:, place] = one
    if slots > free:  # those that end last are not followed by others
        busy.sort(axis=1)
    ends = busy[:, free:].max(axis=1, initial=0.0)
    busy = busy[:, :free]
    rows = np.arange(RESAMPLES)
    early, late = waiting[: max(0, len(waiting) - SIMULATED)], waiting[max(0, len(waiting) - SIMULATED) :]
    if early:
        level = (busy.sum(axis=1) + sum(early)) / free
        # whoever is busy beyond that level is left so
        busy = np.maximum(busy, level[:, None])
    for one in late:
        first = busy.argmin(axis=1)
        busy[rows, first] += one
    last: NDArray[float64] = np.maximum(ends, busy.max(axis=1))
    return last
