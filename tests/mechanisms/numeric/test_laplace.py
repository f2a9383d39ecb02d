from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import InvalidParameter
from discreet.mechanisms import Laplace, values
from discreet.mechanisms.numeric.laplace import float_half_width
from discreet.noise.entropy import RandomSource
from discreet.noise.geometric import draw, plan
from tests.depth import DEEP
from tests.noise.fit import ALARM, MANY, laplace_alarms
from tests.noise.tape import every_tape, exp

TENTH = Fraction(1, 10)
GRID = Fraction(1, 8)


# The guarantee.


def within_epsilon(
    one: dict[int, Fraction], other: dict[int, Fraction], undecided: Fraction, bound: Fraction
) -> bool:
    """Whether P(y|D) <= e^epsilon P(y|D') holds at every output, up to the undecided mass."""
    return all(mass <= bound * (other.get(y, Fraction(0)) + undecided) for y, mass in one.items())


def law_by_every_tape(scale: Fraction) -> tuple[dict[int, Fraction], Fraction]:
    chosen = plan(scale, True, 1, 1, 1)

    def run(source: RandomSource) -> int:
        return int(draw(source, chosen, 1)[0])

    return every_tape(run, 24 if DEEP else 20)


def test_neighbours_differ_by_at_most_epsilon_by_every_tape() -> None:
    # Sensitivity 1, epsilon 2: scale 1/2. The answers are 0 and 1; the noise is enumerated exactly.
    noise, undecided = law_by_every_tape(Laplace(2).scale)
    shifted = {k + 1: mass for k, mass in noise.items()}
    assert within_epsilon(noise, shifted, undecided, exp(2))
    assert within_epsilon(shifted, noise, undecided, exp(2))
    # It is tight: for a slightly smaller epsilon the same noise is found out.
    assert not within_epsilon(noise, shifted, undecided, exp(Fraction(199, 100)))


def test_too_little_noise_is_caught_by_every_tape() -> None:
    noise, undecided = law_by_every_tape(Laplace(2).scale * Fraction(19, 20))
    shifted = {k + 1: mass for k, mass in noise.items()}
    assert not within_epsilon(noise, shifted, undecided, exp(2))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 4])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_the_largest_log_ratio_is_epsilon_on_a_grid(epsilon: float, sensitivity: int) -> None:
    law = Laplace(epsilon, sensitivity).distribution
    outputs = np.arange(-20, 21)
    ratio = np.log(law.pmf(outputs)) - np.log(law.pmf(outputs - sensitivity))
    assert np.abs(ratio).max() == pytest.approx(epsilon, rel=1e-9)


def test_checklist_loss_of_one_output() -> None:
    # Sensitivity 1, epsilon .5, y = 38.2, f = 37.9 and 38.9: ln p(y|D)/p(y|D') = .5 (.7 - .3) = .2.
    law = Laplace(0.5, 1, granularity=2**-40).distribution
    one, other = (round((38.2 - f) * 2**40) / 2**40 for f in (37.9, 38.9))  # pmf is 0 off the grid
    assert np.log(law.pmf(one) / law.pmf(other)) == pytest.approx(0.2, rel=1e-9)


def test_checklist_two_people() -> None:
    # Ages capped at 100, epsilon .5: P(|Z| > 100) = e^-1/2.
    law = Laplace(0.5, 100, granularity=2**-10).distribution
    assert 2 * float(law.survival(100)) == pytest.approx(0.6065, abs=1e-4)


def test_checklist_counties() -> None:
    # Replace-one: sensitivity 2, epsilon .1, b = 20; one county's rms 28.28. Add/remove: half of each.
    assert Laplace(0.1, 2).scale == 20
    assert Laplace(0.1, 2).distribution.sd == pytest.approx(28.28, abs=0.01)
    assert Laplace(0.1, 1).scale == 10
    # P(max > b (ln d + t)) <= e^-t
    t = math.log(20)
    assert Laplace(0.1, 2).max_error(3143) <= 20 * (math.log(3143) + t) + 1


def test_checklist_tails() -> None:
    # P(|Z| > t b) = e^-t: the half-width at 95 % is b ln 20.
    fine = Laplace(1, 4, granularity=2**-30)
    assert fine.error(0.95) == pytest.approx(4 * math.log(20), rel=1e-8)


# Scale, sensitivity and the grid.


