"""Rows drawn from a model, so evenly that counts differ from it by hardly more than rounding.

Clique by clique, from the root of the junction tree on: among the rows with the same values of the columns that are
drawn already, the values of the new columns follow their conditional distribution, at evenly spaced places of its
cumulative sums (systematic sampling), in an order that is random.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.synthetic.inference import Floats, MarginalModel
from discreet.synthetic.junction import cells_of

Integers = npt.NDArray[np.int64]


def sample_rows(model: MarginalModel, rows: int, random: np.random.Generator) -> Integers:
    """Rows of a model: int64 (rows, columns), numbers of values.

    Everything here is post-processing of noisy counts, so NumPy's generator will do.
    """
    tree = model.tree
    out = np.zeros((rows, len(tree.sizes)), np.int64)
    for node, clique in enumerate(tree.cliques):
        shared = tree.overlaps[node]
        new = tuple(column for column in clique if column not in shared)
        groups = _numbers(out, shared, tree.sizes)
        order = [clique.index(column) for column in (*shared, *new)]
        table = model.beliefs[node].transpose(order).reshape(cells_of(tree.sizes, shared), -1)
        places = np.unravel_index(_systematic(table, groups, random), [tree.sizes[column] for column in new])
        for column, values in zip(new, places, strict=True):
            out[:, column] = values
    return out[random.permutation(rows)]


def _numbers(rows: Integers, columns: tuple[int, ...], sizes: tuple[int, ...]) -> Integers:
    found = np.zeros(len(rows), np.int64)
    for column in columns:
        found = found * sizes[column] + rows[:, column]
    return found


def _systematic(table: Floats, groups: Integers, random: np.random.Generator) -> Integers:
    """A column of the table for each row, by the line of the table that is its group."""
    lines = table + 1e-300  # a line that never happens is drawn from evenly
    sums = np.cumsum(lines / lines.sum(axis=1, keepdims=True), axis=1)
    sums[:, -1] = 1.0
    order = np.lexsort((random.random(len(groups)), groups))
    sizes = np.bincount(groups, minlength=len(table))
    starts = np.cumsum(sizes) - sizes
    sorted_groups = groups[order]
    ranks = np.arange(len(groups)) - starts[sorted_groups]
    places = (ranks + random.random(len(table))[sorted_groups]) / np.maximum(sizes[sorted_groups], 1)
    flat = (sums + np.arange(len(table))[:, np.newaxis]).ravel()
    found = np.searchsorted(flat, sorted_groups + np.minimum(places, 1 - 1e-12), side="right")
    out = np.empty(len(groups), np.int64)
    out[order] = np.clip(found - sorted_groups * table.shape[1], 0, table.shape[1] - 1)
    return out
