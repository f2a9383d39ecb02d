"""Regression and components: near the truth where people are many, charged each time, deaf to odd values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.learning import PCA, LearningBudget, LinearRegression, LogisticRegression

pytest.importorskip("sklearn")


def rows(count: int = 20_000) -> tuple[Any, Any]:
    rng = np.random.default_rng(2)
    features = rng.uniform(-2, 6, (count, 3))
    return features, features @ [1.0, -2.0, 0.5] + 4 + rng.normal(0, 0.2, count)


def linear(**more: Any) -> LinearRegression:
    return LinearRegression(**{"bounds": [(-2, 6)] * 3, "target_bounds": (-12, 14), "epsilon": 10, **more})


def test_coefficients_are_near_the_truth() -> None:
    """At epsilon 10 and 20,000 people the noise on a sum is some 3 rows of 20,000: 0.1 is far beyond all of it."""
    features, target = rows()
    made = linear().fit(features, target)
    assert np.abs(made.coef_ - [1, -2, 0.5]).max() < 0.1
    assert abs(made.intercept_ - 4) < 0.3
    assert made.score(features, target) > 0.95


def test_classes_and_components() -> None:
    features, target = rows()
    labels = np.where(target > 4, "high", "low")
    made = LogisticRegression(10, bounds=[(-2, 6)] * 3, classes=("low", "high")).fit(features, labels)
    assert made.score(features, labels) > 0.9
    assert np.allclose(made.predict_proba(features[:5]).sum(axis=1), 1)
    axis = PCA(1, epsilon=10, bounds=[(-2, 6), (-2, 6), (-12, 14)]).fit(
        np.column_stack([features[:, :2], target])
    )
    assert axis.transform(np.column_stack([features[:3, :2], target[:3]])).shape == (3, 1)


def test_every_fit_is_charged_and_copies_share_the_budget() -> None:
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score

    features, target = rows(300)
    budget = LearningBudget(4)
    learner = linear(epsilon=1, budget=budget)
    assert clone(learner).get_params()["budget"] is budget
    cross_val_score(learner, features, target, cv=3, error_score="raise")
    assert budget.state.spent == 3
    learner.fit(features, target)
    with pytest.raises(BudgetExceeded):
        learner.fit(features, target)
    assert budget.state.spent == 4


def test_no_value_of_the_data_is_an_error() -> None:
    features, target = rows(50)
    features[0], target[1] = [np.nan, np.inf, -np.inf], np.nan
    assert np.isfinite(linear().fit(features, target).coef_).all()
    nothing = np.zeros((2, 3))
    assert np.isfinite(linear(epsilon="0.01").fit(nothing, nothing[:, 0]).coef_).all()
    assert np.isfinite(PCA(2, epsilon="0.01", bounds=[(0, 1)] * 3).fit(features).components_).all()
    labels = np.array([None, "x", *[1] * 48], object)
    labels[2] = np.array([0, 1])
    odd = LogisticRegression(1, bounds=[(0, 1)] * 3).fit(features, labels)
    assert np.isfinite(odd.coef_).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"bounds": None},
        {"bounds": [(0, 1)]},
        {"target_bounds": (1, 1)},
        {"epsilon": 0},
        {"ridge": -1},
        {"budget": 3},
    ],
)
def test_parameters_out_of_range_are_free(wrong: dict[str, Any]) -> None:
    budget = LearningBudget(10)
    with pytest.raises(InvalidParameter):
        linear(**{"budget": budget, **wrong}).fit(*rows(20))
    with pytest.raises(InvalidParameter):
        linear(budget=budget).fit(np.zeros((3, 3)), [1, 2])
    assert budget.state.spent == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"target_bounds": None}, "The bounds of the target are missing"),
        ({"bounds": None}, "The bounds are missing"),
        ({"bounds": {0: (-2, 6), 1: (-2, 6)}}, "The bounds are by name"),
    ],
)
def test_the_refusal_names_the_bounds_that_do_not_fit(wrong: dict[str, Any], words: str) -> None:
    """Of bounds by name two numbers could be taken for one pair of bounds of all features."""
    budget, (features, target) = LearningBudget(10), rows(20)
    with pytest.raises(InvalidParameter, match=words):
        linear(**{"budget": budget, **wrong}).fit(features[:, :2], target)
    assert budget.state.spent == 0


@pytest.mark.parametrize("components", [0, 4, 1.5, True, "1"])
def test_a_number_of_components_that_is_none_is_free(components: Any) -> None:
    budget = LearningBudget(1)
    with pytest.raises(InvalidParameter):
        PCA(components, bounds=[(0, 1)] * 3, budget=budget).fit(rows(20)[0])
    assert budget.state.spent == 0


def test_the_interface_of_scikit_learn() -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    features, target = rows(500)
    line = make_pipeline(FunctionTransformer(), linear(budget=LearningBudget(20)))
    assert line.fit(features, target).predict(features).shape == (500,)
    with pytest.raises(Exception, match="not fitted"):
        linear().predict(features)
    with pytest.raises(ValueError, match="features"):
        linear().fit(features, target).predict(features[:, :2])


@pytest.mark.parametrize("wrong", [[["secret-4711"]] * 3, [[None]] * 3, [[1j]] * 3, [[10**30]] * 3])
def test_features_that_are_no_numbers_are_refused_without_their_value(wrong: Any) -> None:
    learner = LinearRegression(bounds=[(0, 1)], target_bounds=(0, 1))
    for given in ((wrong, [0, 1, 0]), ([[0.5]] * 3, [row[0] for row in wrong])):
        with pytest.raises(InvalidParameter) as refused:
            learner.fit(*given)
        assert "4711" not in str(refused.value)
