"""Cross-validation whose scores are private, too.

`cross_val_score` of scikit-learn charges every fit, but its scores are exact numbers about private rows: they may be
looked at by those who may see the rows, and by nobody else. `cross_validate` releases one noisy number, the mean over
all rows of a loss between 0 and 1, each row being scored by the model that was not fitted on it.

Price. The ledger charges every fit. (A row is missing in one of them, so that (folds - 1) times the epsilon of the
model would be enough.) Rows are dealt to folds by their places, which are no data. Given the fitted models, replacing
a row moves the sum of the losses by at most 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier, is_regressor

from discreet.errors import InvalidParameter
from discreet.learning.arrays import cells, names, numbers
from discreet.learning.budget import LearningBudget
from discreet.learning.models.releasing import budget_of, released, wide
from discreet.learning.statistics import Floats, read_bounds
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.mechanisms.parameters import read_count
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass
from discreet.release.draw import Use

GRID: Final = 1 << 16

Losses = Callable[[Any, npt.NDArray[Any], npt.NDArray[Any]], npt.ArrayLike]


@dataclass(frozen=True)
class Validation:
    """The score of a model on rows that it did not see.

    Attributes:
        score: 1 less the mean loss, noisy, between 0 and 1: accuracy for classifiers.
        half_width: of the interval at 95 % for the noise of the score.
        epsilon: that was charged for fits and score.
    """

    score: float
    half_width: float
    epsilon: Fraction


def cross_validate(
    model: Any,
    X: npt.ArrayLike,  # noqa: N803
    y: npt.ArrayLike,
    *,
    folds: int = 3,
    epsilon: Number = "0.1",
    losses: Losses | None = None,
) -> Validation:
    """Score a model by rows that it was not fitted on, privately.

    Args:
        model: one of `discreet.learning` with a `LearningBudget`, which is charged.
        X: features (n, d).
        y: labels or targets (n,).
        folds: how many parts the rows are dealt to, 2 or more.
        epsilon: of the score.
        losses: gives the losses of rows from a fitted model, features and labels; each is cut to 0 to 1. By default a
            wrong label costs 1, and a target its distance in units of the target's bounds.

    Raises:
        InvalidParameter: an argument does not fit. Nothing was charged.
        BudgetExceeded: the budget has not so much left for all fits and the score. Nothing was charged.

    Privacy: folds times the epsilon of the model, and epsilon; pure, for replacing one row: the module's text.

    Example:
        >>> from discreet.learning import GaussianNB, LearningBudget
        >>> x = np.linspace(0, 10, 20_000)[:, None]
        >>> budget = LearningBudget(10)
        >>> model = GaussianNB(epsilon=2, bounds=[(0, 10)], classes=(0, 1), budget=budget)
        >>> found = cross_validate(model, x, x[:, 0] > 5, epsilon=1)
        >>> bool(found.score > 0.9), found.epsilon
        (True, Fraction(7, 1))
    """
    budget = getattr(model, "budget", None)
    if not isinstance(budget, LearningBudget):
        raise InvalidParameter("The model has no budget.", "Give it budget=LearningBudget(10).")
    budget = budget_of(budget, epsilon)
    parts = read_count(folds, "folds", "Give how many folds there are.")
    rows, labels = _features(model, X), _labels(model, y)
    if parts < 2 or len(rows) < parts or len(rows) != len(labels):
        raise InvalidParameter("Rows and folds do not fit.", "Give labels for all rows, and 2 folds or more.")
    own, judged = epsilon_of(model.epsilon), epsilon_of(epsilon)
    _see_room(budget, parts * own + judged)
    judge = losses or _default(model)
    fold = np.arange(len(rows)) % parts
    fitted = [clone(model).fit(rows[fold != part], labels[fold != part]) for part in range(parts)]
    noise = LaplaceVector(GRID / judged, GRID)

    def total() -> npt.NDArray[np.int64]:
        found = [_cut(judge(estimator, rows[fold == part], labels[fold == part]), int((fold == part).sum()))
                 for part, estimator in enumerate(fitted)]  # fmt: skip
        return np.array([np.rint(np.concatenate(found) * GRID).astype(np.int64).sum()])

    (noisy,) = released(
        {"losses": Use(noise, budget.neighbours, 1)},
        lambda draw: [draw("losses", total())],
        f"score of {parts} folds",
        budget,
    )
    return Validation(
        float(np.clip(1 - noisy[0] / GRID / len(rows), 0, 1)),
        noise.half_width() / GRID / len(rows),
        parts * own + judged,
    )


def _see_room(budget: LearningBudget, wanted: Fraction) -> None:
    """See before the first fit that all of it can be paid; the gate checks each charge again."""
    from discreet.errors import BudgetExceeded

    left = budget.state.left
    if wanted > left:
        raise BudgetExceeded("data set", f"epsilon {float(wanted):g}", f"{float(left):g}")


def _default(model: Any) -> Losses:
    if is_classifier(model):
        return lambda fitted, x, y: [
            _differ(a, b) for a, b in zip(fitted.predict(x).tolist(), y.tolist(), strict=True)
        ]
    if is_regressor(model) and model.target_bounds is not None:
        least, most = (float(end) for end in model.target_bounds)
        return lambda fitted, x, y: np.abs(fitted.predict(x) - np.clip(y, least, most)) / (most - least)
    raise InvalidParameter("The model has no losses of its own.", "Give losses=.")


def _differ(first: Any, second: Any) -> float:
    try:
        return float(bool(first != second))
    except Exception:  # a label that cannot be compared is not the one that was named
        return 1.0


def _features(model: Any, given: npt.ArrayLike) -> npt.NDArray[Any]:
    """Features as fits read them: NaN is the middle of the bounds, others are clamped. No value is an error."""
    bounds = getattr(model, "bounds", None)
    if bounds is None:
        return cells(given)
    found = numbers(given)
    if found.ndim != 2:
        raise InvalidParameter("Rows are missing.", "Give an array with a row for each person.")
    ends = read_bounds(wide(bounds, found.shape[1]))
    if found.shape[1] != len(ends):
        raise InvalidParameter("The bounds do not fit.", "Give (least, greatest) for each feature.")
    return np.clip(np.where(np.isnan(found), ends.mean(axis=1), found), ends[:, 0], ends[:, 1])


def _labels(model: Any, given: npt.ArrayLike) -> npt.NDArray[Any]:
    """Labels or targets (n,) as fits read them: none decides how another is read."""
    found = numbers(given) if is_regressor(model) else names(given)
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else np.atleast_1d(found)


def _cut(found: npt.ArrayLike | Sequence[Any], rows: int) -> Floats:
    """Losses from 0 to 1, one for each row; NaN is 1."""
    losses = np.asarray(found, np.float64)
    if losses.shape != (rows,):
        losses = np.ones(rows)
    return np.clip(np.nan_to_num(losses, nan=1.0, posinf=1.0, neginf=0.0), 0, 1)


__all__ = ["Validation", "cross_validate"]
