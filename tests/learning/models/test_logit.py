"""A step toward the logistic loss: it lowers the loss, and no row moves its gradient beyond the sensitivity."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.errors import BudgetExceeded
from discreet.learning import LearningBudget, LogisticRegression
from discreet.learning.models import logit
from discreet.learning.statistics import STEPS
from discreet.mechanisms import CubeVector
from tests.learning.models.exact import moved

RNG = np.random.default_rng(4)
BOX = [(-1, 1)] * 3


def labelled(rows: int) -> tuple[Any, Any]:
    """Features, and labels of a steep curve with an intercept."""
    x = RNG.uniform(-1, 1, (rows, 3))
    return x, (RNG.random(rows) < 1 / (1 + np.exp(-(8 * x[:, 0] - 4 * x[:, 1] + 3)))).astype(int)


def loss(model: LogisticRegression, x: Any, y: Any) -> float:
    return float(np.log1p(np.exp(-np.where(y == 1, 1, -1) * model.decision_function(x))).mean())


def test_a_step_lowers_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """At epsilon 50 and 20,000 rows noise is some 1e-4 of the loss, and the step lowers it by far more."""
    x, y = labelled(20_000)
    with_step = loss(LogisticRegression(50, bounds=BOX).fit(x, y), x, y)
    monkeypatch.setattr(logit, "MANY", 10**9)
    assert with_step < loss(LogisticRegression(50, bounds=BOX).fit(x, y), x, y) - 0.01


def test_it_is_one_charge_and_few_rows_have_no_step() -> None:
    x, y = labelled(2000)
    budget = LearningBudget(3)
    model = LogisticRegression(2, bounds=BOX, budget=budget).fit(x, y)
    assert budget.state.spent == 2
    with pytest.raises(BudgetExceeded):
        model.fit(x, y)
    assert logit.steps_for(2, 2000, 3)
    assert not logit.steps_for(2, 200, 3)


def neighbours_of_a_step() -> Any:
    x, y = labelled(1000)

    def fit(side: int) -> None:
        here, labels = x.copy(), y.copy()
        if side:
            here[5], labels[5] = -np.sign(here[5]), 1 - labels[5]
        rows = np.column_stack([np.rint(here * STEPS), np.where(labels == 1, STEPS, -STEPS)]).astype(np.int64)
        logit.logit_line(rows, Fraction(5), LearningBudget(5), "test")

    return fit


def test_no_row_moves_a_use_further_than_its_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(10):
        parts = moved(monkeypatch, neighbours_of_a_step())
        assert parts.keys() == {"places", "products", "step"}
        assert max(parts.values()) <= 1


def test_a_gradient_that_counts_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: half of the sensitivity; a row with all corners turned moves the gradient by more."""
    whole = CubeVector
    monkeypatch.setattr(logit, "CubeVector", lambda scale, most, count: whole(scale / 4, most / 4, count))
    assert any(moved(monkeypatch, neighbours_of_a_step())["step"] > 1 for _ in range(20))
