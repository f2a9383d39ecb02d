from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.noise import entropy, geometric
from discreet.noise.geometric import draw, plan
from discreet.noise.lanes import Thresholds
from tests.depth import DEEP, few
from tests.noise.fit import ALARM, MANY, alarm, bits_alarm
from tests.noise.tape import Flipped, agrees, every_tape, law_of_geometric

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("scale", "bits", "width", "rest", "depth"),
    # A deep run asks the first with a bit as well, and longer tapes.
    [
        (HALF, 0, 1, 1, 24 if DEEP else 20),
        *[(HALF, 1, 1, 1, 24)] * DEEP,
        (Fraction(1), 2, 1, 1, 20 if DEEP else 18),
        (Fraction(3, 4), 1, 2, 3, 22 if DEEP else 20),
    ],
)
def test_the_law_by_every_tape(scale: Fraction, bits: int, width: int, rest: int, depth: int) -> None:
    chosen = plan(scale, False, width, rest, bits)
    found, undecided = every_tape(lambda source: int(draw(source, chosen, 1)[0]), depth)
    assert undecided < 0.01
    assert agrees(found, undecided, lambda k: law_of_geometric(scale, k))


@pytest.mark.parametrize("plane", [0, 1])
def test_every_tape_catches_a_flipped_digit(plane: int) -> None:
    chosen = plan(HALF, False, 1, 1, 1)
    planes = list(chosen.thresholds.planes)
    planes[plane] = Flipped(planes[plane], 12)
    fault = type(chosen)(HALF, 1, False, Thresholds(tuple(planes), 1, 1))
    found, undecided = every_tape(lambda source: int(draw(source, fault, 1)[0]), 22)
    assert not agrees(found, undecided, lambda k: law_of_geometric(HALF, k))


# A deep run draws two scales more.
@pytest.mark.parametrize(
    "scale", few([Fraction(1, 3), Fraction(1), Fraction(100), Fraction(1 << 20), Fraction(1 << 56)], 3)
)
def test_goodness_of_fit(scale: Fraction) -> None:
    # 500,000 draws, 2 checks of false alarm 1e-11; power: see tests/noise/fit.py.
    draws, s = geometric(scale, MANY), float(scale)
    assert draws.min() >= 0
    edges = np.unique(
        np.floor(s * -np.log(np.concatenate([np.arange(1, 64) / 64, 2.0 ** -np.arange(7, 17)])))
    )
    survival = np.exp(-(edges + 1) / s)
    law = -np.diff(survival, prepend=1, append=0)
    counts = np.bincount(np.searchsorted(edges, draws.astype(float), side="left"), minlength=edges.size + 1)
    assert alarm(counts, law) > ALARM
    assert bits_alarm(draws, s) > ALARM


def test_few_bits_and_many_give_the_same_law() -> None:
    # With K = 3 at scale 8 a third of the draws take the second step; 500,000 draws, false alarm 1e-11.
    draws = draw(entropy.system(), plan(Fraction(8), False, 8, 64, 3), MANY).astype(np.int64)
    law = -np.diff(np.exp(-np.arange(1, 101) / 8), prepend=1, append=0)
    assert alarm(np.bincount(np.minimum(draws, 100), minlength=101), law) > ALARM


def test_shapes_and_errors() -> None:
    assert type(geometric(3)) is int
    assert geometric(3, (2, 5)).shape == (2, 5)
    assert geometric(2**40, 10_000).dtype == np.int64
    assert math.prod(geometric(1, (0, 4)).shape) == 0
    for bad in (0, 2**57, float("nan"), "x"):
        with pytest.raises(InvalidParameter, match="scale"):
            geometric(bad, 4)
