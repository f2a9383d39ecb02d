"""One fit is one release: no model moves further than it says, costs another epsilon or stumbles over a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.learning import (
    PCA,
    CategoricalNB,
    DecisionTreeClassifier,
    GaussianNB,
    KMeans,
    LearningBudget,
    LinearRegression,
    LogisticRegression,
)
from discreet.learning.models import bayes, clusters, trees
from discreet.learning.models.releasing import features_of, places_of, wide
from discreet.learning.statistics import moved
from tests.depth import examples, few
from tests.learning.models import exact
from tests.learning.models.exact import ODD, neighbours

BOX = (-1, 1)
KNOWN: dict[str, Any] = {"bounds": BOX, "classes": ("a", "b", "c")}
MODELS: dict[str, Callable[..., Any]] = {
    "naive Bayes": lambda **more: GaussianNB(**{**KNOWN, **more}),
    "tree": lambda **more: DecisionTreeClassifier(**{**KNOWN, "max_depth": 2, **more}),
    "k-means": lambda **more: KMeans(3, **{"bounds": BOX, "rounds": 2, **more}),
    "linear": lambda **more: LinearRegression(**{"bounds": BOX, "target_bounds": BOX, **more}),
    "logistic": lambda **more: LogisticRegression(**{"bounds": BOX, "classes": ("a", "b"), **more}),
    "components": lambda **more: PCA(2, **{"bounds": BOX, **more}),
    "categories": lambda **more: CategoricalNB(
        **{"categories": [ODD, ODD, [0.3]], "classes": ("a", "b", "c"), **more}
    ),
}
LABELS: list[Any] = ["a", "b", "c", None, float("nan"), 7, b"a", {}]


def target(rng: np.random.Generator, name: str, rows: int) -> Any:
    if name == "linear":
        return rng.choice(ODD, rows)
    return np.array([LABELS[at] for at in rng.integers(0, len(LABELS), rows)], object)


def both(name: str, rng: np.random.Generator, rows: int, epsilon: float) -> Callable[[int], Any]:
    """Fits on two neighbours."""
    features, at = neighbours(rng, rows, 3)
    labels = [target(rng, name, rows)] * 2
    labels[1] = labels[0].copy()
    labels[1][at] = target(rng, name, 1)[0]
    return lambda side: MODELS[name](epsilon=epsilon).fit(features[side], labels[side])


# A deep run asks each model at all three.
@pytest.mark.parametrize(
    ("name", "epsilon"), few([(name, epsilon) for epsilon in (0.5, 40, 4000) for name in MODELS], 14)
)
def test_no_row_moves_a_release_further_than_its_noise_is_made_for(
    name: str, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """15 pairs of neighbours with odd values; epsilons for which lines and trees go each of their ways."""
    rng = np.random.default_rng(5)
    parts: dict[str, float] = {}
    for _ in range(examples(15, 60)):
        rows = int(rng.choice([1, 2, 30]))
        found = exact.moved(monkeypatch, both(name, rng, rows, epsilon))
        assert max(found.values()) <= 1 + 1e-12
        parts |= {use: max(part, parts.get(use, 0)) for use, part in found.items()}
    assert max(parts.values()) > 0.3, "the pairs do move it"


def moves_too_far(name: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether one of 60 pairs of neighbours moves a release further than it says."""
    rng = np.random.default_rng(5)
    return any(max(exact.moved(monkeypatch, both(name, rng, 30, 40)).values()) > 1 for _ in range(60))


@pytest.mark.parametrize(
    ("name", "module", "attribute", "planted"),
    [
        ("naive Bayes", bayes, "moments", lambda rows: np.hstack([rows[:, :1] * 0 + 2**16, 2 * rows, rows])),
        ("k-means", clusters, "steps", lambda rows, centres, places, reach: np.column_stack(
            [np.full(len(rows), 2**16), np.rint((rows - centres[places]) / reach * 2**17).astype(np.int64)])),
        ("tree", trees, "right", lambda bins, places, classes: np.full(
            bins.shape[1] * 15, 3 * len(bins) + 2 * int((places == 0).sum()))),
    ],
)  # fmt: skip
def test_a_row_that_is_not_clipped_is_found(
    name: str, module: Any, attribute: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, attribute, planted)
    assert moves_too_far(name, monkeypatch)


