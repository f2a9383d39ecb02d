"""k-means by private rounds of Lloyd's, started from private means and spreads.

First all rows together give sums of z and of 2 z^2 - 1: means and spreads of the features, between -1 and 1. Centres
start around that mean, as far from each other as points in a ball of the spread can be. Then in each round a row goes
to its nearest centre c, and adds 1 and (z - c)/r, clipped to [-1, 1], to the vector of that cluster; r is a few
spreads. All vectors are in units of STEPS.

A row adds a vector of largest coordinate 1 to one cluster. Replacing it changes one vector by at most 2 in each
coordinate, or two vectors by at most 1 each: 2 together (`CubeVector`). Rounds depend on earlier releases, and compose
in sequence. Centres move by a mean that is shortened as far as the noise explains it: with noise alone they stay.

Lloyd's rounds end where they began near. So where noise leaves room, there are several starts, each with rounds of its
own; then each row adds for each start its squared distance to the nearest centre, as a part of LONG times that of the
spreads and at most 1, and the start of the least noisy sum is taken. Replacing a row moves each of these sums by at
most 1, in one cube.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.errors import InvalidParameter
from discreet.learning.budget import LearningBudget
from discreet.learning.models.releasing import budget_of, by_class, grid_of, released
from discreet.learning.statistics import STEPS, Bounds, Floats, Integers, moved, read_bounds
from discreet.mechanisms.numeric.cube_vector import CubeVector
from discreet.mechanisms.parameters import read_count
from discreet.rational import Number, epsilon_of
from discreet.release.draw import Draw, Use

MOST_ROUNDS: Final = 6
REACH: Final = 2.5
"""A row moves its centre by so many spreads at most."""
MOST_DISTANCES: Final = 1 << 26
"""Between the coordinates of the first centres, all of which are held at once."""
MOST_STARTS: Final = 6
LONG: Final = 4
CHOICE: Final = Fraction(1, 4)
"""The share of epsilon of the choice among starts."""
ROOM: Final = 8
"""There is a start for each so many times of the rounds that noise leaves room for."""
ERROR: Final = 0.25
"""Rounds are added as long as the noise on a centre stays below so much of the bounds."""


def rounds_for(epsilon: float, rows: int, clusters: int, width: int) -> int:
    """How many rounds the noise leaves room for, from public numbers alone."""
    return max(1, min(MOST_ROUNDS, _room(epsilon, rows, clusters, width)))


def starts_for(epsilon: float, rows: int, clusters: int, width: int) -> int:
    """How many starts the noise leaves room for, from public numbers alone."""
    return max(1, min(MOST_STARTS, _room(epsilon, rows, clusters, width) // (ROOM * MOST_ROUNDS)))


def _room(epsilon: float, rows: int, clusters: int, width: int) -> int:
    noise = (width + 2) * 2 / math.sqrt(3) * clusters / max(rows, 1) / epsilon
    return int(ERROR / noise) - 1


def spread_out(clusters: int, width: int, start: int = 0) -> Floats:
    """Points of a ball far from each other: fixed draws, moved apart; data has no part in them."""
    rng = np.random.default_rng(1 + start)
    points: Floats = rng.normal(size=(clusters, width))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    for _ in range(100):
        apart = points[:, None] - points[None]
        far = (apart**2).sum(axis=2) + np.eye(clusters) + 1e-9
        points = points + 0.1 * (apart / far[..., None] ** 1.5).sum(axis=1)
        points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    return points if clusters > 1 else 0 * points


def nearest(rows: Floats, centres: Floats) -> Integers:
    """The place of the nearest centre of each row; the first of equals."""
    far = (centres**2).sum(axis=1) - 2 * rows @ centres.T
    found: Integers = far.argmin(axis=1)
    return found


def steps(rows: Floats, centres: Floats, places: Integers, reach: Floats) -> Integers:
    """The numbers that each row adds to its cluster: int64 (n, d + 1), each number in -STEPS to STEPS."""
    away = np.clip((rows - centres[places]) / reach, -1, 1)
    return np.column_stack([np.full(len(rows), STEPS), np.rint(away * STEPS).astype(np.int64)])


class KMeans(ClusterMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """k-means by private sums and counts. Each row is one person; every `fit` is charged.

    Args:
        n_clusters: how many centres.
        epsilon: of one fit.
        bounds: (least, greatest) of each feature, known without the data; values beyond are clamped. Distances are
            those of features between -1 and 1.
        rounds: how many; by default as many as the noise leaves room for, 1 to 6, by public numbers alone.
        budget: a `LearningBudget`, which all learners of the same people share; by default one of one fit.

    Attributes (after `fit`): `cluster_centers_` (n_clusters, d), in the units of the features; `counts_`, noisy;
    `n_iter_`. There are no labels of the rows: they would be data.

    Raises (by `fit`):
        InvalidParameter: a parameter is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: the module's text. Source: noisy Lloyd (Blum, Dwork, McSherry and
    Nissim 2005; Su, Cao, Li, Bertino and Jin 2016), with noise in a cube (Hardt and Talwar 2010).

    Example:
        >>> import numpy as np
        >>> x = np.array([[1.0], [9.0]] * 5_000)
        >>> made = KMeans(2, epsilon=5, bounds=[(0, 10)]).fit(x)
        >>> sorted(made.cluster_centers_[:, 0].round().astype(int).tolist())
        [1, 9]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Number = 1,
        bounds: Bounds | None = None,
        rounds: int | None = None,
        budget: LearningBudget | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.bounds = bounds
        self.rounds = rounds
        self.budget = budget

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: N803
        """Learn `cluster_centers_`."""
        clusters = read_count(self.n_clusters, "n_clusters", "Give how many centres there are.")
        rows = grid_of(self, X, self.bounds)
        budget, loss = budget_of(self.budget, self.epsilon), epsilon_of(self.epsilon)
        count, width = rows.shape
        if self.rounds is None:
            times = rounds_for(float(loss), count, clusters, width)
        else:
            times = read_count(self.rounds, "rounds", "Give how many rounds there are.")
        if clusters * times > 1 << 16 or clusters**2 * width > MOST_DISTANCES:
            raise InvalidParameter("There are too many centres and rounds.", "Ask for fewer.")
        starts = starts_for(float(loss), count, clusters, width) if self.rounds is None else 1
        last = loss * CHOICE if starts > 1 else Fraction(0)
        share = (loss - last) / (times * starts + 1)
        first = CubeVector(2 * STEPS / share, 2 * STEPS, 2 * width)
        later = CubeVector(2 * STEPS / share, 2 * STEPS, width + 1)
        uses = {"all": Use(first, budget.neighbours, 2 * width)}
        for number in range(times * starts):
            uses[f"round {number}"] = Use(later, budget.neighbours, clusters * (width + 1))
        if starts > 1:
            uses["starts"] = Use(CubeVector(STEPS / last, STEPS, starts), budget.neighbours, starts)
        words = f"k-means of {clusters} centres on {width} features in {times} rounds"
        found = released(
            uses,
            lambda draw: _centres(draw, rows, clusters, (times, starts), (first, later)),
            words + (f" of {starts} starts" if starts > 1 else ""),
            budget,
        )
        ends = read_bounds(self.bounds_)
        self.cluster_centers_: Floats = found[0] * (ends[:, 1] - ends[:, 0]) / 2 + ends.mean(axis=1)
        self.counts_: Floats = found[1]
        self.n_iter_ = times
        return self

    def transform(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """Distances to the centres, of features between -1 and 1: float64 (m, n_clusters)."""
        check_is_fitted(self)
        features = validate_data(self, X, reset=False, dtype=np.float64)
        ends = read_bounds(self.bounds_)
        apart = moved(features, ends)[:, None] - moved(self.cluster_centers_, ends)
        found: Floats = np.sqrt((apart**2).sum(axis=2))
        return found

    def predict(self, X: npt.ArrayLike) -> Integers:  # noqa: N803
        """The nearest centre of rows (m, d)."""
        found: Integers = self.transform(X).argmin(axis=1)
        return found

    def score(self, X: npt.ArrayLike, y: object = None) -> float:  # noqa: N803
        """Less the sum of the squared distances to the nearest centre."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())

    def fit_predict(self, X: npt.ArrayLike, y: object = None, **_: Any) -> Integers:  # noqa: N803
        """The nearest centre of the rows that it learned from; whoever has them may ask."""
        return self.fit(X).predict(X)


def _centres(
    draw: Draw, rows: Integers, clusters: int, many: tuple[int, int], noises: tuple[CubeVector, CubeVector]
) -> list[Floats]:
    """Centres between -1 and 1, and counts, from noisy vectors alone."""
    count, width = rows.shape
    people, (times, starts) = max(count, 1), many
    vector = np.hstack([rows.sum(axis=0), (2 * rows * rows // STEPS - STEPS).sum(axis=0)])
    sums = draw("all", vector[None])[0] / STEPS / people
    error = noises[0].deviation / STEPS / people
    middle = np.clip(sums[:width], -1, 1) / (1 + error**2)
    spread = np.sqrt(np.maximum((sums[width:] + 1) / 2 - middle**2, 0.05**2))
    common = math.sqrt(float((spread**2).mean()))
    spread = np.minimum((spread + error * common) / (1 + error), 1)
    found = []
    for start in range(starts):
        away = spread_out(clusters, width, start) * math.sqrt(width) / (1 + error * width)
        names = [f"round {start * times + number}" for number in range(times)]
        found.append(_rounds(draw, rows, middle + spread * away, spread, names, noises[1]))
    if starts == 1:
        return found[0]
    far = np.column_stack([_far(rows, centres, LONG * float((spread**2).sum())) for centres, _ in found])
    return found[int(np.argmin(draw("starts", far.sum(axis=0)[None])[0]))]


def _far(rows: Integers, centres: Floats, most: float) -> Integers:
    """The squared distance of each row to the nearest centre as a part of `most`, 1 at most, in STEPS: int64 (n,)."""
    inside = rows / STEPS
    apart = ((inside - centres[nearest(inside, centres)]) ** 2).sum(axis=1)
    found: Integers = np.rint(np.minimum(apart / most, 1) * STEPS).astype(np.int64)
    return found


def _rounds(
    draw: Draw, rows: Integers, centres: Floats, spread: Floats, names: list[str], noise: CubeVector
) -> list[Floats]:
    """Centres after some noisy rounds, and counts."""
    people, width, clusters = max(len(rows), 1), rows.shape[1], len(centres)
    reach = np.clip(REACH * spread, 0.1, 2)
    inside, error = rows / STEPS, noise.deviation / STEPS
    counts = np.full(clusters, people / clusters)
    for name in names:
        places = nearest(inside, centres)
        noisy = draw(name, by_class(steps(inside, centres, places, reach), places, clusters)) / STEPS
        counts = np.clip(noisy[:, 0], people / clusters / 10, people)
        way = noisy[:, 1:] / counts[:, None]
        kept = np.maximum(1 - width * (error / counts) ** 2 / np.maximum((way**2).sum(axis=1), 1e-12), 0)
        centres = np.clip(centres + kept[:, None] * way * reach, -1, 1)
    return [centres, counts]
