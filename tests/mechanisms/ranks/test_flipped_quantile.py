"""One quantile by permute-and-flip: the law on paper, the exact loss, and the law of the draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.ranks.flipped_quantile import FlippedQuantile
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.quantile import ExponentialQuantile, row_moves
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds, moves
from discreet.mechanisms.ranks.surrounded_quantile import SurroundedQuantile
from tests.depth import DEEP, few
from tests.mechanisms.ranks.test_quantile import (
    LEAVES,
    QS,
    Data,
    added,
    counts,
    law_of,
    loss,
    replaced,
    tables,
)
from tests.noise.fit import ALARM, alarm

EVEN = LeafMeasure(LEAVES, 3)


def on_paper(mechanism: ExponentialQuantile, data: Data) -> list[float]:
    """The first leaf in a random order whose coin is True."""
    rank, below = float(mechanism.q) * sum(data), np.cumsum((0, *data))
    off = [max(0, below[at] - rank, rank - below[at + 1]) for at in range(LEAVES)]
    coins = [math.exp(-(one - min(off)) / float(mechanism.scale)) for one in off]
    out = [0.0] * LEAVES
    for order in itertools.permutations(range(LEAVES)):
        left = 1 / math.factorial(LEAVES)
        for leaf in order:
            out[leaf] += left * coins[leaf]
            left *= 1 - coins[leaf]
    return out


# A deep run asks five quantiles.
@pytest.mark.parametrize("q", few(QS, 3))
def test_the_law_is_the_one_on_paper_and_within_epsilon(q: Fraction) -> None:
    mechanism = FlippedQuantile(Fraction(3, 2), q, EVEN)
    law = law_of(mechanism)
    for data in tables(3):
        assert law(data)[1:-1] == pytest.approx(on_paper(mechanism, data), rel=1e-9)
    assert loss(law, added, 3) <= 1.5 * (1 + 1e-9)
    one = FlippedQuantile(Fraction(3, 2), q, EVEN, moves(q, 1, "replace_one", 1))
    assert loss(law_of(one), replaced, 3) <= 1.5 * (1 + 1e-9)


def test_planted_faults_are_found() -> None:
    q = Fraction(1, 2)
    assert loss(law_of(FlippedQuantile(Fraction(3, 2), q, EVEN, row_moves(q) / 2)), added) > 1.05 * 1.5
    # Scores of quantiles do not all move in one direction, as those of counts do.
    assert loss(law_of(FlippedQuantile(3, q, EVEN)), added) > 1.05 * 1.5


# A deep run draws the median as well.
@pytest.mark.parametrize("q", ["1/2", "9/10"] if DEEP else ["9/10"])
def test_goodness_of_fit(q: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # 60,000 groups: a relative error of a probability of 1/10 by 8 % is caught.
    monkeypatch.setattr("discreet.mechanisms.ranks.flipped_quantile.COINS", 100_000)
    data, many = (3, 0, 5, 1), 60_000
    mechanism = FlippedQuantile(1, q, EVEN)
    drawn = mechanism.release(counts(*[data] * many))
    assert alarm(np.bincount(drawn, minlength=LEAVES), law_of(mechanism)(data)[1:-1]) > ALARM
    other = law_of(ExponentialQuantile(1, q, EVEN))(data)[1:-1]
    assert alarm(np.bincount(drawn, minlength=LEAVES), other) < ALARM


def test_it_is_taken_where_leaves_are_few_and_nothing_is_split() -> None:
    several = QuantilesWithEnds(1, [0.25, 0.5, 0.75], EVEN, ends=False)
    kinds = [type(several.number(q)) for q in several.quantiles]
    assert kinds == [FlippedQuantile, ExponentialQuantile, FlippedQuantile]
    assert (
        type(QuantilesWithEnds(1, [0.5], LeafMeasure.over(257), ends=False).number(Fraction(1, 2)))
        is ExponentialQuantile
    )
    with_ends = QuantilesWithEnds(1, [0.25], EVEN)
    assert type(with_ends.number(Fraction(1, 4))) is SurroundedQuantile
