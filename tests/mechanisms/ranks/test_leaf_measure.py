"""The public weights of leaves: they add up, and every place leads to a leaf as often as it weighs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure, Multiples

SMALL = LeafMeasure(23, 2, (Multiples(4, 11, 5, 2, 3), Multiples(2, 10, 3, 1, 7)))
GRIDS = [
    (5000, Fraction(-1234), Fraction(1)),
    (1 << 30, Fraction(0), Fraction(1, 2048)),
    (2_000_000, Fraction(-7, 4), Fraction(1, 2**20)),
    (400, Fraction(0), Fraction(1)),
]


def test_each_place_leads_to_a_leaf_as_often_as_it_weighs() -> None:
    leaves = np.arange(SMALL.leaves)
    each = SMALL.of(leaves, leaves + 1)
    for start in range(SMALL.leaves):
        for stop in range(start + 1, SMALL.leaves + 1):
            (whole,) = SMALL.of(np.array([start]), np.array([stop]))
            places = np.arange(whole)
            found = SMALL.leaf(np.full(whole, start), np.full(whole, stop), places)
            assert Counter(found.tolist()) == {at: int(each[at]) for at in range(start, stop)}


@pytest.mark.parametrize(("leaves", "lo", "step"), GRIDS)
def test_weights_add_up(leaves: int, lo: Fraction, step: Fraction) -> None:
    measure = LeafMeasure.over(leaves, lo, step)
    cuts = np.unique(np.concatenate([[0, leaves], np.random.default_rng(1).integers(0, leaves, 2000)]))
    assert measure.of(cuts[:-1], cuts[1:]).sum() == measure.whole <= 2**36
    assert measure.whole > 0.99 * 2**36
    assert measure.each >= 1
    assert measure.each * leaves > 0.79 * 2**36


def test_multiples_of_powers_of_ten_weigh_more() -> None:
    measure = LeafMeasure.over(5000, Fraction(-1234))
    leaves = np.arange(5000)
    each = measure.of(leaves, leaves + 1)
    round_ = (leaves - 1234) % 10 == 0
    assert (each[round_] > 3 * measure.each).all()
    assert (each[~round_] == measure.each).all()


def test_ends_that_are_no_round_numbers_do_not_overflow() -> None:
    measure = LeafMeasure.over(1 << 30, Fraction(0.1), Fraction(1, 2**29))
    assert measure.whole > 0.99 * 2**36
    assert LeafMeasure.over(1 << 30, None).rounds == ()


def test_too_many_leaves_are_refused() -> None:
    for leaves in (0, 2**30 + 1):
        with pytest.raises(InvalidParameter):
            LeafMeasure.over(leaves)
