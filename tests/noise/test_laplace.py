from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.errors import InvalidParameter
from discreet.noise import entropy, laplace
from discreet.noise.entropy import RandomSource, Words
from discreet.noise.geometric import LIMIT, BitPlanes, draw, plan
from discreet.noise.lanes import Thresholds
from tests.depth import DEEP, few, in_turn
from tests.noise.fit import ALARM, MANY, laplace_alarms
from tests.noise.tape import Flipped, SignReused, Tape, agrees, every_tape, law_of_laplace

HALF = Fraction(1, 2)


def sampler(chosen: BitPlanes) -> Callable[[RandomSource], int]:
    return lambda source: int(draw(source, chosen, 1)[0])


def flipped(chosen: BitPlanes, plane: int, position: int = 12) -> BitPlanes:
    planes = list(chosen.thresholds.planes)
    planes[plane] = Flipped(planes[plane], position)
    words = chosen.thresholds
    return replace(chosen, thresholds=Thresholds(tuple(planes), words.width, words.rest))


@pytest.mark.parametrize(
    ("scale", "bits", "width", "rest", "depth"),
    few(
        [
            (HALF, 0, 1, 1, 22 if DEEP else 20),
            (HALF, 1, 1, 1, 22 if DEEP else 20),
            (HALF, 2, 1, 1, 20 if DEEP else 18),
            (Fraction(2, 3), 1, 2, 1, 20),
            (HALF, 1, 3, 2, 20),
            (Fraction(1, 5), 1, 1, 4, 20),
        ],
        3,  # a deep run asks all numbers of bits and widths
    ),
)
def test_the_law_by_every_tape(scale: Fraction, bits: int, width: int, rest: int, depth: int) -> None:
    # The same code as at any width and number of bits; narrow words make all tapes few enough to run.
    found, undecided = every_tape(sampler(plan(scale, True, width, rest, bits)), depth)
    assert undecided < 0.02
    assert len(found) >= 5
    assert agrees(found, undecided, lambda k: law_of_laplace(scale, k))


@pytest.mark.parametrize("plane", [0, 1, 2])
def test_every_tape_catches_a_flipped_digit(plane: int) -> None:
    # One digit, the 12th, of the low bit, of "anything above" or of the sign: undecided mass 8e-4 and less;
    # 2e-4 in a deep run.
    fault = flipped(plan(HALF, True, 1, 1, 1), plane)
    found, undecided = every_tape(sampler(fault), 22 if DEEP else 19)
    assert not agrees(found, undecided, lambda k: law_of_laplace(HALF, k))


def test_every_tape_catches_a_reused_sign() -> None:
    chosen = plan(HALF, True, 1, 1, 1)

    def run(source: RandomSource) -> int:
        return int(draw(SignReused(source, len(chosen.thresholds.planes)), chosen, 1)[0])

    found, undecided = every_tape(run, 18 if DEEP else 16)
    assert not agrees(found, undecided, lambda k: law_of_laplace(HALF, k))


def by_blocks(scale: Fraction, count: int) -> npt.NDArray[np.int64]:
    return laplace(scale, count)


