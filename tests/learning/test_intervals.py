"""Intervals of coefficients hold as often as they say, and have no ends where noise hides all."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from benchmarks.learned.covering import coverage

from discreet.errors import InvalidParameter
from discreet.learning import LinearRegression, intervals

RUNS = 60
ROWS = np.random.default_rng(3).uniform(0, 1, (3000, 2))
LINE = LinearRegression(5, bounds=(0, 1), target_bounds=(0, 3)).fit(ROWS, ROWS.sum(axis=1))


def test_they_hold_as_often_as_they_say() -> None:
    """60 fits of 3 slopes and an intercept, of people drawn anew: at 95 %, less than 80 % hold with a chance below 1e-9
    if fits are independent, each with all four together at worst (binomial of 60, 0.95: P(below 43) < 1e-9)."""
    held, ended, _ = coverage(4000, 2.0, RUNS)
    assert held > 42 / RUNS
    assert ended > 0.5


def test_intervals_that_forget_the_noise_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: only people are drawn, no noise; they hold far less often, and the test above would see it."""
    monkeypatch.setattr(
        intervals,
        "_leftovers",
        lambda found, weights, _: np.random.default_rng(1).normal(0, 1, (500, len(weights))),
    )
    held, _, _ = coverage(4000, 2.0, RUNS)
    assert held < 0.6


def test_their_shape_and_their_width() -> None:
    wide, narrow = LINE.intervals(0.99), LINE.intervals(0.5)
    assert wide.shape == (3, 2)
    assert (wide[:, 1] - wide[:, 0] > narrow[:, 1] - narrow[:, 0]).all()
    with pytest.raises(InvalidParameter):
        LINE.intervals(1)


def test_the_same_release_has_the_same_intervals() -> None:
    saved = pickle.loads(pickle.dumps(LINE))
    assert np.array_equal(LINE.intervals(), LINE.intervals())
    assert np.array_equal(LINE.intervals(), saved.intervals())


def test_noise_alone_has_no_ends() -> None:
    few = LinearRegression("0.01", bounds=(0, 1), target_bounds=(0, 3)).fit(ROWS[:50], ROWS[:50, 0])
    assert not np.isfinite(few.intervals()).any()
