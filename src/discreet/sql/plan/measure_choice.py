"""Choices: which measure answers which requests, before grids and epsilon are known."""

from __future__ import annotations

from fractions import Fraction

from discreet.records import dataclass
from discreet.sql.expressions.expression import Expression

BY_LEAF = frozenset({"tree", "ranks"})
"""Choices whose rows are counted by leaf of a grid."""
ADDED_UP = frozenset({"rows", "pairs"})
"""Choices whose integers of a sum of groups are the sums of theirs."""


@dataclass(frozen=True, slots=True)
class MeasureChoice:
    """One measure of a release, without its grid.

    Attributes:
        degree: of the measure.
        argument: of the measure.
        with_null: whether all rows are counted too.
        counts: `rows`; `units` when units are counted, each once in a group; `distinct` and `distinct_sum` when equal
            values of the argument count once; `sizes 1 1` when values with so many rows count once; `tree` for
            quantiles, and `ranks` for a few of them; `pairs` for quantities of two arguments.
        other: the second argument of a pair.
        degree_other: of the measure, in the second argument.
        quantiles: which are chosen by rank.
        ends: whether these have intervals.
    """

    degree: int
    argument: Expression | None
    with_null: bool
    counts: str = "rows"
    other: Expression | None = None
    degree_other: int = 0
    quantiles: tuple[Fraction, ...] = ()
    ends: bool = True
