"""Counts with wide entries have the law of the same counts leaf by leaf: every way of a draw, in exact fractions.

The scale stands in the law in powers of x = e^(-1/scale) alone, so the drawing code is followed along every branch with
a rational x in its place.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest

from discreet.mechanisms.ranks import quantile
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure, Multiples
from discreet.mechanisms.ranks.quantile import ExponentialQuantile
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.rank_candidates import Parts, rows_before_place
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from tests.depth import examples

LEAVES = 8
MEASURE = LeafMeasure(LEAVES, 2, (Multiples(3, 3, 0, 1, 5),))
Data: TypeAlias = tuple[int, ...]
Law: TypeAlias = Counter[tuple[int, int]]
"""The chance of a leaf, with the rows before the place."""
CUTS = [cut for many in range(4) for cut in itertools.combinations(range(1, LEAVES), many)]
"""Where entries end that reach from one cut to the next: few cuts, wide entries."""


def fine(data: Data) -> SparseCounts:
    at = np.arange(LEAVES)
    return SparseCounts.of(1, LEAVES, 0 * at, at, np.array(data))


def wide(data: Data, cuts: tuple[int, ...]) -> SparseCounts:
    ends = (0, *cuts, LEAVES)
    cells = [(a, sum(data[a:b]), b - a) for a, b in itertools.pairwise(ends) if sum(data[a:b])]
    leaf, count, width = np.array(cells, np.int64).reshape(-1, 3).T
    return SparseCounts.wide(LEAVES, leaf, count, width, partial(fine, data))


class Again(Exception):
    """A leaf was drawn, and refused."""


def law(draw: Callable[[], tuple[Any, Any]], x: Fraction) -> Law:
    """The law of one draw, along every way that it can go; refused draws begin again."""
    out: Law = Counter()
    for chance, result in ways(draw, x):
        if result is not None:
            out[int(result[0][0]), int(result[1][0])] += chance  # type: ignore[assignment]  # a fraction
    all_ = sum(out.values())
    return Counter({one: chance / all_ for one, chance in out.items()})


def ways(draw: Callable[[], Any], x: Fraction) -> Iterator[tuple[Fraction, Any]]:
    """Each way that a draw can go, with its chance and its result; None where it would begin again."""
    way: list[int] = []

    def taken(chances: list[Fraction]) -> int:
        some = [at for at, chance in enumerate(chances) if chance]
        if len(seen) == len(way):
            way.append(0)
        at = some[way[len(seen)]]
        seen.append((len(some), chances[at] / sum(chances)))
        return at

    def weighted(weights: Any, gaps: Any, *_: Any) -> Any:
        pairs = zip(weights.tolist(), gaps.tolist(), strict=True)
        return np.array([taken([weight * x**gap for weight, gap in pairs])])

    def uniform(n: Any) -> Any:
        return np.array([taken([Fraction(1)] * int(many)) for many in n], np.int64)

    def coin(gaps: Any, scale: Any) -> Any:
        heads = x ** int(gaps[0])
        if taken([heads, 1 - heads]):
            raise Again
        return np.array([True])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantile, "weighted_choices", weighted)
        patch.setattr(quantile, "uniform_below", uniform)
        patch.setattr(quantile, "bernoulli_exp", coin)
        while True:
            seen: list[tuple[int, Fraction]] = []
            try:
                result = draw()
            except Again:
                result = None
            yield math.prod((chance for _, chance in seen), start=Fraction(1)), result
            del way[len(seen) :]
            while way and way[-1] + 1 == seen[len(way) - 1][0]:
                way.pop()
            if not way:
                return
            way[-1] += 1


def on_paper(
    mechanism: ExponentialQuantile, data: Data, low: int, high: int, margin: int, x: Fraction
) -> Law:
    """The law of a number among some leaves as the text of `quantile` writes it."""
    target = mechanism.q * sum(data) + margin
    out: Law = Counter()
    for leaf in range(low, high):
        below = sum(data[:leaf])
        off = max(Fraction(0), below - target, target - below - data[leaf]) * mechanism.q.denominator
        assert off.denominator == 1
        out[leaf, 0] = mechanism.measure.of(np.array([leaf]), np.array([leaf + 1]))[0] * x ** int(off)
    all_ = sum(out.values())
    return Counter({one: chance / all_ for one, chance in out.items()})


def faulty() -> bool:
    """Whether one of some random draws from wide entries has another law than on paper."""
    return any(differs(random.Random(seed)) for seed in range(examples(60, 400)))


def differs(rng: random.Random) -> bool:
    data = tuple(rng.choice([0, 0, 1, 2, 5]) for _ in range(LEAVES))
    mechanism = ExponentialQuantile(1, rng.choice(["1/2", "1/4", "1"]), MEASURE)
    low = rng.choice([0, 0, *range(LEAVES)])
    high = rng.choice([LEAVES, LEAVES, *range(low + 1, LEAVES + 1)])
    margin, x = rng.randrange(-3, 4), rng.choice([Fraction(1, 3), Fraction(2, 5)])
    counts = wide(data, rng.choice(CUTS))
    at = [np.array([n]) for n in (0, low, high, 0, sum(data))]
    drawn = law(lambda: (mechanism.choose(counts, Parts(*at), np.array([margin])), [0]), x)
    return drawn != on_paper(mechanism, data, low, high, margin, x)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves are far from a row on."""
    monkeypatch.setattr(quantile, "REACH", Fraction(1, 4))


