"""The noise of tables whose groups are sums of pieces, all estimated from the same weighted sums of them: its law.

Each combination of the keys that all tables have in common is a series of its own, measured by the same matrix
(`planning.ranges.pieces`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.planning.saturating import saturated
from discreet.records import dataclass
from discreet.sql.plan.workloads.linear import LinearLaw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.planning.ranges.lengths import Lengths
    from discreet.planning.ranges.pieces import Pieces

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Parted:
    """How the values of some keys make up pieces.

    Attributes:
        matrix: the sums that are measured of each series.
        series: how many combinations of the common keys there are.
        of: of each combination of the other keys the piece that it is in; -1 of one that no table counts.
    """

    matrix: Pieces | Lengths
    series: int
    of: tuple[int, ...]

    def pieces_of(self, table: Integers) -> Integers:
        """The pieces of a table by all keys, saturating at +-2^62: (groups, integers) -> (series, integers, pieces)."""
        own = np.moveaxis(table.reshape(self.series, len(self.of), -1), 1, 0)
        return np.moveaxis(added(own, np.array(self.of), self.matrix.size), 0, -1)


def added(values: Integers, place: Integers, places: int) -> Integers:
    """The sums of the entries that belong to each place, saturating at +-2^62: int64 (entries, …) -> (places, …)."""
    used = place >= 0

    def sums(part: Integers) -> Integers:
        out = np.zeros((places, *part.shape[1:]), np.int64)
        np.add.at(out, place[used], part)
        return out

    return saturated(values[used], sums)


@dataclass(frozen=True)
class Pieced(LinearLaw):
    """How a table is estimated.

    Attributes:
        parted: the pieces, and the sums that are measured of them.
        place: of each piece of each series, series by series, the group of the table that it is in, or -1.
        groups: how many groups there are.
        scales: of the noise on each measure, if all of epsilon went into the single pieces, as `LinearLaw` has them.
        gaussian: whether it is Gaussian noise.
    """

    parted: Parted
    place: tuple[int, ...]
    groups: int
    scales: tuple[Fraction, ...]
    gaussian: bool = False

    @cached_property
    def _weights(self) -> Floats:
        """The weights of the noise of the nodes in each kind of group: float64 (kinds, nodes)."""
        matrix = self.parted.matrix
        return np.asarray(self.kinds @ matrix.weights(np.arange(matrix.size)))

    @cached_property
    def kinds(self) -> Floats:
        """The sums of pieces that groups are, each once: float64 (kinds, pieces)."""
        return np.asarray(np.unique(self._members(), axis=0), np.float64)

    def _members(self) -> NDArray[np.bool_]:
        """Which pieces each group is made of: bool (groups, pieces)."""
        size = self.parted.matrix.size
        out = np.zeros((self.groups, size), np.bool_)
        place = np.array(self.place)
        used = np.flatnonzero(place >= 0)
        out[place[used], used % size] = True
        return out

    @cached_property
    def heaviest(self) -> Floats:
        """The weights of the group with the most noise."""
        weights = self._weights
        return np.asarray(weights[int(np.argmax(np.sum(weights**2, axis=1)))])

    @property
    def variance(self) -> float:
        """The mean variance of an integer of the table, for noise of scale 1 at the whole epsilon."""
        return float(np.mean(self.parted.matrix.of_sums(self._members().astype(np.float64))))

    @property
    def drawn_cells(self) -> int:
        """How many more numbers are drawn where the table is drawn again."""
        return self.parted.matrix.nodes * self.parted.series

    def as_groups(self, pieces: Integers) -> Integers:
        """The groups of the table, saturating: int64 (series, integers, pieces) -> (groups, integers)."""
        flat = np.moveaxis(pieces, -1, 1).reshape(len(self.place), -1)
        return added(flat, np.array(self.place), self.groups)

    def again(self, measure: int, entries: int, draws: int, seed: int) -> Floats:
        """Noise of the whole table, drawn anew: float64 array (draws, groups, entries).

        This simulates; it protects nothing, so NumPy's generator will do.
        """
        matrix = self.parted.matrix
        generator = np.random.default_rng([seed, measure])
        shape = draws, self.parted.series, entries, matrix.nodes
        noise = self.noise(generator, measure, shape)
        found = np.moveaxis(matrix.estimate(noise * matrix.units), -1, 2).reshape(
            draws, len(self.place), entries
        )
        place = np.array(self.place)
        out = np.zeros((self.groups, draws, entries))
        np.add.at(out, place[place >= 0], np.moveaxis(found, 1, 0)[place >= 0])
        return np.moveaxis(out, 0, 1)

    def bits(self, measure: int) -> int:
        """The integers of a measure are estimated to so many binary places."""
        return super().bits(measure) if self.parted.matrix.units > 1 else 0
