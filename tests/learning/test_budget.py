"""Budgets of learners: copies are themselves, and a saved one buys nothing."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.learning import LearningBudget, LinearRegression

pytest.importorskip("sklearn")
ROWS = np.linspace(0, 1, 100)[:, None]


def test_a_model_is_saved_without_its_ledger() -> None:
    """What was learned is public. A fit after loading would be charged to nobody, so it is refused."""
    budget = LearningBudget(2)
    model = LinearRegression(epsilon=1, bounds=[(0, 1)], target_bounds=(0, 1), budget=budget)
    model.fit(ROWS, ROWS[:, 0])
    assert copy.deepcopy(model).budget is budget is copy.copy(budget)
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.predict(ROWS).tolist() == model.predict(ROWS).tolist()
    assert repr(loaded.budget) == "<LearningBudget, without its ledger>"
    with pytest.raises(InvalidParameter, match="its ledger is not here"):
        loaded.fit(ROWS, ROWS[:, 0])
    with pytest.raises(InvalidParameter, match="its ledger is not here"):
        _ = loaded.budget.state
    loaded.set_params(budget=budget).fit(ROWS, ROWS[:, 0])
    assert budget.state.left == 0