def by_words(scale: Fraction, count: int) -> npt.NDArray[np.int64]:
    return np.concatenate([laplace(scale, 500) for _ in range(count // 500)])


SCALES = [Fraction(1, 3), Fraction(1), Fraction(100), (1 << 20) + Fraction(1, 7), Fraction(1 << 56)]


# A deep run asks both ways at each scale, and six scales.
@pytest.mark.parametrize(
    ("scale", "how"), few(in_turn([*SCALES, Fraction(1 << 14)], [by_blocks, by_words]), 4)
)
def test_goodness_of_fit(scale: Fraction, how: Callable[[Fraction, int], npt.NDArray[np.int64]]) -> None:
    # 500,000 draws, 8 checks of false alarm 1e-11 each; power: see tests/noise/fit.py.
    alarms = laplace_alarms(how(scale, MANY), float(scale))
    assert min(alarms.values()) > ALARM, alarms


# A deep run plants it at three scales.
@pytest.mark.parametrize(
    ("scale", "plane"), few([(Fraction(100), 10), (Fraction(1 << 20), 24), (Fraction(3), 5)], 2)
)
def test_goodness_of_fit_catches_a_flipped_digit(scale: Fraction, plane: int) -> None:
    # The 12th digit is worth 2^-12. It shows in the fit of 500,000 draws where the bit's probability is
    # below it (122 wrong draws against 20 right ones); in a common bit only every_tape sees it, above.
    chosen = plan(scale, True, 8)
    assert chosen.thresholds.planes[plane].leading(12) == 0
    good = draw(entropy.system(), chosen, MANY).astype(np.int64)
    assert min(laplace_alarms(good, float(scale)).values()) > ALARM
    bad = draw(entropy.system(), flipped(chosen, plane), MANY).astype(np.int64)
    alarms = laplace_alarms(bad, float(scale))
    assert alarms["size"] < ALARM
    assert alarms["bits"] < ALARM


# A deep run plants it at all scales.
@pytest.mark.parametrize("scale", SCALES if DEEP else [SCALES[0], SCALES[3]])
def test_goodness_of_fit_catches_a_reused_sign(scale: Fraction) -> None:
    chosen = plan(scale, True, 8)
    source = SignReused(entropy.system(), len(chosen.thresholds.planes))
    alarms = laplace_alarms(draw(source, chosen, MANY).astype(np.int64), float(scale))
    assert alarms["low digits"] < ALARM
    assert alarms["sign and low bit"] < ALARM


# A deep run plants it at scale 100 as well.
@pytest.mark.parametrize("scale", few([Fraction(1), Fraction(100), Fraction(1 << 33)], 2))
def test_goodness_of_fit_catches_lanes_that_share_words(scale: Fraction) -> None:
    class Shared:
        def words(self, count: int, width: int) -> Words:
            words = entropy.system().words(count, width)
            if count > 500_000:
                rows = words.reshape(-1, len(chosen.thresholds.planes))
                rows[1::50] = rows[0:-1:50]  # every 50th lane repeats its neighbour
            return words

    chosen = plan(scale, True, 8)
    alarms = laplace_alarms(draw(Shared(), chosen, MANY).astype(np.int64), float(scale))
    assert alarms["neighbouring signs"] < ALARM


def test_at_a_tiny_scale_all_is_zero() -> None:
    assert not laplace(Fraction(1, 1024), 10_000).any()  # P(any draw is not 0) < 10^4 e^-1023


class FirstLow:
    """All words zero for some requests, which says yes to every coin; then all ones, which says no."""

    def __init__(self, low: int) -> None:
        self._low = low

    def words(self, count: int, width: int) -> Words:
        self._low -= 1
        kind: Any = np.uint8 if width == 8 else np.uint64
        return np.full(count, 0 if self._low >= 0 else np.iinfo(kind).max, kind)


@pytest.mark.parametrize("width", [8, 64])
@pytest.mark.parametrize("signed", [True, False])
def test_magnitudes_saturate_and_never_wrap(width: int, signed: bool) -> None:
    chosen = plan(Fraction(1 << 56), signed, width)
    extremes = {int(draw(FirstLow(low), chosen, 3)[0]) for low in range(1, 30)}
    assert (-LIMIT if signed else LIMIT) in extremes
    assert min(extremes) >= -LIMIT


@pytest.mark.parametrize("scale", [0.5, 2**50])
def test_shapes_and_types(scale: float) -> None:
    assert type(laplace(scale)) is int
    for size, shape in (
        (0, (0,)),
        (3, (3,)),
        ((), ()),
        ((2, 3), (2, 3)),
        ((40, 50), (40, 50)),
        ((4, 0), (4, 0)),
    ):
        drawn = laplace(scale, size)
        assert drawn.shape == shape
        assert drawn.dtype == np.int64
        assert drawn.flags.c_contiguous


def test_numbers_of_every_kind_are_scales() -> None:
    for scale in (3, 2.5, Decimal("0.1"), Fraction(1, 3), np.float64(0.7), np.int64(5), "1/3", 2**56, 2**-10):
        laplace(scale, 2)


@pytest.mark.parametrize(
    "scale", [0, -1, 2**56 + 1, Fraction(1, 1025), float("nan"), float("inf"), True, None, "many", 1j, [1]]
)
def test_bad_scales(scale: object) -> None:
    with pytest.raises(InvalidParameter, match="scale"):
        laplace(scale)
    with pytest.raises(InvalidParameter, match="scale"):
        laplace(scale, 3)


@pytest.mark.parametrize("size", [-1, 2.5, "3", (2, -1), (1.0,), True])
def test_bad_sizes(size: Any) -> None:
    with pytest.raises(InvalidParameter, match="size"):
        laplace(1, size)


def test_a_tape_that_is_over_says_so() -> None:
    with pytest.raises(Exception, match="3"):
        Tape(0b101, 3).words(6, 1)
