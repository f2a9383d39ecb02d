"""One quantile by rank: the exact loss on every small data set and each of its neighbours, and the law of the draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure, Multiples
from discreet.mechanisms.ranks.quantile import BOUND, ExponentialQuantile, Floats, row_moves
from discreet.mechanisms.ranks.quantiles_with_ends import moves
from discreet.mechanisms.ranks.rank_candidates import Candidates, Parts
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from tests.depth import DEEP, in_turn
from tests.noise.fit import ALARM, alarm

LEAVES = 4
MEASURE = LeafMeasure(LEAVES, 2, (Multiples(2, 3, 0, 1, 5),))
WEIGHTS = (7, 2, 2, 7)
QS = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]
Data: TypeAlias = tuple[int, ...]
"""How many rows each leaf has."""
Law: TypeAlias = Callable[[Data], list[float]]


def counts(*groups: Data) -> SparseCounts:
    rows = [(at, leaf, many) for at, data in enumerate(groups) for leaf, many in enumerate(data)]
    group, leaf, count = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return SparseCounts.of(len(groups), LEAVES, group, leaf, count)


def law_of(mechanism: ExponentialQuantile, margin: int = 0, bound: int = 0) -> Law:
    """The law of the mechanism by leaf, from -1 for the lower bound to the number of leaves for the upper one."""

    def law(data: Data) -> list[float]:
        return by_leaf(*mechanism.probabilities(counts(data), margin, bound), mechanism.measure)

    return law


def by_leaf(some: Candidates, chances: Floats, measure: LeafMeasure) -> list[float]:
    """The law of candidates by leaf, likewise."""
    out = np.zeros(LEAVES + 2)
    for start, stop, chance in zip(some.start, some.stop, chances, strict=True):
        if start == stop:
            out[start + 1] += chance
            continue
        leaves = np.arange(start, stop)
        each = measure.of(leaves, leaves + 1)
        out[leaves + 1] += chance * each / each.sum()
    return out.tolist()


def on_paper(mechanism: ExponentialQuantile, data: Data, margin: int, bound: int) -> list[float]:
    """The law by leaf as the module's text writes it."""
    n, scale = sum(data), float(mechanism.scale)
    rank = float(mechanism.q) * n + margin
    out = [BOUND * sum(WEIGHTS) * math.exp(-abs(rank) / scale) if bound < 0 else 0.0]
    for leaf in range(LEAVES):
        below = sum(data[:leaf])
        out.append(WEIGHTS[leaf] * math.exp(-max(0, below - rank, rank - below - data[leaf]) / scale))
    out.append(BOUND * sum(WEIGHTS) * math.exp(-abs(n - rank) / scale) if bound > 0 else 0.0)
    return [one / sum(out) for one in out]


def tables(rows: int) -> Iterator[Data]:
    """All data sets of up to so many rows."""
    return (data for data in itertools.product(range(rows + 1), repeat=LEAVES) if sum(data) <= rows)


def moved(data: Data, leaf: int, by: int = 1) -> Data:
    return tuple(many + by * (at == leaf) for at, many in enumerate(data))


def added(data: Data) -> Iterator[Data]:
    return (moved(data, leaf) for leaf in range(LEAVES))


def replaced(data: Data) -> Iterator[Data]:
    pairs = itertools.permutations(range(LEAVES), 2)
    return (moved(moved(data, a, -1), b) for a, b in pairs if data[a])


def loss(law: Law, neighbours: Callable[[Data], Iterator[Data]], rows: int = 4) -> float:
    """The exact privacy loss over all data sets of some rows and all their neighbours."""
    known = {data: law(data) for data in tables(rows + 1)}
    return max(
        abs(math.log(p / r)) if p and r else math.inf
        for data in tables(rows)
        for other in neighbours(data)
        for p, r in zip(known[data], known[other], strict=True)
        if p or r
    )


# A deep run asks each quantile at all margins.
@pytest.mark.parametrize(("q", "ends"), in_turn(QS, [(0, 0), (-2, -1), (3, 1), (1, 0)]))
def test_the_law_is_the_one_on_paper(q: Fraction, ends: tuple[int, int]) -> None:
    margin, bound = ends
    mechanism = ExponentialQuantile(Fraction(3, 2), q, MEASURE)
    law = law_of(mechanism, margin, bound)
    for data in tables(4):
        assert law(data) == pytest.approx(on_paper(mechanism, data, margin, bound), rel=1e-10)


