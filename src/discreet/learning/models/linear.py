"""Linear and logistic regression, and principal components, from private sums, with the interface of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.errors import InvalidParameter
from discreet.learning.arrays import numbers
from discreet.learning.budget import LearningBudget
from discreet.learning.centred import Centred, boxed
from discreet.learning.intervals import coefficient_intervals, units_of
from discreet.learning.models.logit import logit_line
from discreet.learning.models.releasing import budget_of, features_of, places_of, see_target, wide
from discreet.learning.robust import median_line, robust_for
from discreet.learning.scores import LinearScore, fitted_line, line_of, whole_line
from discreet.learning.statistics import Bounds, Floats, Integers, read_bounds, scaled
from discreet.learning.whole import Whole
from discreet.mechanisms.parameters import read_count
from discreet.rational import Number, epsilon_of


class LinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Least squares by private sums of products, with a ridge as large as the noise.

    Each row is one person, and the number of rows is public. Every `fit` is charged.

    Args:
        epsilon: of one fit.
        bounds: (least, greatest) of each feature, known without the data; values beyond are clamped.
        target_bounds: (least, greatest) of the target.
        ridge: is added to the diagonal, in rows, beside that of the noise; 0 or more.
        whole: whether rows are taken whole, which `intervals` needs, or shortened, which foretells more where noise is
            large. By default whole where epsilon, rows and features make the noise small.
        robust: whether the line goes through medians (of one feature), which noise and outliers move less than means.
            By default where epsilon and rows are few, and `whole` is left out (`discreet.learning.robust`).
        budget: a `LearningBudget`, which all learners of the same people share; by default one of one fit.

    Raises (by `fit`):
        InvalidParameter: a parameter is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: noise on sums of products, of whole rows or of shortened ones around
    private means (`discreet.learning.whole`, `centred` and `scores`), or private medians of pairs (`robust`); all else
    is post-processing. Source: sufficient statistics perturbation (Foulds, Geumlek, Welling and Chaudhuri 2016; Wang
    2018); Theil and Sen's line (Alabi, McMillan, Sarathy, Smith and Vadhan 2022).

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 10, 20_000)[:, None]
        >>> made = LinearRegression(epsilon=5, bounds=[(0, 10)], target_bounds=(0, 40)).fit(x, 3 * x[:, 0] + 2)
        >>> bool(2.7 < made.coef_[0] < 3.3)
        True
    """

    def __init__(
        self,
        epsilon: Number = 1,
        *,
        bounds: Bounds | None = None,
        target_bounds: tuple[Number, Number] | None = None,
        ridge: float = 0.0,
        whole: bool | None = None,
        robust: bool | None = None,
        budget: LearningBudget | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.ridge = ridge
        self.whole = whole
        self.robust = robust
        self.budget = budget

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:  # noqa: N803  # the name in scikit-learn
        """Learn the coefficients `coef_` (d,) and `intercept_`."""
        self.see_parameters()
        features = _features(self, X)
        self.bounds_ = wide(self.bounds, features.shape[1])
        rows = scaled(_beside(features, y), [*self.bounds_, self.target_bounds or (0, 0)])
        words = f"linear regression on {features.shape[1]} features"
        if self._by_medians(*features.shape):
            budget = budget_of(self.budget, self.epsilon)
            slope, intercept = median_line(rows, epsilon_of(self.epsilon), budget, words)
            return self._take(LinearScore(np.array([slope]), intercept))
        return self._take(_line(rows, self, words, self.whole, units_of(self._box)))

    def see_parameters(self) -> None:
        """See that bounds, ridge, whole and robust are there.

        Raises:
            InvalidParameter: they are not.
        """
        for name in ("whole", "robust"):
            if not isinstance(getattr(self, name), bool | None):
                raise InvalidParameter(
                    f"{name} is neither true nor false.", f"Write {name}=True, or leave it out."
                )
        if self.whole and self.robust:
            raise InvalidParameter("A line is of whole rows, or of medians.", "Leave out whole or robust.")
        if self.bounds is None:
            raise InvalidParameter(
                "The bounds are missing.", "Give bounds=[(0, 120), …] and target_bounds=(0, 1)."
            )
        if self.target_bounds is None:
            raise InvalidParameter("The bounds of the target are missing.", "Give target_bounds=(0, 1).")
        _ridge(self)

    def _by_medians(self, rows: int, features: int) -> bool:
        if self.robust and features != 1:
            raise InvalidParameter("Medians give a line through one feature.", "Leave out robust.")
        if self.robust is None and self.whole is None:
            return robust_for(float(epsilon_of(self.epsilon)), rows, features)
        return bool(self.robust)

    def _from_whole(self, found: Whole) -> Self:
        return self._take(whole_line(found, _ridge(self)))

    def _take(self, line: LinearScore) -> Self:
        self._line = line
        half = (self._box[:, 1] - self._box[:, 0]) / 2
        middle = self._box.mean(axis=1)
        self.coef_: Floats = self._line.weights * half[-1] / half[:-1]
        self.intercept_ = float(middle[-1] + self._line.intercept * half[-1] - self.coef_ @ middle[:-1])
        return self

    def intervals(self, confidence: Number = 0.95) -> Floats:
        """Intervals of the coefficients and, last, of the intercept: float64 (d + 1, 2).

        Each covers its coefficient of least squares in the population with this confidence, over the noise and over the
        people who were drawn from it, also where leftovers are skewed or of unlike spread
        (`discreet.learning.intervals`); values beyond the bounds are clamped in the population, too. It is around least
        squares without a ridge, so that `coef_` may lie aside. It has no ends where noise hides the moments, and where
        rows were shortened: `whole=True` takes them whole. It costs nothing.
        """
        check_is_fitted(self)
        return coefficient_intervals(self._line.moments, self._box, confidence)

    @property
    def _box(self) -> Floats:
        return read_bounds([*self.bounds_, self.target_bounds or (0, 1)])

    def predict(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """The target of rows (m, d), inside its bounds: float64 (m,)."""
        check_is_fitted(self)
        features = validate_data(self, X, reset=False)
        ((least, most),) = read_bounds([self.target_bounds or (0, 1)])
        found: Floats = np.clip(features @ self.coef_ + self.intercept_, least, most)
        return found


class LogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression by private sums of products, with the loss to its second order at zero.

    The logistic loss of a score s is ln 2 - s t/2 + s^2/8 to second order, for a target t of -1 or 1. Its sum is made
    of the sums that least squares needs, so that the least of it follows from them: half as large a score as least
    squares on t gives, times four. Where most scores are beyond 2 or so, it is less exact than the logistic loss.

    Args:
        epsilon, bounds, ridge, budget: as for `LinearRegression`.
        classes: both labels, fixed without the data; a row with another label counts as the first.

    Raises (by `fit`): as for `LinearRegression`.

    Privacy: epsilon, pure, for replacing one row, as for `LinearRegression`. Source: the functional mechanism (Zhang,
    Zhang, Xiao, Yang and Winslett 2012); a noisy step of Newton's (Avella-Medina, Bradshaw and Loh 2023).

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 10, 20_000)[:, None]
        >>> made = LogisticRegression(epsilon=5, bounds=[(0, 10)], classes=(0, 1)).fit(x, x[:, 0] > 6)
        >>> made.predict([[1.0], [9.0]]).tolist()
        [0, 1]
    """

    def __init__(
        self,
        epsilon: Number = 1,
        *,
        bounds: Bounds | None = None,
        classes: tuple[Any, Any] = (0, 1),
        ridge: float = 0.0,
        budget: LearningBudget | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.ridge = ridge
        self.budget = budget

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:  # noqa: N803
        """Learn the coefficients `coef_` (1, d) and `intercept_` (1,) of the score of the second class."""
        self.see_parameters()
        features = _features(self, X)
        self.bounds_ = wide(self.bounds, features.shape[1])
        target = np.where(places_of(y, self.classes, len(features)) == 1, 1.0, -1.0)
        rows = scaled(_beside(features, target), [*self.bounds_, (-1, 1)])
        budget, words = (
            budget_of(self.budget, self.epsilon),
            f"logistic regression on {features.shape[1]} features",
        )
        return self._take(logit_line(rows, epsilon_of(self.epsilon), budget, words, _ridge(self)))

    def see_parameters(self) -> None:
        """See that bounds, classes and ridge are there.

        Raises:
            InvalidParameter: they are not.
        """
        if self.bounds is None or len(self.classes) != 2:
            raise InvalidParameter(
                "The bounds or the classes are missing.", "Give bounds=[(0, 120)], classes=(0, 1)."
            )
        _ridge(self)

    def _from_moments(self, moments: Centred) -> Self:
        return self._take(line_of(moments, _ridge(self)))

    def _take(self, line: LinearScore) -> Self:
        ends = read_bounds(self.bounds_)
        half, middle = (ends[:, 1] - ends[:, 0]) / 2, ends.mean(axis=1)
        self.classes_ = np.array(self.classes)
        self.coef_: Floats = (2 * line.weights / half)[None, :]
        self.intercept_: Floats = np.array([2 * line.intercept - self.coef_[0] @ middle])
        return self

    def decision_function(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """The scores of rows (m, d): float64 (m,), above zero for the second class."""
        check_is_fitted(self)
        found: Floats = validate_data(self, X, reset=False) @ self.coef_[0] + self.intercept_[0]
        return found

    def predict_proba(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """The chances of both classes: float64 (m, 2)."""
        second = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -500, 500)))
        return np.column_stack([1 - second, second])

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:  # noqa: N803
        """The labels of rows (m, d)."""
        check_is_fitted(self)
        found: npt.NDArray[Any] = self.classes_[(self.decision_function(X) > 0).astype(int)]
        return found


class PCA(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components by private sums of products. Each row is one person; every `fit` is charged.

    Args:
        n_components: how many, from 1 to the number of features.
        epsilon: of one fit.
        bounds: (least, greatest) of each feature, known without the data; components are those of features between
            -1 and 1.
        budget: as for `LinearRegression`.

    Raises (by `fit`): as for `LinearRegression`.

    Privacy: epsilon, pure, for replacing one row: `discreet.learning.centred`. Source: Dwork, Talwar, Thakurta and
    Zhang 2014, with Laplace noise or noise in a cube (Hardt and Talwar 2010).

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 20_000)[:, None] * np.array([[1.0, 1.0, 0.1]])
        >>> made = PCA(1, epsilon=5, bounds=[(-1, 1)] * 3).fit(x)
        >>> bool(abs(made.components_[0, 0]) > 0.6)
        True
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        epsilon: Number = 1,
        bounds: Bounds | None = None,
        budget: LearningBudget | None = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.bounds = bounds
        self.budget = budget

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: N803
        """Learn `components_` (n_components, d), `explained_variance_` and `mean_`, of features between -1 and 1."""
        if self.bounds is None:
            raise InvalidParameter("The bounds are missing.", "Give bounds=[(0, 120), …].")
        features = _features(self, X)
        count = features.shape[1]
        self.see_components(count)
        self.bounds_ = wide(self.bounds, count)
        rows = scaled(features, self.bounds_)
        budget = budget_of(self.budget, self.epsilon)
        return self._axes(boxed(rows, epsilon_of(self.epsilon), budget, f"{count} principal components"))

    def see_components(self, count: int) -> None:
        """See that so many features have so many components.

        Raises:
            InvalidParameter: they do not.
        """
        if read_count(self.n_components, "n_components", f"Ask for 1 to {count}.") > count:
            raise InvalidParameter("There are not so many components.", f"Ask for 1 to {count}.")

    def _axes(self, found: Centred) -> Self:
        people = max(float(found.matrix[0, 0]), 1.0)
        away = found.matrix[0, 1:] / people
        self.mean_: Floats = found.middle + found.spread * away
        spread = np.outer(found.spread, found.spread) * (found.matrix[1:, 1:] / people - np.outer(away, away))
        sizes, axes = np.linalg.eigh(spread)
        order = np.argsort(sizes)[::-1][: self.n_components]
        self.components_: Floats = axes[:, order].T
        self.explained_variance_: Floats = np.maximum(sizes[order], 0)
        return self

    def transform(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """The components of rows (m, d): float64 (m, n_components)."""
        check_is_fitted(self)
        features = validate_data(self, X, reset=False)
        ends = read_bounds(self.bounds_)
        moved = (features - ends.mean(axis=1)) / ((ends[:, 1] - ends[:, 0]) / 2)
        found: Floats = (np.clip(moved, -1, 1) - self.mean_) @ self.components_.T
        return found


def _features(learner: Any, given: npt.ArrayLike) -> Floats:
    """Features as float64 (n, d); no value of them is an error."""
    found: Floats = validate_data(learner, features_of(given), dtype=np.float64, ensure_all_finite=False)
    return found


def _beside(features: Floats, target: npt.ArrayLike) -> Floats:
    see_target(target)
    found = numbers(target).astype(np.float64)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape != features.shape[:1]:
        raise InvalidParameter("Features and target do not fit.", "Give a target for each row.")
    return np.column_stack([features, found])


def _ridge(learner: Any) -> float:
    if not 0 <= learner.ridge < np.inf:
        raise InvalidParameter("The ridge is no number from 0 on.", "Write ridge=0.")
    return float(learner.ridge)


def _line(
    rows: Integers, learner: Any, words: str, whole: bool | None = False, to_units: Floats | None = None
) -> LinearScore:
    """The line that foretells the last column by the others."""
    budget = budget_of(learner.budget, learner.epsilon)
    return fitted_line(rows, epsilon_of(learner.epsilon), budget, words, _ridge(learner), whole, to_units)
