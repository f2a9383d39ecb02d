"""The marginals of a graphical model, exactly: sums and products along its junction tree, in logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.synthetic.junction import Clique, JunctionTree, cells_of

Floats: TypeAlias = npt.NDArray[np.float64]


def spread(table: Floats, columns: Clique, onto: Clique) -> Floats:
    """A table of some columns, to be broadcast onto more of them."""
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if column in columns else 1 for column in onto])


def log_sum(table: Floats, columns: Clique, kept: Sequence[int]) -> Floats:
    """The logarithm of the sum of e^table over all columns but some."""
    over = tuple(at for at, column in enumerate(columns) if column not in kept)
    if not over:
        return table
    most = table.max(axis=over, keepdims=True)
    with np.errstate(under="ignore"):
        total = np.log(np.exp(table - most).sum(axis=over)) + most.reshape(
            [size for at, size in enumerate(table.shape) if at not in over]
        )
    return np.asarray(total)


class MarginalModel:
    """A distribution over all columns, as the marginals of the cliques of its tree.

    Args:
        tree: of the columns.
        potentials: of each clique the logarithm of its factor, float64 of the sizes of its columns.
    """

    def __init__(self, tree: JunctionTree, potentials: Sequence[Floats]) -> None:
        self.tree = tree
        up = [np.array(one) for one in potentials]
        told: list[Floats] = [np.zeros(())] * len(up)
        for at in range(len(up) - 1, 0, -1):
            parent, shared = tree.parents[at], tree.overlaps[at]
            told[at] = log_sum(up[at], tree.cliques[at], shared)
            up[parent] += spread(told[at], shared, tree.cliques[parent])
        self.log_total = float(log_sum(up[0], tree.cliques[0], ()))
        up[0] -= self.log_total
        with np.errstate(
            divide="ignore", under="ignore"
        ):  # an overlap without a chance has the logarithm -inf
            self.beliefs = [np.exp(up[0])]
            for at in range(1, len(up)):
                parent, shared = tree.parents[at], tree.overlaps[at]
                down = np.log(self.held(shared, parent)) - told[at]
                self.beliefs.append(np.exp(up[at] + spread(down, shared, tree.cliques[at])))

    def held(self, columns: Clique, holder: int) -> Floats:
        """The marginal of columns that a clique holds."""
        over = tuple(at for at, one in enumerate(self.tree.cliques[holder]) if one not in columns)
        return np.asarray(self.beliefs[holder].sum(axis=over))

    def marginal(self, columns: Clique) -> Floats:
        """The marginal of any columns: float64 of their sizes, sums to 1."""
        holder = self.tree.holder(columns)
        if holder >= 0:
            return self.held(columns, holder)
        return self._across(columns)

    def _across(self, columns: Clique) -> Floats:
        """The marginal of columns of several cliques: the smallest subtree that holds them, summed from its leaves."""
        tree, wanted = self.tree, set(columns)
        needed = _subtree(tree, wanted)
        tables: dict[int, tuple[Clique, Floats]] = {}
        for at in sorted(needed, reverse=True):
            axes, table = tree.cliques[at], self.beliefs[at]
            for child in sorted(child for child in needed if tree.parents[child] == at):
                axes, table = _product(axes, table, *tables.pop(child))
            top = at == min(needed)
            kept = tuple(one for one in axes if one in wanted or (not top and one in tree.overlaps[at]))
            table = table.sum(axis=tuple(place for place, one in enumerate(axes) if one not in kept))
            if not top:
                shared = tree.overlaps[at]
                own = self.held(shared, at)
                with np.errstate(divide="ignore", invalid="ignore"):
                    table = np.where(spread(own, shared, kept) > 0, table / spread(own, shared, kept), 0.0)
            tables[at] = kept, table
        (_, found) = tables.popitem()[1]
        return found


def _subtree(tree: JunctionTree, wanted: set[int]) -> set[int]:
    """The cliques of the smallest part of a tree that holds some columns: leaves are cut that hold no more of them."""
    beside: list[set[int]] = [set() for _ in tree.cliques]
    for at, parent in enumerate(tree.parents):
        if parent >= 0:
            beside[at].add(parent)
            beside[parent].add(at)
    needed = set(range(len(tree.cliques)))
    leaves = [at for at in needed if len(beside[at]) == 1]
    while leaves:
        at = leaves.pop()
        if len(beside[at]) != 1:
            continue  # the last but this one was cut
        (other,) = beside[at]
        if wanted.intersection(tree.cliques[at]) <= set(tree.cliques[other]):
            needed.remove(at)
            beside[other].remove(at)
            beside[at].clear()
            if len(beside[other]) == 1:
                leaves.append(other)
    return needed


def _product(one: Clique, left: Floats, other: Clique, right: Floats) -> tuple[Clique, Floats]:
    axes = tuple(sorted({*one, *other}))
    return axes, spread(left, one, axes) * spread(right, other, axes)


def uniform(tree: JunctionTree) -> MarginalModel:
    """The model of nothing known."""
    return MarginalModel(
        tree, [np.zeros([tree.sizes[column] for column in clique]) for clique in tree.cliques]
    )


__all__ = ["Floats", "MarginalModel", "cells_of", "spread", "uniform"]
