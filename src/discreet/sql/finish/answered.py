"""The columns of an answer with the ends of their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet import arrow
from discreet.records import dataclass
from discreet.sql.intervals.lazy import LazyMapping

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.sql.intervals.simulation.simulated import Interval

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AnswerColumns:
    """The columns of an answer.

    Attributes:
        values: the answer, as the statement gives it.
        intervals: low and high ends by column, float64 arrays (rows,), or (rows, numbers) where a value holds several;
            NaN where there is no interval. Those that are a formula are worked out when they are looked at.
        without: the noisy columns that have no interval.
    """

    values: pa.Table
    intervals: Mapping[str, Interval]
    without: tuple[str, ...]

    def ends(self, index: int) -> Mapping[str, pa.Array]:
        """The low (0) or the high (1) ends as Arrow arrays, null where there is none: float64, moments of moments."""
        return LazyMapping({name: partial(self._end, name, index) for name in self.intervals})

    def _end(self, name: str, index: int) -> pa.Array:
        ends, values = self.intervals[name][index], self.values.column(name)
        return ends_like(values, ends) if ends.ndim > 1 else arrow.ends(ends, values.type)


def ends_like(column: pa.ChunkedArray, ends: Floats) -> pa.Array:
    """The ends of intervals, nested as their column is.

    Args:
        column: of lists, maps or structs.
        ends: float64 array (rows, numbers); NaN where there is none.
    """
    import pyarrow as pa

    kind, (rows, size) = column.type, ends.shape
    if pa.types.is_struct(kind):
        fields = [arrow.ends(ends[:, index], kind.field(index).type) for index in range(size)]
        return pa.StructArray.from_arrays(fields, [kind.field(index).name for index in range(size)])
    if pa.types.is_map(kind):
        numbers = arrow.ends(ends.ravel(), kind.item_type).to_pylist()
        keyed = [
            None
            if own is None
            else [(key, end) for (key, _), end in zip(own, numbers[row * size :], strict=False)]
            for row, own in enumerate(column.to_pylist())
        ]
        return pa.array(keyed, pa.map_(kind.key_type, arrow.ends(ends[:0, 0], kind.item_type).type))
    places = pa.array(np.arange(rows + 1) * size, pa.int32())
    return pa.ListArray.from_arrays(places, arrow.ends(ends.ravel(), kind.value_type))
