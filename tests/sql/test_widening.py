"""Bounds beyond 64 bits and public columns of narrow types: neither lets a value of a row make a question fail.

There is no chance of a false alarm. Power: each planted fault is found by the same check.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from tests.depth import in_turn

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.schema import Type
from discreet.errors import EngineError
from discreet.policy import Policy
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.public_data import arrow_kind, spelled
from discreet.sql.analyze.joins import joins
from discreet.sql.functions import apply
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.planner import plan

LO, HI = -(2**63), 2**63 - 1
PRIVATE = pa.table({"id": [1, 2, 3], "c": ["x", "y", "x"], "v": pa.array([LO, HI, 0], pa.int64())})
PUBLIC = pa.table({"c": ["x", "y"], "w": pa.array([127, -128], pa.int8()), "h": pa.array([1.0, 6e4], pa.float16()),
                   "l": [[1], [2]]})  # fmt: skip


@cache
def opened() -> DuckDBEngine:
    """One for all questions, which change nothing of it."""
    return DuckDBEngine.open({"t": PRIVATE, "pub": PUBLIC.drop_columns("h")})


def runs(sql: str, unit: str = "row", **columns: Any) -> bool:
    capped = {} if unit == "row" else {"max_rows": 2}
    tables = {"t": {"privacy_unit": unit, "columns": columns, **capped}, "pub": {"public": True}}
    catalog = Catalog.build(
        Policy.model_validate({"budget": 1, "tables": tables}), opened().schema(), {"pub": PUBLIC}
    )
    for release in plan(sql, catalog, Fraction(1)).releases:
        try:
            exact_integers(release, opened(), 7)
        except EngineError:
            return False
    return True


FAR = [
    "SELECT COUNT(*) FROM t WHERE v > 5", "SELECT SUM(clamp(v, -1e30, 3)) FROM t", "SELECT AVG(v) FROM t WHERE v <> 0",
    "SELECT SUM(clamp(id, 1e29, 1e30)) FROM t", "SELECT COUNT(v + v) FROM t WHERE v * 2 > 1",
]  # fmt: skip


ENDS = [(-(10**30), 10**30), (10**30, 10**31), (LO, HI), (LO, LO + 5), (HI - 5, HI)]


@pytest.mark.parametrize(("sql", "ends"), in_turn(FAR, ENDS))  # a deep run: each with each
def test_bounds_beyond_64_bits_clamp_nothing(sql: str, ends: tuple[int, int]) -> None:
    assert runs(sql, v={"bounds": ends})


@pytest.mark.parametrize("unit", ["row", "id"])
@pytest.mark.parametrize("listed", [[LO, LO + 1], [HI - 1, HI], [LO, HI], [1, 2], [-2, -1, 0]])
def test_the_least_and_the_greatest_integer_are_keys_or_none(listed: list[int], unit: str) -> None:
    assert runs("SELECT v, COUNT(*) FROM t GROUP BY v", unit, v={"keys": listed})


def test_a_bound_that_cannot_be_cast_is_found() -> None:
    with mock.patch.object(apply, "INT64", 10**40):
        assert not runs(FAR[1])


JOINED = [f"SELECT SUM(clamp({x}, 0, 9)) FROM t JOIN pub ON t.c = pub.c WHERE id = 1"
          for x in ("w * w", "w + w", "-w", "abs(w)", "w - v", "h * h")]  # fmt: skip


@pytest.mark.parametrize("sql", JOINED)
def test_public_columns_are_widened_before_they_are_joined(sql: str) -> None:
    assert runs(sql)


def test_a_public_column_in_its_own_type_is_found() -> None:
    """It fails when the chosen person is there, and is answered when not."""
    with mock.patch.object(joins, "spelled", lambda data: data.drop_columns("h")):
        assert not runs(JOINED[0])
        assert runs(JOINED[0].replace("id = 1", "id = 9"))


def test_widened_types() -> None:
    far = pa.array([10**15, 0, None], pa.timestamp("s"))
    out = spelled(
        pa.table({"s": far, "u": pa.array([2**64 - 1, 0, None], pa.uint64()), "l": [[1], [2], None]})
    )
    assert out.schema.types[:2] == [pa.timestamp("us"), pa.float64()]
    assert out.column("s").null_count == 2
    assert arrow_kind(pa.uint64()) is Type.FLOAT
    assert out.column("l").type == pa.list_(pa.int64())
