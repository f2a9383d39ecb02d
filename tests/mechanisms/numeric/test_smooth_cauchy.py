"""The smooth sensitivity is smooth, exactly, and its noise is that of the formula."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from math import comb, exp

import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import Climbed, SmoothCauchy
from discreet.mechanisms.numeric import smooth_cauchy as module
from discreet.noise.digits import enclose_exp

RUNGS: list[Callable[[int], int]] = [
    lambda x: min(x, 30), lambda x: x, lambda x: 2 * comb(min(x, 30), 2), lambda x: (x + 1) ** 2 + 2 * x**2,
]  # fmt: skip


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1), Fraction(4)])
def test_it_bounds_the_local_sensitivity_and_is_smooth(rung: Callable[[int], int], epsilon: Fraction) -> None:
    mechanism = SmoothCauchy(epsilon, rung, 10**9)
    least = Fraction(enclose_exp(epsilon / 6, 60)[0], 1 << 60)  # at most e^-beta
    found = [mechanism.sensitivity(width) for width in range(40)]
    for width, size in enumerate(found):
        assert size >= rung(width)
        whole = max(exp(-float(epsilon) * t / 6) * rung(width + t) for t in range(400))
        assert float(size) == pytest.approx(whole)
    for one, other in itertools.pairwise(found):
        assert one >= least * other
        assert other >= one  # so that a bound of the width bounds the error


def test_a_bound_that_is_not_smooth_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmoothCauchy, "sensitivity", lambda self, width: Fraction(self.rung(width)))
    mechanism = SmoothCauchy(1, RUNGS[0], 99)
    assert mechanism.sensitivity(1) < Fraction(exp(-1 / 6)) * mechanism.sensitivity(2)


def test_the_noise_is_cauchy_of_six_sensitivities_by_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Fraction] = []

    def noise(scale: Fraction) -> int:
        seen.append(scale)
        return 7

    monkeypatch.setattr(module, "rounded_cauchy", noise)
    mechanism = SmoothCauchy(Fraction(1, 2), RUNGS[0], 100)
    assert mechanism.release(Climbed(50, 10)) == 57
    assert mechanism.release(Climbed(99, 10)) == 100
    assert seen[0] == 12 * mechanism.sensitivity(10)
    assert SmoothCauchy(1, lambda _: 0, 5).release(Climbed(3, 0)) == 3


def test_the_published_median_on_the_club() -> None:
    assert SmoothCauchy(1, lambda width: min(width, 32), 5984).half_width(0.5, 10) == 60


def test_bad_parameters() -> None:
    with pytest.raises(InvalidParameter, match="1/100"):
        SmoothCauchy(Fraction(1, 101), RUNGS[0], 1)
    with pytest.raises(InvalidParameter, match="Climbed"):
        SmoothCauchy(1, RUNGS[0], 1).release(7)  # type: ignore[arg-type]
