"""Sums of pieces that are measured together: each piece, and sums of pieces whose weights a search has found.

The pieces are the classes of values that every sum which is asked for holds all or none of. k ranges along an ordered
key have at most 2k + 1 of them. To look at pieces loses nothing: of any matrix over the values, the columns of one
value of each piece are a matrix over pieces with as little noise.

**Matrix.** B = [D; C], as `factors` has it, with columns of non-negative integers that add up to S. The rows of C have
any weights (p-identity; McKenna, Miklau, Hay and Machanavajjhala 2018). Where C is empty, each piece is measured by
itself and S is 1, so that counts stay whole. The privacy and the estimate are those of `factors`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.imports import one_thread
from discreet.planning.ranges.descent import least
from discreet.planning.ranges.factors import WHOLE_WEIGHT, Weighted
from discreet.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

Tables: TypeAlias = tuple[tuple[tuple[int, ...], ...], ...]
"""Of each table its sums, each as the numbers of its pieces."""
MOST_PIECES, MOST_ROWS = 256, 64
"""The most pieces whose weights are searched for, and the most rows of C."""
MOST_SUMS = 1024
"""The most sums."""
STEPS = 150
GAIN = 1.02
"""The least gain for which single pieces are given up."""
WORSE, MARGIN = 500.0, 0.03
"""The weight of the square by which the logarithm of the variance of a table is beyond that of the table apart, less a
margin."""


@dataclass(frozen=True)
class Pieces(Weighted):
    """A matrix over pieces with its estimates and their errors.

    Attributes:
        size: how many pieces there are.
        rows: C, in units.
    """

    size: int
    rows: tuple[tuple[int, ...], ...] = ()

    @property
    def units(self) -> int:
        """S."""
        return WHOLE_WEIGHT if self.rows else 1

    @cached_property
    def hats(self) -> Integers:
        """C, in units: int64 array (rows, size)."""
        return np.array(self.rows, np.int64).reshape(len(self.rows), self.size)


def of_table(size: int, sums: Sequence[Sequence[int]]) -> Floats:
    """The sums of a table as a matrix: float64 (sums, pieces)."""
    out = np.zeros((len(sums), size))
    for row, own in zip(out, sums, strict=True):
        row[list(own)] = 1
    return out


@lru_cache(maxsize=256)
def pieces(size: int, asked: Tables, alone: float = 1.0) -> Pieces:
    """The matrix with the least geometric mean of the errors of some tables, none worse than if measured apart.

    The sums alone decide, with the same steps always.

    Args:
        size: how many pieces there are.
        asked: the tables; each sum has at least one piece.
        alone: how much less noise a table by itself needs, as where a replaced row stays in its one group.

    Example:
        >>> three = (((0, 1),), ((1, 2),), ((0, 1, 2),))
        >>> found = pieces(3, three)
        >>> [round(float(found.of_sums(of_table(3, table))[0]), 1) for table in three]  # each would be 18 apart
        [4.0, 4.0, 6.0]
    """
    with one_thread():
        best = Pieces(size)
        if size == 1 or size > MOST_PIECES:
            return best
        search = _PieceSearch(size, asked, alone)
        found = min((search.from_start(start) for start in search.starts()), key=search.value)
        return found if search.value(found) + math.log(GAIN) * 2 < search.value(best) else best


class _PieceSearch:
    def __init__(self, size: int, asked: Tables, alone: float = 1.0) -> None:
        self.size = size
        self.tables = [of_table(size, sums) for sums in asked]
        self.sums = np.concatenate(self.tables)
        self.ends = np.cumsum([len(table) for table in self.tables])[:-1]
        self.apart = math.log(2 * (alone * len(asked)) ** 2) - MARGIN

    def value(self, pieces: Pieces) -> float:
        """The mean of the logarithms of the variances of the tables, and a penalty."""
        return self._mean(pieces.of_sums(self.sums))[0]

    def _mean(self, variances: Floats) -> tuple[float, Floats]:
        """That, and its gradient by the variances."""
        value, gradients = 0.0, []
        for own in np.split(variances, self.ends):
            total = float(np.sum(own))
            if not total > 0:
                return math.inf, np.zeros(len(variances))  # beyond the precision of floats
            log = math.log(total / len(own))
            beyond = max(0.0, log - self.apart)
            value += log + WORSE * beyond**2
            gradients.append(np.full(len(own), (1 + 2 * WORSE * beyond) / total))
        count = len(self.tables)
        return value / count, np.concatenate(gradients) / count

    def starts(self) -> list[Floats]:
        """Roots of the rows of C over D: the sums themselves, light and heavy, and hats of two widths."""
        wide = {tuple(row) for row in self.sums if row.sum() > 1}
        own = np.array(sorted(wide)).reshape(len(wide), self.size)[
            :: max(1, math.ceil(len(wide) / MOST_ROWS))
        ]
        deep = max(1.0, float(own.sum(axis=0).max(initial=0)))
        out = [np.sqrt(weight * own / deep) + 0.02 for weight in (0.5, 4 * deep) if len(own)]
        counts = sorted({max(1, self.size // part) for part in (16, 6)})
        return [*out, *(_hats(self.size, min(many, MOST_ROWS)) for many in counts)]

    def from_start(self, start: Floats) -> Pieces:
        """The nearest best matrix, in whole units."""
        shape = start.shape
        found = least(lambda roots: self._error(roots.reshape(shape)), start.reshape(-1), STEPS)
        return _whole(found.reshape(shape) ** 2)

    def _error(self, roots: Floats) -> tuple[float, Floats]:
        """The value of a matrix and its gradient by the roots of its weights.

        With T the squares of the roots, B = [1; T] diag(1/s), s = 1 + the sums of the columns of T. Then a sum w has
        the variance 2 v (1 + T'T)^-1 v' for v = w s, whose derivative by T is -2 T y y' - by (1 + T'T)^-1 = M, y = v M
        - and by s it is 2 w y.
        """
        rows = roots**2
        scaled = self.sums * (1 + rows.sum(axis=0))
        through = scaled @ rows.T
        kernel = np.linalg.inv(np.eye(len(rows)) + rows @ rows.T)
        solved = scaled - (through @ kernel) @ rows
        variances = 2 * np.sum(solved * scaled, axis=1)
        value, by_variance = self._mean(variances)
        weighted = solved * (2 * by_variance)[:, np.newaxis]
        by_rows = -2 * (rows @ weighted.T) @ solved + 2 * np.sum(weighted * self.sums, axis=0)
        return value, np.asarray((2 * roots * by_rows).reshape(-1))


def _hats(size: int, many: int) -> Floats:
    """Overlapping hats over the pieces in order, as roots."""
    places, centres = np.arange(size) + 0.5, (np.arange(many) + 0.5) * size / many
    hats = np.maximum(0, 1 - np.abs(places - centres[:, np.newaxis]) * many / size)
    return np.asarray(np.sqrt(hats) + 0.02)


def _whole(rows: Floats) -> Pieces:
    """The matrix [1; T] with columns of one sum, in whole units, without rows of nothing; no piece is left without."""
    shares = np.concatenate([np.ones((1, rows.shape[1])), rows])
    units = np.rint(shares / shares.sum(axis=0) * WHOLE_WEIGHT).astype(np.int64)[1:]
    over = units.sum(axis=0) - (WHOLE_WEIGHT - 1)
    for piece in np.flatnonzero(over > 0).tolist():
        units[int(np.argmax(units[:, piece])), piece] -= int(over[piece])
    kept = sorted((tuple(row) for row in units.clip(0).tolist() if any(row)), reverse=True)
    return Pieces(rows.shape[1], tuple(kept))
