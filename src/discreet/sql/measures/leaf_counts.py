"""Counts of rows by the leaf that a bounded expression lies in, from which quantiles are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.engines.schema import Type
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import Expression
from discreet.sql.measures.measure import ValueGrid
from discreet.sql.measures.tree_leaves import leaf_sql

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class LeafCounts:
    """The rows of each leaf, however quantiles are read from them; a subclass says how.

    A subclass is a dataclass with both attributes. They are no fields here: the order of the fields of a measure is a
    part of the identity of a question that ledgers keep.

    Attributes:
        argument: the expression.
        grid: the leaves: `levels` of them, as wide as `step`, the first one beginning at `lo`.
        degree: that of a count; see `Moments`.
        with_null: rows where the expression is NULL are in no leaf.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    argument: Expression
    grid: ValueGrid

    degree: ClassVar = 0
    with_null: ClassVar = False

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """Columns that a row must carry."""
        return (self.argument,)

    @property
    def whole(self) -> bool:
        """Whether the argument is an integer."""
        return self.argument.type is Type.INTEGER

    @property
    def span(self) -> tuple[int, int]:
        """The least and the greatest integer that a row carries: its leaf."""
        return 0, self.grid.levels - 1

    def plain(self, quantity: str) -> bool:
        """No quantile is exactly one of the integers."""
        return False

    def over(self, rename: Callable[[Expression], Expression]) -> Self:
        """The same measure, reading its argument elsewhere."""
        return dataclasses.replace(self, argument=rename(self.argument))

    def reading(self, rename: Callable[[Expression], Expression]) -> Self:
        """The same measure, reading its argument where it was computed already."""
        return self.over(rename)

    def weights(self, quantity: str) -> Floats | None:
        """No quantile is linear in the entries."""
        return None

    def row_items(self, name: str, dialect: Dialect) -> list[tuple[str, str]]:
        """Name and SQL of the column that a row must carry: its leaf."""
        return [(name, leaf_sql(self.argument, self.grid, dialect))]

    def group_items(self, name: str, dialect: Dialect) -> list[str]:
        """The exact integers of one group and leaf in SQL."""
        return ["COUNT(*)"]