def test_parameters_are_exact() -> None:
    assert Laplace(0.1).scale == 10
    assert Laplace(0.1).loss == TENTH
    assert Laplace("1/3", Decimal("0.5")).scale == Fraction(3, 2)
    assert Laplace(np.float64(0.3), int(np.int64(3))).scale == 10
    assert Laplace(0.1) == Laplace(Fraction(1, 10), 1)
    assert hash(Laplace(0.1)) == hash(Laplace("0.1"))
    assert repr(Laplace(2)) == "Laplace(epsilon=Fraction(2, 1), sensitivity=Fraction(1, 1), granularity=None)"
    with pytest.raises(AttributeError):
        Laplace(0.1).epsilon = Fraction(5)  # type: ignore[misc]


def test_scale_on_a_grid_pays_for_rounding() -> None:
    mechanism = Laplace(1, 1, granularity=GRID)
    assert mechanism.scale == 1
    assert mechanism.scale_for(5) == 1 + 4 * GRID
    assert Laplace(1, Fraction(1, 3), granularity=GRID).scale == 3 * GRID  # ceil(8/3) steps
    assert Laplace(0.5, 3).scale_for(100) == 6  # integers: no rounding, no surcharge
    assert mechanism.distribution_for(5).scale == mechanism.scale_for(5)


grid_exponents = st.integers(-6, 3)
reals = st.floats(-1e6, 1e6)


@settings(deadline=None)
@given(
    grid_exponents,
    st.lists(st.tuples(reals, st.floats(-50, 50)), min_size=1, max_size=6),
)
def test_rounding_moves_a_vector_by_no_more_than_stated(
    exponent: int, pairs: list[tuple[float, float]]
) -> None:
    grid = Fraction(2) ** exponent
    before = np.array([x for x, _ in pairs])
    after = np.array([x + dx for x, dx in pairs])
    distance = sum((abs(Fraction(a) - Fraction(b)) for a, b in zip(before, after, strict=True)), Fraction(0))
    assume(distance > 0)
    moved = int(np.abs(values.nearest(before, grid) - values.nearest(after, grid)).sum())
    assert moved <= stated(distance, grid, len(pairs))


def stated(sensitivity: Fraction, grid: Fraction, d: int) -> int:
    """The L1 sensitivity in grid steps that the mechanism calibrates to."""
    mechanism = Laplace(1, sensitivity, granularity=grid)
    return int(mechanism.scale_for(d) / grid * mechanism.epsilon)


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("sensitivity", [Fraction(1), Fraction(5, 3), Fraction(1, 100)])
def test_the_stated_sensitivity_is_attained(d: int, sensitivity: Fraction) -> None:
    # d - 1 coordinates step over a boundary by 2^-50, the last takes the rest, from just below a boundary.
    tiny = Fraction(1, 1 << 50)
    boundary = GRID / 2
    before = [boundary - tiny] * d
    after = [boundary] * (d - 1) + [boundary - tiny + sensitivity - (d - 1) * tiny]
    moved = np.abs(values.nearest(after, GRID) - values.nearest(before, GRID)).sum()
    assert moved in (stated(sensitivity, GRID, d), stated(sensitivity - d * tiny, GRID, d))
    if sensitivity == 1:
        assert moved == stated(sensitivity, GRID, d)


def test_rounding_halves_to_even_would_break_it() -> None:
    # The planted fault: np.rint. One step of the value, two of the grid.
    before, after = np.array([0.5]), np.array([1.5])
    assert np.abs(np.rint(after) - np.rint(before)).sum() == 2 > stated(Fraction(1), Fraction(1), 1)
    assert np.abs(values.nearest(after, Fraction(1)) - values.nearest(before, Fraction(1))).sum() == 1


@given(st.floats(-(2.0**62), 2.0**62), st.integers(-6, 512))
def test_rounding_of_floats_is_that_of_rationals(x: float, exponent: int) -> None:
    grid = Fraction(2) ** exponent
    expected = math.floor(Fraction(x) / grid + Fraction(1, 2))
    assume(abs(Fraction(x) / grid) <= 1 << 62)
    assert int(values.nearest(x, grid)) == expected
    assert int(values.nearest(Fraction(x), grid)) == expected


@pytest.mark.parametrize(
    "x", [0.49999999999999994, -0.5, 0.5, 2.0**52 + 1, -(2.0**53) + 1, -1e-320, 1e-320, -0.0]
)
def test_rounding_where_floats_are_awkward(x: float) -> None:
    assert int(values.nearest(x, Fraction(1))) == math.floor(Fraction(x) + Fraction(1, 2))


