"""Quantiles drawn again, for the intervals of all that is computed from them.

Noise drawn again around released counts would tell how the estimate scatters, but a quantile is not linear in the
counts: far out in a tail the estimate is off to one side, and so would be all draws. Drawn here, instead, is
a place where the true quantile may lie: from the distribution whose central part, at every confidence, is the interval
that `QuantileTree.interval` finds by a test (a confidence distribution: Efron 1993; Schweder and Hjort 2002). For a
standard normal z, that is the place where T_j, the rank of boundary j in standard deviations of its noise, passes z.

Several quantiles of one tree share its noise: their z are drawn with the correlation that their ranks have.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.laplace_sum import half_width
from discreet.sql.measures import count_tree as ct
from discreet.sql.measures.quantile_tree import BLOCK, QuantileTree, quantile_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVEL = 0.95
"""The confidence at which a normal variable in these draws is as wide as the noise really is."""


def quantiles_again(
    tree: QuantileTree,
    quantities: Sequence[str],
    noisy: Floats,
    scale: float,
    draws: int,
    rng: np.random.Generator,
) -> list[Floats]:
    """Draw where some quantiles may lie.

    This simulates; it protects nothing, so NumPy's generator will do.

    Args:
        tree: the measure.
        quantities: such as `quantile 1/2`, `min`.
        noisy: float64 array (n, entries).
        scale: of the Laplace noise on each entry.
        draws: how often.
        rng: draws.

    Returns:
        For each quantity a float64 array (draws, n).
    """
    out = [np.empty((draws, len(noisy))) for _ in quantities]
    shares = [float(quantile_of(quantity)) for quantity in quantities]
    size = max(1, BLOCK // (tree.entries * len(quantities)))
    for start in range(0, len(noisy), size):
        part = slice(start, start + size)
        below = ct.below(ct.fit(noisy[part], tree.shape))
        ranks = [below - q * below[:, -1:] for q in shares]
        normal = rng.standard_normal((draws, len(below), len(shares)))
        if len(shares) > 1:
            normal = np.einsum("dnk,nmk->dnm", normal, _root(_correlations(tree, ranks, shares)))
        for index, q in enumerate(shares):
            out[index][:, part] = _places(
                tree, q, noisy[part], below[:, -1], ranks[index], normal[:, :, index], scale, rng
            )
    return out


def _places(
    tree: QuantileTree,
    q: float,
    noisy: Floats,
    total: Floats,
    ranks: Floats,
    normal: Floats,
    scale: float,
    rng: np.random.Generator,
) -> Floats:
    """Where ranks in standard deviations pass some normal variables: float64 array (draws, n)."""
    deviation, effective = ct.rank_noise(tree.shape, q)
    width = scale * deviation * half_width.effective(effective, LEVEL)
    far = tree.far(q, total, width)
    allowed = np.where(far, tree.calibration(q, noisy, scale, width, LEVEL), 1.0)[:, None] * width
    standard = ranks / (allowed / NormalDist().inv_cdf((1 + LEVEL) / 2))
    place = np.empty_like(normal)
    for cell, row in enumerate(standard):
        z = normal[:, cell]
        if total[cell] <= 0:
            place[:, cell] = np.where(z < 0, 1, tree.grid.levels)
        elif far[cell]:
            place[:, cell] = np.searchsorted(np.sort(row), z)
        else:
            first = np.searchsorted(np.maximum.accumulate(row), z)
            last = np.searchsorted(np.minimum.accumulate(row[::-1])[::-1], z)
            place[:, cell] = np.where(z < 0, first, last)
    leaf = np.clip(place - 1, 0, tree.grid.levels - 1)
    step = float(tree.grid.step)
    inside = (step - 1) / 2 if tree.whole else step * rng.random(leaf.shape)
    return np.asarray(np.clip(tree.grid.lo + step * leaf + inside, tree.grid.lo, tree.grid.hi))


def _correlations(tree: QuantileTree, ranks: Sequence[Floats], shares: Sequence[float]) -> Floats:
    """The correlations of the noise of several ranks where they pass zero: float64 array (n, k, k)."""
    leaves = ranks[0].shape[1] - 1
    weights = np.stack(
        [
            np.where(np.arange(leaves) < (rank < 0).sum(axis=1)[:, None], 1 - q, -q)
            for rank, q in zip(ranks, shares, strict=True)
        ],
        axis=1,
    )
    only_leaves = np.zeros((*weights.shape[:2], tree.entries))
    only_leaves[..., -leaves:] = weights
    covariance = np.einsum("nkl,nml->nkm", weights, ct.fit(only_leaves, tree.shape))
    deviation = np.sqrt(np.einsum("nkk->nk", covariance))
    return np.asarray(covariance / (deviation[:, :, None] * deviation[:, None, :]))


def _root(correlations: Floats) -> Floats:
    """A square root of each matrix; some may be singular, when two quantiles are the same."""
    values, vectors = np.linalg.eigh(correlations)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0))[:, None, :])
