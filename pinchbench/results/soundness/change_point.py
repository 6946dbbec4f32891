"""Find where the level of a series changed, although its values may resemble those before them (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from pinchbench.results.soundness.residuals import permuted_within, ranks, residuals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy import float64, intp
    from numpy.random import Generator
    from numpy.typing import NDArray

EDGE = 0.1  # of the places on either side is none for a change: it would be one of very few values
MOST_PLACES = 100  # at which a change is looked for, evenly spaced: one in between is found at a neighbouring place
NOTHING = 1e-9  # or less is what rounding leaves

# METHOD: the generalised least-squares test of a step, under each dependence between the values that may be. A part of
# their variance is noise, the rest that of a state which resembles the one before it (autoregressive of order 1; the
# more it does, and the more noise there is, the more the series is like a random walk). p is the largest of those under
# the dependences in their confidence region (Berger and Boos, Journal of the American Statistical Association, 1994):
# those under which the restricted likelihood (Patterson and Thompson, Biometrika, 1971) of the series, with the step
# that fits best, is at least a tenth of the highest; for two parameters, that is a region of 90 %. So a step is not
# taken for dependence, and where dependence explains the series too, no change is named. The values are replaced by
# their normal scores: outliers have little weight, and p comes from draws of the normal distribution.
CORRELATIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95)
NOISES = (0.1, 0.2, 0.4)
NOISES_OF_REPEATED = (0.1, 0.2, 0.3, 0.45, 0.65, 0.9)  # several values at a place tell the noise from the state
POSSIBLE = 1 / 10


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePoint:
    """A change, if there is any, comes before the first value at `place`; `p` is that of there being none."""

    place: int
    p: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fit:
    """How the step that fits best explains a series, under one dependence and after making its values independent.

    `groups` is an orthonormal basis of the groups, `steps` has a unit vector across it for each step. `share` is what
    `step` explains of the scatter within groups.
    """

    groups: NDArray[float64]
    steps: NDArray[float64]
    step: int
    share: float
    log_likelihood: float


def change_in(
    values: NDArray[float64],
    *,
    places: NDArray[intp],
    groups: NDArray[intp],
    wanders: bool,
    source: Generator,
    draws: int,
) -> ChangePoint | None:
    """Look for one change of the level; None if the values don't differ within groups.

    `places` number the values in time from 0, without gaps; those at one place were measured at the same time. `groups`
    number the tasks, each of which has a level of its own. Values that wander resemble those before them, and are
    compared with `draws` series that do so too; others are compared with permutations of theirs within groups.
    """
    scores = _normal_scores(values)
    members = (groups[:, np.newaxis] == np.unique(groups)).astype(np.float64)
    if np.ptp(residuals(scores, groups)) <= NOTHING:
        return None
    tried = _tried(int(places[-1]) + 1)
    after = (places[:, np.newaxis] >= tried).astype(np.float64)
    fits = [
        _fit(scores, members, after, covariance=covariance)
        for covariance in (_covariances(places) if wanders else [np.eye(len(scores))])
    ]
    best = max(fits, key=lambda fit: fit.log_likelihood)
    drawn = (
        source.standard_normal((draws, len(scores)))
        if wanders
        else permuted_within(source, scores, groups, count=draws)
    )
    possible = [fit for fit in fits if fit.log_likelihood >= best.log_likelihood + log(POSSIBLE)]
    return ChangePoint(place=int(tried[best.step]), p=max(_p(fit, drawn) for fit in possible))


def _normal_scores(values: NDArray[float64]) -> NDArray[float64]:
    normal = NormalDist()
    return np.array([normal.inv_cdf(share) for share in (ranks(values) - 0.5) / len(values)])


def _tried(count: int) -> NDArray[intp]:
    edge = max(2, ceil(count * EDGE))
    return np.arange(edge, count - edge + 1, ceil(count / MOST_PLACES))


def _covariances(places: NDArray[intp]) -> Iterator[NDArray[float64]]:
    apart = np.abs(places[:, np.newaxis] - places)
    is_repeated = int(places[-1]) + 1 < len(places)
    for correlation, noise in product(CORRELATIONS, NOISES_OF_REPEATED if is_repeated else NOISES):
        yield (1 - noise) * correlation**apart + noise * np.eye(len(places))


def _fit(
    scores: NDArray[float64], members: NDArray[float64], after: NDArray[float64], *, covariance: NDArray[float64]
) -> _Fit:
    """Fit each step by generalised least squares, under this covariance of the values."""
    root = np.linalg.cholesky(covariance)
    white = np.linalg.solve(root, np.column_stack((scores, members, after)))
    series, members, steps = np.split(white, (1, 1 + members.shape[1]), axis=1)
    groups, triangle = np.linalg.qr(members)
    steps = steps - groups @ (groups.T @ steps)
    lengths = np.linalg.norm(steps, axis=0)
    # a step that no group was measured on both sides of can't be told from the groups' levels
    known = lengths > sqrt(NOTHING)
    steps = np.where(known, steps / np.where(known, lengths, 1.0), 0.0)
    explained, scatter = _explained(series.T, groups, steps)
    step = int(explained[0].argmax())
    share = float(explained[0, step] / scatter[0])
    left = max(1 - share, NOTHING) * scatter[0]
    freedom = len(scores) - members.shape[1]
    determinant = np.log(np.diag(root)).sum() + np.log(np.abs(np.diag(triangle))).sum()
    return _Fit(
        groups=groups,
        steps=steps,
        step=step,
        share=share,
        log_likelihood=float(-determinant - freedom / 2 * np.log(left)),
    )


def _explained(
    rows: NDArray[float64], groups: NDArray[float64], steps: NDArray[float64]
) -> tuple[NDArray[float64], NDArray[float64]]:
    """Return what each step explains of the scatter of each series within groups, and that scatter."""
    return (rows @ steps) ** 2, (rows**2).sum(axis=1) - ((rows @ groups) ** 2).sum(axis=1)


def _p(fit: _Fit, drawn: NDArray[float64]) -> float:
    explained, scatter = _explained(drawn, fit.groups, fit.steps)
    as_large = int(np.count_nonzero(explained.max(axis=1) >= fit.share * scatter * (1 - 1e-12)))
    return (1 + as_large) / (1 + len(drawn))
