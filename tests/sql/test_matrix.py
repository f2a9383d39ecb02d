"""Every physical type of every engine as unit, as key and as value: neighbours differ by no more than the plan says.

Between neighbouring tables are compared: error or answer, columns and their types, groups and how they are spelled,
the cost, and the exact integers in L1. There is no chance of a false alarm: a fault is a pair of tables on which the
guarantee is broken. Power: each fault of `FAULTS` is planted below and found by the same check.

By default a sixth of the cases of DuckDB and of PostgreSQL are asked, those of every role among them, of the types of
frames and files one of twelve, and Spark not at all. In a deep run everything is asked, which takes most
of an hour of one core on DuckDB, and minutes on PostgreSQL. That no value of any type makes a question fail is asked
of every type in every run, in `physical/test_physical_types.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import pytest
from tests.depth import DEEP, deep, examples, few
from tests.sql import matrix, matrix_reads, units
from tests.sql.matrix import Case, Mode, Tally, faults, faulty
from tests.sql.matrix_tables import CHOSEN, TYPES, kinds, wide

from discreet.engines.duckdb.sources.copies import Copies
from discreet.engines.schema import Type
from discreet.mechanisms import ThresholdedCounts
from discreet.sql.algebra import catalog
from discreet.sql.analyze import set_operations
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.analyze.joins import joins
from discreet.sql.analyze.subqueries import lookups
from discreet.sql.analyze.units import aggregates as unit_aggregates
from discreet.sql.dialects import duckdb as of_duckdb
from discreet.sql.dialects import named, packed_rows
from discreet.sql.dialects.postgres import POSTGRES
from discreet.sql.lower import compile as compiling
from discreet.sql.lower import contribution_bounding as kept
from discreet.sql.lower import relation_sql
from discreet.sql.measures import measure
from discreet.sql.plan.plan import Discovery, PlannedRelease

DEFAULT = {"duckdb": 120, "postgres": 100}
SHARDS = {"duckdb": 4, "postgres": 2, "spark": 1} if DEEP else {"duckdb": 2, "postgres": 1, "spark": 1}
DEEP_SPARK = 60
ANSWERED = 8 if DEEP else 16
"""Of so many cases one is answered in full as well, with intervals; a deep run: of half as many."""


@cache
def chosen(dialect: str) -> Sequence[Case]:
    """The cases of this run: a spread in which each role occurs; a deep run asks all, and Spark sixty."""
    if DEEP:
        return matrix.some(dialect, DEEP_SPARK if dialect == "spark" else 10**9)
    listed = matrix.some(dialect, examples(DEFAULT[dialect], DEFAULT[dialect]))
    asked: set[Case] = set()
    for role in dict.fromkeys(case.role for case in listed):
        those = [case for case in listed if case.role == role]
        asked.update(few(those, max(2, len(those) // (12 if role == "read" else 6))))
    return [case for case in listed if case in asked]


@pytest.mark.parametrize(
    ("dialect", "shard"),
    [
        # `test_units_spark` asks the same of the units of Spark.
        pytest.param(dialect, at, marks=[deep] if dialect == "spark" else [])
        for dialect, many in SHARDS.items()
        for at in range(many)
    ],
)
def test_neighbours_of_every_type_differ_by_what_the_plan_says(dialect: str, shard: int) -> None:
    listed, tally = chosen(dialect), Tally()
    size = -(-len(listed) // SHARDS[dialect])  # in runs, as neighbouring cases share their tables
    for at, case in enumerate(listed[shard * size : (shard + 1) * size]):
        assert faults(case, tally, answers=at % ANSWERED == 0) == [], case
    print(f"{dialect}, {shard}: {tally}")


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_every_type_stands_in_every_role(dialect: str) -> None:
    listed = matrix.some(dialect, 10**9)
    for role in ("unit", "key", "value", "mixed"):
        asked = {case.kind for case in listed if case.role == role}
        wanted = set(kinds(dialect))
        assert set(TYPES[dialect]) <= wanted
        if role == "value":  # of other types nothing but presence is asked, and that of all
            assert {kind for c, kind in wide(dialect, True).columns.items()} == asked
        assert asked == wanted
    modes = {case.mode for case in listed}
    for rows, groups in [
        (of_duckdb.MANY, None),
        (of_duckdb.MANY + 1, None),
        (3, of_duckdb.MANY),
        (3, of_duckdb.MANY + 1),
    ]:
        assert any((mode.max_rows, mode.max_groups) == (rows, groups) for mode in modes)


# Planted faults ----------------------------------------------------------------------------------------------


def narrow() -> Any:
    """A column is read in its own type, where arithmetic overflows."""
    stack = ExitStack()
    for read in (catalog._READ, catalog._SCAN):
        stack.enter_context(mock.patch.dict(read, {Type.INTEGER: "{0}"}))
    return stack


def largest() -> Any:
    """Numbers are summed that are so large that two of them overflow."""
    return mock.patch.object(unit_aggregates, "LARGEST", unit_aggregates.LARGEST * 2)


def as_met() -> Any:
    """A found key is spelled as the row that was met first."""
    stack = ExitStack()
    stack.enter_context(mock.patch.object(compiling, "canonical_key", lambda key: key))
    for module in (relation_sql, measure):  # the second of COUNT(DISTINCT)
        stack.enter_context(mock.patch.object(module, "canonical", lambda column: column))
    return stack


def hashed() -> Any:
    """A type that has no hash is grouped: neither the refusal nor the read that leaves TRUE or NULL of it is there."""
    stack = ExitStack()
    stack.enter_context(mock.patch.object(Binder, "bind", lambda self, node: self._read(node)))
    stack.enter_context(mock.patch.dict(catalog._SCAN, {Type.OTHER: "{0}"}))
    bare = replace(POSTGRES, functions={k: v for k, v in POSTGRES.functions.items() if k != "scan"})
    known = {POSTGRES.name: bare}
    stack.enter_context(mock.patch.object(compiling, "named", lambda name: known.get(name) or named(name)))
    return stack


def once() -> Any:
    """A row that UNION ALL doubles is thought to count once in a group that is found."""

    def mechanism(discovery: Discovery, release: PlannedRelease) -> ThresholdedCounts:
        return ThresholdedCounts(discovery.share, discovery.delta, discovery.part.cap)

    return mock.patch.object(Discovery, "mechanism", mechanism)


def unseen() -> Any:
    """Units of two types are compared."""
    stack = ExitStack()
    for module in (joins, lookups, set_operations):
        stack.enter_context(mock.patch.object(module, "see_same_units", return_value=None))
    return stack


def one_too_many() -> Any:
    """Where rows are sorted, one too many is kept."""
    real = kept.kept_sql

    def written(rows: str, keep: str, names: Any, most: int, *rest: Any) -> str:
        return real(rows, keep, names, most + (most > of_duckdb.MANY), *rest)

    return mock.patch.object(compiling, "kept_sql", written)


def forgotten() -> Any:
    """A packed row forgets its value where it is not NULL."""
    real = packed_rows.unpack

    def unpack(names: Any, spans: Any, packed: str) -> str:
        return real(names, spans, packed).replace("NULLIF(", f"{10**6} * NULLIF(")

    return mock.patch.object(of_duckdb, "unpack", unpack)


def every_slice() -> Any:
    """A unit is in all slices."""
    whole: Any = kept.kept_sql

    def written(*given: Any) -> str:
        return str(whole(*(kept.EVERY_UNIT if isinstance(one, kept.Units) else one for one in given)))

    return mock.patch.object(compiling, "kept_sql", written)


def as_stored() -> Any:
    """A file is read as it is, with values that the engine cannot read."""
    return mock.patch.object(Copies, "take", return_value=False)


def by_looking() -> Any:
    """The types of a CSV file are those of its cells."""
    return mock.patch.dict(matrix_reads.DECLARED, {"t": None})


def last_twin() -> Any:
    """Case does not count in names, and the last twin wins."""
    return mock.patch.object(
        catalog, "meant", lambda name, names: [one for one in names if one.lower() == name.lower()][-1:]
    )


FIRST_KEY = "SELECT CASE WHEN id >= 500 THEN -{x} ELSE {x} END AS k, COUNT(*) AS v FROM t GROUP BY 1"
DOUBLED = "SELECT {x} AS k, COUNT(*) AS v FROM (SELECT * FROM t UNION ALL SELECT * FROM t) AS t GROUP BY 1"
ONE = matrix_reads.QUESTIONS[1]
AVERAGE = f"SELECT AVG({{x}}) AS v FROM t WHERE id >= {CHOSEN}"
PER_UNIT = (
    "SELECT SUM(clamp(a, -9, 9)) AS v FROM (SELECT u, SUM({x}) AS a "
    "FROM (SELECT * FROM t UNION ALL SELECT * FROM t) AS d GROUP BY u) AS s"
)
BY_NUMBER = matrix.BY_NUMBER
COUNT = "SELECT COUNT(*) FROM t"
DISTINCT = f"SELECT COUNT(DISTINCT {{x}}) AS v FROM t WHERE id >= {CHOSEN}"
JOINED = "SELECT COUNT(*) FROM t JOIN s ON t.id = s.id"
Fault = (
    tuple[Callable[[], Any], str, str, str, Mode, str]
    | tuple[Callable[[], Any], str, str, str, Mode, str, str]
)
FAULTS: dict[str, Fault] = {
    "overflow, tinyint": (narrow, "duckdb", "value", "TINYINT", Mode("row"), AVERAGE, "narrow"),
    "overflow, smallint": (narrow, "duckdb", "value", "SMALLINT", Mode("u"), AVERAGE, "wide"),
    "overflow, median": (narrow, "duckdb", "value", "TINYINT", Mode("row"), AVERAGE.replace("AVG", "MEDIAN"), "narrow"),
    "overflow, float8": (largest, "postgres", "value", "float8", Mode("u", 3), PER_UNIT, "huge"),
    "spelling, double": (as_met, "duckdb", "key", "DOUBLE", Mode("row"), FIRST_KEY),
    "spelling, double, sorted": (as_met, "duckdb", "key", "DOUBLE", Mode("u", of_duckdb.MANY + 1), FIRST_KEY),
    "spelling, float8": (as_met, "postgres", "key", "float8", Mode("row"), FIRST_KEY),
    "unit, ubigint": (units.lossy, "duckdb", "unit", "UBIGINT", Mode("id", 1), BY_NUMBER),
    "unit, hugeint": (units.lossy, "duckdb", "unit", "HUGEINT", Mode("id", 1), BY_NUMBER),
    "unit, decimal": (units.lossy, "duckdb", "unit", "DECIMAL(38,0)", Mode("id", 1), BY_NUMBER),
    "unit, timestamp_ns": (units.lossy, "duckdb", "unit", "TIMESTAMP_NS", Mode("id", 1), BY_NUMBER),
    "unit, numeric": (units.lossy, "postgres", "unit", "numeric", Mode("id", 1), BY_NUMBER),
    "hash, json": (hashed, "postgres", "key", "json", Mode("row"), DISTINCT),
    "hash, json by unit": (hashed, "postgres", "key", "json", Mode("u"), DISTINCT),
    "hash, point by unit": (hashed, "postgres", "key", "point", Mode("u"), DISTINCT),
    "union, row": (once, "duckdb", "key", "VARCHAR", Mode("row"), DOUBLED),
    "union, text": (once, "postgres", "key", "text", Mode("row"), DOUBLED),
    "mixed units": (unseen, "duckdb", "mixed", "BIGINT", Mode("id"), JOINED),
    "mixed units, text": (unseen, "postgres", "mixed", "int8", Mode("id"), JOINED),
    "one too many, sorted": (one_too_many, "duckdb", "unit", "BIGINT", Mode("id", 1, many=0), COUNT),
    "a packed value": (forgotten, "duckdb", "unit", "BIGINT", Mode("id"), "SELECT SUM(v) FROM t"),
    "a read, text": (as_stored, "duckdb", "read", "parquet text", Mode("row"), ONE),
    "a read, moment": (as_stored, "duckdb", "read", "parquet timestamp ms None", Mode("row"), ONE),
    "a read, csv": (by_looking, "duckdb", "read", "csv 0", Mode("row"), matrix_reads.QUESTIONS[0]),
    "twin": (last_twin, "postgres", "twin", "twin", Mode("ID"), COUNT),
    "slices": (every_slice, "duckdb", "unit", "BIGINT", Mode("id", slices=5), COUNT),
}  # fmt: skip


def of_fault(name: str) -> tuple[Callable[[], Any], Case]:
    fault, dialect, role, kind, mode, sql, *ends = FAULTS[name]
    column = matrix.column_of(dialect, kind) if role in ("key", "value") else ""
    other = {"duckdb": "VARCHAR", "postgres": "text"}[dialect] if role == "mixed" else ""
    return fault, Case(dialect, role, kind, sql.format(x=column), mode, next(iter(ends), None), other)


def usual_faults() -> list[str]:
    """Each fault once on each engine; a deep run: with every type and mode."""
    each = {(fault, dialect): name for name, (fault, dialect, *_) in reversed(FAULTS.items())}
    return [name for name in FAULTS if DEEP or name in each.values()]


@pytest.mark.parametrize("name", usual_faults())
def test_planted_faults_are_found(name: str) -> None:
    fault, case = of_fault(name)
    assert faults(case) == []
    with fault():
        assert faulty(case)
