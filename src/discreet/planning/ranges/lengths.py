"""Sums of values with Gaussian noise: the matrix whose columns have length one and whose estimates err least.

**Privacy.** Let one neighbour step move the values by n rows at most. It moves Bx by at most n times the length of the
longest column of B in L2 (triangle inequality). B has whole entries, below zero too, so the squares of the lengths of
its columns are whole numbers, and the largest is its `length`.

**The best matrix.** For sums W, each with its weight in G = W'W, the total variance of the least squares estimates is
tr(G (B'B)^-1), at columns of length one. With X = B'B it is least where, for a diagonal V > 0,

    V^1/2 X V^1/2 = (V^1/2 G V^1/2)^1/2   and   X has a diagonal of ones,

and V <- diag((V^1/2 G V^1/2)^1/2) leads there (Denisov, McMahan, Rush, Smith and Thakurta 2022, "Improved differential
privacy for SGD via optimal private linear operators on adaptive streams", theorem 3.2). No other matrix has less, that
of Henzinger and Upadhyay included, whose factor for running totals is the root of the matrix of ones below the
diagonal. Of X, B is its Cholesky factor, in units. For the geometric mean of several families, W is weighted by the
inverse of their variances, until these stay.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.imports import one_thread
from discreet.planning.ranges.factors import Weighted
from discreet.planning.ranges.families import RangeFamily, counted, sums
from discreet.planning.saturating import saturated
from discreet.records import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

UNIT_LENGTH = 512
"""A column of length one has this length."""
MOST_VALUES = 512
"""With more values the matrix would take long to find."""
STEPS, TURNS = 14, 3
"""How often V, and the weights of families, are worked out anew."""


@dataclass(frozen=True, eq=False)
class Lengths(Weighted):
    """A matrix B of whole numbers with columns of about one length.

    Attributes:
        rows: it: int64 array (values, values).
    """

    rows: Integers = field(repr=False)

    @property
    def size(self) -> int:  # type: ignore[override]
        """How many values there are."""
        return len(self.rows)

    @property
    def nodes(self) -> int:
        """How many integers are measured."""
        return len(self.rows)

    @property
    def units(self) -> int:
        """The length of a column of length one."""
        return UNIT_LENGTH

    @property
    def known_as(self) -> object:
        """A text that is that of no other matrix."""
        return "lengths", self.size, hashlib.sha256(self.rows.astype("<i8").tobytes()).hexdigest()

    @cached_property
    def length(self) -> int:
        """The square of the length of the longest column."""
        return int((self.rows**2).sum(axis=0).max())

    @cached_property
    def norm(self) -> int:
        """The largest sum of the sizes of the entries of a column."""
        return int(np.abs(self.rows).sum(axis=0).max())

    @cached_property
    def _inverse(self) -> Floats:
        return np.asarray(np.linalg.inv(self.rows / UNIT_LENGTH), np.float64)

    def measured(self, values: Integers) -> Integers:
        """Bx, which saturates at +-2^62: int64 (…, values) -> (…, nodes)."""
        return saturated(values, lambda part: part @ self.rows.T)

    def estimate(self, noisy: Floats) -> Floats:
        """The values from noisy integers in units: float64 (…, nodes) -> (…, values)."""
        return np.asarray(noisy @ self._inverse.T / UNIT_LENGTH)

    def variance(self, family: RangeFamily, every: int = 1) -> float:
        """The mean variance of the sums of a family, for noise of variance two in units."""
        return 2 * float(np.mean(np.sum(sums(self._inverse, family, every) ** 2, axis=1)))

    def of_sums(self, wanted: Floats) -> Floats:
        """The variance of some sums, for noise of variance two in units: float64 (sums,)."""
        return np.asarray(2 * np.sum((wanted @ self._inverse) ** 2, axis=1))

    def weights(self, values: Integers) -> Floats:
        """By how much the noise of each node enters the estimates of some values: float64 (values, nodes)."""
        return self._inverse[values]

    def weights_of(self, wanted: Floats) -> Floats:
        """The same for weighted sums of the values: float64 (sums, nodes)."""
        return np.asarray(wanted @ self._inverse)

    @cached_property
    def law(self) -> tuple[Floats, Floats]:
        """Of each value the sums of the squares and of the fourth powers of the weights of its estimate."""
        return (self._inverse**2).sum(axis=1), (self._inverse**4).sum(axis=1)


@lru_cache(maxsize=32)
def for_families(size: int, families: tuple[RangeFamily, ...]) -> Lengths | None:
    """The matrix with the least geometric mean of the errors of some families; None for too many values.

    Example:
        >>> from discreet.planning.ranges.families import RUNNING
        >>> found = for_families(365, (RUNNING,))
        >>> round((found.variance(RUNNING) / 2) ** 0.5, 2)  # the root of the matrix of ones has 2.81
        2.63
    """
    if size > MOST_VALUES:
        return None
    grams = [_gram(size, family) for family in families]
    return _best(grams)


@lru_cache(maxsize=32)
def for_tables(size: int, tables: tuple[tuple[tuple[int, ...], ...], ...]) -> Lengths:
    """The same for tables of sums, each as the numbers of its values."""
    grams = []
    for table in tables:
        wanted = np.zeros((len(table), size))
        for row, own in zip(wanted, table, strict=True):
            row[list(own)] = 1
        grams.append(wanted.T @ wanted / len(table))
    return _best(grams)


def _gram(size: int, family: RangeFamily) -> Floats:
    """W'W of the sums of a family, over their number."""
    first, last = family.ends(size)
    wanted = (np.arange(size) >= first[:, np.newaxis]) & (np.arange(size) < last[:, np.newaxis])
    assert np.allclose(wanted.sum(axis=0), counted(family, size))
    return np.asarray(wanted.T.astype(np.float64) @ wanted / max(1, len(first)))


def _best(grams: Sequence[Floats]) -> Lengths:
    with one_thread():
        weights = [1.0] * len(grams)
        square = grams[0]  # one alone may not hold all values
        for _ in range(TURNS if len(grams) > 1 else 1):
            square = _of_gram(np.einsum("i,ijk->jk", weights, np.array(grams)))
            inverse = np.linalg.inv(square)
            weights = [1 / max(1e-300, float(np.sum(gram * inverse))) for gram in grams]
        root = np.linalg.cholesky(square).T
        return Lengths(np.rint(root * UNIT_LENGTH).astype(np.int64))


def _of_gram(gram: Floats) -> Floats:
    """X."""
    size = len(gram)
    # A value that no sum holds is measured a little.
    gram = gram + np.eye(size) * (1e-9 * float(np.trace(gram)) / size)
    scale = np.sqrt(np.diag(gram))
    for _ in range(STEPS):
        found = _root(gram * np.outer(np.sqrt(scale), np.sqrt(scale)))
        scale = np.diag(found).copy()
    found = _root(gram * np.outer(np.sqrt(scale), np.sqrt(scale)))
    square = found / np.outer(np.sqrt(scale), np.sqrt(scale))
    length = np.sqrt(np.diag(square))
    return np.asarray(square / np.outer(length, length))


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def in_units(matrix: Weighted) -> float:
    """The length of the longest column of a matrix, in its units."""
    return math.sqrt(matrix.length) / matrix.units
