"""Small random models whose whole distribution is known, and counts of random rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.synthetic.counts import Counts
from discreet.synthetic.inference import MarginalModel, spread
from discreet.synthetic.junction import Clique, junction_tree

SIZES = (2, 3, 4, 2, 3)
SHAPES: list[list[Clique]] = [
    [],
    [(0, 1), (1, 2), (2, 3), (3, 4)],
    [(0, 1), (1, 2), (0, 2), (2, 3)],
    [(0, 1), (1, 2), (2, 3), (0, 3)],  # a cycle, which needs a larger clique
    [(0, 1), (3, 4)],  # parts that do not touch
    [(0, 2, 4), (1, 4)],
]


def model(cliques: list[Clique], seed: int = 0) -> tuple[MarginalModel, npt.NDArray[np.float64]]:
    """A model with random factors, and its whole table by brute force."""
    random = np.random.default_rng(seed)
    tree = junction_tree(cliques, SIZES)
    factors = [random.normal(0, 1.5, [SIZES[column] for column in clique]) for clique in tree.cliques]
    every = tuple(range(len(SIZES)))
    table = np.zeros(SIZES)
    for clique, factor in zip(tree.cliques, factors, strict=True):
        table = table + spread(factor, clique, every)
    table = np.exp(table)
    return MarginalModel(tree, factors), table / table.sum()


def summed(table: npt.NDArray[np.float64], columns: Clique) -> npt.NDArray[np.float64]:
    """A marginal of a whole table."""
    return np.asarray(table.sum(axis=tuple(at for at in range(table.ndim) if at not in columns)))


def rows(seed: int = 0, count: int = 5000) -> tuple[Counts, npt.NDArray[np.int64]]:
    """Rows whose columns depend on each other, of SIZES, and their counts."""
    random = np.random.default_rng(seed)
    a = random.integers(0, 2, count)
    b = np.clip(a + random.integers(0, 2, count), 0, 2)
    c = (2 * a + random.integers(0, 2, count)) % 4
    d = (random.random(count) < 0.2 + 0.6 * (c > 1)).astype(np.int64)
    e = random.integers(0, 3, count)
    table = np.column_stack([a, b, c, d, e]).astype(np.int64)
    cells = np.ravel_multi_index(tuple(table.T), SIZES)
    return Counts([np.asarray(cells, np.int64)], np.ones(count, np.int64), [SIZES]), table
