"""How many partners a row finds in a public table, by the equality of the engine and not by the bytes."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from tests import inside
from tests.depth import few
from tests.sql import units

from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import QueryRefused
from discreet.sql.analyze.joins import joins
from discreet.sql.analyze.joins import multiplicity as join_multiplicity
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.planner import plan

NAN = float("nan")
NANS = [NAN, float(np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0])]
STAMP = dt.datetime(2020, 1, 1)
TWICE: dict[str, pa.Array] = {
    "zeros": pa.array([0.0, -0.0]),
    "zeros of single precision": pa.array([0.0, -0.0], pa.float32()),
    "two NaN": pa.array(NANS, from_pandas=False),
    "NULL and NaN": pa.array([None, NAN], from_pandas=False),
    "alike": pa.array([1, 1]),
    "texts": pa.array(["a", "a"]),
    "dictionary": pa.array(["a", "a"]).dictionary_encode(),
}
"""Keys that are not unique."""
ONCE: dict[str, pa.Array] = {
    "numbers": pa.array([0.0, 5e-324]),
    "texts": pa.array(["a", "a "]),
    "accents": pa.array(["\u00e9", "e\u0301"]),
    "case": pa.array(["a", "A"]),
    "stamps": pa.array([STAMP, STAMP + dt.timedelta(microseconds=1)]),
    "whole": pa.array([2**63 - 1, 2**63 - 2]),
}
SQL = "SELECT COUNT(*) AS n FROM t JOIN p ON t.x = p.x"


def session(keys: pa.Array, mine: pa.Array) -> Any:
    engine = DuckDBEngine.open({"t": pa.table({"x": mine}), "p": pa.table({"x": keys, "y": [1] * len(keys)})})
    return units.session(engine, {"t": {"privacy_unit": "row"}, "p": {"public": True}})


@pytest.mark.parametrize("name", TWICE)
def test_keys_that_an_engine_holds_equal_are_not_unique(name: str) -> None:
    keys = TWICE[name]
    opened = session(keys, keys.slice(0, 1))
    assert (cap(opened, SQL), counted(opened) in (0, 2)) == (2, True)  # what is NULL finds none


# A deep run: all of them.
@pytest.mark.parametrize("name", few(ONCE, 4))
def test_other_keys_are_and_a_row_counts_once(name: str) -> None:
    keys = ONCE[name]
    for at in range(len(keys)):
        assert counted(session(keys, keys.slice(at, 1))) == 1


def cap(opened: Any, sql: str) -> int:
    """How often one row may count."""
    (release,) = plan(sql, inside.catalog_of(opened), Fraction(1)).releases
    (measure,) = release.measures
    return int(release.sensitivity(measure))


def counted(opened: Any) -> int:
    """How often the rows are counted, without noise."""
    (release,) = plan(SQL, inside.catalog_of(opened), Fraction(1)).releases
    return int(exact_integers(release, inside.engine_of(opened), 7).sum())


def test_uniqueness_by_bytes_is_found_to_count_a_row_twice() -> None:
    with (
        mock.patch.object(joins, "spelled", lambda data: data),
        mock.patch.object(join_multiplicity, "_most_partners", return_value=1),
    ):
        opened = session(TWICE["zeros"], pa.array([0.0]))
        assert counted(opened) == 2 > cap(opened, SQL)


def test_stamps_finer_than_the_engine_is_given_are_alike() -> None:
    fine = pa.array([1_000, 1_001], pa.timestamp("ns"))
    opened = session(fine, fine.slice(0, 1))
    assert cap(opened, SQL) == counted(opened) == 2
    inner = "SELECT COUNT(*) AS n FROM t JOIN (SELECT y, make_timestamp_ns(1000 + y) AS x FROM p) AS q ON t.x = q.x"
    assert cap(session(pa.array([1, 2]), fine), inner) == 2


def test_columns_that_differ_by_case_alone_are_refused() -> None:
    sql = 'SELECT COUNT(*) AS n FROM t JOIN (SELECT *, 1 AS "X" FROM p) AS q ON t.x = q.y'
    with pytest.raises(QueryRefused, match="case does not count"):
        session(pa.array([1, 2]), pa.array([1])).preview(sql, epsilon=1)
