"""Trees: splits that matter, leaves that count, a depth that is public."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.learning import DecisionTreeClassifier
from discreet.learning.models.trees import (
    CUTS,
    _counted,
    _public,
    _uses,
    bins_of,
    chances,
    depth_for,
    drawn,
    right,
)
from discreet.learning.statistics import STEPS

RNG = np.random.default_rng(3)
ROWS = RNG.uniform(0, 16, (20_000, 4))
LABELS = np.where(ROWS[:, 2] < 5, 0, np.where(ROWS[:, 1] < 9, 1, 2))


def test_it_finds_the_splits() -> None:
    """At epsilon 20 the score of a split that is not right is thousands below: chosen with a chance below e^-100."""
    made = DecisionTreeClassifier(20, bounds=(0, 16), classes=(0, 1, 2), max_depth=3).fit(ROWS, LABELS)
    assert made.score(ROWS, LABELS) > 0.99
    assert (made.feature_[0], made.threshold_[0]) in ((2, 5.0), (1, 9.0))
    assert np.allclose(made.predict_proba(ROWS[:9]).sum(axis=1), 1)


def test_without_many_people_the_splits_are_public_and_leaves_are_named() -> None:
    for rows, depth in ((30, 3), (60, 2)):
        made = DecisionTreeClassifier(1, bounds=(0, 16), classes=(0, 1, 2)).fit(ROWS[:rows], LABELS[:rows])
        assert made.depth_ == depth
        assert made.predict(ROWS[:5]).shape == (5,)
        assert set(np.unique(made.leaf_proba_).round(3)) == {round(1 / 6, 3), round(2 / 3, 3)}


def test_depth_is_of_public_numbers() -> None:
    assert [depth_for(one, 1000, 2, 6) for one in (0.01, 0.1, 0.5, 1, 1000)] == [0, 0, 4, 5, 6]
    few = [drawn(one, 1000, 2, most) for one, most in ((0.01, 6), (0.03, 6), (0.1, 6), (0.1, 1))]
    assert few == [(1, 2), (64, 2), (256, 3), (16, 1)]
    assert [drawn(one, 1000, 10, 6) for one in (0.1, 0.22, 0.3)] == [(1, 5), (256, 3), (256, 3)]


def test_a_lone_tree_has_two_leaves_or_more_for_each_class() -> None:
    depths = [drawn(0.01, 1000, classes, 10)[1] for classes in (2, 3, 4, 5, 8, 9, 16, 17, 10**6)]
    assert depths == [2, 3, 3, 4, 4, 5, 5, 6, 10]


def test_of_fewest_rows_one_tree_names_all_leaves_for_all_of_epsilon() -> None:
    made = DecisionTreeClassifier(1, bounds=(0, 16), classes=range(9)).fit(ROWS[:30], LABELS[:30])
    assert made.depth_ == 5
    assert made.leaf_proba_.shape == (32, 9)
    uses = _uses(Fraction(1), 5, 60, 9, 1, "replace_one")
    assert {str(use.mechanism.loss) for use in uses.values()} == {"1"}
    assert {use.alternatives for use in uses.values()} == {"leaves"}


def test_a_row_that_is_replaced_moves_the_leaves_of_a_tree_by_at_most_two() -> None:
    """The premise of alternatives: one row moves two counts of leaves by one each, wherever it goes."""
    (tree,) = _public(1, 2, 5)
    bins, places = RNG.integers(0, CUTS + 1, (40, 2)), RNG.integers(0, 9, 40)
    before = _counted(bins, places, tree, 5, 9)
    for at in range(40):
        bins[at], places[at] = RNG.integers(0, CUTS + 1, 2), RNG.integers(0, 9)
        after = _counted(bins, places, tree, 5, 9)
        assert np.abs(after - before).sum() <= 2
        before = after
    bins[:2] = CUTS - bins[:2]  # planted: two rows at once
    places[:2] = (places[:2] + 1) % 9
    assert np.abs(_counted(bins, places, tree, 5, 9) - before).sum() > 2


def test_scores_count_the_rows_that_are_right() -> None:
    bins = bins_of(np.array([[-STEPS], [0], [STEPS]]))
    assert bins.ravel().tolist() == [0, 8, CUTS]
    scores = right(bins, np.array([0, 1, 1]), 2)
    assert scores.tolist() == [3] * 8 + [2] * 7


def test_a_row_more_moves_all_scores_one_way_by_at_most_one() -> None:
    bins, places = RNG.integers(0, CUTS + 1, (40, 2)), RNG.integers(0, 3, 40)
    for at in range(1, 40):
        change = right(bins[: at + 1], places[: at + 1], 3) - right(bins[:at], places[:at], 3)
        assert 0 <= change.min() <= change.max() <= 1


def test_leaves_that_are_noise_follow_their_parents() -> None:
    found = chances(np.array([[900, 10], [0, 0], [5, 800], [0, 900]]), 1.0)
    assert found[1, 0] > 0.5 > found[3, 0]


def test_trees_that_chance_drew_have_thresholds_inside_their_nodes() -> None:
    """Of each feature at most four thresholds follow each other, near the middle of 16, 8 and 4 parts or so."""
    trees = _public(256, 2, 3)
    assert trees.shape == (256, 7)
    assert trees.min() >= 0
    assert trees.max() < 2 * CUTS
    assert set((trees[:, 0] % CUTS).tolist()) <= set(range(5, 10))


def test_a_row_that_is_replaced_moves_the_score_of_each_tree_by_at_most_one() -> None:
    trees = _public(256, 2, 3)[:32]
    bins, places = RNG.integers(0, CUTS + 1, (40, 2)), RNG.integers(0, 3, 40)

    def scores() -> np.ndarray:
        return np.array([_counted(bins, places, one, 3, 3).max(axis=1).sum() for one in trees])

    before = scores()
    for at in range(40):
        bins[at], places[at] = RNG.integers(0, CUTS + 1, 2), RNG.integers(0, 3)
        after = scores()
        assert np.abs(after - before).max() <= 1
        before = after
    places[:] = 0  # planted: all rows at once
    assert np.abs(scores() - before).max() > 1


def test_few_rows_find_a_tree() -> None:
    """150 rows at epsilon 1, right for two thirds by one name: a tree of several right ones is found."""
    made = [
        DecisionTreeClassifier(2, bounds=(0, 16), classes=(0, 1, 2)).fit(ROWS[:150], LABELS[:150])
        for _ in range(5)
    ]
    assert np.median([one.score(ROWS, LABELS) for one in made]) > 0.5
