from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidParameter
from discreet.noise import bernoulli_exp, entropy, gaussian, laplace
from discreet.noise.bernoulli import powers, toss_each
from discreet.noise.gaussian import accepted, centre
from discreet.noise.geometric import draw, plan
from tests.depth import DEEP
from tests.noise.fit import ALARM, alarm, together
from tests.noise.tape import every_tape, exp


def law(variance: float, k: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    weights = np.exp(-(k.astype(float) ** 2) / (2 * variance))
    out: np.ndarray[Any, Any] = weights / weights.sum()
    return out


VARIANCES = [
    Fraction(1, 100), Fraction(1, 3), Fraction(99, 100), Fraction(1), Fraction(5, 2), Fraction(1000, 7),
    Fraction(1 << 20), Fraction((1 << 40) + 1, 3), Fraction(1 << 50),
]  # fmt: skip


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("y", [0, 1, 2, 17])
def test_acceptance_leaves_the_gaussian_law(variance: Fraction, y: int) -> None:
    # e^(-|y|/t) e^(-exponent) must be e^(-y^2/2v) times a constant: the exponents are compared as rationals.
    mu = centre(variance)
    t = variance / mu
    exponent = (y - mu) ** 2 / (2 * variance)
    assert y / t + exponent - Fraction(y * y) / (2 * variance) == mu**2 / (2 * variance)


@pytest.mark.parametrize("variance", VARIANCES)
def test_coins_have_the_probability_of_their_exponent(
    variance: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What reaches the coins, summed, is the exponent, however it was split.
    import sys

    from discreet.noise import gaussian as room  # the function; its module is found through sys.modules

    total: list[Fraction] = []

    def coins(x: Any, *, scale: Any = 1) -> Any:
        total.append(Fraction(int(x[0])) / scale if isinstance(x, np.ndarray) else Fraction(x[0]) / scale)
        return np.ones(len(x), bool)

    assert callable(room)
    monkeypatch.setattr(sys.modules["discreet.noise.gaussian"], "bernoulli_exp", coins)
    mu = centre(variance)
    for y in (0, 1, 5, int(mu) + 1, int(20 * mu) + 3, 1 << 40):
        total.clear()
        accepted(np.array([-y]), variance)
        assert sum(total) == (y - mu) ** 2 / (2 * variance)


def test_the_law_by_every_tape() -> None:
    # Variance 1: mu = 1, discrete Laplace of scale 1, then a coin of e^(-(|y| - 1)^2/2); all bits enumerated:
    # 16 of a tape, 17 in a deep run.
    depth, most = (17, 0.03) if DEEP else (16, 0.035)
    variance, chosen = Fraction(1), plan(Fraction(1), True, 1, 1, 1)
    coin = powers(Fraction(2), 1, 1, 0)

    def run(source: entropy.RandomSource) -> int | None:
        y = int(draw(source, chosen, 1)[0])
        return y if toss_each(source, coin, np.array([(abs(y) - 1) ** 2]))[0] else None

    found, undecided = every_tape(run, depth)
    assert undecided < most
    k = np.arange(-30, 31)
    paper = dict(zip(k.tolist(), law(float(variance), k), strict=True))
    kept = float(sum((mass for y, mass in found.items() if y is not None), Fraction(0)))
    for y in (-2, -1, 0, 1, 2):
        assert float(found[y]) / kept == pytest.approx(paper[y], abs=2 * float(undecided))
    assert float(exp(Fraction(-1, 2))) * kept > 0  # the constant e^(-mu^2/2v) is lost to rejection


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(700, 3)])
def test_goodness_of_fit(variance: Fraction) -> None:
    # 300,000 draws; false alarm 2e-11; a bin of 1/64 wrong by 19 %, or a variance by 10 %, is caught.
    draws = gaussian(variance, 300_000)
    reach = max(3, int(6 * float(variance) ** 0.5))
    k = np.arange(-reach, reach + 1)
    counts = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=k.size)
    assert alarm(counts, law(float(variance), k)) > ALARM
    assert alarm(counts, law(float(variance) * 1.1, k)) < ALARM or variance < 1
    assert together(draws[1:] > 0, draws[:-1] > 0) > ALARM


@pytest.mark.parametrize("variance", [Fraction(1 << 20), Fraction((1 << 40) + 1, 3), Fraction(1 << 50)])
def test_goodness_of_fit_of_wide_laws(variance: Fraction) -> None:
    # 100,000 draws against 64 equal bins of the normal law; the steps are too fine to matter. Low bits are fair.
    draws = gaussian(variance, 100_000)
    u = stats.norm.cdf(draws / float(variance) ** 0.5)
    assert alarm(np.bincount((u * 64).astype(int), minlength=64), np.full(64, 1 / 64)) > ALARM
    assert alarm(np.bincount(draws & 7, minlength=8), np.full(8, 1 / 8)) > ALARM


def test_a_wrong_acceptance_is_seen() -> None:
    # Planted fault: the square in the exponent is forgotten.
    y = laplace(10, 300_000)
    mu = centre(Fraction(100))
    faulty = y[bernoulli_exp(np.abs(np.abs(y) - int(mu)), scale=20)]
    k = np.arange(-60, 61)
    assert alarm(np.bincount(np.clip(faulty, -60, 60) + 60, minlength=121), law(100.0, k)) < ALARM


def test_shapes_and_types() -> None:
    assert type(gaussian(2)) is int
    assert gaussian(2, (2, 3)).shape == (2, 3)
    assert gaussian(2, 0).shape == (0,)
    assert gaussian("1/3", 4).dtype == np.int64
    assert not gaussian(Fraction(1, 1 << 20), 1000).any()


@pytest.mark.parametrize("variance", [0, -1, 2**51, Fraction(1, 1 << 21), float("nan"), True, None, "x"])
def test_bad_variances(variance: Any) -> None:
    with pytest.raises(InvalidParameter, match="variance"):
        gaussian(variance, 3)
