"""The exact law of a release that makes several draws: every way that they can go, each with its probability."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

from discreet.mechanisms.ranks.flipped_quantile import FlippedQuantile
from discreet.mechanisms.ranks.quantile import ExponentialQuantile
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.rank_candidates import Candidates, Parts
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.mechanisms.ranks.surrounded_quantile import Surrounded, SurroundedQuantile

Options: TypeAlias = list[tuple[int, int, int, int, float]]
"""A leaf, the rows before the place, the ends of the interval, and the probability."""


def options(
    mechanism: ExponentialQuantile, counts: SparseCounts, parts: Parts, margin: int, bound: int, cut: bool
) -> Options:
    """The ways that one draw can go: the law of the candidates, of a gap by the weights of its leaves, and of ends."""
    some = Candidates.of(counts, mechanism.measure, parts)
    some = some.places() if cut else some
    law = mechanism.law(some, np.array([margin]), bound)
    gaps = some.distances(mechanism.q, np.array([margin]))
    out: Options = []
    for start, stop, below, chance, gap in zip(some.start, some.stop, some.below, law, gaps, strict=True):
        leaves = np.arange(start, max(stop, start + 1))
        each = mechanism.measure.of(leaves, leaves + 1) if stop > start else np.ones(1)
        for leaf, w in zip(leaves, each, strict=True):
            if chance > 0:
                ends = around(mechanism, counts, parts, int(leaf), int(gap))
                out += [(int(leaf), int(below), *beside, chance * w / each.sum() * p) for *beside, p in ends]
    whole = sum(one[-1] for one in out)
    return [(*one[:-1], one[-1] / whole) for one in out if one[-1] > 0]


def around(
    mechanism: ExponentialQuantile, counts: SparseCounts, parts: Parts, leaf: int, gap: int
) -> list[tuple[int, int, float]]:
    """The ends around a leaf, as the text of `surrounded_quantile` has their law: lower and upper end, and weight."""
    if not isinstance(mechanism, SurroundedQuantile):
        return [(leaf, leaf, 1.0)]
    every = np.arange(len(mechanism.weights))
    low, high, off = mechanism.beside(counts, parts[0 * every], 0 * every + leaf, every)
    scale = float(mechanism.scale * mechanism.q.denominator)
    weight = mechanism.weights * np.exp(-np.maximum(0, off - gap) / scale)
    return list(zip(low.tolist(), high.tolist(), weight.tolist(), strict=True))


def law(
    mechanism: QuantilesWithEnds, counts: SparseCounts, known: dict[Any, Options]
) -> Counter[tuple[int, ...]]:
    """The law of `release` for one group, by running it along every way.

    Args:
        mechanism: its draws are replaced.
        counts: of one group.
        known: the laws of draws that were worked out.
    """
    out: Counter[tuple[int, ...]] = Counter()
    way: list[int] = []
    ends: list[int] = []
    chances: list[float] = []

    def taken(mine: ExponentialQuantile, parts: Parts, margin: int, bound: int, cut: bool) -> list[Any]:
        span = tuple(int(one[0]) for one in (parts.low, parts.high, parts.first, parts.last))
        key = mine, tuple(counts.leaf), tuple(counts.count), span, margin, bound, cut
        if key not in known:
            known[key] = options(mine, counts, parts, margin, bound, cut)
        if len(ends) == len(way):
            way.append(0)
        *drawn, chance = known[key][way[len(ends)]]
        ends.append(len(known[key]))
        chances.append(chance)
        return [np.array([one]) for one in drawn]

    def choose(mine: Any, _: Any, parts: Parts, margin: Any, bound: int = 0) -> Any:
        return taken(mine, parts, int(margin[0]), bound, cut=False)[0]

    def split(mine: Any, _: Any, parts: Parts) -> Any:
        return taken(mine, parts, 0, 0, cut=True)[:2]

    def surround(mine: Any, _: Any, parts: Parts) -> Any:
        leaf, _, low, high = taken(mine, parts, 0, 0, cut=False)
        return Surrounded(leaf, low, high)

    with pytest.MonkeyPatch.context() as patch:
        for kind in (ExponentialQuantile, FlippedQuantile):
            patch.setattr(kind, "choose", choose)
        patch.setattr(ExponentialQuantile, "split", split)
        patch.setattr(SurroundedQuantile, "surround", surround)
        while True:
            ends.clear()
            chances.clear()
            (leaves,) = mechanism.release(counts)
            out[tuple(leaves.tolist())] += math.prod(chances)  # type: ignore[assignment]  # a float
            while way and way[-1] + 1 == ends[len(way) - 1]:
                way.pop()
            if not way:
                return out
            way[-1] += 1


def by_outcome(
    mechanism: QuantilesWithEnds, counts_of: Callable[[Any], SparseCounts]
) -> Callable[[Any], Counter[tuple[int, ...]]]:
    """The law of a mechanism as a function of the data."""
    known: dict[Any, Options] = {}
    return lambda data: law(mechanism, counts_of(data), known)
