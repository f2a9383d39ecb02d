"""The line of medians: near the truth where moments drown, and no row moves it by more than its sensitivity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.errors import InvalidParameter
from discreet.learning import LearningBudget, LinearRegression, robust
from discreet.learning.robust import LEAVES, heights, matchings, rounds_of
from discreet.learning.statistics import STEPS

RNG = np.random.default_rng(8)


def grid(rows: int) -> Any:
    """Rows on the grid: corners and equal features among them."""
    return RNG.choice([-STEPS, -7, 0, 1, STEPS // 3, STEPS], (rows, 2))


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 7, 8, 61, 400])
def test_a_row_is_in_one_pair_of_each_round_and_meets_nobody_twice(rows: int) -> None:
    pairs = matchings(rows, RNG.permutation(rows))
    assert np.bincount(pairs.ravel(), minlength=max(rows, 1)).max(initial=0) <= rounds_of(rows)
    assert len({frozenset(pair) for pair in pairs.T.tolist()}) == pairs.shape[1]
    assert pairs.shape[1] == rounds_of(rows) * (rows // 2)


def moved_ranks(rows: int, height: Any = heights) -> tuple[float, int]:
    """The most that one row of random neighbours moves the distances of leaves, and how far it may."""
    pairs = matchings(rows, RNG.permutation(rows))
    one = grid(rows)
    other = one.copy()
    other[RNG.integers(rows)] = grid(1)[0]
    ranks = []
    for side in (one, other):
        leaf = height(side, pairs)
        below = np.array([np.bincount(place, minlength=LEAVES).cumsum() for place in leaf])
        half = leaf.shape[1] / 2
        ahead = np.column_stack([np.zeros(len(leaf)), below[:, :-1]])
        ranks.append(np.maximum(0, np.maximum(ahead - half, half - below)))
    return float(np.abs(ranks[0] - ranks[1]).max(axis=1).sum()), 2 * rounds_of(rows)


def test_a_row_moves_ranks_by_no_more_than_the_sensitivity() -> None:
    for _ in range(200):
        moved, most = moved_ranks(int(RNG.integers(2, 30)))
        assert moved <= most


def test_a_row_that_moves_all_pairs_is_found() -> None:
    """Planted: heights around the mean of all features, which every row moves."""

    def around(rows: Any, pairs: Any) -> Any:
        return heights(np.column_stack([rows[:, 0], rows[:, 1] - int(rows[:, 1].mean())]), pairs)

    assert any(moved > most for moved, most in (moved_ranks(29, around) for _ in range(50)))


def test_few_rows_on_a_line_are_found_where_moments_drown() -> None:
    """600 rows at epsilon 1: a leaf that is off by 300 ranks weighs e^-37, as 8 ranks weigh a factor of e.

    There are 512 leaves, two medians and five fits: one is off with a probability of 512 * 2 * 5 * e^-37 < 1e-12.
    """
    x = np.linspace(0, 10, 600)[:, None]
    budget = LearningBudget(10)
    for _ in range(5):
        made = LinearRegression(1, bounds=[(0, 10)], target_bounds=(0, 40), budget=budget)
        assert made.fit(x, 3 * x[:, 0] + 2).score(x, 3 * x[:, 0] + 2) > 0.9
        assert not np.isfinite(made.intervals()).any()
    assert budget.state.spent == 5


def test_public_numbers_alone_decide() -> None:
    assert robust.robust_for(1, 200, 1)
    assert not any(robust.robust_for(*public) for public in ((1, 200, 2), (1, 20, 1), (3, 2000, 1)))


def test_odd_rows_are_no_errors() -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, 0.0])[:, None]
    for rows in range(6):
        made = LinearRegression(1, bounds=[(0, 1)], target_bounds=(0, 1), robust=True)
        if rows:
            made.fit(odd[:rows], odd[:rows, 0])
            assert np.isfinite(made.predict([[0.5]])).all()


@pytest.mark.parametrize("wrong", [{"robust": 1}, {"robust": True, "whole": True}, {"bounds": [(0, 1)] * 2}])
def test_what_medians_cannot_do_is_free(wrong: dict[str, Any]) -> None:
    budget = LearningBudget(1)
    known = {"bounds": [(0, 1)], "target_bounds": (0, 1), "robust": True, "budget": budget, **wrong}
    x = np.zeros((30, len(known["bounds"])))
    with pytest.raises(InvalidParameter):
        LinearRegression(1, **known).fit(x, x[:, 0])
    assert budget.state.spent == 0
