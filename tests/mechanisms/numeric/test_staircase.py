from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import Laplace, Staircase
from discreet.noise import staircase as draws
from tests.depth import DEEP
from tests.mechanisms.chances import Chances, Found, ceiling, leak
from tests.noise.fit import ALARM, alarm
from tests.noise.tape import exp


def exactly(epsilon: Fraction, width: int, inner: int, k: int) -> Fraction:
    q = exp(-epsilon)
    block, place = divmod(abs(k), width)
    top = (1 - q) / (2 * inner + 2 * q * (width - inner) - (1 - q))
    return top * exp(-epsilon * (block + (place >= inner)))


def law(chances: Chances, mechanism: Staircase, value: int) -> Found[int]:
    return chances.every(lambda: int(mechanism.release(value)), 1e-5)


# A deep run asks width 3 and a smaller epsilon as well.
@pytest.mark.parametrize(("epsilon", "width"), [(2, 1), (3, 2), *[(2, 3), (1, 2)] * DEEP])
def test_the_law_and_the_loss_by_every_value(chances: Chances, epsilon: int, width: int) -> None:
    mechanism = Staircase(epsilon, width)
    found, undecided = law(chances, mechanism, 0)
    assert undecided < 0.01
    for k, mass in found.items():
        assert abs(mass - exactly(Fraction(epsilon), mechanism.width, mechanism.inner, k)) <= undecided
    near = range(-2 * width, 3 * width)
    one, other = ({k: m for k, m in law(chances, mechanism, v)[0].items() if k in near} for v in (0, width))
    # Outputs further out have next to no mass; one and other are cut to those nearer.
    assert leak((one, undecided), (other, undecided)) <= epsilon
    assert ceiling((one, Fraction(0)), (other, Fraction(0))) <= epsilon + 0.1


def test_steps_that_are_too_narrow_are_seen() -> None:
    # Planted fault: the width is one less than the sensitivity. The loss is then two steps.
    k = np.arange(-30, 31)
    mechanism = Staircase(1, 3)
    ratio = np.log(mechanism.pmf(k) / mechanism.pmf(k + 4))
    assert np.abs(np.log(mechanism.pmf(k) / mechanism.pmf(k + 3))).max() == pytest.approx(1)
    assert ratio.max() == pytest.approx(2)


def test_a_vector_would_be_charged_twice_and_is_refused() -> None:
    # Two coordinates of width 2 that move by 1 each have L1 sensitivity 2, and lose more than epsilon.
    k = np.arange(-9, 10)
    mechanism = Staircase(1, 2)
    each = np.log(mechanism.pmf(k) / mechanism.pmf(k + 1)).max()
    assert 2 * each == pytest.approx(2)
    for value in ([1, 2], np.array([3]), []):
        with pytest.raises(InvalidParameter, match="one number"):
            mechanism.release(value)


@pytest.mark.parametrize(
    ("epsilon", "width", "inner"), [(2, 5, 2), (Fraction(1, 10), 3, 1), (4, 1, 1), (1, 4, 4)]
)
def test_goodness_of_fit(epsilon: Any, width: int, inner: int) -> None:
    # 50,000 draws; false alarm 2e-11; a bin of 1/20 wrong by 26 % is caught.
    drawn = np.array(draws(Fraction(epsilon), width, inner, 50_000))
    reach = 6 * width
    k = np.arange(-reach, reach + 1)
    paper = np.array([float(exactly(Fraction(epsilon), width, inner, int(x))) for x in k])
    beyond = 1 - paper.sum()
    counts = np.bincount(np.clip(drawn, -reach - 1, reach + 1) + reach + 1, minlength=k.size + 2)
    assert alarm(counts, np.concatenate([[beyond / 2], paper, [beyond / 2]])) > ALARM


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.5, 1), (1, 7), (3, 100), (5, 1000), (10, 64)])
def test_formulas_agree_with_sums(epsilon: float, sensitivity: int) -> None:
    mechanism = Staircase(epsilon, sensitivity)
    k = np.arange(-100 * sensitivity, 100 * sensitivity + 1)
    p = mechanism.pmf(k)
    assert p.sum() == pytest.approx(1)
    assert (p * np.abs(k)).sum() == pytest.approx(mechanism.mean_abs)
    for confidence in (0.5, 0.95, 0.999):
        m = int(mechanism.error(confidence))
        assert p[np.abs(k) <= m].sum() >= confidence - 1e-9
        assert m == 0 or p[np.abs(k) <= m - 1].sum() < confidence
    best = min(mechanism._mean_abs(r) for r in range(1, mechanism.width + 1))
    assert mechanism.mean_abs == pytest.approx(best)


def test_the_gain_over_laplace() -> None:
    # On a fine grid E|noise| of Laplace is (e^eps - 1)/(eps e^(eps/2)) times that of the staircase.
    for epsilon, gain in ((1, 1.04), (3, 1.42), (5, 2.42), (10, 14.8)):
        stairs = Staircase(epsilon, 1, granularity=2**-20)
        assert 1 / epsilon / stairs.mean_abs == pytest.approx(gain, rel=0.005)
        assert gain == pytest.approx((math.exp(epsilon) - 1) / (epsilon * math.exp(epsilon / 2)), rel=0.005)
    # For a count it is discrete Laplace noise.
    assert Staircase(2).mean_abs == pytest.approx(Laplace(2).distribution.mean_abs)
    # 20,000 draws: the mean of |noise| within 7 deviations, false alarm 3e-12.
    noise = np.abs(draws(Fraction(5), 1000, Staircase(5, 1000).inner, 20_000))
    assert abs(noise.mean() - Staircase(5, 1000).mean_abs) < 7 * noise.std() / math.sqrt(20_000)


def test_releases() -> None:
    assert type(Staircase(1).release(7)) is int
    real = Staircase(1, 0.3, granularity=2**-10)
    assert real.release(0.7) * 2**10 % 1 == 0
    assert Staircase("1/72057594037927936").release(2**63 - 1) <= 2**63 - 1
    assert Staircase(3, 4).loss == 3
    assert real.width == math.ceil(0.3 * 2**10)
    assert Staircase(1, 2, granularity=0.5).error() % 0.5 == 0
    assert Staircase(1, 2).pmf(0.5) == 0


@pytest.mark.parametrize("bad", [float("nan"), 0.5, True, "x", None, 2**70])
def test_bad_values(bad: Any) -> None:
    with pytest.raises(InvalidParameter):
        Staircase(1).release(bad)


@pytest.mark.parametrize("name", ["epsilon", "sensitivity", "granularity"])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "x", [1]])
def test_bad_parameters(name: str, bad: Any) -> None:
    with pytest.raises(InvalidParameter, match=name):
        Staircase(**{"epsilon": 1, name: bad})