def test_wide_entries_have_the_law_on_paper() -> None:
    assert not faulty()


@pytest.mark.parametrize("fault", ["never finer", "far leaves end early", "always kept", "cut ends"])
def test_planted_faults_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "never finer":  # the rows of a whole entry stand in its first leaf
        monkeypatch.setattr(SparseCounts, "finer", property(lambda self: self), raising=True)
        monkeypatch.setattr(SparseCounts, "inside", lambda *_: False)
        monkeypatch.setattr(SparseCounts, "wide_before", property(lambda self: np.zeros(99, np.int64)))
    elif fault == "far leaves end early":
        monkeypatch.setattr(SparseCounts, "stops", property(lambda self: self.leaf + 1))
    elif fault == "always kept":
        far = ExponentialQuantile._far

        def nearest(*args: Any) -> Any:
            rows, off = far(*args)
            return rows, 0 * off

        monkeypatch.setattr(ExponentialQuantile, "_far", nearest)
    else:
        monkeypatch.setattr(SparseCounts, "inside", lambda *_: False)
    assert faulty()


def test_the_place_of_a_split_has_the_law_of_single_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("quantile", "rank_candidates"):
        monkeypatch.setattr(f"discreet.mechanisms.ranks.{name}.PIECES", 4)
    assert rows_before_place(np.array([3]), np.array([4]))[0] == 4
    for seed in range(1, 1 + examples(3, 20)):
        rng = random.Random(seed)
        data = tuple(rng.choice([0, 0, 1, 3]) for _ in range(LEAVES))
        mechanism = ExponentialQuantile(1, "1/2", MEASURE)
        laws = [
            law(lambda: mechanism.split(one, Parts.whole(one, LEAVES)), Fraction(1, 3))  # noqa: B023
            for one in (fine(data), wide(data, rng.choice(CUTS)))
        ]
        assert laws[0] == laws[1]


def test_all_draws_of_a_release_go_through_wide_entries() -> None:
    # Near entries are found at once, and a group among others finds its own leaves.
    data = (9, 0, 0, 0, 3, 9, 2, 9)
    mechanism = QuantilesWithEnds(400, [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)], MEASURE, groups=1)
    assert (
        mechanism.release(wide(data, (4,)))[:, ::3].tolist() == mechanism.release(fine(data))[:, ::3].tolist()
    )
    assert wide(data, (4,))[0:1].finer.leaf.tolist() == [0, 4, 5, 6, 7]
