"""A quantile with its ends in one draw: its exact loss, its law, its coverage, and what breaks each of them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.quantile_coverage import POINTS, coverage, exact_leaf, outcomes
from benchmarks.quantile_data import DataSet, data_sets

from discreet.engines.schema import Type
from discreet.mechanisms.ranks import quantile, rank_candidates, surrounded_quantile
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.quantile import ExponentialQuantile
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.rank_candidates import Parts
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.mechanisms.ranks.surrounded_quantile import SurroundedQuantile
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span
from tests.depth import DEEP, deep, few
from tests.mechanisms.ranks import drawn
from tests.mechanisms.ranks.drawn import by_outcome
from tests.mechanisms.ranks.test_quantile import LEAVES, MEASURE, added, counts, tables
from tests.mechanisms.ranks.test_quantiles_with_ends import worst
from tests.noise.fit import ALARM, alarm

HALF = Fraction(1, 2)
QUANTILES = [Fraction(1, 4), HALF, Fraction(9, 10)]
FEWER = POINTS if DEEP else POINTS // 4
"""The numbers that stand for all where coverage is worked out: it moves by a fifth at most of what the bounds leave."""


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few rows, ends are sure two rows or so beyond the quantile, so that distances are not all alike."""
    monkeypatch.setattr(surrounded_quantile, "MARGIN", Fraction(1))


def far_rows(self: SurroundedQuantile, of: SparseCounts, parts: Parts, leaf: Any) -> Any:
    """Planted fault: each row counts twice for the lower end."""
    return self._clipped(parts, 2 * rank_candidates.rows_before(of, parts, leaf, self.reach, self.q), 1)


@pytest.mark.usefixtures("near")
# A deep run asks the median as well.
@pytest.mark.parametrize("q", few(QUANTILES, 2))
def test_the_exact_loss_is_within_epsilon(q: Fraction) -> None:
    assert 1 < worst(QuantilesWithEnds(2, [q], MEASURE), 2) <= 2 * (1 + 1e-9)


@pytest.mark.usefixtures("near")
# A deep run plants it at the median as well.
@pytest.mark.parametrize("q", QUANTILES[: 1 + DEEP])
def test_a_row_that_counts_twice_is_found(q: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SurroundedQuantile, "_below", far_rows)
    assert worst(QuantilesWithEnds(2, [q], MEASURE), 2) > 2.05


def test_ends_that_cost_nothing_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: the distance of the ends is added to that of the number, as if epsilon were spent twice.
    law = drawn.around

    def twice(mechanism: Any, of: Any, parts: Any, leaf: int, gap: int) -> Any:
        return law(mechanism, of, parts, leaf, 0)

    monkeypatch.setattr(surrounded_quantile, "MARGIN", Fraction(1))
    monkeypatch.setattr(drawn, "around", twice)
    assert worst(QuantilesWithEnds(2, [HALF], MEASURE), 2) > 2.05


