"""The leaves near some ranks each by itself, and those far from them in wide cells, by one statement of an engine.

The engine counts the rows of some thousand cells of leaves that stand together, then those of each leaf of the cells
that rows near a quantile lie in. So it returns some thousand integers, where a leaf for each value would be millions.
It is one statement, which sees one state of the data.

Which cells are split is decided by the exact counts, and changes nothing that is released: `SparseCounts` with wide
entries have the same law as those without. So nothing hangs on the floats that decide it here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.records import dataclass
from discreet.sql.expressions.dialect import Dialect, divided, typed
from discreet.sql.measures.ranks import Ranks

if TYPE_CHECKING:
    from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds

CELLS: Final = 1 << 12
"""At most so many cells."""
FEWEST: Final = 1 << 4
"""A cell has so many leaves at least: with fewer, all leaves are soon counted."""
SPARE: Final = 2
"""Rows by which ranks may be rounded."""


@dataclass(frozen=True, slots=True)
class NearLeaves:
    """Where leaves are counted each by itself.

    Attributes:
        width: of a cell in leaves.
        windows: some quantiles, and how many rows around each.
    """

    width: int
    windows: tuple[tuple[Fraction, int], ...]

    def sql(self, rows: str, count: str, dialect: Dialect) -> str:
        """The first leaf, the rows and the width of each entry in SQL: columns `t0`, `m0` and `wide`.

        Args:
            rows: a SELECT with the column `t0`, the leaf of a row.
            count: the count of a group, with its name `m0`.
            dialect: of the engine.
        """
        cell = divided("t0", str(self.width), dialect)
        upto, before, all_ = (
            typed(f"CAST({of} AS DOUBLE)", dialect) for of in ("upto", "upto - m0", "total")
        )
        near = " OR ".join(
            f"({upto} >= {float(q)!r} * {all_} - {reach} AND {before} <= {float(q)!r} * {all_} + {reach})"
            for q, reach in self.windows
        )
        wide = typed(f"CAST(CASE WHEN {near} THEN 1 ELSE {self.width} END AS BIGINT)", dialect)
        single = typed("CAST(1 AS BIGINT)", dialect)
        whole = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        once = dialect.computed_once
        return (
            f"WITH __carried AS {once}(SELECT t0, {cell} AS part FROM ({rows}) AS r WHERE t0 IS NOT NULL), "
            f"__counted AS {once}(SELECT part, {count} FROM __carried GROUP BY part), "
            "__ranked AS (SELECT part, m0, SUM(m0) OVER (ORDER BY part) AS upto, "
            f"SUM(m0) OVER (ORDER BY part {whole}) AS total FROM __counted), "
            f"__split AS {once}(SELECT part, m0, {wide} AS wide FROM __ranked) "
            f"SELECT t0, {count}, {single} AS wide FROM __carried "
            f"WHERE part IN (SELECT part FROM __split WHERE wide = 1) "
            f"GROUP BY t0 UNION ALL SELECT part * {self.width} AS t0, m0, wide FROM __split WHERE wide > 1"
        )


def near_leaves(measure: Ranks, mechanism: QuantilesWithEnds) -> NearLeaves | None:
    """Where the leaves of one group are counted each by itself; None where there are few leaves."""
    width = 1 << (-(-measure.grid.levels // CELLS) - 1).bit_length()
    if width < FEWEST:
        return None
    return NearLeaves(width, tuple((q, mechanism.reach(q) + SPARE) for q in measure.quantiles))
