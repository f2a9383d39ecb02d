"""Moments around private means: no pair of rows moves them further, and they are near the truth."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.learning import LearningBudget
from discreet.learning.centred import (
    LENGTHS,
    REACH,
    UNIT,
    boxed,
    centred,
    length_for,
    moves,
    products,
    shortened,
    spectral,
)
from discreet.learning.statistics import STEPS
from discreet.learning.whole import products as products_of
from discreet.release import gate

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("share", LENGTHS)
def test_no_pair_of_rows_moves_the_products_further(columns: int, share: Fraction) -> None:
    """2,000 rows in the corners and anywhere, with centres and spreads of all kinds; each against the next."""
    length = max(int(share * columns * UNIT), REACH * UNIT // 2)
    rows = RNG.choice([-STEPS, 0, 1, 777, STEPS], (2000, columns))
    rows[::2] = RNG.integers(-STEPS, STEPS, (1000, columns))
    whole = shortened(rows, RNG.uniform(-1, 1, columns), RNG.uniform(0.05, 1, columns), length)
    assert np.abs(whole[:, 1:]).sum(axis=1).max() <= length
    assert np.abs(whole[:, 1:]).max() <= REACH * UNIT
    first, second = np.triu_indices(columns + 1)
    parts = whole[:, first] * whole[:, second]
    change = np.abs(np.diff(parts, axis=0)).sum(axis=1)
    assert change.max() <= moves(length)
    assert change.max() > moves(length) / 5, "the bound is of that size"


def test_a_row_that_is_not_shortened_is_found() -> None:
    """Planted: a length for which nothing is shortened, under the bound of a smaller one."""
    rows = np.full((1, 5), STEPS)
    whole = shortened(rows, np.zeros(5), np.full(5, 0.3), 3 * 5 * UNIT)
    assert 2 * np.abs(products(whole)).sum() > moves(length_for(0.001, 10, 5))


def test_moments_are_near_the_truth() -> None:
    """At epsilon 10^4 noise and shortening are small: no row of 4,000 normal ones is as long as B."""
    rows = np.rint(np.clip(RNG.normal([0.2, -0.1], 0.1, (4000, 2)), -1, 1) * STEPS).astype(np.int64)
    found = centred(rows, Fraction(10**4), LearningBudget(10**4), "test")
    assert np.abs(found.middle - [0.2, -0.1]).max() < 0.02
    assert np.abs(found.spread - 0.1).max() < 0.02
    assert abs(found.matrix[0, 0] / 4000 - 1) < 0.02
    assert np.abs(np.diag(found.matrix)[1:] / 4000 - 1).max() < 0.3


def test_rows_are_longer_where_noise_is_quiet() -> None:
    assert length_for(0.01, 100, 4) < length_for(1, 10_000, 4) < length_for(100, 10**6, 4) == 12 * UNIT
    assert spectral(2, 4, UNIT) * 2 == spectral(1, 4, UNIT)


class Exact:
    """Keeps the exact integers of each use, and releases `told` in place of noise."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.given: dict[str, Any] = {}

    def release(self, plan: Any, *_: Any) -> Any:
        self.uses = plan.uses
        return plan.answer(plan.compute(self._draw))[0]

    def _draw(self, name: str, exact: Any) -> Any:
        self.given[name] = np.array(exact)
        return self.told.get(name, np.array(exact))


@pytest.mark.parametrize("epsilon", ["1/100", "1/2"])
def test_no_pair_of_rows_moves_boxes_further(epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in corners and anywhere, one of them replaced, around the same means: in the bounds, and in boxes."""
    for _ in range(40):
        rows = RNG.choice([-STEPS, 0, 1, 777, STEPS], (300, 3))
        sides: list[Exact] = []
        for side in range(2):
            if side:
                rows[RNG.integers(300)] = RNG.choice([-STEPS, STEPS], 3)
            sides.append(Exact(sides[0].given if side else {}))
            monkeypatch.setattr(gate, "release", sides[side].release)
            found = boxed(rows, Fraction(epsilon), LearningBudget(1), "test")
        assert ("places" in sides[0].uses) == (epsilon == "1/2")
        for name, use in sides[0].uses.items():
            change = np.abs(sides[1].given[name] - sides[0].given[name]).max()
            assert change <= use.mechanism.sensitivity
        assert found.matrix.shape == (4, 4)


def test_boxes_wider_than_their_noise_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: coordinates up to 2, under the sensitivity of 1."""
    monkeypatch.setattr("discreet.learning.centred.whole_products", lambda u: 2 * products_of(u))
    rows = np.full((300, 3), STEPS)
    given = []
    for side in (1, -1):
        rows[7] = side * STEPS
        seen = Exact({})
        monkeypatch.setattr(gate, "release", seen.release)
        boxed(rows, Fraction(1, 100), LearningBudget(1), "test")
        given.append(seen)
    change = np.abs(given[1].given["products"] - given[0].given["products"]).max()
    assert change > given[0].uses["products"].mechanism.sensitivity


def test_boxes_find_the_moments() -> None:
    """At epsilon 1/5 with 3,000 rows of two values a product errs by 50 or so of 3,000."""
    rows = RNG.choice([-STEPS, STEPS], (3000, 8))
    rows[:, 1] = rows[:, 0]
    found = boxed(rows, Fraction(1, 5), LearningBudget(1), "test")
    spread = np.outer(found.spread, found.spread) * found.matrix[1:, 1:] / 3000
    assert spread[0, 1] > 0.4 > abs(spread[2, 3])
