"""Intervals of coefficients hold as often as they say, and have no ends where noise hides all."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from benchmarks.learned import covering
from benchmarks.learned.covering import Population, coverage

from discreet.errors import InvalidParameter
from discreet.learning import LinearRegression, intervals, whole
from discreet.learning.whole import leverage
from tests.depth import DEEP

RUNS = 60
ROWS = np.random.default_rng(3).uniform(0, 1, (3000, 2))
LINE = LinearRegression(5, bounds=(0, 1), target_bounds=(0, 3)).fit(ROWS, ROWS.sum(axis=1))


@pytest.fixture(scope="module")
def skewed() -> Population:
    return covering.lognormal()


def test_they_hold_as_often_as_they_say(skewed: Population) -> None:
    """60 fits to skewed incomes of people drawn anew: at 95 %, less than 80 % of the intervals of a coefficient hold
    with a chance below 1e-9 (binomial of 60, 0.95: P(below 43) < 1e-9; three coefficients, two cases). A deep run
    has 10,000 rows in the second case."""
    for rows, epsilon in ((1000, 1.0), (10_000 if DEEP else 4000, 5.0)):
        held, ended, _ = coverage(skewed, rows, epsilon, RUNS)
        assert held.min() > 42 / RUNS
        assert ended > 0.7


def test_intervals_that_forget_the_noise_are_found(
    skewed: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: only people are drawn, no noise; they hold far less often, and the test above would see it."""
    monkeypatch.setattr(intervals, "_draws", lambda rng, scales, joint: np.zeros((4000, len(scales))))
    held, _, _ = coverage(skewed, 1000, 1.0, RUNS)
    assert held.min() < 42 / RUNS


def test_intervals_that_forget_the_people_are_found(
    skewed: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: only noise is drawn; where there are many people and little noise, intervals hold far less often."""

    def forgetting(*moments: np.ndarray) -> tuple[np.ndarray, ...]:
        weights, turned, most = leverage(*moments)
        return weights, turned, most * 1e-6

    monkeypatch.setattr(whole, "leverage", forgetting)
    held, _, _ = coverage(skewed, 10_000, 20.0, 30)
    assert held.min() < 0.7


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


def test_shortened_rows_have_no_ends(skewed: Population) -> None:
    """Skewed leftovers turn a line through shortened rows."""
    x, y = skewed.draw(3000, np.random.default_rng(1))
    short = LinearRegression(5, bounds=skewed.bounds, target_bounds=skewed.target_bounds, whole=False).fit(
        x, y
    )
    assert not np.isfinite(short.intervals()).any()
