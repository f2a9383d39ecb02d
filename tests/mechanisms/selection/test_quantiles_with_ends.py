"""Quantiles with the ends of their intervals: their joint loss, their shares, and their coverage."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms.selection import quantiles_with_ends
from discreet.mechanisms.selection.leaf_measure import LeafMeasure
from discreet.mechanisms.selection.quantile import Candidates, ExponentialQuantile
from discreet.mechanisms.selection.quantiles_with_ends import QuantilesWithEnds, stretch
from discreet.mechanisms.selection.sparse_counts import SparseCounts
from tests.mechanisms.selection.test_quantile import LEAVES, MEASURE, Data, added, counts, law_of, loss


def joint_law(mechanism: QuantilesWithEnds, q: Fraction, data: Data) -> list[float]:
    """The law of the three leaves of one quantile, as `release` draws them."""
    end = mechanism.end(q)
    near, more = (
        math.ceil(end.scale * quantiles_with_ends.MARGIN),
        math.ceil(end.scale * quantiles_with_ends.FURTHER),
    )
    side = 1 if q >= Fraction(1, 2) else -1
    number = law_of(mechanism.number(q))(data)
    first = law_of(end, side * near, side)(data)
    seconds = [law_of(end, -side * (near + extra), -side)(data) for extra in (0, more)]
    bound = LEAVES + 1 if side > 0 else 0
    return [
        p * first[at] * r
        for at, p in itertools.product(range(LEAVES + 2), number)
        for r in seconds[at == bound]
    ]


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


def sets(n: int) -> Iterator[tuple[str, np.ndarray[tuple[int], np.dtype[np.int64]], LeafMeasure]]:
    """Values in leaves: dense, skewed, heaped on 0, alike, round."""
    rng = np.random.default_rng(3)
    fine = LeafMeasure.over(1 << 29, Fraction(0), Fraction(1, 1024))
    income = rng.lognormal(10, 1, n)
    zeros = np.where(rng.random(n) < 0.4, 0, rng.lognormal(9, 1, n))
    for name, values in (("uniform", rng.random(n) * 5e5), ("lognormal", income), ("zeros", zeros)):
        yield name, np.floor(np.minimum(values, 499_999) * 1024).astype(np.int64), fine
    yield "few", rng.integers(0, 11, n), LeafMeasure.over(11, Fraction(0))
    yield (
        "round",
        np.minimum(income // 1000 * 1000, 499_999).astype(np.int64),
        LeafMeasure.over(500_001, Fraction(0)),
    )


@pytest.mark.parametrize("q", ["1/10", "1/2", "9/10", "99/100"])
@pytest.mark.parametrize(("n", "epsilon"), [(300, 0.2), (5000, 0.05), (5000, 1)])
def test_intervals_cover(q: str, n: int, epsilon: float) -> None:
    # The coverage is worked out from the law, nothing is drawn: 90 % everywhere, and 94 % or more in most cases.
    found = {name: coverage(leaves, measure, Fraction(q), epsilon) for name, leaves, measure in sets(n)}
    assert min(found.values()) > 0.88, found
    assert np.mean([one > 0.94 for one in found.values()]) >= 0.6, found


def coverage(
    leaves: np.ndarray[tuple[int], np.dtype[np.int64]], measure: LeafMeasure, q: Fraction, epsilon: float
) -> float:
    mechanism = QuantilesWithEnds(epsilon, [q], measure)
    n = len(leaves)
    exact = SparseCounts.of(1, measure.leaves, np.zeros(n, np.int64), leaves, np.ones(n, np.int64))
    rank = q * n

    def chances(one: ExponentialQuantile, margin: int, bound: int) -> tuple[float, float, float]:
        """How likely a draw lies above the quantile, below it, and at the bound."""
        some, law = one.probabilities(exact, margin, bound)
        above, below = some.below > float(rank), some.below + some.within < float(rank)
        at = some.start == (measure.leaves if bound > 0 else -1)
        inside = some.start < some.stop
        return (
            float(law[above & inside].sum()),
            float(law[below & inside].sum()),
            float(law[at & (bound != 0)].sum()),
        )

    end = mechanism.end(q)
    near = math.ceil(end.scale * quantiles_with_ends.MARGIN)
    far = near + math.ceil(end.scale * quantiles_with_ends.FURTHER)
    side = 1 if q >= Fraction(1, 2) else -1
    wrong = 0 if side < 0 else 1  # the first end misses on this side
    number = chances(mechanism.number(q), 0, 0)
    first = chances(end, side * near, side)
    seconds = [chances(end, -side * margin, -side)[1 - wrong] for margin in (near, far)]
    second = (1 - first[2]) * seconds[0] + first[2] * seconds[1]
    return 1 - number[wrong] * first[wrong] - number[1 - wrong] * second


def test_ends_around_no_margin_would_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: the ends are drawn at the quantile itself.
    monkeypatch.setattr(quantiles_with_ends, "MARGIN", Fraction(1, 1000))
    with pytest.raises(AssertionError):
        test_intervals_cover("1/2", 5000, 1)


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
