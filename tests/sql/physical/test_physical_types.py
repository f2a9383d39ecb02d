"""No value of any type can make a question fail, on any engine: each physical type at both of its ends.

There is no chance of a false alarm: what is asked is whether the compiled SQL runs. Power: the planted faults below are
found by the same check. A deep run asks everything of every engine, which takes minutes of Spark; by default DuckDB and
PostgreSQL are asked each clause and each measure at one end of the numbers, one question of each third type and the
next two of those between them, and Spark and ClickHouse each clause of SQL once, of every type where it reads any, and
of a spread of the numbers where it reads these alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from tests.depth import DEEP
from tests.sql.physical import benches, types
from tests.sql.physical.probes import READABLE, probes
from tests.sql.physical.totality import Bench, Probe, asked_of, each_fault, faults, refused, run

import discreet as dp
from discreet.engines.capabilities import Ability
from discreet.engines.schema import Type
from discreet.errors import EngineError, PolicyError, QueryRefused
from discreet.sql.algebra import catalog
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.analyze.units import aggregates as unit_aggregates
from discreet.sql.dialects import named
from discreet.sql.dialects.postgres import POSTGRES
from discreet.sql.lower import compile as compiling

PROBES = dict(probes())
ON_SPARK = {
    "moments of units, wide",
    "per unit, huge",
    "windows, huge",
    "arithmetic",
    "choices",
    "distinct, row",
    "union",
}
"""The questions that Spark is asked by default: each clause of SQL once."""
ASKED = [
    name
    for name in PROBES
    if name.partition(", ")[2] in ("", "row", "u", "huge")
    or name in ON_SPARK
    or name in (
        "sums, top", "means, narrow", "moments, top", "pairs, wide", "trees, top", "moments of many rows, top",
    )
]  # fmt: skip
"""Those that DuckDB and PostgreSQL are asked: each clause and each measure, most at the end that is hardest for it."""
ALIKE = [[name for name in ASKED if PROBES[name].takes == probe.takes] for probe in PROBES.values()]
TURNS = {name: at for names in ALIKE for at, name in enumerate(names)}
"""Which types a question is asked of in a run that is not deep: each third, and the next questions of the same types
those between them, so that each type stands in a third of the clauses."""
SPREAD = 4
"""Of how many types of numbers Spark and ClickHouse are asked; a deep run: of all."""
ENGINES = {
    "duckdb": types.DUCKDB, "postgres": types.POSTGRES, "spark": types.SPARK, "clickhouse": types.CLICKHOUSE,
}  # fmt: skip


def bench(dialect: str) -> Bench:
    made: Bench = getattr(benches, f"on_{dialect}")()
    return made


def most_of(name: str) -> int:
    """Of how many columns Spark and ClickHouse are asked a question."""
    return SPREAD if set(PROBES[name].takes) == {Type.INTEGER, Type.FLOAT} else 10**9


# Groups are found for one column at a time: those of rows on PostgreSQL, those of units on DuckDB; a deep run: all.
@pytest.mark.parametrize("name", PROBES if DEEP else [name for name in ASKED if name != "groups, row"])
def test_no_value_makes_a_question_fail_on_duckdb(name: str) -> None:
    assert faults(bench("duckdb"), PROBES[name], turn=TURNS.get(name)) == []


@pytest.mark.parametrize("name", PROBES if DEEP else [name for name in ASKED if name != "groups, u"])
def test_no_value_makes_a_question_fail_on_postgres(name: str) -> None:
    assert faults(bench("postgres"), PROBES[name], turn=TURNS.get(name)) == []


@pytest.mark.parametrize("name", PROBES if DEEP else sorted(ON_SPARK))
def test_no_value_makes_a_question_fail_on_spark(name: str) -> None:
    assert faults(bench("spark"), PROBES[name], most_of(name)) == []


@pytest.mark.parametrize("name", PROBES if DEEP else sorted(ON_SPARK))
def test_no_value_makes_a_question_fail_on_clickhouse(name: str) -> None:
    # Two questions stand beside each other that read every type: each is asked of a half of them.
    turn = sorted(ON_SPARK).index(name) if PROBES[name].takes == READABLE else None
    assert faults(bench("clickhouse"), PROBES[name], most_of(name), turn, 2) == []


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_every_type_is_asked_of_in_each_run(dialect: str) -> None:
    here = bench(dialect)
    asked = {name: asked_of(here.of(*PROBES[name].takes), turn) for name, turn in TURNS.items()}
    every = [column for columns in asked.values() for column in columns]
    least = {column: 4 if column in here.of(*READABLE) else 1 for column in here.types}
    assert [column for column, times in least.items() if every.count(column) < times] == []
    # A key that is found is read in ways that few types have.
    finding = [name for name in asked if PROBES[name].alone]
    keys = {column for name in finding for column in here.of(*PROBES[name].takes)}
    assert keys
    assert keys == {column for name in finding for column in asked[name]}


@pytest.mark.parametrize("dialect", ENGINES)
def test_every_listed_type_has_a_column_here(dialect: str) -> None:
    seen = {kind.type for kind in benches.CAPABILITIES[dialect].types.values()}
    assert (
        {column.type for column in bench(dialect).engine.schema()["t"].values()}
        >= seen
        == {kind for kind in Type if kind.item is None}
    )
    assert set(bench(dialect).types.values()) == set(ENGINES[dialect])


# What an opaque column is refused for ------------------------------------------------------------------------
FORBIDDEN = {
    Ability.GROUPED: [
        "SELECT COUNT(DISTINCT {c}) FROM t",
        "SELECT {c}, COUNT(*) FROM t GROUP BY {c}",
        "SELECT COUNT(*) FROM t GROUP BY 1, {c}",
        "SELECT u, {c} AS k, COUNT(*) AS v FROM t GROUP BY ALL",
        "SELECT SUM(v) FROM (SELECT u, COUNT(*) AS v FROM t GROUP BY u, {c})",
    ],
    Ability.EQUALITY: [
        "SELECT COUNT(*) FROM (SELECT DISTINCT u, {c} FROM t)",
        "SELECT COUNT(*) FROM t WHERE {c} = {c}",
        "SELECT COUNT(*) FROM t AS l JOIN t AS r ON l.u = r.u AND l.{c} = r.{c}",
        "SELECT COUNT(*) FROM t WHERE {c} IN (1, 2)",
        "SELECT COUNT(*) FROM t AS l JOIN t AS r USING (u, {c})",
        "SELECT COUNT(nullif({c}, {c})) FROM t",
        "SELECT COUNT(DISTINCT z) FROM (SELECT {c} AS z FROM t)",
        "SELECT COUNT(*) FROM t WHERE {c} IS DISTINCT FROM NULL",
    ],
    Ability.ORDER: [
        "SELECT COUNT(v) FROM (SELECT u, MAX({c}) AS v FROM t GROUP BY u)",
        "SELECT MEDIAN({c}) FROM t",
        "SELECT MIN({c}) FROM t",
        "SELECT SUM(v) FROM (SELECT u, rank() OVER (PARTITION BY u ORDER BY {c}) AS v FROM t)",
        "SELECT COUNT(greatest({c}, {c})) FROM t",
        "SELECT COUNT(v) FROM (SELECT u, lag({c}) OVER (PARTITION BY u ORDER BY id) AS v FROM t)",
        "SELECT COUNT(v) FROM (SELECT u, rank() OVER (PARTITION BY u, {c} ORDER BY id) AS v FROM t)",
    ],
    Ability.HASH: [
        "SELECT COUNT(CASE WHEN n > 2 THEN {c} END) FROM t",
        "SELECT COUNT(coalesce({c}, {c})) FROM t",
    ],
}
ALLOWED = [
    "SELECT COUNT({c}) FROM t",
    "SELECT COUNT(*) FROM t WHERE {c} IS NULL",
    "SELECT COUNT(({c})) FROM t WHERE ({c}) IS NOT NULL",
    "SELECT COUNT(z) FILTER (WHERE n > 2) FROM (SELECT *, {c} AS z FROM t)",
    "SELECT SUM(clamp(v, 0, 2)) FROM (SELECT u, COUNT({c}) AS v FROM t GROUP BY u)",
]


@pytest.mark.parametrize("dialect", ENGINES)
def test_what_a_type_cannot_do_is_refused_by_its_plan(dialect: str) -> None:
    """Every opaque type, in every clause that compares, orders, hashes or groups: before any charge, with a fix."""
    here = bench(dialect)
    known = here.catalog("u", None)
    for number, column in enumerate(here.of(Type.OTHER)):
        for ability, questions in FORBIDDEN.items():
            # Every type is refused for each ability by one of the questions, in turn; a deep run: by all.
            for question in questions if DEEP else [questions[number % len(questions)]]:
                why = refused(here, question.format(c=column), known)
                assert why is not None, (ability, here.types[column], question)
                assert "COUNT(" in why.fix, (here.types[column], question, why.fix)
        for question in ALLOWED if DEEP else [ALLOWED[number % len(ALLOWED)]]:
            assert refused(here, question.format(c=column), known) is None


def test_a_refusal_names_the_type_and_an_expression_that_can_be_read() -> None:
    here = bench("postgres")
    money = next(column for column, kind in here.types.items() if kind == "money")
    why = refused(here, f"SELECT COUNT(DISTINCT {money}) FROM t", here.catalog("u", None))
    assert why is not None
    assert "the type money" in why.cause
    assert f"CAST({money} AS numeric)" in why.fix


def test_what_is_refused_costs_nothing() -> None:
    rows = {
        "u": [1, 1, 2],
        "id": [1, 2, 3],
        "n": [1, 2, 3],
        "b": [b"x", b"", None],
        "s": [{"a": 1}, {"a": None}, None],
    }
    budget = dp.Budget(epsilon=1, delta=0.1)
    session = dp.protect({"t": pa.table(rows)}, privacy_unit="u", max_rows=2, budget=budget)
    for at, column in enumerate("bs"):
        for questions in FORBIDDEN.values():
            for question in questions if DEEP else questions[at::2]:
                with pytest.raises(QueryRefused, match=r"the type (blob|struct)"):
                    session.sql(question.format(c=column), epsilon=0.5, delta=0.01)
    assert session.budget.spent == 0
    plain: dict[str, Any] = {"privacy_unit": "u", "max_rows": 2, "budget": budget}
    for rule in ({"bounds": {"b": (0, 1)}}, {"keys": {"b": ["x"]}}, {"privacy_unit": "b"}):
        with pytest.raises(PolicyError, match="type blob"):
            dp.protect({"t": pa.table(rows)}, **{**plain, **rule})
    assert len(session.sql("SELECT COUNT(b) AS n FROM t WHERE s IS NULL", epsilon=0.5)) == 1


# Planted faults ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["means, narrow", *(["trees, narrow"] if DEEP else [])]
)  # a deep run: trees, too
def test_a_measure_in_the_type_of_its_column_is_found(name: str) -> None:
    with mock.patch.dict(catalog._READ, {Type.INTEGER: "{0}"}):
        found = faults(bench("duckdb"), PROBES[name])
    assert any(fault.startswith("TINYINT") for fault in found)
    assert any(fault.startswith("row ") for fault in found)  # an answer or an error for one chosen row


def test_a_sum_of_the_largest_numbers_is_found() -> None:
    with mock.patch.object(unit_aggregates, "LARGEST", unit_aggregates.LARGEST * 2):
        assert any(each_fault(bench("postgres"), PROBES["per unit, huge"]))


@pytest.mark.parametrize("dialect", ENGINES)
def test_an_opaque_value_that_is_hashed_is_found(dialect: str) -> None:
    """With neither the refusal nor the read that leaves TRUE or NULL of it, one row makes the question fail."""

    def bind(self: Binder, node: object) -> object:
        return self._read(node)  # type: ignore[arg-type]

    here, write = bench(dialect), PROBES["distinct, u"].write
    hashed = {  # money and bit have an order, and PostgreSQL hashes the place in it alone
        "postgres": {"json", "point"}, "spark": {"MAP<STRING, INT>"}, "duckdb": set(), "clickhouse": set(),
    }[dialect]  # fmt: skip
    with mock.patch.object(Binder, "bind", bind):
        assert faults(here, Probe((Type.OTHER,), write, "u", alone=True)) == []  # the read alone holds it
        bare = replace(POSTGRES, functions={k: v for k, v in POSTGRES.functions.items() if k != "scan"})
        known = {POSTGRES.name: bare}
        with (
            mock.patch.dict(catalog._SCAN, {Type.OTHER: "{0}"}),
            mock.patch.object(compiling, "named", lambda name: known.get(name) or named(name)),
        ):
            for column in (column for column, kind in here.types.items() if kind in hashed):
                with pytest.raises(EngineError):
                    run(here, write([column]), here.catalog("u", None))
    assert hashed <= set(here.types.values())
