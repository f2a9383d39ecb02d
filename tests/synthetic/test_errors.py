"""The bounds of errors hold for the true counts, which they do not read."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import AdaptiveRounds
from discreet.synthetic import adaptive
from discreet.synthetic.adaptive import measure, workload_of
from discreet.synthetic.errors import MarginalError, errors_of, noise_most
from discreet.synthetic.fitting import Fitting, NoisyMarginal, total_of
from tests.depth import DEEP
from tests.synthetic.models import SIZES, rows

WORKLOAD = workload_of(SIZES, dict.fromkeys(itertools.combinations(range(5), 2), 1))
RUNS = 7


def all_wrong(concentrated: bool, shrink: float, runs: int = RUNS) -> bool:
    """Whether in each of some runs a bound, made smaller by a factor, is below the true error.

    With the bounds as they are, each run is wrong with a chance of 0.05 at most: all of 7 are with one of 8e-10.
    With a tenth of them, all are wrong: some bound of 15 is less than ten times too large.
    """
    return not any(holds(run, concentrated, shrink) for run in range(runs))


def holds(run: int, concentrated: bool, shrink: float) -> bool:
    counts, _ = rows(run)
    mechanism = AdaptiveRounds(Fraction(1, 50) if concentrated else 1, 1, 1, concentrated=concentrated)
    made = mechanism.release(lambda rounds: measure(rounds, mechanism, counts, WORKLOAD))
    model, total = Fitting(SIZES).fit(made.measured, 50), total_of(made.measured)

    def right(one: MarginalError) -> bool:
        distance = np.abs(counts.marginal(one.columns) - total * model.marginal(one.columns)).sum()
        return one.most is None or bool(distance / (2 * total) <= shrink * one.most)

    return all(map(right, errors_of(made, model, WORKLOAD, concentrated)))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds hold for any model, also for one that was hardly fitted."""
    monkeypatch.setattr(adaptive, "STEPS", 10)


@pytest.mark.parametrize("concentrated", [False, True])
def test_bounds_hold(concentrated: bool) -> None:
    assert not all_wrong(concentrated, 1)


def test_planted_bounds_that_are_too_small_are_found() -> None:
    assert all_wrong(True, 0.1, RUNS if DEEP else 3)


@pytest.mark.parametrize("concentrated", [False, True])
def test_the_norm_of_noise(concentrated: bool) -> None:
    random = np.random.default_rng(3)
    draws = (
        random.normal(0, 7, (20_000, 9)) if concentrated else random.laplace(0, 7 / np.sqrt(2), (20_000, 9))
    )
    most = noise_most(NoisyMarginal((0,), np.zeros(9), 7.0), np.log(20), concentrated)
    beyond = (np.abs(draws).sum(axis=1) > most).mean()
    assert beyond < 0.05
