"""Tables of the same rows by different keys, all estimated from noisy marginals of them without any matrix.

Keys have n_1, …, n_k values. The marginal of a set A of keys has a cell for each combination of their values; it sums
over the others. Let Y_A be measured marginals with independent noise of variance v_A in each cell.

**Decomposition.** A function of k keys is a sum of parts, one for each set T of keys, that depends on T's keys alone
and sums to zero over each of them; the parts are orthogonal (analysis of variance; Xiao, Ding, Zhang and Kifer 2023,
"An optimal and scalable matrix mechanism for noisy marginals", lemma 1, of whom the algebra here is). Let P_T centre a
table over each key of T, and let theta_T = P_T x_T for the true marginal x_T. For T in A, summing Y_A over the keys of
A outside T and centring gives theta_T with noise of the covariance v_A * prod(n_i, i in A outside T) * P_T. Noise of
equal variance in each cell is uncorrelated between the parts, so generalised least squares takes each part by itself:
the mean of these estimates, weighted by their precision

    g_AT / v_A,   g_AT = 1 / prod(n_i, i in A outside T).

Its variance is s_T = 1 / sum(g_AT / v_A over A that hold T), and a cell of a table S of keys has

    Var_S = sum over T in S of  h_ST s_T,   h_ST = prod(1 - 1/n_i, i in T) / prod(n_i, i in S outside T)^2.

By Gauss and Markov no linear unbiased estimate has less. All tables are marginals of one estimate, so that every total
is the sum of its parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Keys: TypeAlias = tuple[int, ...]
"""The numbers of some keys, increasing."""


def every_set(keys: Keys) -> list[Keys]:
    """Every set of some keys, the empty one first.

    Example:
        >>> every_set((0, 2))
        [(), (0,), (2,), (0, 2)]
    """
    return [subset for size in range(len(keys) + 1) for subset in itertools.combinations(keys, size)]


def cells(sizes: Sequence[int], keys: Keys) -> int:
    """The number of cells of a marginal."""
    return math.prod(sizes[key] for key in keys)


def parts_of(sizes: Sequence[int], tables: Sequence[Keys]) -> list[Keys]:
    """The sets of keys whose parts are not zero in some tables: a key of one value has none."""
    found = {subset for table in tables for subset in every_set(table)}
    return sorted((t for t in found if all(sizes[key] > 1 for key in t)), key=lambda t: (len(t), t))


def gain(sizes: Sequence[int], measured: Keys, part: Keys) -> float:
    """g_AT: how precisely a marginal of unit variance gives a part; 0 where it does not hold it."""
    if not set(part) <= set(measured):
        return 0.0
    return 1 / cells(sizes, tuple(key for key in measured if key not in part))


def load(sizes: Sequence[int], table: Keys, part: Keys) -> float:
    """h_ST: how much of the variance of a part is in each cell of a table; 0 where it is not in it."""
    if not set(part) <= set(table):
        return 0.0
    inside = math.prod(1 - 1 / sizes[key] for key in part)
    return inside / cells(sizes, tuple(key for key in table if key not in part)) ** 2


@dataclass(frozen=True)
class MeasuredMarginals:
    """Marginals that were measured, or are to be, each with independent noise of one variance in its cells.

    Attributes:
        sizes: the number of values of each key.
        variances: of the noise, by the keys of the marginal.
    """

    sizes: tuple[int, ...]
    variances: Mapping[Keys, float]

    @cached_property
    def part_variances(self) -> dict[Keys, float]:
        """s_T, by the keys of the part, for each that some measured marginal holds."""
        return {
            part: 1 / sum(gain(self.sizes, keys, part) / v for keys, v in self.variances.items())
            for part in parts_of(self.sizes, tuple(self.variances))
        }

    def variance(self, table: Keys) -> float:
        """Var_S, the variance of the estimate of one cell of a table that the marginals determine."""
        return sum(
            load(self.sizes, table, part) * self.part_variances[part]
            for part in parts_of(self.sizes, [table])
        )

    def weights(self, table: Keys, measured: Keys) -> tuple[list[float], list[int]]:
        """By how much the cells of a measured marginal enter the estimate of one cell of a table.

        The weight of a cell depends only on which of the common keys have the value that they have in the cell
        estimated: it is

            sum over T in both of  s_T g_AT / v_A / prod(n_i, i in S outside T) * prod(d_i - 1/n_i, i in T)

        with d_i = 1 where the value is the same, else 0.

        Returns:
            The different weights, and how many cells have each.
        """
        common = tuple(key for key in table if key in measured)
        alone = cells(self.sizes, tuple(key for key in measured if key not in table))
        factor = {
            part: self.part_variances[part]
            * gain(self.sizes, measured, part)
            / self.variances[measured]
            / cells(self.sizes, tuple(key for key in table if key not in part))
            for part in parts_of(self.sizes, [common])
        }
        values, counts = [], []
        for same in every_set(common):
            others = tuple(key for key in common if key not in same)
            number = alone * math.prod(self.sizes[key] - 1 for key in others)
            if number:
                values.append(
                    sum(
                        f * math.prod((key in same) - 1 / self.sizes[key] for key in part)
                        for part, f in factor.items()
                    )
                )
                counts.append(number)
        return values, counts

    def estimate(self, tables: Mapping[Keys, Floats], wanted: Keys) -> Floats:
        """The table of generalised least squares.

        Args:
            tables: the measured marginals, float64 arrays (..., n_i of its keys).
            wanted: its keys; a part of it that no marginal holds is taken for zero.

        Returns:
            float64 array (..., n_i of its keys).
        """
        sums: dict[Keys, Floats] = {}
        for keys, table in tables.items():
            for part, values in _centred(table, keys, self.sizes, wanted).items():
                if part not in self.part_variances:
                    continue  # a key of one value: nothing varies with it
                own = gain(self.sizes, keys, part) / self.variances[keys] * self.part_variances[part] * values
                sums[part] = sums[part] + own if part in sums else own
        return _summed(sums, wanted, self.sizes)


def _centred(table: Floats, keys: Keys, sizes: Sequence[int], wanted: Keys) -> dict[Keys, Floats]:
    """The parts of a table that a wanted one has, too, centred over their keys, each of the shape of its keys."""
    batch = table.ndim - len(keys)
    parts: dict[Keys, Floats] = {(): table}
    for key in keys:
        split: dict[Keys, Floats] = {}
        for part, values in parts.items():
            axis = batch + len(part)  # keys before it are in the part, or were summed away
            sums = values.sum(axis=axis)
            split[part] = sums
            if key in wanted and sizes[key] > 1:
                split[*part, key] = values - np.expand_dims(sums, axis) / sizes[key]
        parts = split
    return parts


def _summed(parts: Mapping[Keys, Floats], wanted: Keys, sizes: Sequence[int]) -> Floats:
    """The table of which some parts are given: theta_T spread evenly over the keys of the table outside T."""
    some = next(iter(parts.items()))
    batch = some[1].shape[: some[1].ndim - len(some[0])]
    out = np.zeros((*batch, *(sizes[key] for key in wanted)))
    # From the last key to the first, so that each step adds two tables of the same keys.
    tables = dict(parts)
    for place in range(len(wanted) - 1, -1, -1):
        key, later = wanted[place], wanted[place + 1 :]
        merged: dict[Keys, Floats] = {}
        for part, values in tables.items():
            if key in part:
                rest = tuple(other for other in part if other != key)
                merged[rest] = merged[rest] + values if rest in merged else values
            else:
                axis = len(batch) + sum(other < key for other in part if other not in later)
                spread = np.expand_dims(values, axis) / sizes[key]
                merged[part] = merged[part] + spread if part in merged else spread
        tables = merged
    return out + tables[()] if tables else out
