"""k-means: centres where people are many, and rounds by public numbers."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.errors import InvalidParameter
from discreet.learning import KMeans, LearningBudget
from discreet.learning.models.clusters import (
    LONG,
    MOST_ROUNDS,
    MOST_STARTS,
    _far,
    nearest,
    rounds_for,
    spread_out,
    starts_for,
    steps,
)
from discreet.learning.statistics import STEPS

RNG = np.random.default_rng(3)
TRUE = np.array([[2.0, 2.0], [8.0, 3.0], [5.0, 8.0]])
ROWS = np.clip(TRUE[RNG.integers(0, 3, 15_000)] + RNG.normal(0, 0.4, (15_000, 2)), 0, 10)


def test_centres_are_near_the_truth() -> None:
    """At epsilon 20 noise moves a centre by some thousandths: 0.3 is far beyond it."""
    made = KMeans(3, epsilon=20, bounds=(0, 10), rounds=6).fit(ROWS)
    far = np.linalg.norm(made.cluster_centers_[:, None] - TRUE, axis=2)
    assert far.min(axis=0).max() < 0.3
    assert abs(made.counts_.sum() - 15_000) < 300
    assert sorted(made.predict(TRUE).tolist()) == [0, 1, 2]
    assert made.score(TRUE) > -0.02
    assert made.fit_predict(ROWS[:50]).shape == (50,)


def test_noise_alone_leaves_centres_inside_the_bounds() -> None:
    made = KMeans(5, epsilon="0.001", bounds=[(0, 10), (3, 4)]).fit(ROWS[:20])
    assert (made.cluster_centers_ >= [0, 3]).all()
    assert (made.cluster_centers_ <= [10, 4]).all()


def test_rounds_grow_with_epsilon_and_people_and_points_are_apart() -> None:
    assert rounds_for(0.01, 100, 3, 2) == 1
    assert rounds_for(10, 10**6, 3, 2) == MOST_ROUNDS
    points = spread_out(4, 3)
    apart = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(4, 1)]
    assert apart.min() > 1.3
    assert not spread_out(1, 3).any()


def test_a_row_moves_its_own_cluster_by_one_at_most() -> None:
    rows, centres = np.array([[-1.0], [1.0]]), np.array([[-0.9], [0.2]])
    places = nearest(rows, centres)
    assert places.tolist() == [0, 1]
    added = steps(rows, centres, places, np.array([0.1]))
    assert np.abs(added).max() <= STEPS


def test_more_centres_than_memory_are_refused_before_the_charge() -> None:
    budget = LearningBudget(1)
    with pytest.raises(InvalidParameter, match="too many"):
        KMeans(20_000, bounds=(0, 1), rounds=1, budget=budget).fit(np.zeros((5, 1)))
    assert budget.state.spent == 0


def test_starts_are_public_and_the_best_is_taken() -> None:
    """At epsilon 20 the noise on the sums of distances is below a thousandth of them."""
    assert [starts_for(one, 15_000, 3, 2) for one in (0.1, 1, 20)] == [1, 5, MOST_STARTS]
    budget = LearningBudget(20)
    made = KMeans(3, epsilon=20, bounds=(0, 10), budget=budget).fit(ROWS)
    assert budget.state.left == 0
    far = np.linalg.norm(made.cluster_centers_[:, None] - TRUE, axis=2)
    assert far.min(axis=0).max() < 0.3


def test_a_row_moves_the_distance_of_each_start_by_one_at_most() -> None:
    rows = RNG.integers(-STEPS, STEPS, (500, 3))
    rows[::2] = RNG.choice([-STEPS, STEPS], (250, 3))
    added = _far(rows, np.array([[0.9, 0.9, 0.9], [1.0, 0.0, 0.0]]), LONG * 0.3)
    assert added.min() >= 0
    assert added.max() == STEPS
    planted = _far(rows, np.array([[0.9, 0.9, 0.9], [1.0, 0.0, 0.0]]), 1e9)
    assert planted.max() < STEPS, "without the cut nothing would reach it"
