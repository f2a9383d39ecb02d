"""Quantiles with the ends of their intervals: their joint loss, their shares, and their coverage."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.quantile_coverage import coverage, exact_leaf
from benchmarks.quantiles import DataSet, data_sets

from discreet.errors import InvalidParameter
from discreet.mechanisms.selection import quantiles_with_ends
from discreet.mechanisms.selection.quantile import Candidates, ExponentialQuantile
from discreet.mechanisms.selection.quantiles_with_ends import QuantilesWithEnds, stretch
from discreet.mechanisms.selection.sparse_counts import SparseCounts
from tests.mechanisms.selection.test_quantile import (
    LEAVES,
    MEASURE,
    Data,
    added,
    by_leaf,
    counts,
    law_of,
    loss,
)
from tests.noise.fit import ALARM, alarm


def joint_law(mechanism: QuantilesWithEnds, q: Fraction, data: Data) -> list[float]:
    """The law of the three leaves of one quantile, as `release` draws them."""
    end, exact = mechanism.end(q), counts(data)
    near, more = (
        math.ceil(end.scale * quantiles_with_ends.MARGIN),
        math.ceil(end.scale * quantiles_with_ends.FURTHER),
    )
    side = 1 if q >= Fraction(1, 2) else -1
    bound = LEAVES + 1 if side > 0 else 0
    out = []
    for number, p in enumerate(law_of(mechanism.number(q))(data)[1:-1]):

        def of_end(margin: int, side: int, number: int = number) -> list[float]:
            some = Candidates.of(exact, MEASURE).beside(MEASURE, np.array([number]), side)
            return by_leaf(some, end.law(some, np.array([margin]), side))

        seconds = [of_end(-side * (near + extra), -side) for extra in (0, more)]
        out += [
            p * chance * r
            for at, chance in enumerate(of_end(side * near, side))
            for r in seconds[at == bound]
        ]
    return out


@pytest.mark.parametrize("q", [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)])
def test_the_exact_loss_of_all_three_is_within_epsilon(q: Fraction) -> None:
    mechanism = QuantilesWithEnds(2, [q], MEASURE)
    assert loss(lambda data: joint_law(mechanism, q, data), added, 3) <= 2 * (1 + 1e-9)


def test_an_end_at_the_price_of_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: the ends are drawn with the whole epsilon too.
    q = Fraction(1, 2)
    monkeypatch.setattr(
        QuantilesWithEnds, "end", lambda self, q: ExponentialQuantile(self.epsilon, q, MEASURE)
    )
    mechanism = QuantilesWithEnds(2, [q], MEASURE)
    assert loss(lambda data: joint_law(mechanism, q, data), added, 3) > 2.05


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("rows", [1, 5])
def test_the_draws_add_up_to_epsilon(monkeypatch: pytest.MonkeyPatch, neighbours: str, rows: int) -> None:
    spent: list[Fraction] = []
    choose = ExponentialQuantile.choose

    def counted(self: ExponentialQuantile, *args: object, **more: object) -> object:
        assert self.moves == rows * (Fraction(9, 10) if neighbours == "add_remove" else Fraction(9, 5))
        spent.append(self.epsilon)
        return choose(self, *args, **more)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(ExponentialQuantile, "choose", counted)
    mechanism = QuantilesWithEnds("1/3", [0.9, 0.1], MEASURE, rows, neighbours)  # type: ignore[arg-type]
    assert mechanism.release(counts((1, 2, 0, 1), (0, 0, 0, 0))).shape == (2, 6)
    assert sum(spent) == mechanism.epsilon == mechanism.loss
    assert len(spent) == 6


def test_ends_are_beside_the_number() -> None:
    rng = np.random.default_rng(5)
    data = [tuple(rng.integers(0, 9, LEAVES).tolist()) for _ in range(500)]
    for epsilon in (0.01, 1, 100):
        for q in (0, 0.1, 0.5, 0.9, 1):
            number, low, high = QuantilesWithEnds(epsilon, [q], MEASURE).release(counts(*data)).T
            assert np.all((low >= -1) & (low <= number) & (number <= high) & (high <= LEAVES))
            assert np.all((number >= 0) & (number < LEAVES))


def test_ends_are_limited_by_the_number_that_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    # The number is public when the ends are drawn; a leaf that the data decides would not be.
    limits: list[Any] = []
    beside = Candidates.beside

    def watched(self: Candidates, measure: Any, leaf: Any, side: int) -> Candidates:
        limits.append(leaf)
        return beside(self, measure, leaf, side)

    monkeypatch.setattr(Candidates, "beside", watched)
    drawn = QuantilesWithEnds("1/3", [0.9, 0.1], MEASURE).release(counts((1, 2, 0, 1), (0, 3, 0, 0)))
    assert [one.tolist() for one in limits] == [drawn[:, at].tolist() for at in (0, 0, 3, 3)]


def test_the_law_is_that_of_the_draws() -> None:
    # 200,000 draws; false alarm 1e-11; an epsilon that is off by a tenth is caught.
    mechanism, q, data = QuantilesWithEnds(3, [0.5], MEASURE), Fraction(1, 2), (1, 2, 0, 3)
    law = np.array(joint_law(mechanism, q, data)).reshape(LEAVES, LEAVES + 2, LEAVES + 2)
    assert law.sum() == pytest.approx(1)
    drawn = np.concatenate([mechanism.release(counts(*[data] * 50_000)) for _ in range(4)])
    number, low, high = drawn.T
    found = np.bincount((number * (LEAVES + 2) + high + 1) * (LEAVES + 2) + low + 1, minlength=law.size)
    seen = law.ravel() > 0
    assert not found[~seen].any()
    assert alarm(found[seen], law.ravel()[seen]) > ALARM
    other = np.array(joint_law(QuantilesWithEnds(2.7, [0.5], MEASURE), q, data))
    assert alarm(found[seen], other[seen]) < ALARM


def some_of(data: DataSet, rows: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.sort(np.random.default_rng(seed).choice(data.leaves(), rows, replace=False))


@pytest.mark.parametrize("q", ["1/100", "1/10", "1/4", "1/2", "3/4", "9/10", "99/100"])
@pytest.mark.parametrize("rows", [100, 300, 1000, 3000, 10_000])
def test_intervals_cover(q: str, rows: int) -> None:
    # The coverage is worked out from the law, nothing is drawn: there are no false alarms.
    found = {
        (data.name, epsilon): coverage(some_of(data, rows, 7), QuantilesWithEnds(epsilon, [q], data.measure))
        for data, epsilon in itertools.product(data_sets(), (0.05, 0.2, 1, 5))
    }
    assert min(found.values()) >= 0.94, min(found.items(), key=lambda one: one[1])


def test_the_law_of_the_coverage_is_that_of_draws() -> None:
    # 20,000 intervals each; by Hoeffding both shares are within 0.025 but once in 10^9.
    for data in list(data_sets())[2:4]:
        mechanism, leaves = QuantilesWithEnds(5, [0.75], data.measure), some_of(data, 60, 7)
        group = np.repeat(np.arange(20_000), 60)
        many = SparseCounts.of(20_000, data.measure.leaves, group, np.tile(leaves, 20_000), 0 * group + 1)
        drawn = mechanism.release(many)
        exact = exact_leaf(leaves, Fraction(3, 4))
        held = np.mean((drawn[:, 1] <= exact) & (exact <= drawn[:, 2]))
        assert held == pytest.approx(coverage(leaves, mechanism), abs=0.025)


@pytest.mark.parametrize(("planted", "q", "rows"), [("MARGIN", "1/2", 3000), ("FURTHER", "99/100", 300)])
def test_ends_around_no_margin_would_not_cover(
    monkeypatch: pytest.MonkeyPatch, planted: str, q: str, rows: int
) -> None:
    # Planted faults: the ends are drawn at the quantile itself; the other end does not make up for a bound.
    monkeypatch.setattr(quantiles_with_ends, planted, Fraction(1, 1000))
    with pytest.raises(AssertionError):
        test_intervals_cover(q, rows)


def test_a_wider_confidence_has_a_wider_interval() -> None:
    widths = [stretch(level) for level in (0.01, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999)]
    assert widths == sorted(widths)
    assert widths[0] > 0
    assert (
        QuantilesWithEnds(1, [0.5], MEASURE).half_width(0.99)
        > QuantilesWithEnds(1, [0.5], MEASURE).half_width()
    )


def test_parameters_are_read() -> None:
    faults: list[dict[str, Any]] = [
        {"quantiles": []},
        {"rows": 0},
        {"neighbours": "swap"},
        {"quantiles": [2]},
        {"groups": 0},
    ]
    for wrong in faults:
        with pytest.raises(InvalidParameter):
            QuantilesWithEnds(**{"epsilon": 1, "quantiles": [0.5], "measure": MEASURE, **wrong})
    alone = QuantilesWithEnds(1, [0.5], MEASURE, 3, "replace_one", 1)
    assert alone.moves(Fraction(1, 2)) == 3
    with pytest.raises(InvalidParameter, match="several groups"):
        alone.release(counts((1, 0, 0, 0), (0, 0, 0, 0)))
    assert Candidates.of(counts((0, 0, 0, 0)), MEASURE).start.tolist() == [-1, 0, LEAVES]