@pytest.mark.usefixtures("near")
# A deep run asks the median as well.
@pytest.mark.parametrize("q", few(QUANTILES, 2))
def test_a_row_moves_each_distance_by_what_is_charged(q: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    made = SurroundedQuantile(1, q, MEASURE)

    def moved() -> int:
        return max(
            int(np.abs(np.clip(after, 0, 10**6) - np.clip(before, 0, 10**6)).max())
            for data in tables(3)
            for before in [distances(made, data)]
            for after in (distances(made, other) for other in added(data))
        )

    assert 0 < moved() <= made.moves * q.denominator
    monkeypatch.setattr(SurroundedQuantile, "_below", far_rows)
    assert moved() > made.moves * q.denominator


def distances(made: SurroundedQuantile, data: tuple[int, ...]) -> Any:
    """Of the ends of all outcomes of all leaves; each leaf has one at 0."""
    outcome, leaf = (one.ravel() for one in np.mgrid[: len(made.weights), :LEAVES])
    here = Parts.whole(counts(data), LEAVES)[0 * leaf]
    low, high, off = made.beside(counts(data), here, leaf, outcome)
    assert np.all((low <= leaf) & (leaf <= high))
    assert (off.reshape(-1, LEAVES).min(axis=0) == 0).all()
    return off


@pytest.mark.parametrize("reach", [quantile.REACH, Fraction(1, 2)])
def test_the_law_is_that_of_the_draws(reach: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    # 6,000 draws of number and ends; an epsilon that is off by a third is caught: of 3,000 the alarm is at 1e-150 (of
    # 30,000 in a deep run: by a sixth). Where leaves are soon far, numbers are proposed by the way that is hardly ever
    # gone. So few draws would have as many proposals as many have: 16 for each, as 15,000 draws have.
    many, wrong = (30_000, 2.5) if DEEP else (6_000, 2)
    monkeypatch.setattr(surrounded_quantile, "TRIES", 16)
    monkeypatch.setattr(quantile, "REACH", reach)
    data = (1, 2, 0, 3)
    seen = Counter(map(tuple, QuantilesWithEnds(3, [HALF], MEASURE).release(counts(*[data] * many)).tolist()))
    for epsilon in (3, wrong):
        law = by_outcome(QuantilesWithEnds(epsilon, [HALF], MEASURE), counts)(data)
        assert sum(law.values()) == pytest.approx(1)
        assert seen.keys() <= law.keys()
        found = np.array([[seen[one], law[one]] for one in law])
        assert (alarm(found[:, 0], found[:, 1]) > ALARM) == (epsilon == 3)


def test_several_proposals_of_a_group_have_its_law() -> None:
    # 60,000 draws of each of two groups, drawn together.
    made = ExponentialQuantile(3, HALF, MEASURE)
    both = counts((1, 2, 0, 3), (4, 0, 0, 1))
    whole = Parts.whole(both, LEAVES)
    leaf, off, taken, _ = SurroundedQuantile(3, HALF, MEASURE).propose(both, whole, 60_000)
    assert taken.all()
    for group in range(2):
        some, law = made.probabilities(both[group : group + 1])
        chance = np.zeros(LEAVES)
        for start, stop, one in zip(some.start, some.stop, law, strict=True):
            leaves = np.arange(start, stop)
            weight = MEASURE.of(leaves, leaves + 1)
            chance[leaves] += one * weight / max(1, weight.sum())
        own = slice(60_000 * group, 60_000 * (group + 1))
        assert alarm(np.bincount(leaf[own], minlength=LEAVES), chance) > ALARM
        assert (off[own] >= 0).all()


def some_of(data: DataSet, rows: int, seed: int) -> Any:
    return np.sort(np.random.default_rng(seed).choice(data.leaves(), rows, replace=False))


def rounded() -> Iterator[DataSet]:
    """Rounded numbers, heaps on a fine grid, and many values within a small part of the range."""
    rng = np.random.default_rng(4)

    def column(high: int, kind: Type = Type.FLOAT) -> Column:
        return Column("x", kind, Span(Fraction(0), Fraction(high)))

    yield DataSet(
        "hundreds", np.round(rng.lognormal(9, 0.6, 10_000) / 100).clip(0, 999) * 100, column(100_000)
    )
    thousands = np.round(rng.lognormal(10.5, 0.7, 10_000) / 1000).clip(0, 500) * 1000
    yield DataSet("thousands", thousands, column(500_000, Type.INTEGER))
    yield DataSet("within a thousandth", rng.uniform(50, 50.1, 10_000), column(100))
    yield DataSet("heaps", rng.choice(rng.uniform(0, 100, 300), 10_000), column(100))
    yield DataSet("two heaps", np.where(rng.random(10_000) < 0.45, 20.0, 70.0), column(100))


def coverages(epsilons: list[float], rows: list[int], asked: list[str]) -> Iterator[float]:
    """How much is covered, worked out from the law: nothing is drawn, and there are no false alarms."""
    return (
        coverage(some_of(data, many, 7), QuantilesWithEnds(epsilon, [q], data.measure), FEWER)
        for data in itertools.chain(data_sets(), rounded())
        for epsilon, many, q in itertools.product(epsilons, rows, asked)
    )


def test_intervals_cover_wherever_values_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    if DEEP:
        every = ["1/100", "1/10", "1/4", "1/2", "3/4", "9/10", "99/100"]
        assert min(coverages([0.05, 0.2, 1, 5], [100, 300, 1000, 3000, 10_000], every)) >= 0.94
        assert min(coverages([0.2], [100], ["1/2", "9/10"])) >= 0.945
        assert min(coverages([2], [10_000], ["1/2", "9/10"])) >= 0.945
    assert min(coverages([0.2], [100], ["9/10"])) >= 0.945
    assert min(coverages([2], [10_000], ["1/2"])) >= 0.945
    monkeypatch.setattr(surrounded_quantile, "MARGIN", Fraction(1, 2))
    assert any(one < 0.9 for one in coverages([2], [10_000], ["1/2", *["9/10"] * DEEP]))


def test_where_values_lie_densely_no_more_hold_than_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    def most() -> float:
        return max(
            coverage(some_of(data, 10_000, 7), QuantilesWithEnds(epsilon, [q], data.measure), FEWER)
            for data in itertools.islice(data_sets(), 3 if DEEP else 1)
            for epsilon, q in itertools.product([0.05, 0.2, 1] if DEEP else [0.2], ["1/2", "9/10"])
        )

    assert most() < 0.975
    monkeypatch.setattr(surrounded_quantile, "MARGIN", Fraction(5))
    assert most() > 0.98


def test_some_outcome_is_possible_at_any_epsilon() -> None:
    # At an epsilon of thousands a draw takes for ever where no outcome has the distance of its number.
    for epsilon, q in itertools.product([1, 2000], QUANTILES):
        for data in tables(3 if DEEP else 1):
            distances(SurroundedQuantile(epsilon, q, MEASURE), data)


def test_of_two_like_heaps_the_middle_is_held() -> None:
    # Each number between the two is a median of as many rows on either side, and any of them may be drawn.
    leaves = np.repeat([100, 900], 5000)
    assert coverage(leaves, QuantilesWithEnds(1, [HALF], LeafMeasure.over(1000))) > 0.94


@deep  # the law of the draws themselves is seen above
def test_the_law_of_the_coverage_is_that_of_draws() -> None:
    # 4,000 intervals; by Hoeffding the share is within 0.055 but once in 10^9, and that of wide ones likewise.
    data = list(data_sets())[2]
    made, leaves = QuantilesWithEnds(5, [0.75], data.measure), some_of(data, 60, 7)
    group = np.repeat(np.arange(4_000), 60)
    many = SparseCounts.of(4_000, data.measure.leaves, group, np.tile(leaves, 4_000), 0 * group + 1)
    drawn_, exact = made.release(many), exact_leaf(leaves, Fraction(3, 4))
    held = np.mean((drawn_[:, 1] <= exact) & (exact <= drawn_[:, 2]))
    assert held == pytest.approx(coverage(leaves, made), abs=0.055)
    chance, low, high = outcomes(leaves, made.number(Fraction(3, 4)))
    wide = high - low > data.measure.leaves // 50
    found = np.mean(drawn_[:, 2] - drawn_[:, 1] > data.measure.leaves // 50)
    assert found == pytest.approx(float(chance[wide].sum() / chance.sum()), abs=0.055)


def test_far_leaves_in_wide_entries_have_the_same_ends() -> None:
    # Entries of 64 leaves beyond the reach; what is found is the same as leaf by leaf.
    rng = np.random.default_rng(8)
    leaves = np.sort(rng.integers(0, 1 << 12, 20_000))
    leaf, count = np.unique(leaves, return_counts=True)
    fine = SparseCounts.of(1, 1 << 12, 0 * leaf, leaf, count)
    made = SurroundedQuantile(1, HALF, LeafMeasure.over(1 << 12))
    far = np.abs(leaf - 2048) > 512
    cell, rows = np.unique(leaf[far] // 64 * 64, return_inverse=True)
    wide = SparseCounts.wide(
        1 << 12,
        np.concatenate([leaf[~far], cell]),
        np.concatenate([count[~far], np.bincount(rows, count[far]).astype(np.int64)]),
        np.concatenate([0 * leaf[~far] + 1, 0 * cell + 64]),
        lambda: pytest.fail("the leaves are counted again"),
    )
    outcome, at = (one.ravel() for one in np.mgrid[: len(made.weights), 2000:2096])
    ends = [made.beside(one, Parts.whole(one, 1 << 12)[0 * at], at, outcome) for one in (fine, wide)]
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))
