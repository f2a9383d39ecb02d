"""Naive Bayes from private counts, sums and squares of each class.

Gaussian. Each class has one vector: its rows, the sums of the features z in [-1, 1] and those of 2 z^2 - 1, all in
units of STEPS. A row adds a vector of largest coordinate 1 to its class. Replacing it changes one class by at most 2 in
each coordinate, or two classes by at most 1 each: 2 together (`CubeVector`).

Categorical. Each row adds 1 to one cell of each feature at most, so that replacing it moves all cells by at most 2 for
each feature, in L1 (`LaplaceVector`).

All else is post-processing. Noise is taken into account as a measurement with a known error: means of classes are moved
toward the mean of all, spreads toward the common one, as far as the noise explains their differences, and the error of
a mean is added to its spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.errors import InvalidParameter
from discreet.learning.arrays import cells
from discreet.learning.budget import LearningBudget
from discreet.learning.models.releasing import budget_of, by_class, grid_of, places_of, released
from discreet.learning.statistics import STEPS, Bounds, Floats, Integers, read_bounds
from discreet.mechanisms.numeric.cube_vector import CubeVector
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.rational import Number, epsilon_of
from discreet.release.draw import Use

LEAST: float = 1e-4
"""No spread is less: a hundredth of the half of the bounds."""


LOUD: float = 2.0
"""Where the noise on a class is so many times its rows, only the sizes of classes are asked for."""


def moments(rows: Integers) -> Integers:
    """The vectors of the module's text: int64 (n, 2 d + 1), each number in -STEPS to STEPS."""
    ones = np.full((len(rows), 1), STEPS, np.int64)
    return np.hstack([ones, rows, 2 * rows * rows // STEPS - STEPS])


class _Bayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Classes by the sum of the logarithms of their likelihoods."""

    classes_: npt.NDArray[Any]

    def _joint(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        raise NotImplementedError

    def predict_log_proba(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """The logarithms of the chances of the classes: float64 (m, classes)."""
        joint = self._joint(X)
        top = joint.max(axis=1, keepdims=True)
        found: Floats = joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True))
        return found

    def predict_proba(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """The chances of the classes: float64 (m, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:  # noqa: N803
        """The labels of rows (m, d)."""
        check_is_fitted(self)
        found: npt.NDArray[Any] = self.classes_[self._joint(X).argmax(axis=1)]
        return found


class GaussianNB(_Bayes):
    """Gaussian naive Bayes by private moments of each class.

    Each row is one person, and the number of rows is public. Every `fit` is charged.

    Args:
        epsilon: of one fit.
        bounds: (least, greatest) of each feature, known without the data; values beyond are clamped.
        classes: all labels, fixed without the data; a row with another label counts as the first.
        budget: a `LearningBudget`, which all learners of the same people share; by default one of one fit.

    Attributes (after `fit`): `classes_`; `class_count_` (noisy), `class_prior_`; `theta_` and `var_`, means and
    variances (classes, d), in the units of the features.

    Raises (by `fit`):
        InvalidParameter: a parameter is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: the module's text.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 10, 20_000)[:, None]
        >>> made = GaussianNB(epsilon=5, bounds=[(0, 10)], classes=(0, 1)).fit(x, x[:, 0] > 5)
        >>> made.predict([[1.0], [9.0]]).tolist()
        [0, 1]
    """

    def __init__(
        self,
        epsilon: Number = 1,
        *,
        bounds: Bounds | None = None,
        classes: Sequence[Any] | None = None,
        budget: LearningBudget | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.budget = budget

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:  # noqa: N803
        """Learn the moments of each class."""
        rows = grid_of(self, X, self.bounds)
        places = places_of(y, self.classes, len(rows))
        budget, loss = budget_of(self.budget, self.epsilon), epsilon_of(self.epsilon)
        self.classes_ = np.array(self.classes)
        count, width = len(self.classes_), 2 * rows.shape[1] + 1
        noise = CubeVector(2 * STEPS / loss, 2 * STEPS, width)
        if noise.deviation / STEPS > LOUD * len(rows) / count:
            return self._count(places, loss, budget, rows.shape[1])
        (found,) = released(
            {"moments": Use(noise, budget.neighbours, count * width)},
            lambda draw: [draw("moments", by_class(moments(rows), places, count))],
            f"naive Bayes of {count} classes on {rows.shape[1]} features",
            budget,
        )
        self._learn(found / STEPS, noise.deviation / STEPS, len(rows))
        return self

    def _count(self, places: Integers, loss: Fraction, budget: LearningBudget, width: int) -> Self:
        """Where moments would be noise alone: how many rows each class has, and the same features for all."""
        count = len(self.classes_)
        noise = LaplaceVector(2 / loss, 2)
        (found,) = released(
            {"classes": Use(noise, budget.neighbours, count)},
            lambda draw: [draw("classes", np.bincount(places, minlength=count).astype(np.int64))],
            f"naive Bayes of {count} classes by their sizes",
            budget,
        )
        ends = read_bounds(self.bounds_)
        self.class_count_ = balanced(found.astype(np.float64), float(noise.scale) * 2**0.5, len(places))
        self.class_prior_ = self.class_count_ / self.class_count_.sum()
        self.theta_ = np.tile(ends.mean(axis=1), (count, 1))
        self.var_ = np.tile((ends[:, 1] - ends[:, 0]) ** 2 / 4, (count, 1))
        return self

    theta_: Floats
    var_: Floats

    def _learn(self, found: Floats, error: float, rows: int) -> None:
        """Means, spreads and priors from noisy moments (classes, 2 d + 1) with a standard error on each."""
        width = found.shape[1] // 2
        ends = read_bounds(self.bounds_)
        counts = balanced(found[:, 0], error, rows)
        sums, squares = found[:, 1 : width + 1], (found[:, width + 1 :] + counts[:, None]) / 2
        theta, theta_error = shrunk(sums / counts[:, None], error / counts, counts)
        second = np.clip(squares / counts[:, None], 0, 1)
        spread = np.maximum(second - theta**2, 0)
        var, _ = shrunk(spread, error / counts / 2 + 2 * np.abs(theta).mean() * error / counts, counts)
        var = np.maximum(var, LEAST) + theta_error**2
        half = (ends[:, 1] - ends[:, 0]) / 2
        self.class_count_, self.class_prior_ = counts, counts / counts.sum()
        self.theta_ = theta * half + ends.mean(axis=1)
        self.var_ = var * half**2

    def _joint(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        check_is_fitted(self)
        features = validate_data(self, X, reset=False, dtype=np.float64)
        ends = read_bounds(self.bounds_)
        inside = np.clip(features, ends[:, 0], ends[:, 1])
        far = ((inside[:, None] - self.theta_) ** 2 / self.var_ + np.log(self.var_)).sum(axis=2)
        found: Floats = np.log(self.class_prior_) - far / 2
        return found


def balanced(counts: Floats, error: float, rows: int) -> Floats:
    """Counts of classes that add up to the rows, moved toward equal ones as far as the noise explains, at least 1."""
    level = rows / len(counts)
    moved_up = counts + (rows - counts.sum()) / len(counts)
    true = max(float(((moved_up - level) ** 2).mean()) - error**2, 0.0)
    kept = level + (moved_up - level) * np.sqrt(true / (true + error**2)) if true else level + 0 * moved_up
    found: Floats = np.maximum(kept, max(1.0, 0.05 * level))
    return found


def shrunk(values: Floats, errors: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Values of classes (c, d) moved toward the weighted mean of all, feature by feature, and the errors they keep.

    The share that is kept is t/(t + e^2), for an error e and a true variance t between classes: that of this feature
    beyond its noise, and half of it that of all features.
    """
    share = weights / weights.sum()
    middle = share @ values
    noise = (errors**2)[:, None]
    excess = share @ ((values - middle) ** 2 - noise)
    true = np.maximum((np.maximum(excess, 0) + max(float(excess.mean()), 0)) / 2, 1e-12)
    kept = true / (true + noise)
    return middle + kept * (values - middle), np.sqrt(kept * noise)


class CategoricalNB(_Bayes):
    """Naive Bayes on features that are categories, by private counts.

    Args:
        epsilon, classes, budget: as for `GaussianNB`.
        categories: of each feature all values, known without the data; another value counts nowhere.
        alpha: is added to every count, as if so many rows had been there; above 0.

    Attributes (after `fit`): `classes_`; `class_count_` (noisy), `class_log_prior_`; `feature_log_prob_`, of each
    feature (classes, categories).

    Raises (by `fit`): as for `GaussianNB`.

    Privacy: epsilon, pure, for replacing one row: the module's text.

    Example:
        >>> import numpy as np
        >>> x = np.array([["red"], ["blue"]] * 5_000)
        >>> made = CategoricalNB(epsilon=1, categories=[["red", "blue"]], classes=(0, 1)).fit(x, x[:, 0] == "blue")
        >>> made.predict([["red"], ["blue"]]).tolist()
        [0, 1]
    """

    def __init__(
        self,
        epsilon: Number = 1,
        *,
        categories: Sequence[Sequence[Any]] | None = None,
        classes: Sequence[Any] | None = None,
        alpha: float = 1.0,
        budget: LearningBudget | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.categories = categories
        self.classes = classes
        self.alpha = alpha
        self.budget = budget

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:  # noqa: N803
        """Learn the chances of the categories in each class."""
        if not 0 < self.alpha < np.inf:
            raise InvalidParameter("alpha is not above 0.", "Write alpha=1.")
        codes = self._codes(X)
        self.n_features_in_ = codes.shape[1]
        places = places_of(y, self.classes, len(codes))
        budget, loss = budget_of(self.budget, self.epsilon), epsilon_of(self.epsilon)
        self.classes_ = np.array(self.classes)
        sizes = [len(listed) for listed in self.categories or ()]
        cells = [(len(self.classes_), size) for size in sizes]
        moves = 2 * len(sizes)
        noise = LaplaceVector(moves / loss, moves)

        def exact() -> Integers:
            tables = [np.zeros(shape, np.int64) for shape in cells]
            for table, column in zip(tables, codes.T, strict=True):
                known = column >= 0
                np.add.at(table, (places[known], column[known]), 1)
            return np.concatenate([table.ravel() for table in tables])

        (found,) = released(
            {"cells": Use(noise, budget.neighbours, len(self.classes_) * sum(sizes))},
            lambda draw: [draw("cells", exact())],
            f"naive Bayes of {len(self.classes_)} classes on {len(sizes)} categories",
            budget,
        )
        parts = np.split(found, np.cumsum([a * b for a, b in cells])[:-1])
        tables = [part.reshape(shape) for part, shape in zip(parts, cells, strict=True)]
        error = float(noise.scale) * np.sqrt(2 * np.mean(sizes) / len(sizes))
        self.class_count_ = balanced(
            np.mean([table.sum(axis=1) for table in tables], axis=0), error, len(codes)
        )
        self.class_log_prior_ = np.log(self.class_count_ / self.class_count_.sum())
        self.feature_log_prob_ = [self._chances(table, float(noise.scale)) for table in tables]
        return self

    def _chances(self, table: Integers, scale: float) -> Floats:
        """Logarithms of chances: counts, raised to 0, beside as many rows of all classes as the noise is wide."""
        raised = np.maximum(table, 0) + self.alpha
        common = raised.sum(axis=0) / raised.sum()
        found = raised + 2 * scale * common
        logs: Floats = np.log(found / found.sum(axis=1, keepdims=True))
        return logs

    def _codes(self, X: npt.ArrayLike) -> Integers:  # noqa: N803
        """The place of each value among the categories of its feature: int64 (n, d), -1 for none."""
        if not self.categories or not all(len(listed) for listed in self.categories):
            raise InvalidParameter("The categories are missing.", 'Give categories=[["red", "blue"], …].')
        rows = cells(X)
        if rows.ndim != 2 or rows.shape[1] != len(self.categories):
            raise InvalidParameter(
                "Rows and categories do not fit.", "Give a list of categories for each feature."
            )
        out = np.full(rows.shape, -1, np.int64)
        for feature, listed in enumerate(self.categories):
            place = {name: where for where, name in enumerate(listed)}
            for row, value in enumerate(rows[:, feature].tolist()):
                try:
                    out[row, feature] = place.get(value, -1)
                except Exception:  # noqa: S112  # it has no hash, or one that fails: no category
                    continue
        return out

    def _joint(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        check_is_fitted(self)
        codes = self._codes(X)
        joint = np.repeat(self.class_log_prior_[None], len(codes), axis=0)
        for chances, column in zip(self.feature_log_prob_, codes.T, strict=True):
            known = column >= 0
            joint[known] += chances[:, column[known]].T
        return joint
