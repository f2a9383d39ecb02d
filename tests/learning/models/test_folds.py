"""Validation: every fit and the score are charged, and no value of a row is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.learning import (
    CategoricalNB,
    GaussianNB,
    KMeans,
    LearningBudget,
    LinearRegression,
    cross_validate,
)
from discreet.learning.models.folds import _cut

X = np.linspace(0, 10, 6000)[:, None]


def model(budget: Any) -> GaussianNB:
    return GaussianNB(2, bounds=(0, 10), classes=(0, 1), budget=budget)


def test_scores_are_near_the_truth_and_all_is_charged() -> None:
    """The noise on 6,000 losses at epsilon 1 has scale 1: 0.02 is 120 of it, beside what fits lose."""
    budget = LearningBudget(10)
    found = cross_validate(model(budget), X, X[:, 0] > 5, folds=3, epsilon=1)
    assert 0.9 < found.score <= 1
    assert found.epsilon == budget.state.spent == 7
    assert 0 < found.half_width < 0.01
    line = LinearRegression(5, bounds=(0, 10), target_bounds=(0, 20), budget=LearningBudget(11))
    assert cross_validate(line, X, 2 * X[:, 0], folds=2, epsilon=1).score > 0.9


def test_a_budget_that_is_too_small_refuses_before_the_first_fit() -> None:
    budget = LearningBudget(6.9)
    with pytest.raises(BudgetExceeded):
        cross_validate(model(budget), X, X[:, 0] > 5, folds=3, epsilon=1)
    assert budget.state.spent == 0


def test_odd_rows_and_labels_are_wrong_and_no_errors() -> None:
    rows = np.array([[np.nan], [np.inf], [-np.inf], [1e308]] * 5)
    labels = np.array([None, {}, "x", 1, np.nan] * 4, object)
    assert 0 <= cross_validate(model(LearningBudget(9)), rows, labels, folds=2).score <= 1
    assert _cut([np.nan, -5, 7, np.inf], 4).tolist() == [1, 0, 1, 1]
    assert _cut([1.0], 2).tolist() == [1, 1]


def test_one_odd_label_in_a_list_moves_no_other_and_a_column_of_labels_is_read() -> None:
    """Noise of scale 1/50 on 6,000 losses; a score below 0.9 has a chance below e^-9000."""
    labels: Any = (X[:, 0] > 5).astype(int).tolist()
    for given in ([*labels[:-1], "x"], [[one] for one in labels]):
        found = cross_validate(model(LearningBudget(99)), X, given, folds=2, epsilon=50)
        assert found.score > 0.9
    codes: Any = [[one] for one in labels]
    codes[0] = ["x"]
    names = CategoricalNB(9, categories=[[0, 1]], classes=(0, 1), budget=LearningBudget(99))
    assert cross_validate(names, codes, labels, folds=2, epsilon=50).score > 0.9


@pytest.mark.parametrize("wrong", [{"folds": 1}, {"folds": 10_000}, {"epsilon": 0}, {"y": [1]}, {"X": 3}])
def test_arguments_that_do_not_fit(wrong: dict[str, Any]) -> None:
    budget = LearningBudget(9)
    with pytest.raises(InvalidParameter):
        cross_validate(model(budget), **{"X": X, "y": X[:, 0] > 5, **wrong})
    assert budget.state.spent == 0


def test_a_model_needs_a_budget_and_losses() -> None:
    with pytest.raises(InvalidParameter, match="budget"):
        cross_validate(model(None), X, X[:, 0])
    with pytest.raises(InvalidParameter, match="losses"):
        cross_validate(KMeans(2, bounds=(0, 10), budget=LearningBudget(9)), X, X[:, 0])