# A deep run asks each quantile at all margins.
@pytest.mark.parametrize(("q", "ends"), in_turn(QS, [(0, 0), (-2, -1), (2, 1), (1, 0)]))
def test_the_exact_loss_is_within_epsilon(q: Fraction, ends: tuple[int, int]) -> None:
    margin, bound = ends
    epsilon = Fraction(3, 2)
    mechanism = ExponentialQuantile(epsilon, q, MEASURE)
    assert loss(law_of(mechanism, margin, bound), added) <= float(epsilon) * (1 + 1e-9)
    one = ExponentialQuantile(epsilon, q, MEASURE, moves(q, 1, "replace_one", 1))
    assert loss(law_of(one, margin, bound), replaced) <= float(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("q", QS[1:3])
def test_the_loss_is_that_of_both_sides_of_the_quantile(q: Fraction) -> None:
    # By sqrt(2) of the loss that is charged at most: with more weight on few leaves it comes nearer.
    mechanism = ExponentialQuantile(Fraction(1, 2), q, MEASURE)
    assert loss(law_of(mechanism), added, 5) > 0.5 / math.sqrt(2)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_units_with_rows_in_several_groups(neighbours: str) -> None:
    # A unit of two rows, in the groups 0 and 1: each group is drawn by itself, and the losses add up.
    q, epsilon = Fraction(9, 10), 1.0
    factor = moves(q, 2, neighbours, 2)  # type: ignore[arg-type]  # a text in a parametrisation
    law = law_of(ExponentialQuantile(1, q, MEASURE, factor))
    known = {data: law(data) for data in tables(5)}

    def worst(one: Data, other: Data) -> float:
        return max(abs(math.log(a / b)) for a, b in zip(known[one], known[other], strict=True) if a or b)

    near = [(data, other) for data in tables(3) for other in added(data)]
    single = max(worst(*pair) for pair in near)
    double = max(worst(data, twice) for data, once in near for twice in added(once))
    steps = 1 if neighbours == "add_remove" else 2  # one unit goes, another comes
    assert steps * max(2 * single, double) <= epsilon * (1 + 1e-9)


def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    q, epsilon = Fraction(1, 2), 1.5
    halved = ExponentialQuantile(Fraction(3, 2), q, MEASURE, row_moves(q) / 2)
    assert loss(law_of(halved), added) > 1.05 * epsilon
    # The textbook's sensitivity of one row more, for a row that is replaced.
    nine = ExponentialQuantile(Fraction(3, 2), Fraction(1, 2), MEASURE, row_moves(Fraction(1, 2)))
    assert loss(law_of(nine), replaced) > 1.05 * epsilon
    # A grid that ends at the greatest value.
    honest = law_of(ExponentialQuantile(Fraction(3, 2), q, MEASURE))

    def cut(data: Data) -> list[float]:
        last = max((leaf for leaf, many in enumerate(data) if many), default=0)
        law = [p if at - 1 <= last else 0.0 for at, p in enumerate(honest(data))]
        return [p / sum(law) for p in law]

    assert loss(cut, added) == math.inf
    # Each candidate interval weighs one, however long it is.
    odds = ExponentialQuantile.odds

    def forgotten(*args: object, **more: object) -> object:
        weights, gaps = odds(*args, **more)  # type: ignore[arg-type]  # handed on
        return (weights > 0).astype(np.int64), gaps

    monkeypatch.setattr(ExponentialQuantile, "odds", forgotten)
    assert loss(law_of(ExponentialQuantile(Fraction(3, 2), q, MEASURE)), added) > 1.05 * epsilon


# A deep run draws the median as well.
@pytest.mark.parametrize("q", ["1/2", "9/10"] if DEEP else ["9/10"])
def test_goodness_of_fit(q: str) -> None:
    # 60,000 groups: a relative error of a probability of 1/10 by 8 % is caught.
    data, many = (3, 0, 5, 1), 60_000
    mechanism = ExponentialQuantile(1, q, MEASURE)
    drawn = mechanism.release(counts(*[data] * many))
    law = law_of(mechanism)(data)[1:-1]
    assert alarm(np.bincount(drawn, minlength=LEAVES), law) > ALARM


def test_groups_without_rows_are_drawn_too() -> None:
    many = 60_000
    drawn = ExponentialQuantile(1, 0.5, MEASURE).release(counts(*[(0, 0, 0, 0)] * many))
    assert alarm(np.bincount(drawn), np.array(WEIGHTS) / sum(WEIGHTS)) > ALARM


def test_bounds_are_drawn_where_they_are_candidates() -> None:
    mechanism = ExponentialQuantile(1, 0.5, MEASURE)
    some = counts((1, 0, 0, 0))
    parts, margin = Parts.whole(some, LEAVES), np.zeros(1, np.int64)
    drawn = {int(mechanism.choose(some, parts, margin, bound)[0]) for bound in (-1, 1) for _ in range(50)}
    assert {-1, LEAVES} <= drawn


def test_the_half_width_is_that_of_dense_values() -> None:
    leaves = 20_000
    at = np.arange(leaves)
    dense = SparseCounts.of(1, leaves, np.zeros(leaves, np.int64), at, np.ones(leaves, np.int64))
    mechanism = ExponentialQuantile("1/20", 0.5, LeafMeasure.over(leaves))
    some, law = mechanism.probabilities(dense)
    ranks = some.below + 0.5 - leaves / 2
    assert law[np.abs(ranks) > mechanism.half_width(0.95)].sum() == pytest.approx(0.05, abs=0.002)
    assert np.sqrt(law @ ranks**2) == pytest.approx(math.sqrt(2) * float(mechanism.scale), rel=0.01)


def test_a_grid_of_a_billion_leaves_costs_nothing() -> None:
    leaves = 1 << 30
    wide = SparseCounts.of(
        1, leaves, np.zeros(3, np.int64), np.array([5, 10**9, 10**9 + 1]), np.array([10**6] * 3)
    )
    assert ExponentialQuantile(1, 0.5, LeafMeasure.over(leaves)).release(wide)[0] == 10**9


def test_parameters_are_read() -> None:
    assert ExponentialQuantile(0.1, 0.9, MEASURE).scale == 18
    for epsilon, q, factor in ((0, 0.5, None), (1, 1.5, None), (1, -0.5, None), (1, 0.5, 0)):
        with pytest.raises(InvalidParameter):
            ExponentialQuantile(epsilon, q, MEASURE, factor)
