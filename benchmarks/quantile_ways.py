"""The ways to answer quantiles, and the squared errors of rank of each: from its law, or by draws."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.quantile_coverage import exact_leaf
from benchmarks.quantile_data import DataSet
from discreet.mechanisms import PermuteAndFlip
from discreet.mechanisms.ranks.quantile import ExponentialQuantile, row_moves
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.noise import add_laplace
from discreet.sql.measures.quantile_tree import tree_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def by_law(mechanism: ExponentialQuantile, counts: SparseCounts) -> float:
    """The rms error of rank, from the law."""
    some, law = mechanism.probabilities(counts)
    distance = some.distances(mechanism.q, np.zeros(1, np.int64)) / mechanism.q.denominator
    return float(np.sqrt(law @ np.square(distance)))


def flipped(counts: SparseCounts, leaves: int, q: Fraction, epsilon: Fraction) -> float:
    """The same of permute-and-flip, a candidate for each leaf."""
    dense = np.zeros(leaves, np.int64)
    dense[counts.leaf] = counts.count
    below = np.cumsum(dense) - dense
    over = below * q.denominator - q.numerator * int(dense.sum())
    distance = np.maximum(0, np.maximum(over, -over - dense * q.denominator))
    law = PermuteAndFlip(epsilon, row_moves(q) * q.denominator).probabilities(-distance)
    return float(np.sqrt(law @ np.square(distance / q.denominator)))


def by_tree(data: DataSet, quantiles: Sequence[Fraction], epsilon: Fraction, runs: int) -> Floats:
    """The squared errors of rank of quantiles read off trees of noisy counts: float64 array (quantiles, runs)."""
    tree = tree_for(data.argument, 1)
    leaf = np.floor((data.values - tree.grid.lo) / float(tree.grid.step)).astype(np.int64)
    exact = tree.from_leaves(1, 0 * leaf, leaf, 0 * leaf + 1)
    noisy = add_laplace(np.repeat(exact, runs, axis=0), tree.row_sensitivity / epsilon).astype(np.float64)
    return np.array([data.squares(q, tree.estimate(f"quantile {q}", noisy)) for q in quantiles])


def by_rank(data: DataSet, quantiles: Sequence[Fraction], epsilon: Fraction) -> list[float]:
    """The rms errors of rank of quantiles chosen by rank one by one, with an equal part of epsilon each."""
    counts = data.counts()
    return [by_law(ExponentialQuantile(epsilon / len(quantiles), q, data.measure), counts) for q in quantiles]


def by_parts(
    data: DataSet, quantiles: Sequence[Fraction], epsilon: Fraction, runs: int, *, ends: bool
) -> tuple[Floats, Floats]:
    """Squared errors of rank of quantiles drawn part by part, (quantiles, runs); the share of a run's intervals that
    hold, (runs,), where there are any."""
    one, made = data.counts(), QuantilesWithEnds(epsilon, quantiles, data.measure, ends=ends)
    starts = np.arange(runs + 1) * len(one.leaf)
    many = SparseCounts(runs, starts, np.tile(one.leaf, runs), np.tile(one.count, runs))
    drawn, grid, leaves = made.release(many), data.ranks.grid, data.leaves()
    errors, held = [], []
    for at, q in enumerate(quantiles):
        number, *beside = drawn[:, made.each * at : made.each * (at + 1)].T
        errors.append(data.squares(q, float(grid.lo) + float(grid.step) * (number + 0.5)))
        if ends:
            exact = exact_leaf(leaves, q)
            held.append((beside[0] <= exact) & (exact <= beside[1]))
    return np.array(errors), np.mean(held, axis=0) if held else np.empty(0)
