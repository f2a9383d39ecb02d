"""Sums over all rows of a table whose number is public: the textbook's mean of n known values.

Where neighbours replace one row, they have the same number of rows. A release without groups and filters counts all of
them, and an argument that is never NULL has a value in each. So n says nothing, and needs no noise; of the Bernstein
integers b_0, …, b_d of a measure only b_1, …, b_d are released, and b_0 is R n less their sum. One row in the place of
another moves them, in L1, by

    a sum asked for alone   at most T - S, where T and S are the greatest and the least integer of a row;
    degree 1   b_1 = t      at most R, so that the mean has noise of scale (hi - lo)/(n epsilon);
    degree 2   b_1, b_2     at most R + ceil(R/3). Let t > t', D_k = b_k(t) - b_k(t'), and D_2 >= 0, as t t // R never
                            falls. If D_1 >= 0, then D_1 + D_2 = b_0(t') - b_0(t) <= R. Else the distance is f(t) -
                            f(t') with f = b_2 - b_1 <= R, and f > t t/R - 1 - 2t(R - t)/R = 3t t/R - 2t - 1, which is
                            least at t = R/3: f > -R/3 - 1, so that f >= -ceil(R/3), as f is whole.

These are reached: at t = 0 and t = R, and for degree 2 at t = R and the whole t beside R/3, up to rounding.

A NULL that turns up all the same counts as the least value, in SQL, so the bounds hold for every table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.records import dataclass
from discreet.sql.algebra.relation import PrivateRows, Relation, Scan, Select
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.measures.measure import Moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MOST_DEGREE = 2
Own = TypeVar("Own")


@dataclass(frozen=True, slots=True)
class AllRows(Moments):
    """Integers of an argument that is never NULL, over all rows of a table, whose number is public.

    The entries are n, without noise, and b_1, …, b_d; of a sum asked for alone they are the sum.
    """

    @property
    def noiseless(self) -> int:
        """How many entries, the first ones, have no noise."""
        return 0 if self.degree < 0 else 1

    @property
    def replacing_sensitivity(self) -> int:
        """By how much one row in the place of another moves the entries, in L1."""
        assert self.span is not None
        least, most = self.span
        return max(1, most - least + (-(-(most - least) // 3) if self.degree == MOST_DEGREE else 0))

    def row_items(self, name: str, dialect: Dialect) -> list[tuple[str, str]]:
        """The scaled integer of a row, never NULL."""
        assert self.span is not None
        ((name, scaled),) = Moments.row_items(self, name, dialect)
        return [(name, f"COALESCE({scaled}, {self.span[0]})")]

    def group_items(self, name: str, dialect: Dialect) -> list[str]:
        """The number of rows, and the sums of the other integers."""
        items = Moments.group_items(self, name, dialect)
        return [f"CAST(COUNT(*) AS {dialect.wide})", *items[1:]] if self.noiseless else items

    def estimate(self, quantity: str, noisy: Floats) -> Floats:
        """Estimate a quantity; see `Moments.estimate`."""
        if self.weights(quantity) is None:
            noisy = np.concatenate([self._rest(noisy)[..., np.newaxis], noisy[..., 1:]], axis=-1)
        return Moments.estimate(self, quantity, noisy)

    def _rest(self, entries: Floats) -> Floats:
        """b_0: R n less the sum of the others."""
        return np.asarray(self.row_sensitivity * entries[..., 0] - entries[..., 1:].sum(axis=-1))

    def weights(self, quantity: str) -> Floats | None:
        """The estimate of a linear quantity as weights of the entries; see `Moments.weights`."""
        out = Moments.weights(self, quantity)
        if out is None or not self.noiseless:
            return out
        return np.array([self.row_sensitivity * out[0], *(out[1:] - out[0])])

    def mean_interval(self, entries: Floats, half_width: float) -> tuple[Floats, Floats]:
        """The interval of a mean, a noisy sum over the number of rows: two float64 arrays (n,).

        Args:
            entries: float64 array (n, 2).
            half_width: of the noise on the sum.
        """
        assert self.grid is not None
        width = float(self.grid.step) * self.row_sensitivity
        with np.errstate(divide="ignore", invalid="ignore"):  # an empty table has no mean
            ends = [
                np.clip((entries[:, 1] + side) / (entries[:, 0] * self.row_sensitivity), 0, 1)
                for side in (-half_width, half_width)
            ]
        return self.grid.lo + width * ends[0], self.grid.lo + width * ends[1]

    def invented(self, rows: int) -> Integers:
        """The entries of a group whose values are spread evenly over their bounds; see `Moments.invented`."""
        out = Moments.invented(self, rows)
        out[: self.noiseless] = rows
        return out


def noise_of(measure: object, weights: Floats) -> Floats:
    """The weights that the noise of each entry of a measure has in a sum of them: float64 array (entries,)."""
    out = weights.copy()
    if isinstance(measure, AllRows):
        out[: measure.noiseless] = 0
    return out


def counts_every_row(rows: PrivateRows) -> bool:
    """Whether a release counts every row of a private table, each of which is one unit."""
    relation: Relation = rows.relation
    while isinstance(relation, Select) and relation.where is None:
        relation = relation.source
    return isinstance(relation, Scan) and not rows.per_unit and rows.max_rows == 1


def of_all_rows(measure: Own) -> Own | AllRows:
    """A measure over all rows of a table whose number is public: where its argument is never NULL, in this form.

    Quantiles, pairs, distinct values and moments beyond the second are not changed.
    """
    if (
        not isinstance(measure, Moments)
        or measure.distinct
        or measure.with_null
        or measure.grid is None
        or measure.degree > MOST_DEGREE
        or measure.argument is None
        or measure.argument.span.nullable
    ):
        return measure
    return AllRows(measure.degree, measure.argument, measure.grid, False, measure.part)