@pytest.mark.parametrize("name", MODELS)
def test_the_ledger_is_charged_the_epsilon_of_a_fit_and_no_more(name: str) -> None:
    rng = np.random.default_rng(5)
    budget = LearningBudget(4)
    rows, labels = rng.choice(ODD, (40, 3)), target(rng, name, 40)
    for spent in (1, 2):
        MODELS[name](epsilon=1, budget=budget).fit(rows, labels)
        assert budget.state.spent == spent
    with pytest.raises(BudgetExceeded):
        MODELS[name](epsilon="2.01", budget=budget).fit(rows, labels)
    assert budget.state.spent == 2


def test_a_share_that_is_counted_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: leaves and splits together are more than the whole."""
    monkeypatch.setattr(trees, "LEAVES", trees.LEAVES / -2)
    with pytest.raises(InvalidParameter):
        MODELS["tree"](epsilon=40).fit(np.zeros((90, 3)), ["a"] * 90)


@pytest.mark.parametrize("name", MODELS)
def test_bounds_classes_and_budgets_are_seen_before_the_charge(name: str) -> None:
    budget = LearningBudget(9)
    rows, labels = np.zeros((4, 3)), [0, 0, 0, 0]
    wrong: list[dict[str, Any]] = [{"epsilon": 0}, {"epsilon": -1}, {"budget": 3}]
    if name == "categories":
        wrong += [{"categories": None}, {"categories": [["a"]]}, {"categories": [[], [], []]}, {"alpha": 0}]
    else:
        wrong += [{"bounds": None}, {"bounds": [BOX] * 2}, {"bounds": (1, 0)}, {"bounds": (0, np.inf)}]
    if name in ("naive Bayes", "tree", "categories"):
        wrong += [{"classes": None}, {"classes": [1]}, {"classes": [1, 1]}, {"classes": [[], []]}]
    if name == "tree":
        wrong += [{"max_depth": 0}, {"max_depth": 11}]
    if name == "k-means":
        wrong += [{"n_clusters": 0}, {"rounds": 0}, {"rounds": 10**6}]
    for one in wrong:
        made = MODELS[name](budget=budget).set_params(**one)
        with pytest.raises(InvalidParameter):
            made.fit(rows, labels)
    several = LearningBudget(9, neighbours="add_remove")
    with pytest.raises(InvalidParameter, match="public number"):
        MODELS[name](budget=several).fit(rows, labels)
    assert budget.state.spent == several.state.spent == 0


@pytest.mark.parametrize("name", MODELS)
def test_a_class_that_nobody_has_and_rows_that_are_alike_make_no_other_shape(name: str) -> None:
    for rows in (np.zeros((1, 3)), np.full((50, 3), np.nan), np.full((50, 3), 1e300)):
        labels = np.zeros(len(rows)) if name == "linear" else np.array(["a"] * len(rows))
        made = MODELS[name](epsilon="0.01").fit(rows, labels)
        inside = np.zeros((2, 3))
        found = made.transform(inside) if name in ("components", "k-means") else made.predict(inside)
        assert len(found) == 2
        if hasattr(made, "predict_proba"):
            assert np.allclose(made.predict_proba(inside).sum(axis=1), 1)


def test_labels_and_features_are_read_one_by_one() -> None:
    assert places_of(np.array(LABELS, object), ("a", "b", "c"), 8).tolist() == [0, 1, 2, 0, 0, 0, 0, 0]
    assert wide((0, 1), 2) == [(0, 1)] * 2
    assert moved(np.array([[np.nan, 9.0]]), np.array([[0.0, 1.0], [0.0, 2.0]])).tolist() == [[0, 1]]
    with pytest.raises(InvalidParameter):
        features_of([["secret-4711"]])


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"categories"}))
def test_features_that_are_no_rows_are_refused_without_a_value_of_them(name: str) -> None:
    """The refusal of scikit-learn shows up to a thousand values."""
    budget = LearningBudget(3)
    for wrong in (np.full(5, 0.1234567), np.array(0.1234567), np.full((1, 5, 2), 0.1234567)):
        with pytest.raises(InvalidParameter, match=r"no rows \(n, d\)") as refused:
            MODELS[name](epsilon=1, budget=budget).fit(wrong, np.zeros(5))
        assert "1234567" not in str(refused.value)
    assert budget.account.spent().epsilon == 0
