"""The columns of a synthetic table: the public values or intervals of each, and values made of their numbers.

The last number of a column that can be NULL is NULL. A value of an interval is drawn evenly from it; the intervals lie
within the bounds of the policy, and so does every value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines.schema import Type, arrow_type
from discreet.records import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    Integers = npt.NDArray[np.int64]


_KINDS = {
    Type.INTEGER: "whole numbers", Type.FLOAT: "real numbers", Type.DATE: "days", Type.TIMESTAMP: "times",
}  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """A column with a public set of values, or of intervals.

    Attributes:
        name: of the column.
        type: of its values.
        values: all of them but NULL; empty where there are intervals.
        edges: the ends of the intervals, one more than there are: whole steps of an integer, a day or a microsecond
            since 1970, of which the last is beyond; or floats, of which the last is within.
        nullable: whether NULL is one more.
    """

    name: str
    type: Type
    values: tuple[Any, ...] = ()
    edges: tuple[float | int, ...] = ()
    nullable: bool = True

    @property
    def classes(self) -> int:
        """The number of values or intervals but NULL."""
        return len(self.values) if self.values else len(self.edges) - 1

    @property
    def size(self) -> int:
        """The number of classes, NULL among them."""
        return self.classes + self.nullable

    @property
    def words(self) -> str:
        """Its classes in words.

        Example:
            >>> Axis("age", Type.FLOAT, edges=(0.0, 60.0, 120.0)).words
            '2 intervals of real numbers, and NULL'
        """
        kind = f"{self.classes} value{'s' * (self.classes > 1)}"
        if not self.values:
            kind = f"{self.classes} interval{'s' * (self.classes > 1)} of {_KINDS[self.type]}"
        return kind + ", and NULL" * self.nullable

    def column(self, numbers: Integers, random: np.random.Generator) -> pa.Array:
        """The values of some classes, as an Arrow array of the column's type."""
        import pyarrow as pa

        missing = numbers >= self.classes
        inside = np.minimum(numbers, self.classes - 1)
        kind = arrow_type(self.type)
        if self.values:
            listed = pa.array([*self.values, None], kind)
            return listed.take(pa.array(np.where(missing, self.classes, inside)))
        if self.type is Type.FLOAT:
            ends = np.array(self.edges, np.float64)
            low, high = ends[inside], ends[inside + 1]
            # The halves before the difference, which could be beyond every float.
            share = random.random(len(inside))
            found = np.clip(low * (1 - share) + high * share, low, high)
            return pa.array(found, kind, mask=missing)
        whole = np.array(self.edges, np.int64)
        steps = random.integers(whole[inside], np.maximum(whole[inside + 1], whole[inside] + 1))
        if self.type is Type.DATE:
            return pa.array(steps.astype(np.int32), pa.int32(), mask=missing).cast(kind)
        return pa.array(steps, pa.int64(), mask=missing).cast(kind)


def table_of(axes: Sequence[Axis], rows: Integers, random: np.random.Generator) -> pa.Table:
    """A table of the values of rows of numbers of classes, (rows, columns)."""
    import pyarrow as pa

    return pa.table({axis.name: axis.column(rows[:, index], random) for index, axis in enumerate(axes)})