# Releases.


def test_integers_stay_integers() -> None:
    mechanism = Laplace(0.5)
    assert type(mechanism.release(7)) is int
    assert type(mechanism.release(np.int32(7))) is int
    assert type(mechanism.release(7.0)) is int
    lists: list[Any] = [
        [1, 2, 3],
        np.array([[1, 2], [3, 4]], np.int16),
        np.array([1.0, 2.0]),
        (5,),
        [],
        [Fraction(4)],
    ]
    for given_values in lists:
        released = mechanism.release(given_values)
        assert released.dtype == np.int64
        assert released.shape == np.shape(given_values)


def test_reals_lie_on_the_grid() -> None:
    mechanism = Laplace(0.1, 1, granularity=2**-20)
    assert type(mechanism.release(0.3)) is float
    assert type(mechanism.release(Fraction(1, 3))) is float
    released = mechanism.release(np.random.default_rng().normal(size=(100, 3)))
    assert released.dtype == np.float64
    assert released.shape == (100, 3)
    assert (released * 2**20 % 1 == 0).all()
    coarse = Laplace(0.1, 1e6, granularity=2**10).release(np.linspace(-1e9, 1e9, 1000, dtype=np.float32))
    assert (coarse % 2**10 == 0).all()


@pytest.mark.parametrize("granularity", [None, GRID])
def test_released_noise_has_the_stated_law(granularity: Fraction | None) -> None:
    # 500,000 draws, 8 checks of false alarm 1e-11; power: see tests/noise/fit.py.
    mechanism = Laplace(0.25, 3, granularity=granularity)
    grid = granularity or Fraction(1)
    # 2,000 coordinates at a time, so that the surcharge of rounding (d - 1 steps) is in the scale.
    rows = [mechanism.release(np.full(2000, 40)) for _ in range(MANY // 2000)]
    steps = ((np.concatenate(rows) - 40) / float(grid)).astype(np.int64)
    alarms = laplace_alarms(steps, float(mechanism.scale_for(2000) / grid))
    assert min(alarms.values()) > ALARM, alarms


def test_sums_saturate() -> None:
    limit = 2**63 - 1
    released = Laplace(1, 2**40).release(np.full(1000, limit))
    assert (released > 0).all()
    assert (released == limit).any()
    assert Laplace(1, 2**40).release(np.full(1000, -limit - 1)).max() < 0
    far = Laplace(1, 2.0**550, granularity=2.0**512).release([2.0**574, -(2.0**574)])
    assert np.isfinite(far).all()


@pytest.mark.parametrize("granularity", [None, 1, 2**-10])
@pytest.mark.parametrize(
    "bad",
    [
        float("nan"), [1.0, float("inf")], np.array([np.nan, 1]), True, [True, 2], np.array([True]), "7", ["7"], None,
        [None, 1], 1j, [[1], [1, 2]], 2**70, [2**70], -(2**70), 1e300, np.array([2**64 - 1], np.uint64),
        np.array([1], np.longdouble), np.array(["2020-01-01"], "datetime64[D]"),
    ],
)  # fmt: skip
def test_bad_values_fail_before_any_noise_is_drawn(
    bad: Any, granularity: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(*_: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(sys.modules["discreet.mechanisms.numeric.laplace"], "add_laplace", drawn)
    with pytest.raises(InvalidParameter) as caught:
        Laplace(1, granularity=granularity).release(bad)
    assert "20" not in caught.value.cause  # no data value in a message


def test_a_fraction_without_a_grid_names_a_grid() -> None:
    for bad in (0.5, [1.0, 2.5], Fraction(1, 2)):
        with pytest.raises(InvalidParameter, match=r"granularity=2\*\*-17"):
            Laplace(0.1).release(bad)
    # What it proposes works.
    assert (np.asarray(Laplace(0.1, granularity=2**-17).release([1.0, 2.5])) * 2**17 % 1 == 0).all()


@pytest.mark.parametrize("name", ["epsilon", "sensitivity", "granularity"])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "x", 1j, [1]])
def test_bad_parameters(name: str, bad: Any) -> None:
    parameters: dict[str, Any] = {"epsilon": 1, name: bad}
    with pytest.raises(InvalidParameter, match=name):
        Laplace(**parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 1, "granularity": 0.3},
        {"epsilon": 1, "granularity": 2.0**-600},
        {"epsilon": 2000},
        {"epsilon": 1, "sensitivity": 2**57},
        {"epsilon": 1, "granularity": 2**-57},
    ],
)
def test_parameters_out_of_range(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Laplace(**parameters)


# Error.


@pytest.mark.parametrize(
    "mechanism", [Laplace(1), Laplace(0.1), Laplace(3, 2), Laplace(500, 1), Laplace("1/7", "5/3")]
)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999, "0.999999"])
def test_error_is_the_least_half_width(mechanism: Laplace, confidence: Any) -> None:
    m = mechanism.error(confidence)
    law, level = mechanism.distribution, float(confidence)
    assert isinstance(m, int)
    assert 1 - 2 * law.survival(m) >= level - 1e-12
    assert m == 0 or 1 - 2 * law.survival(m - 1) < level
    together = mechanism.max_error(50, confidence)
    assert (1 - 2 * law.survival(together)) ** 50 >= level - 1e-12
    assert together == 0 or (1 - 2 * law.survival(together - 1)) ** 50 < level


