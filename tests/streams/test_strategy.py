"""Every strategy by its dense matrices: L R = A exactly, its sensitivities and its errors."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.streams.choice import STRATEGIES
from discreet.streams.direct import Fraction, PerPeriod
from discreet.streams.doubling import Doubling
from discreet.streams.strategy import Strategy
from discreet.streams.tree import Tree
from tests.streams.dense import left, right

PERIODS = (1, 2, 3, 7, 8, 30, 33)


def every(periods: int) -> list[Strategy]:
    trees = [
        Tree(periods, h, averaged) for h in range(1, periods.bit_length() + 1) for averaged in (True, False)
    ]
    trees += [Tree(periods, h, branches=b) for b in (3, 5) for h in (1, 2, 3) if b ** (h - 1) <= periods]
    return [*(kind(periods) for kind in STRATEGIES), Doubling(periods, gaussian=True), *trees]


def faults(strategy: Strategy) -> set[str]:
    """The promises of the base class that a strategy breaks."""
    r, back, single = right(strategy), left(strategy), left(strategy, period=True)
    periods = strategy.periods
    whole = r.astype(object)
    checks = {
        "totals": np.allclose(back @ r, np.tri(periods)),
        "counts": np.allclose(single @ r, np.eye(periods)),
        "l1": abs(whole).sum(axis=0).max() <= strategy.l1,
        "l2": (whole**2).sum(axis=0).max() <= strategy.l2_squared,
        "gains": np.allclose((back**2).sum(axis=1), strategy.gains, rtol=1e-9, atol=0),
        "signs": (r >= 0).all(),  # the proof for a unit that is replaced needs it
        "rms": strategy.rms() == pytest.approx(float(strategy.gains.mean()) ** 0.5),
        "row": abs(whole).sum(axis=1).max() <= strategy.row,
    }
    return {name for name, holds in checks.items() if not holds}


@pytest.mark.parametrize("periods", PERIODS)
def test_every_strategy_keeps_its_promises(periods: int) -> None:
    for strategy in every(periods):
        assert faults(strategy) == set(), strategy.name
        r = right(strategy).astype(object)
        if not isinstance(strategy, Fraction):  # whose remainder is never spent
            assert (abs(r).sum(axis=0).max(), (r**2).sum(axis=0).max()) == (strategy.l1, strategy.l2_squared)


@pytest.mark.parametrize("periods", PERIODS)
def test_every_part_of_the_stream_has_its_weights(periods: int) -> None:
    sums = np.tri(periods)
    for strategy in every(periods):
        r = right(strategy)
        for window in {1, 2, periods // 2 or 1, periods}:
            gains = strategy.window_gains(window)
            for t in range(1, periods + 1):
                weights = strategy.between(max(0, t - window), t)
                wanted = sums[t - 1] - (sums[t - 1 - window] if t > window else 0)
                assert np.abs(weights @ r[: len(weights)] - wanted).max() < 1e-8, strategy.name
                assert gains[t - 1] == pytest.approx(float(weights @ weights)), strategy.name


class TooQuiet(Tree):
    l1 = l2_squared = 3  # of five levels


class Biased(PerPeriod):
    def weights(self, t: int) -> np.ndarray:
        return np.full(t, 0.9)


class Twice(PerPeriod):
    def exact(self, t: int, counts: np.ndarray) -> np.ndarray:
        return np.asarray(counts[max(0, t - 2) : t].sum(axis=0, keepdims=True))


class Negative(PerPeriod):
    def exact(self, t: int, counts: np.ndarray) -> np.ndarray:
        return np.asarray(-counts[t - 1 : t])

    def between(self, s: int, t: int) -> np.ndarray:
        return -super().between(s, t)

    def weights(self, t: int) -> np.ndarray:
        return -np.ones(t)


class LoudEpoch(Doubling):
    @property
    def l1(self) -> int:
        return super().l1 - 1


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        (TooQuiet(30, 5), {"l1", "l2"}),
        (Negative(30), {"signs"}),
        (LoudEpoch(30), {"l1"}),
        (Biased(30), {"totals", "gains"}),
        (Twice(30), {"totals", "counts", "l1", "l2"}),
    ],
)
def test_planted_faults_are_found(planted: Strategy, found: set[str]) -> None:
    assert faults(planted) == found


@pytest.mark.parametrize("kind", STRATEGIES)
def test_counts_at_the_cap_stay_in_64_bits(kind: type[Strategy]) -> None:
    for periods in (1, 5, 64, 300):
        strategy = kind(periods)
        largest = np.full((periods, 1), strategy.cap)
        for t in (1, periods // 2 or 1, periods):
            assert (strategy.exact(t, largest) > 0).all()
            assert (strategy.exact(t, -largest) < 0).all()
            assert abs(strategy.exact(t, largest)).max() <= 1 << 61


@pytest.mark.parametrize("periods", [0, -1, True, 1.5, (1 << 20) + 1])
def test_no_such_number_of_periods(periods: int) -> None:
    with pytest.raises(InvalidParameter):
        PerPeriod(periods)
