"""Values of every type lie in their public classes, and NULL is the last of them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.schema import Type
from discreet.synthetic.axes import Axis, table_of

DAYS = (18262, 18300, 18628)


def values(axis: Axis, count: int = 4000) -> pa.Array:
    numbers = np.arange(count) % axis.size
    return table_of([axis], numbers[:, np.newaxis], np.random.default_rng(1))[axis.name].combine_chunks()


@pytest.mark.parametrize(
    ("axis", "kind"),
    [
        (Axis("a", Type.TEXT, ("x", "")), pa.string()),
        (Axis("a", Type.BOOLEAN, (False, True), nullable=False), pa.bool_()),
        (Axis("a", Type.FLOAT, edges=(0.0, 0.5, 3.0)), pa.float64()),
        (Axis("a", Type.FLOAT, edges=(-1.7e308, 1.7e308)), pa.float64()),
        (Axis("a", Type.FLOAT, edges=(2.0,) * 2), pa.float64()),
        (Axis("a", Type.INTEGER, edges=(-(2**62), 0, 2**62)), pa.int64()),
        (Axis("a", Type.INTEGER, edges=(3, 4), nullable=False), pa.int64()),
        (Axis("a", Type.DATE, edges=DAYS), pa.date32()),
        (Axis("a", Type.TIMESTAMP, edges=(0, 10**9, 10**15)), pa.timestamp("us")),
    ],
)
def test_types_and_nulls(axis: Axis, kind: pa.DataType) -> None:
    found = values(axis)
    assert found.type == kind
    assert found.null_count == (4000 // axis.size if axis.nullable else 0)
    if axis.edges:
        shown = found.drop_null()
        numbers = shown.cast(pa.int32()) if kind == pa.date32() else shown
        numbers = numbers if kind == pa.float64() else numbers.cast(pa.int64())
        every = numbers.to_pylist()
        last = axis.edges[-1]
        assert min(every) >= axis.edges[0]
        assert max(every) <= last if kind == pa.float64() else max(every) < last


def test_a_value_is_in_its_own_interval() -> None:
    axis = Axis("a", Type.DATE, edges=DAYS, nullable=False)
    found = values(axis).to_pylist()
    first, middle = dt.date(2020, 1, 1), dt.date(2020, 1, 1) + dt.timedelta(days=DAYS[1] - DAYS[0])
    assert all((first <= day < middle) == (at % 2 == 0) for at, day in enumerate(found))
