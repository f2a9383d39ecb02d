"""DuckDB keeps the same rows of each unit in the way that it runs fastest as in the way that identities know."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared

from discreet.sql.algebra.relation import UNIT
from discreet.sql.dialects import duckdb as of_duckdb
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.lower.compile import compile_part
from discreet.sql.lower.contribution_bounding import EVERY_UNIT, Units, kept_sql

NAMES = ["who", "a", "b"]
SPANS = {"who": (0, 2_000), "a": (-3, 3), "b": (0, 2**20)}
HEAVY = 3_000
"""How many rows, many of them alike, two of the units have."""
SIZES = (1, 2, 3, 64)


@cache
def people() -> pa.Table:
    """1,000 units with up to eight rows, of which some are alike or hold NULL, and two units with very many."""
    rng = np.random.default_rng(8)
    who = np.concatenate(
        [np.repeat(np.arange(1_000), rng.integers(1, 9, 1_000)), np.repeat([1_000, 1_001], HEAVY)]
    )
    a = [None if each == 9 else int(each) for each in rng.integers(-5, 10, len(who)) // 2 * 2]
    b = [(0, None, -(2**63), 2**63 - 1)[each] for each in rng.integers(0, 4, len(who))]
    table = pa.table({UNIT: who, "who": who, "a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64())})
    return table.take(rng.permutation(len(who)))


def kept(
    rows: pa.Table, size: int, packed: bool, alike: bool, quick: bool, units: Units
) -> Counter[tuple[object, ...]]:
    """The rows that are kept; where they are not packed, one column is a text and one a boolean."""
    columns = "who, a, b" if packed else "who, 'of ' || a AS a, b > 0 AS b"
    with shared.plain() as connection:
        connection.register("rows", rows)
        source = f"SELECT {UNIT}, {columns} FROM rows"
        spans = SPANS if packed else None
        sql = kept_sql(source, "TRUE", NAMES, size, 7, DUCKDB, None, spans, units, alike, quick=quick)
        return Counter(connection.execute(sql).fetchall())


def both(
    size: int, packed: bool, alike: bool, units: Units = EVERY_UNIT
) -> tuple[Counter[tuple[object, ...]], ...]:
    rows = people()
    return kept(rows, size, packed, alike, True, units), kept(rows, size, packed, alike, False, units)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("packed", [True, False])
def test_the_same_rows_are_kept(size: int, packed: bool) -> None:
    of = Counter(people()[UNIT].to_pylist())
    for alike in (True, False):
        quick, known = both(size, packed, alike)
        assert quick == known
        each: Counter[object] = Counter()
        for (who, *_), times in quick.items():
            each[who] += times
        assert each == {who: min(size, rows) for who, rows in of.items()}
    sliced = [both(size, packed, True, Units(at, 3)) for at in range(3)]
    assert all(quick == known for quick, known in sliced)
    assert sum((quick for quick, _ in sliced), Counter()) == both(size, packed, True)[0]


@pytest.mark.parametrize("packed", [True, False])
def test_rows_that_are_taken_for_one_are_caught(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = of_duckdb._numbers
    monkeypatch.setattr(of_duckdb, "_numbers", lambda quick: "[0]" if quick else numbers(quick))
    quick, known = both(3, packed, True)
    assert quick != known


@pytest.mark.parametrize("packed", [True, False])
def test_one_row_in_place_of_two_is_caught(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    least = of_duckdb._least_of
    monkeypatch.setattr(
        of_duckdb, "_least_of", lambda row, size, quick: least(row, 1 if quick else size, quick)
    )
    quick, known = both(2, packed, True)
    assert quick != known


@pytest.mark.parametrize("max_rows", [1, 2])
def test_a_question_keeps_the_identity_that_it_had(max_rows: int) -> None:
    table = pa.table({"u": [1, 1, 2], "g": [0, 1, 1]})
    options = {"privacy_unit": "u", "max_rows": max_rows, "bounds": {"g": (0, 3)}, "budget": 1}
    with shared.protect({"t": table}, **options) as session:
        plan = inside.plan_of(session, "SELECT g, COUNT(*) AS n FROM t GROUP BY g", Fraction(1))
        known, quick = (
            compile_part(plan.releases[0], 0, "duckdb", 0, quick=way).sql for way in (False, True)
        )
    assert "unnest(range(__times))" in known
    assert f", {max_rows}))" in known
    assert "unnest(CASE WHEN __times = 1 THEN" in quick
    assert (f", {max_rows}))" in quick) == (max_rows > 1)
