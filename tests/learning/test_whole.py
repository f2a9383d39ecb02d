"""Moments of whole rows: near the truth, and no neighbour moves them further than their noise is made for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.errors import InvalidParameter
from discreet.learning import LearningBudget, LinearRegression, whole
from discreet.learning.intervals import units_of
from discreet.learning.statistics import STEPS, scaled
from discreet.learning.whole import matrix_of, products, whole_rows
from tests.learning.models import exact
from tests.learning.models.exact import ODD, neighbours

BOX = (-1, 1)
RNG = np.random.default_rng(3)


def fits(rng: np.random.Generator, rows: int) -> Callable[[int], Any]:
    """Fits on two neighbours, whose targets differ as well."""
    features, at = neighbours(rng, rows, 3)
    targets = [rng.choice(ODD, rows)] * 2
    targets[1] = targets[0].copy()
    targets[1][at] = rng.choice(ODD)
    made = LinearRegression(1, bounds=BOX, target_bounds=BOX, whole=True)
    return lambda side: made.fit(features[side], targets[side])


def most(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    rng = np.random.default_rng(5)
    parts: dict[str, float] = {}
    for _ in range(60):
        found = exact.moved(monkeypatch, fits(rng, int(rng.choice([1, 2, 30]))))
        parts |= {use: max(part, parts.get(use, 0)) for use, part in found.items()}
    return parts


def test_no_row_moves_them_further_than_their_noise_is_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = most(monkeypatch)
    assert set(found) == set(whole.SHARES)
    assert max(found.values()) <= 1 + 1e-12
    assert min(found.values()) > 0.3, "the pairs do move each of them"


@pytest.mark.parametrize(("name", "use"), [("products", "features"), ("_grid", "target")])
def test_a_part_that_is_not_cut_is_found(name: str, use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: squares that count twice, and numbers that are not cut to their ends."""
    doubled: dict[str, Any] = {
        "products": lambda u: 2 * products(u),
        "_grid": lambda values, least: np.rint(2 * np.nan_to_num(values) * STEPS).astype(np.int64),
    }
    monkeypatch.setattr(whole, name, doubled[name])
    assert most(monkeypatch)[use] > 1


def test_products_are_those_of_the_rows() -> None:
    z = RNG.uniform(-1, 1, (50, 3))
    u = np.rint(np.column_stack([np.ones(50), z]) * STEPS).astype(np.int64)
    found = matrix_of(products(u).sum(axis=0) / STEPS, 50, 3)
    assert np.abs(found - (u / STEPS).T @ (u / STEPS)).max() < 0.01
    assert np.abs(products(u)).max() <= STEPS


def test_variances_are_those_of_the_sandwich() -> None:
    """At epsilon 1,000 the noise is some tenths of a person of 4,000; leftovers grow with the feature."""
    x = RNG.uniform(0, 10, (4000, 1))
    y = np.clip(3 * x[:, 0] + RNG.normal(0, 0.2 + 0.2 * x[:, 0]), 0, 40)
    box = np.array([[0, 10], [0, 40.0]])
    rows = scaled(np.column_stack([x, y]), [(0, 10), (0, 40)])
    found = whole_rows(rows, units_of(box), Fraction(1000), LearningBudget(1000), "test")
    u = np.column_stack([x, np.ones(len(x))])
    back = np.linalg.inv(u.T @ u)
    left = y - u @ (back @ u.T @ y)
    truth = np.diag(back @ (u.T * left**2) @ u @ back)
    assert np.abs(found.variances / truth - 1).max() < 0.3


def test_whole_is_a_truth_or_nothing() -> None:
    budget = LearningBudget(1)
    with pytest.raises(InvalidParameter):
        LinearRegression(1, bounds=BOX, target_bounds=BOX, whole="yes", budget=budget).fit([[1.0]], [1.0])  # type: ignore[arg-type]
    assert budget.state.spent == 0


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_hardly_any_rows_that_are_alike(rows: int) -> None:
    """Nothing divides by a spread of zero, and intervals have no ends."""
    made = LinearRegression(1, bounds=[BOX] * 2, target_bounds=BOX, whole=True)
    made.fit(np.zeros((rows, 2)), np.full(rows, np.nan))
    assert np.isfinite(made.coef_).all()
    assert not np.isfinite(made.intervals()).any()
