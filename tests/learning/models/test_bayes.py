"""Naive Bayes: near the truth where people are many, and noise is read as noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from discreet.errors import InvalidParameter
from discreet.learning import CategoricalNB, GaussianNB
from discreet.learning.models.bayes import balanced, moments, shrunk
from discreet.learning.statistics import STEPS

RNG = np.random.default_rng(3)
LABELS = RNG.integers(0, 3, 20_000)
ROWS = np.clip(RNG.normal(LABELS[:, None] * [2.0, -1.0] + [1, 3], [0.5, 1.0]), -2, 8)


def test_means_and_variances_are_near_the_truth() -> None:
    """At epsilon 20 the noise on a sum is some 0.2 rows of 6,000: 0.1 is far beyond it, and beyond sampling."""
    made = GaussianNB(20, bounds=(-2, 8), classes=(0, 1, 2)).fit(ROWS, LABELS)
    assert np.abs(made.theta_ - [[1, 3], [3, 2], [5, 1]]).max() < 0.1
    assert np.abs(made.var_ - [0.25, 1]).max() < 0.1
    assert np.abs(made.class_prior_ - 1 / 3).max() < 0.02
    assert made.score(ROWS, LABELS) > 0.95
    assert np.allclose(np.exp(made.predict_log_proba(ROWS[:9])), made.predict_proba(ROWS[:9]))


def test_labels_keep_their_types_and_another_one_counts_as_the_first() -> None:
    labels = np.where(LABELS > 0, "high", "other")
    made = GaussianNB(20, bounds=(-2, 8), classes=("low", "high")).fit(ROWS, labels)
    assert made.predict([[1.0, 3.0], [5.0, 1.0]]).tolist() == ["low", "high"]


def test_with_noise_alone_classes_are_alike() -> None:
    values, errors = np.array([[5.0, 0.0], [-5.0, 0.0]]), np.array([50.0, 50.0])
    kept, left = shrunk(values, errors, np.ones(2))
    assert np.abs(kept).max() < 0.1 > left.max()
    sharp, _ = shrunk(values, np.array([0.01, 0.01]), np.ones(2))
    assert np.abs(sharp - values).max() < 0.01
    assert np.abs(balanced(np.array([90.0, 110.0]), 1e6, 200) - 100).max() < 1
    assert balanced(np.array([-50.0, 260.0]), 1, 200).min() >= 1


def test_a_row_adds_a_vector_within_its_bounds() -> None:
    """Planted beside it: squares that are not centred add twice as much."""
    rows = np.array([[STEPS, -STEPS, 0, 12345]])
    assert np.abs(moments(rows)).max() <= STEPS
    assert (2 * rows * rows // STEPS).max() > STEPS


def test_categories() -> None:
    colours = np.array([["red", 1], ["blue", 2], ["green", 2]], object)[LABELS]
    made = CategoricalNB(10, categories=[["red", "blue"], [1, 2]], classes=(0, 1, 2)).fit(colours, LABELS)
    assert made.predict(np.array([["red", 1], ["blue", 2], ["violet", 9]], object)).tolist()[:2] == [0, 1]
    assert [one.shape for one in made.feature_log_prob_] == [(3, 2), (3, 2)]
    with pytest.raises(InvalidParameter):
        made.predict([["red"]])


@pytest.mark.parametrize("odd", ["x", None, 1.5, [1], {}, 2**70])
def test_one_odd_value_in_a_list_moves_no_other_row(odd: Any) -> None:
    """A text would make NumPy read texts everywhere, which are no categories then."""
    rows: Any = [[1], [2]] * 500
    rows[3] = [odd]
    made = CategoricalNB(20, categories=[[1, 2]], classes=(0, 1)).fit(rows, [0, 1] * 500)
    assert made.predict([[1], [2]]).tolist() == [0, 1]
    with pytest.raises(InvalidParameter):
        made.fit([[1], [1, 2]], [0, 1])
    with pytest.raises(InvalidParameter):
        made.fit(["1", "2"], [0, 1])
