"""Units keep their identity: by type of the unit column, on DuckDB; see the siblings for PostgreSQL and Spark."""

from __future__ import annotations

import datetime as dt
import itertools
import uuid
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.depth import examples, few
from tests.sql import units

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import EngineError, PolicyError, QueryRefused, SourceError
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.analyze import set_operations
from discreet.sql.analyze.joins import joins
from discreet.sql.analyze.subqueries import lookups
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.planner import plan

NAN = float("nan")
QUIET = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
"""A NaN with other bits."""
MOMENT = dt.datetime(2020, 1, 1)
POOLS: dict[str, list[list[Any] | None]] = {
    "TINYINT": [[-128], [-1], [0], [127], None],
    "BIGINT": [[2**63 - 1], [2**63 - 2], [2**53], [2**53 + 1], [-(2**63)], None],
    "UBIGINT": [[2**64 - 1], [2**64 - 2], [2**63], [0], None],
    "HUGEINT": [[10**30], [10**30 + 1], [-(10**30)], [2**64], None],
    "UHUGEINT": [[2**128 - 1], [2**128 - 2], [1], [0], None],
    "DECIMAL(38, 3)": [[Decimal("1e18") + Decimal("0.001")], [Decimal("1e18")], [Decimal("1.0"), Decimal("1.000")],
                       [Decimal("0"), Decimal("-0.000")], None],
    "DECIMAL(20, 0)": [[Decimal(10**18 + at)] for at in range(4)] + [None],
    "FLOAT": [[0.0, -0.0], [1.5], [float("inf")], [1e-45], None],
    "DOUBLE": [[0.0, -0.0], [0.1], [0.1 + 2**-56], [float("inf")], [-float("inf")], [5e-324], None],
    "BOOLEAN": [[True], [False], None],
    "VARCHAR": [["a"], ["A"], ["a "], ["é"], ["e\u0301"], [""], ["ß"], ["ss"], ["12"], ["012"], None],
    "UUID": [[uuid.UUID(int=at)] for at in (0, 1, 2**127, 2**128 - 1)] + [None],
    "DATE": [[dt.date(1, 1, 1)], [dt.date(9999, 12, 31)], [dt.date(2020, 2, 29)], None],
    "TIMESTAMP": [[MOMENT], [MOMENT + dt.timedelta(microseconds=1)], [dt.datetime(9999, 12, 31)], None],
    "TIMESTAMP_NS": [["2020-01-01 00:00:00.000000001"], ["2020-01-01 00:00:00.000000002"], ["2020-01-01"], None],
    "TIMESTAMP_MS": [["2020-01-01 00:00:00.001"], ["2020-01-01 00:00:00.002"], ["2020-01-01"], None],
    "TIMESTAMP_S": [["2020-01-01 00:00:01"], ["2020-01-01 00:00:02"], ["290000-01-01"], None],
    "TIMESTAMPTZ": [["2020-01-01 00:00:00+00", "2020-01-01 02:00:00+02"], ["2020-01-01 00:00:00+02"],
                    ["2020-01-01 00:00:00.000001+00"], None],
    "ENUM('a', 'A', 'b')": [["a"], ["A"], ["b"], None],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_schemas_left() -> Iterator[None]:
    """A question about a database with many tables takes longer."""
    yield
    while _OWN:
        _database().execute(f"DROP SCHEMA {_OWN.pop()} CASCADE")


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": "1"})


_OWN: list[str] = []
_NUMBERS = itertools.count()


def new_schema() -> tuple[duckdb.DuckDBPyConnection, str]:
    """The database of this file, and a new schema that it now uses: a new database takes longer than most questions."""
    _OWN.append(f"units_{next(_NUMBERS)}")
    _database().execute(f"CREATE SCHEMA {_OWN[-1]}; SET schema = '{_OWN[-1]}'")
    return _database(), _OWN[-1]


def engines(kind: str, seed: int) -> tuple[list[DuckDBEngine], list[units.Counts], set[int]]:
    versions, second, people = units.tables(POOLS[kind], seed)
    made = []
    for rows, _ in versions:
        connection, schema = new_schema()
        for name, content in (("t", rows), ("s", second)):
            connection.execute(f"CREATE TABLE {name} (id {kind}, v INTEGER)")
            listed = ", ".join([f"(CAST(? AS {kind}), ?)"] * len(content))
            connection.execute(f"INSERT INTO {name} VALUES {listed}", [one for row in content for one in row])
        made.append(DuckDBEngine.open_all([(f"{schema}.{name}", connection, {}) for name in "ts"]))
    return made, [counts for _, counts in versions], people


@pytest.mark.parametrize("kind", POOLS)
def test_people_stay_apart_and_whole(kind: str) -> None:
    for seed in range(examples(1, 2)):
        opened, counts, people = engines(kind, seed)
        assert units.problems(opened, counts, people, units.some_of(list(POOLS).index(kind))) == []


# A deep run: with every type.
@pytest.mark.parametrize(
    "kind", few([k for k in POOLS if k.startswith(("UBIG", "HUGE", "UHUGE", "DEC", "TIMESTAMP_NS"))], 3)
)
def test_a_unit_that_is_read_as_queries_see_it_is_found(kind: str) -> None:
    with units.lossy():
        assert any(units.problems(*engines(kind, seed)) for seed in range(3))


# A deep run: texts and decimals, too.
@pytest.mark.parametrize("kind", few(["DOUBLE", "VARCHAR", "DECIMAL(38, 3)", "TIMESTAMPTZ"], 2))
def test_a_unit_is_in_one_slice(kind: str) -> None:
    opened, counts, people = engines(kind, 1)
    for engine in opened:
        engine.__dict__["slices"] = 5
    assert units.problems(opened, counts, people, units.some_of(list(POOLS).index(kind))) == []


def test_nan_and_null_are_nobody() -> None:
    rows = [1.0, 1.0, 1.0, 2.0]
    nobody = [None, NAN, float(QUIET), -NAN] * 3
    for at, (extra, kind) in enumerate([([], pa.float64()), (nobody, pa.float64()), (nobody, pa.float32())]):
        table = pa.table(
            {"id": pa.array(rows + extra, kind, from_pandas=False), "v": [1] * len(rows + extra)}
        )
        engine = DuckDBEngine.open({"t": table, "s": table.slice(0, 0)})
        assert units.problems([engine], [{1: 3, 2: 1}], set(), units.some_of(at)) == []


def test_what_is_shown_of_a_unit_does_not_depend_on_the_row_met_first() -> None:
    sql = "SELECT COUNT(*) FROM (SELECT id, COUNT(*) AS c FROM t GROUP BY id) WHERE atan2(id, -1) < 0"
    for values in ([0.0, -0.0], [-0.0, 0.0], [-0.0]):  # the half turn of atan2 tells the zeros apart
        engine = DuckDBEngine.open({n: pa.table({"id": values, "v": [1] * len(values)}) for n in ("t", "s")})
        planned = plan(sql, Catalog.build(units.policy(), engine.schema(), {}), Fraction(1))
        assert exact_integers(planned.releases[0], engine, 7).tolist() == [[0]]


MIXED = [
    ("BIGINT", "VARCHAR"), ("BIGINT", "DOUBLE"), ("BIGINT", "HUGEINT"), ("DECIMAL(20, 0)", "DECIMAL(20, 1)"),
    ("VARCHAR", "UUID"), ("TIMESTAMP", "TIMESTAMP_NS"), ("DATE", "TIMESTAMP"), ("BOOLEAN", "INTEGER"),
]  # fmt: skip
COMPARING = [q for q in units.QUESTIONS if " s" in q]


def mixed(one: str, other: str) -> DuckDBEngine:
    connection, schema = new_schema()
    connection.execute(f"CREATE TABLE t (id {one}, v INTEGER); CREATE TABLE s (id {other}, v INTEGER)")
    return DuckDBEngine.open_all([(f"{schema}.{name}", connection, {}) for name in "ts"])


@pytest.mark.parametrize(("one", "other"), MIXED)
def test_units_of_different_types_are_refused_when_the_plan_is_made(one: str, other: str) -> None:
    catalog = Catalog.build(units.policy(), mixed(one, other).schema(), {})
    assert len(COMPARING) >= 7
    for question in COMPARING:
        with pytest.raises(QueryRefused, match="of different types"):
            plan(question, catalog, Fraction(1))


def test_integers_of_any_width_up_to_64_bits_are_one_type() -> None:
    catalog = Catalog.build(units.policy(), mixed("TINYINT", "BIGINT").schema(), {})
    for question in COMPARING:
        plan(question, catalog, Fraction(1))


def test_without_that_check_an_error_tells_of_one_person() -> None:
    def unseen(*_: object) -> None: ...

    said = []
    with (
        mock.patch.object(joins, "see_same_units", unseen),
        mock.patch.object(set_operations, "see_same_units", unseen),
        mock.patch.object(lookups, "see_same_units", unseen),
    ):
        for name in ("12", "x"):
            sources = {"t": pa.table({"id": [1], "v": [1]}), "s": pa.table({"id": [name], "v": [1]})}
            engine = DuckDBEngine.open(sources)
            planned = plan(COMPARING[0], Catalog.build(units.policy(), engine.schema(), {}), Fraction(1))
            try:
                exact_integers(planned.releases[0], engine, 7)
                said.append("answered")
            except EngineError:
                said.append("failed")
    assert said == ["answered", "failed"]


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT", "NFC"])
def test_texts_under_a_collation_name_no_units(collation: str) -> None:
    connection = duckdb.connect()
    connection.execute(f'CREATE TABLE t (other INTEGER, "an id" VARCHAR COLLATE {collation}, note VARCHAR)')
    connection.execute(f"CREATE VIEW v AS SELECT note COLLATE {collation} AS note FROM t")
    for table, unit in (("t", "an id"), ("v", "note")):
        with pytest.raises(PolicyError, match="different texts may be one person"):
            dp.protect(connection, table=table, privacy_unit=unit, max_rows=1, budget=1)
    dp.protect(connection, table="t", privacy_unit="note", max_rows=1, budget=1).close()
    assert connection.execute(
        "SELECT COUNT(*) FROM duckdb_tables() WHERE table_name LIKE '%probe%'"
    ).fetchone() == (0,)


def test_a_connection_that_compares_by_a_collation_is_refused() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (id VARCHAR); SET default_collation = 'nocase'")
    with pytest.raises(SourceError, match="collation nocase"):
        dp.protect(connection, table="t", privacy_unit="id", max_rows=1, budget=1)


@pytest.mark.parametrize(
    "kind", ["BLOB", "TIME", "INTERVAL", "BIT", "INT[]", "STRUCT(a INT)", "JSON", "BIGNUM"]
)
def test_other_types_name_nobody(kind: str) -> None:
    connection, schema = new_schema()
    connection.execute(f"CREATE TABLE t (id {kind})")
    with pytest.raises(PolicyError, match="names nobody"):
        dp.protect(connection, table=f"{schema}.t", privacy_unit="id", max_rows=1, budget=1)


def test_the_identity_is_no_column_of_the_table() -> None:
    given: Sequence[float] = [1.5, 2.5]
    with dp.protect(
        {"t": pa.table({"id": given}), "p": pa.table({"x": given})},
        table="t", public=["p"], privacy_unit="id", max_rows=1, budget=1,
    ) as session:  # fmt: skip
        assert session.sql("SELECT * FROM p", epsilon=1).columns == ["x"]
        with pytest.raises(QueryRefused, match="reserved"):
            session.sql("SELECT COUNT(__unit_0) FROM t", epsilon=1)
