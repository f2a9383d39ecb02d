"""A model fitted to noisy marginals: least squares in units of the noise, and as little said beyond as possible.

Over all distributions p of N rows it finds the least of

    sum over marginals c of |N p_c - y_c|^2 / (2 s_c^2)  +  prior N KL(p | uniform).

p is then a graphical model with a factor for each marginal: log p is the sum of -v_c/(s_c prior), and v minimises the
convex dual  sum (|v_c|^2/2 + v_c y_c/s_c) + prior N log Z(v),  whose slope is  v_c + (y_c - N p_c)/s_c.  `descent`
finds it, quickly because the first term bounds its curvature from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from discreet.records import dataclass
from discreet.synthetic.descent import least
from discreet.synthetic.inference import Floats, MarginalModel, spread
from discreet.synthetic.junction import Clique, JunctionTree, junction_tree

PRIOR: Final = 0.001
"""Least squares alone would fit the noise; more of it would tell less of the data. Chosen on invented data."""
STEPS: Final = 1000


@dataclass(frozen=True)
class NoisyMarginal:
    """A noisy marginal.

    Attributes:
        columns: it is of.
        counts: noisy, float64 of their sizes.
        deviation: the standard deviation of the noise of a count.
    """

    columns: Clique
    counts: Floats
    deviation: float


def total_of(measured: Sequence[NoisyMarginal]) -> float:
    """The number of rows that noisy marginals tell together, each weighed by its noise; at least 1."""
    weights = np.array([1 / (marginal.counts.size * marginal.deviation**2) for marginal in measured])
    return max(1.0, float(weights @ [marginal.counts.sum() for marginal in measured] / weights.sum()))


def merged(measured: Sequence[NoisyMarginal]) -> list[NoisyMarginal]:
    """The marginals with those of the same columns made one, each weighed by its noise."""
    by: dict[Clique, list[NoisyMarginal]] = {}
    for marginal in measured:
        by.setdefault(marginal.columns, []).append(marginal)
    out = []
    for columns, found in by.items():
        weights = np.array([marginal.deviation**-2 for marginal in found])
        mean = (
            sum(weight * marginal.counts for weight, marginal in zip(weights, found, strict=True))
            / weights.sum()
        )
        out.append(NoisyMarginal(columns, np.asarray(mean, np.float64), float(weights.sum() ** -0.5)))
    return out


class Fitting:
    """Fits models to more and more marginals, each time from where it stood.

    Args:
        sizes: of the columns.
        prior: how much a model that says less is preferred.
    """

    def __init__(self, sizes: Sequence[int], prior: float = PRIOR) -> None:
        self._sizes, self._prior = tuple(sizes), prior
        self._known: dict[Clique, Floats] = {}

    def fit(self, measured: Sequence[NoisyMarginal], steps: int = STEPS) -> MarginalModel:
        """The model of some marginals.

        Args:
            measured: noisy marginals, at least one.
            steps: of the search at most.
        """
        parts = merged(measured)
        tree = junction_tree([marginal.columns for marginal in parts], self._sizes)
        rows, dual = total_of(parts), _Dual(tree, parts, self._prior)
        start = [
            self._known.get(marginal.columns, np.zeros(marginal.counts.shape)) / marginal.deviation
            for marginal in parts
        ]
        found = least(
            lambda flat: dual.value_and_slope(flat, rows),
            np.concatenate([table.ravel() for table in start]),
            steps,
        )
        split = dual.split(found)
        self._known = {
            marginal.columns: own * marginal.deviation for marginal, own in zip(parts, split, strict=True)
        }
        return dual.model(split)


class _Dual:
    """The dual problem over one junction tree."""

    def __init__(self, tree: JunctionTree, parts: Sequence[NoisyMarginal], prior: float) -> None:
        self._tree, self._parts, self._prior = tree, parts, prior
        self._holders = [tree.holder(marginal.columns) for marginal in parts]
        self._ends = np.cumsum([marginal.counts.size for marginal in parts])[:-1]

    def split(self, flat: Floats) -> list[Floats]:
        pieces = np.split(flat, self._ends)
        return [own.reshape(marginal.counts.shape) for own, marginal in zip(pieces, self._parts, strict=True)]

    def model(self, split: Sequence[Floats]) -> MarginalModel:
        tree = self._tree
        potentials = [np.zeros([tree.sizes[column] for column in clique]) for clique in tree.cliques]
        for own, marginal, holder in zip(split, self._parts, self._holders, strict=True):
            potentials[holder] -= spread(own, marginal.columns, tree.cliques[holder]) / (
                marginal.deviation * self._prior
            )
        return MarginalModel(tree, potentials)

    def value_and_slope(self, flat: Floats, rows: float) -> tuple[float, Floats]:
        split = self.split(flat)
        model = self.model(split)
        value, slopes = self._prior * rows * model.log_total, []
        for own, marginal, holder in zip(split, self._parts, self._holders, strict=True):
            value += float((own * (own / 2 + marginal.counts / marginal.deviation)).sum())
            slopes.append(
                own + (marginal.counts - rows * model.held(marginal.columns, holder)) / marginal.deviation
            )
        return value, np.concatenate([slope.ravel() for slope in slopes])