def test_error_is_exact_where_floats_are_not() -> None:
    # P(|Z| <= 0) = (1 - q)/(1 + q) = tanh(1/2b), compared with its own neighbours 10^-30 away.
    edge = (1 - exp(-1)) / (1 + exp(-1))
    assert Laplace(1).error(edge - Fraction(1, 10**30)) == 0
    assert Laplace(1).error(edge + Fraction(1, 10**30)) == 1
    wide = Laplace(Fraction(1, 1 << 56))
    m = wide.error(0.95)
    q = [2 * exp(-Fraction(k) / wide.scale) / (1 + exp(-1 / wide.scale)) for k in (m + 1, m)]
    assert q[0] <= Fraction(1, 20) < q[1]


def test_error_in_units_of_the_value() -> None:
    mechanism = Laplace(0.1, 1, granularity=2**-10)
    m = mechanism.error()
    assert isinstance(m, float)
    assert m * 2**10 % 1 == 0
    assert mechanism.error(d=1000) > m  # rounding of a long vector is paid by every coordinate
    assert mechanism.max_error(1000) > mechanism.error(d=1000)
    assert Laplace(1).error(d=10**6) == Laplace(1).error()
    assert Laplace(1).max_error(1) == Laplace(1).error()
    assert Laplace(1).max_error(10**12, 0.999999) < 60


def test_coverage() -> None:
    # 200,000 intervals; the binomial test alarms with probability below 1e-11, and sees a cover off by 0.4 %.
    mechanism = Laplace(0.1)
    noise = np.abs(mechanism.release(np.zeros(200_000, int)))
    m = mechanism.error(0.9)
    cover = 1 - 2 * float(mechanism.distribution.survival(m))
    assert stats.binomtest(int((noise <= m).sum()), noise.size, cover).pvalue > ALARM


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 2, float("nan"), True, "x"])
def test_bad_confidence(confidence: Any) -> None:
    with pytest.raises(InvalidParameter, match="confidence"):
        Laplace(1).error(confidence)


@pytest.mark.parametrize("d", [0, -3, 2.5, "2"])
def test_bad_dimension(d: Any) -> None:
    for call in (Laplace(1).scale_for, Laplace(1).max_error, lambda d: Laplace(1).error(d=d)):
        with pytest.raises(InvalidParameter, match="d is not"):
            call(d)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("scale", [2.0**-10, 0.1, 0.5, 1.0, 1.5, 7.0, 100.0, 12345.678, 1e6])
def test_the_half_width_in_floats_is_the_least_one(scale: float, confidence: float) -> None:
    m = float_half_width(scale, 1 - confidence)
    with mpmath.workdps(60):
        q = mpmath.exp(-1 / mpmath.mpf(scale))

        def inside(k: int) -> Any:
            return 1 - 2 * q ** (k + 1) / (1 + q)

        assert inside(m) >= mpmath.mpf(confidence) * (1 - mpmath.mpf(10) ** -13)
        assert m == 0 or inside(m - 1) < mpmath.mpf(confidence) * (1 + mpmath.mpf(10) ** -13)


def test_the_half_width_in_floats_is_that_of_the_probabilities() -> None:
    for scale in (0.3, 1.0, 4.0):
        q = math.exp(-1 / scale)
        pmf = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-200, 201)}
        for confidence in (0.5, 0.9, 0.99):
            least = next(m for m in range(200) if sum(pmf[k] for k in range(-m, m + 1)) >= confidence)
            assert float_half_width(scale, 1 - confidence) == least
