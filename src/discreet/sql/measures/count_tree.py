"""Trees of noisy counts: their shape, the ranks they give, and how far off those are.

The leaves are consecutive pieces of the range of an expression, the nodes above them unions of neighbours, and every
node carries its own noise. A shape (B1, B2, ..., Bd) has B1 nodes on the first level, each with B2 children, and so
on: the leaves are the last level, L = B1 B2 ... Bd of them. There is no root: it is the sum of the first level.

From all nodes together the leaves are estimated by least squares (Hay, Rastogi, Miklau and Suciu 2010, theorem 3,
for uneven branching). With A the matrix of who is below whom, A'A has one eigenvalue per level,

    lambda_m = sum over k >= m of B_(k+1) ... B_d        (the leaves below one node of level k, for all these k)

on the vectors over the leaves that are constant below the nodes of level m and sum to zero among siblings (on level
1: any sum), so both the estimate and the noise of every rank have closed forms.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

TreeShape: TypeAlias = tuple[int, ...]
"""The number of children by level, from the top."""
MOST_LEVELS = 5
MOST_ASKED = 1024
"""Quantiles whose noise is kept: a statement may ask for 500, each several times."""


def node_count(shape: TreeShape) -> int:
    """The number of nodes of a tree."""
    return sum(math.prod(shape[: level + 1]) for level in range(len(shape)))


def levels_of(shape: TreeShape) -> list[slice]:
    """Where the nodes of each level stand among all nodes, from the top."""
    out, start = [], 0
    for level in range(len(shape)):
        size = math.prod(shape[: level + 1])
        out.append(slice(start, start + size))
        start += size
    return out


@lru_cache(maxsize=256)
def shape_for(leaves: int) -> TreeShape:
    """The shape with room for some leaves whose ranks are the most exact.

    The noise on a node grows with the number of levels, as one row is counted on each; the number of nodes that a
    rank is added up from shrinks with it.
    """
    best: tuple[float, TreeShape] | None = None
    for levels in range(1, MOST_LEVELS + 1):
        branching = max(2, math.ceil(leaves ** (1 / levels) - 1e-9))
        below = branching ** (levels - 1)
        shape = (max(1, math.ceil(leaves / below)), *([branching] * (levels - 1)))
        loss = rank_variance(shape)
        if best is None or loss < best[0]:
            best = loss, shape
    assert best is not None
    return best[1]


@lru_cache(maxsize=MOST_ASKED)
def rank_variance(shape: TreeShape, q: float = 0.5) -> float:
    """The variance of the rank of a q-quantile, for noise of scale one per unit of sensitivity: in rows squared.

    The mean over all places that the quantile may have, as one row moves `len(shape)` nodes.
    """
    deviation, _ = rank_noise(shape, q)
    return len(shape) ** 2 * float(np.mean(deviation**2))


def nodes(leaves: NDArray[np.generic], shape: TreeShape) -> NDArray[np.generic]:
    """All nodes from the leaves.

    Args:
        leaves: array (..., L).
        shape: of the tree.

    Returns:
        Array (..., nodes), level by level from the top; of the type of the leaves.
    """
    levels = [leaves]
    for children in shape[:0:-1]:
        last = levels[0]
        levels.insert(0, last.reshape(*last.shape[:-1], -1, children).sum(axis=-1))
    return np.concatenate(levels, axis=-1)


def fit(noisy: Floats, shape: TreeShape) -> Floats:
    """The leaves by least squares from all noisy nodes.

    Args:
        noisy: float64 array (..., nodes).
        shape: of the tree.

    Returns:
        float64 array (..., L).
    """
    levels = [noisy[..., part] for part in levels_of(shape)]
    estimates, variance = [levels[-1]], 1.0
    # Upwards: each node from its subtree.
    for children, own in zip(shape[:0:-1], levels[-2::-1], strict=True):
        below = estimates[0].reshape(*own.shape, children).sum(axis=-1)
        from_below = children * variance
        variance = from_below / (1 + from_below)
        estimates.insert(0, variance * own + (1 - variance) * below)
    out = estimates[0]
    # Downwards: siblings sum to their parent.
    for children, own in zip(shape[1:], estimates[1:], strict=True):
        family = own.reshape(*out.shape, children)
        family = family + ((out - family.sum(axis=-1)) / children)[..., None]
        out = family.reshape(*out.shape[:-1], -1)
    return out


@lru_cache(maxsize=MOST_ASKED)
def rank_noise(shape: TreeShape, q: float) -> tuple[Floats, Floats]:
    """The noise of S_j = (1 - q) (rows below boundary j) - q (rows above) after the fit, for every boundary j.

    S_j is a weighted sum of the Laplace variables of all nodes. With w the vector (1 - q, ..., 1 - q, -q, ..., -q)
    over the leaves, node v has the weight (size of v) * (sum over levels m of (P_m w)(v) / lambda_m), P_m being the
    projection on the m-th space above. Away from the path from the root to the boundary w is constant, so there are
    only three different values per level: left of the path, on it and right of it.

    Returns:
        Standard deviation for noise of scale one, and the effective number of weights; float64 arrays (L + 1,).
    """
    total = math.prod(shape)
    j = np.arange(total + 1)
    second, fourth = np.zeros(total + 1), np.zeros(total + 1)
    above_index = np.zeros(total + 1, dtype=np.int64)
    above_mean: Floats = np.zeros(total + 1)
    above_value: Floats = np.zeros(total + 1)
    for m, children in enumerate(shape):
        size = math.prod(shape[m + 1 :])
        below = [math.prod(shape[m + 1 : k + 1]) for k in range(m, len(shape))]
        sizes = [math.prod(shape[k + 1 :]) for k in range(m, len(shape))]
        index = np.minimum(j // size, math.prod(shape[: m + 1]) - 1)
        mean = (j - index * size) / size - q
        child = index - above_index * children

        def value(mean_here: Floats | float, eigenvalue: int = sum(sizes)) -> Floats:
            return np.asarray(above_value + (mean_here - above_mean) / eigenvalue)  # noqa: B023  used in this turn only

        for many, here in ((child, value(1 - q)), (children - 1 - child, value(-q))):
            second += many * here**2 * sum(n * s**2 for n, s in zip(below, sizes, strict=True))
            fourth += many * here**4 * sum(n * s**4 for n, s in zip(below, sizes, strict=True))
        on_path = value(mean)
        second += (size * on_path) ** 2
        fourth += (size * on_path) ** 4
        above_index, above_mean, above_value = index, mean, on_path
    return np.sqrt(2 * second), np.maximum(1.0, second**2 / np.maximum(fourth, 1e-300))


def increasing(ranks: Floats) -> Floats:
    """The mean of the least increasing function above some noisy ranks and the greatest one below.

    True ranks never fall, so this moves noise out of them; it leaves increasing ranks unchanged.

    Args:
        ranks: float64 array (..., L + 1).
    """
    above = np.maximum.accumulate(ranks, axis=-1)
    below = np.minimum.accumulate(ranks[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray((above + below) / 2)


def below(leaves: Floats) -> Floats:
    """The rows below each boundary: float64 array (..., L + 1)."""
    out = np.zeros((*leaves.shape[:-1], leaves.shape[-1] + 1))
    np.cumsum(leaves, axis=-1, out=out[..., 1:])
    return out


@lru_cache(maxsize=2)
def noise_below(shape: TreeShape, draws: int) -> tuple[Floats, Floats]:
    """Noise on the rows below each boundary after the fit, which is linear, for noise of scale one on the nodes.

    This simulates; it protects nothing. The draws are always the same.

    Returns:
        float64 array (draws, L + 1), and the most noise that `rank_noise` speaks of, for any quantile, in these draws;
        float64 array (L + 1,).
    """
    noise = below(fit(np.random.default_rng(1).laplace(size=(draws, node_count(shape))), shape))
    largest = np.abs(noise).max(axis=0)
    return noise, largest + largest[-1]


__all__ = ["TreeShape", "below", "fit", "increasing", "levels_of", "node_count", "nodes", "noise_below",
           "rank_noise", "rank_variance", "shape_for"]  # fmt: skip
