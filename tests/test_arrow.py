"""Arrays made here are those that PyArrow makes, and reading them loads no pandas."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from discreet.arrow import BLOCK, column, listed, numbers

VALUES = [
    ([1, None, -(2**63), 2**63 - 1], pa.int64()),
    ([0.5, None, -0.0, float("inf"), 1e-320], pa.float64()),
    (["", "ä", None, "𝄞 text", "\x00"], pa.string()),
    ([True, None, False], pa.bool_()),
    ([dt.date(1, 1, 1), None, dt.date(9999, 12, 31), dt.date(1970, 1, 1)], pa.date32()),
    ([dt.datetime(2020, 2, 29, 1, 2, 3, 4), None], pa.timestamp("us")),
]


@pytest.mark.parametrize(("values", "kind"), VALUES, ids=lambda one: str(one)[:20])
def test_lists_become_what_pyarrow_makes_of_them(values: list[object], kind: pa.DataType) -> None:
    for some in (values, values * 5, values[:1], [None, None], []):
        made = listed(some, kind)
        made.validate(full=True)
        assert made.equals(pa.array(some, kind))


def test_columns_become_what_pyarrow_makes_of_them() -> None:
    whole, floats = np.arange(-5, 20), np.array([1.5, np.nan, -np.inf] * 4)
    missing, many = whole % 3 == 0, np.where(np.arange(2 * BLOCK + 3) > BLOCK, np.nan, 1.0)
    for made, same in (
        (column(whole), pa.array(whole)),
        (column(whole[::2]), pa.array(whole[::2])),
        (column(whole, missing), pa.array(whole, mask=missing)),
        (column(floats), pa.array(floats, from_pandas=True)),
        (column(np.empty(0)), pa.array([], pa.float64())),
        (column(many), pa.array(many, from_pandas=True)),
    ):
        made.validate(full=True)
        assert made.equals(same)


def test_numbers_are_read_from_slices_and_chunks() -> None:
    whole, floats = pa.array(range(40), pa.int64()), pa.array([0.5, None, 2.0] * 9)
    for one in (whole, floats, whole.slice(3, 11), floats.slice(5, 13), floats.slice(0, 0)):
        assert np.array_equal(numbers(one), one.to_numpy(zero_copy_only=False), equal_nan=True)
    chunked = pa.chunked_array([floats.slice(1, 3), floats.slice(0, 0), floats])
    assert np.array_equal(numbers(chunked), chunked.to_numpy(), equal_nan=True)
    with pytest.raises(ValueError, match="null"):
        numbers(pa.array([1, None], pa.int64()))


def test_a_first_answer_loads_no_library_that_it_does_not_need(tmp_path: object) -> None:
    code = (
        "import sys, duckdb, discreet as dp; p = sys.argv[1] + '/t.parquet';"
        "duckdb.execute(f\"COPY (SELECT range % 5 AS g, 'k' || range % 2 AS s, 7 AS x FROM range(99)) TO '{p}'\");"
        "s = dp.protect(p, privacy_unit='row', bounds={'x': (0, 9)}, keys={'g': range(5), 's': ['k0', 'k1']}, "
        "budget=9);"
        "r = s.sql('SELECT g, s, COUNT(*) AS n, AVG(x) AS x FROM t GROUP BY g, s', epsilon=1);"
        "assert len(r) == 10; s.sql('SELECT SUM(x) AS x FROM t', epsilon=1);"
        "print(*(name for name in ('pandas', 'polars', 'scipy', 'sqlalchemy', 'mpmath', 'pyarrow.compute') "
        "if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
