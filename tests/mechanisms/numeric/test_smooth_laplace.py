"""Laplace noise of the smooth sensitivity has no more delta than it says, from the exact laws of all neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from math import ceil, comb, exp, log

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import Climbed, SmoothLaplace
from discreet.mechanisms.numeric import smooth_laplace as module
from discreet.mechanisms.numeric.smoothness import smooth_sensitivity

RUNGS: list[Callable[[int], int]] = [lambda x: min(x, 12), lambda x: 2 * comb(min(x, 9), 2), lambda x: x]
CASES = [
    (Fraction(1), Fraction(1, 100)),
    (Fraction(1, 2), Fraction(1, 10**4)),
    (Fraction(3), Fraction(1, 10**6)),
]


def delta(one: tuple[int, float], other: tuple[int, float], epsilon: float) -> float:
    """The least delta from one law to another: each is a middle and a scale."""
    reach = ceil(60 * max(one[1], other[1])) + abs(one[0] - other[0])
    k = np.arange(min(one[0], other[0]) - reach, max(one[0], other[0]) + reach + 1)

    def law(middle: int, scale: float) -> np.ndarray:
        return np.asarray(np.tanh(0.5 / scale) * np.exp(-np.abs(k - middle) / scale))

    return float(np.maximum(law(*one) - np.exp(epsilon) * law(*other), 0).sum())


def worst(mechanism: SmoothLaplace, widths: int = 16) -> float:
    """The largest delta over neighbours of all widths up to some, each moved as far as either of them allows."""
    scales = [float(mechanism.scale(width)) for width in range(widths + 1)]
    found = [0.0]
    for width in range(widths):
        for at, next_to in ((width, width), (width, width + 1), (width + 1, width)):
            moved = min(mechanism.rung(at), mechanism.rung(next_to))
            if scales[at] and scales[next_to]:
                laws = [((0, scales[at]), (far, scales[next_to])) for far in (0, moved // 2, moved)]
                found += [delta(*one, float(mechanism.epsilon)) for one in laws]
    return max(found)


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize(("epsilon", "allowed"), CASES)
@pytest.mark.parametrize("width", [0, 8])
def test_the_delta_of_all_neighbours_is_allowed(
    rung: Callable[[int], int], epsilon: Fraction, allowed: Fraction, width: int
) -> None:
    mechanism = SmoothLaplace(epsilon, allowed, rung, 10**9, width)
    assert worst(mechanism) <= float(allowed)


def test_the_delta_is_needed() -> None:
    """Where a width moves all the way that is allowed, at least a fifth of delta is used."""
    mechanism = SmoothLaplace(1, Fraction(1, 100), lambda x: x, 10**9, 0)
    q = 1 - 1 / mechanism.steps
    least, top = float(2000 / mechanism.shift), 2000
    assert delta((0, least / q), (top, least), 1) > 1 / 500


def test_noise_of_the_local_sensitivity_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "smooth_sensitivity", lambda rung, width, q: Fraction(rung(width)))
    assert worst(SmoothLaplace(1, Fraction(1, 10**4), RUNGS[2], 10**9)) > 1e-3


def test_no_part_of_epsilon_for_the_scale_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_possible", lambda epsilon, allowed: iter([(24, epsilon)]))
    assert worst(SmoothLaplace(1, Fraction(1, 10**4), RUNGS[2], 10**9)) > 1e-3


@pytest.mark.parametrize(("epsilon", "allowed"), CASES)
def test_it_is_no_wider_than_the_published_choice(epsilon: Fraction, allowed: Fraction) -> None:
    for width in (0, 5, 40):
        beta = float(epsilon) / (2 * log(2 / allowed))
        theirs = 2 / float(epsilon) * max(exp(-beta * t) * (width + t) for t in range(2000))
        assert float(SmoothLaplace(epsilon, allowed, lambda x: x, 10**9, width).scale(width)) < 0.9 * theirs


def test_scales_are_smooth_after_rounding() -> None:
    for rung in RUNGS:
        mechanism = SmoothLaplace(Fraction(1, 3), Fraction(1, 10**6), rung, 10**9, 5)
        q = 1 - Fraction(1, mechanism.steps)
        scales = [mechanism.scale(width) for width in range(30)]
        assert all(q * b <= a <= b for a, b in itertools.pairwise(scales))
        assert all(rung(width) <= mechanism.shift * scale for width, scale in enumerate(scales))


def test_rounding_without_its_allowance_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a coarse grid a scale rounded up by itself is more than one step of smoothness away from the next."""
    monkeypatch.setattr(module, "_GRID", 1)
    mechanism = SmoothLaplace(4, Fraction(1, 10**6), lambda x: x, 10**9, 30)
    q = 1 - Fraction(1, mechanism.steps)
    bare = [ceil(smooth_sensitivity(mechanism.rung, w, q) / mechanism.shift) for w in range(60)]
    assert any(q * b > a for a, b in itertools.pairwise(bare))
    kept = [mechanism.scale(w) for w in range(60)]
    assert all(q * b <= a for a, b in itertools.pairwise(kept))


def test_releases() -> None:
    still = SmoothLaplace(1, 1e-6, lambda _: 0, 5)
    assert (still.release(Climbed(3, 0)), still.release(Climbed(9, 0)), still.half_width(0.9)) == (3, 5, 0)
    # Of 200 beyond the half-width at 1 - 1e-12 none: false alarms are below 1e-9. Noise of twice the scale is found.
    mechanism = SmoothLaplace(1, 1e-6, lambda x: min(x, 32), 10**6, 10)
    drawn = [mechanism.release(Climbed(5 * 10**5, 10)) - 5 * 10**5 for _ in range(200)]
    assert max(map(abs, drawn)) <= mechanism.half_width(1 - 1e-12, 10)
    assert mechanism.half_width_up_to(10) == mechanism.half_width(0.95, 10) > mechanism.half_width(0.95, 9)


def test_bad_parameters() -> None:
    for wrong in (0, 1, -1):
        with pytest.raises(InvalidParameter, match="delta"):
            SmoothLaplace(1, wrong, RUNGS[0], 9)
    with pytest.raises(InvalidParameter, match="no such noise"):
        SmoothLaplace(Fraction(1, 10**5), Fraction(1, 10**9), RUNGS[0], 9)
    with pytest.raises(InvalidParameter, match="Climbed"):
        SmoothLaplace(1, 1e-6, RUNGS[0], 9).release(7)  # type: ignore[arg-type]
