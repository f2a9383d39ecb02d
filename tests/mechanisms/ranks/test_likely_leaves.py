"""Proposals by the outcomes of likely leaves: the same law, few of them for any data, and what breaks each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.mechanisms.ranks import likely_leaves, quantile, surrounded_quantile
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.likely_leaves import LikelyLeaves
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.rank_candidates import Parts
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.mechanisms.ranks.surrounded_quantile import SurroundedQuantile
from discreet.noise.weighted_choice import uniform_below
from tests.depth import DEEP, few
from tests.mechanisms.ranks.drawn import by_outcome
from tests.mechanisms.ranks.test_quantile import LEAVES, MEASURE, counts, tables
from tests.noise.fit import ALARM, alarm

HALF = Fraction(1, 2)
FINE = 1 << 30


def kept_half(self: LikelyLeaves, chosen: Any, outcome: Any, farther: Any) -> Any:
    """Planted fault: a likely leaf is kept half as often."""
    return TAKEN(self, chosen, outcome, farther) & (uniform_below(0 * chosen + 2) == 0)


def never_farther(self: LikelyLeaves, chosen: Any, outcome: Any, farther: Any) -> Any:
    """Planted fault: the ends are taken for those of the leaf that has the nearest ones."""
    return TAKEN(self, chosen, outcome, 0 * farther)


TAKEN = LikelyLeaves.taken


@pytest.mark.parametrize(
    ("within", "reach", "planted"),
    [
        *[(0, Fraction(1, 2), None)] * DEEP,  # where leaves are soon far
        (1, quantile.REACH, None),
        (0, quantile.REACH, kept_half),
        (1, quantile.REACH, never_farther),
    ],
)
def test_the_law_is_the_same_whichever_leaves_are_likely(
    within: int, reach: Fraction, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 20,000 draws (of the last fault, which is coarse, 2,000 but in a deep run: the alarm is at 1e-67) by likely
    # leaves from the first proposal on, taken whether or not fewer proposals are expected.
    round_: Any = SurroundedQuantile._round
    monkeypatch.setattr(SurroundedQuantile, "_round", lambda *args: round_(*args[:-1], True))
    monkeypatch.setattr(surrounded_quantile, "MARGIN", Fraction(1))
    monkeypatch.setattr(surrounded_quantile, "TRIES", 16)  # of so few outcomes many are taken
    monkeypatch.setattr(quantile, "REACH", reach)
    monkeypatch.setattr(likely_leaves, "WITHIN", (within,))
    if planted is not None:
        monkeypatch.setattr(LikelyLeaves, "taken", planted)
    data = (1, 7, 0, 3)
    made = QuantilesWithEnds(3, [HALF], MEASURE)
    of = counts(data)
    assert LikelyLeaves.of(SurroundedQuantile(3, HALF, MEASURE), of, Parts.whole(of, LEAVES)).likely.any()
    many = 2_000 if planted is never_farther and not DEEP else 20_000
    seen = Counter(map(tuple, made.release(counts(*[data] * many)).tolist()))
    law = by_outcome(made, counts)(data)
    assert seen.keys() <= law.keys()
    found = np.array([[seen[one], law[one]] for one in law])
    assert (alarm(found[:, 0], found[:, 1]) > ALARM) == (planted is None)


def least(made: SurroundedQuantile, data: tuple[int, ...]) -> tuple[Any, Any]:
    """The least distance of each outcome around some leaves, as it is said to be at most, and as it is."""
    of, each = counts(data), np.arange(len(made.weights))
    said, true = [], []
    for first in range(LEAVES):
        around = [
            made.beside(of, Parts.whole(of, LEAVES)[0 * each], 0 * each + leaf, each)[2]
            for leaf in range(first, LEAVES)
        ]
        for last in range(first, LEAVES):
            here = Parts.whole(of, LEAVES)[0 * each]
            said.append(made.least(of, here, 0 * each + first, 0 * each + last, each))
            true.append(np.min(around[: last - first + 1], axis=0))
    return np.array(said), np.array(true)


# A deep run asks the median as well.
@pytest.mark.parametrize("q", few([Fraction(1, 4), HALF, Fraction(9, 10)], 2))
def test_no_ends_around_the_leaves_are_nearer_than_is_said(
    q: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surrounded_quantile, "MARGIN", Fraction(1))
    made = SurroundedQuantile(2, q, MEASURE)
    assert all(np.all(said <= true) for said, true in (least(made, data) for data in tables(2)))
    # Planted fault: the distances of the last leaf alone.
    own = SurroundedQuantile.least
    monkeypatch.setattr(
        SurroundedQuantile,
        "least",
        lambda self, of, parts, _, last, out: own(self, of, parts, last, last, out),
    )
    assert not all(np.all(said <= true) for said, true in (least(made, data) for data in tables(2)))


def heaps(*at: int) -> tuple[Any, Any]:
    """Heaps of as many rows, so that the quantile of two stands between them."""
    return np.array(at), np.full(len(at), 500_000)


WORST: dict[str, Callable[[], tuple[Any, Any]]] = {
    "a heap": lambda: (np.array([5, 1000, 1 << 29]), np.array([300_000, 400_000, 300_000])),
    "adjacent heaps": lambda: heaps(1000, 1001),
    "heaps beside a leaf": lambda: heaps(1000, 1002),
    "heaps with a gap": lambda: heaps(1000, 1100),
    "heaps with a wide gap": lambda: heaps(1000, 1000 + (1 << 14)),
    "a round number behind a heap": lambda: heaps(999_990, 999_999),
    "a round number between heaps": lambda: heaps(999_990, 1_000_009),
    "likely, and a gap that is hardly": lambda: (np.array([1000, 2000]), np.array([500_006, 499_994])),
    "ages": lambda: (np.arange(100), np.full(100, 1000)),
    "few ages": lambda: (np.arange(100), np.full(100, 3)),
    "values that double": lambda: (1 << np.arange(30), np.full(30, 2)),
}


@pytest.mark.parametrize("name", WORST)
def test_no_data_take_many_rounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # One proposal in 300 or more is taken, so that 512 fail with a chance of e^-1.7 at most, and 40 rounds of 12 groups
    # with one below 1e-25. By a single likely leaf, or by none, two adjacent heaps take more than 60.
    rounds: list[int] = []
    round_ = SurroundedQuantile._round

    def counted(*args: Any) -> Any:
        rounds.append(1)
        return round_(*args) if len(rounds) < 60 else np.zeros(0, np.int64)

    monkeypatch.setattr(SurroundedQuantile, "_round", counted)
    leaf, count = WORST[name]()
    group = np.repeat(np.arange(12), len(leaf))
    made = SparseCounts.of(12, FINE, group, np.tile(leaf, 12), np.tile(count, 12))
    drawn = SurroundedQuantile(1, HALF, LeafMeasure.over(FINE, Fraction(0)))
    drawn.surround(made, Parts.whole(made, FINE))
    assert len(rounds) < 40
    if name == "adjacent heaps":
        rounds.clear()
        monkeypatch.setattr(likely_leaves, "WITHIN", ())
        drawn.surround(made, Parts.whole(made, FINE))
        assert len(rounds) == 60


def test_of_three_quantiles_that_of_a_heap_is_found() -> None:
    group = np.repeat(np.arange(40), 3)
    leaf, count = np.tile([5, 1000, 1 << 29], 40), np.tile([300_000, 400_000, 300_000], 40)
    made = SparseCounts.of(40, FINE, group, leaf, count)
    asked = [Fraction(1, 4), HALF, Fraction(3, 4)]
    found = QuantilesWithEnds(1, asked, LeafMeasure.over(FINE), groups=40).release(made)
    assert np.all(found[:, 3] == 1000)
