"""Conditions that are said to exclude each other never hold on one row, whatever its values are.

Every pair of conditions is tried on every row of a table of awkward values: NULL, NaN, both zeros, infinities, both
ends of each type, texts that differ by a blank, a case or an accent. There is no chance of a false alarm. NaN is left
in the columns here, though it is NULL in what the product reads.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from tests import servers
from tests.sql.extremes import connection

from discreet.engines.schema import Type
from discreet.sql.algebra import disjoint
from discreet.sql.algebra.disjoint import exclude, holds, present
from discreet.sql.analyze.binding.special_forms import expression_binder
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.dialects.postgres import POSTGRES
from discreet.sql.expressions.expression import Column, Expression, spell
from discreet.sql.expressions.span import BOOLEANS, Span

INF, NAN, BIG = float("inf"), float("nan"), 2**63 - 1
VALUES: dict[str, tuple[Type, pa.DataType, list[Any]]] = {
    "i": (Type.INTEGER, pa.int64(), [None, 0, 1, 2, 3, -1, BIG, -BIG - 1, 2**53, 2**53 + 1]),
    "x": (Type.FLOAT, pa.float64(),
          [None, 0.0, -0.0, 1.0, 1.5, -1.0, NAN, INF, -INF, 5e-324, 1e308, 0.1, 0.1 + 2**-56]),
    "c": (Type.TEXT, pa.string(), [None, "", "a", "A", "a ", "b", "\u00e9", "e\u0301", "ab", "\U0001f600", "\uffff"]),
    "d": (Type.BOOLEAN, pa.bool_(), [None, True, False]),
    "f": (Type.DATE, pa.date32(), [None, dt.date(2020, 2, 29), dt.date(2020, 3, 1), dt.date(9999, 12, 31)]),
    "t": (Type.TIMESTAMP, pa.timestamp("us"), [None, dt.datetime(2020, 3, 1), dt.datetime(2020, 3, 1, 0, 0, 0, 1),
          dt.datetime(2020, 2, 29, 23, 59, 59, 999_999)]),
}  # fmt: skip
ORDERED = ["{x} < {v}", "{x} <= {v}", "{x} > {v}", "{x} >= {v}", "{x} = {v}", "{x} <> {v}", "{v} < {x}", "{v} = {x}",
           "NOT {x} < {v}", "NOT {x} = {v}", "NOT {x} >= {v}", "{x} IN ({v})", "{x} NOT IN ({v}, {w})",
           "{x} IN ({v}, {w})",
           "{x} BETWEEN {v} AND {w}", "NOT ({x} <= {v} OR {x} > {w})", "{x} IS NULL", "{x} IS NOT NULL",
           "{x} IN ({v}, NULL)", "{x} = NULL", "{x} IS DISTINCT FROM {v}", "{x} IS NOT DISTINCT FROM {v}",
           "({x} = {v}) IS TRUE", "({x} = {v}) IS FALSE", "({x} = {v}) IS NULL", "coalesce({x} > {v}, FALSE)",
           "coalesce({x} > {v}, TRUE)", "NOT coalesce({x} > {v}, TRUE)", "({x} < {v}) = TRUE", "({x} < {v}) <> FALSE",
           "CASE WHEN {x} < {v} THEN TRUE ELSE d END", "nullif({x}, {v}) = {w}", "{x} = {v} AND d",
           "{x} = {v} OR NOT d"]  # fmt: skip
LITERALS = {
    "i": [("0", "3"), ("1", "2.5"), ("9223372036854775807", "9007199254740993"), ("1.5", "9007199254740992.0")],
    "x": [("0", "1.5"), ("-0.0", "1"), ("0.1", "1e308"), ("1", "0.0")],
    "c": [("'a'", "'b'"), ("''", "'a '"), ("'\u00e9'", "'e\u0301'"), ("'A'", "'\U0001f600'")],
    "f": [("'2020-02-29'", "DATE '2020-03-01'"), ("'2020-03-01'", "TIMESTAMP '2020-03-01 00:00:00'")],
    "t": [("'2020-03-01'", "TIMESTAMP '2020-03-01 00:00:00.000001'"), ("DATE '2020-03-01'", "DATE '9999-12-31'")],
}  # fmt: skip
OTHERS = ["d", "NOT d", "d IS NULL", "d IS NOT NULL", "d = TRUE", "d <> TRUE", "d IS TRUE", "d IS NOT TRUE",
          "d IS FALSE", "TRUE", "FALSE", "NOT (d AND i > 0)", "NOT (d OR i > 0)", "d AND i > 0", "i > 0 AND i < 1",
          "i > x", "NOT i > x",
          "i = 0 AND x = 0", "c LIKE 'a%'", "NOT c LIKE 'a%'", "i % 2 = 0", "i % 2 = 1", "x * x = 0", "sqrt(x) = 1",
          "sqrt(x) IS NULL", "d AND NOT d"]  # fmt: skip
TEXTS = {
    name: [form.format(x=name, v=v, w=w) for (v, w), form in itertools.product(pairs, ORDERED)] + OTHERS
    for name, pairs in LITERALS.items()
}
ARGUMENTS = [
    "CASE WHEN {p} THEN 1 END", "CASE WHEN {p} THEN 0 ELSE 0 END", "CASE WHEN {p} THEN i ELSE 0 END",
    "CASE WHEN {p} THEN x END", "CASE WHEN {p} THEN NULL ELSE i END", "CASE WHEN {p} THEN 0 WHEN d THEN 1 END",
    "CAST({p} AS INTEGER)", "CAST({p} AS INTEGER) * x", "- CASE WHEN {p} THEN x ELSE -0.0 END", "{p}",
    "clamp(CASE WHEN {p} THEN i ELSE 0 END, 1, 2)", "CASE i WHEN 3 THEN 1 WHEN 0 THEN 2 ELSE 0 END",
    "CAST(CASE WHEN {p} THEN '0' ELSE '1' END AS BIGINT)", "coalesce(CASE WHEN {p} THEN i END, 1)",
]  # fmt: skip
"""What is measured; counted where it is not NULL, and summed where it is not 0 either."""
SOME = [
    "i = 0",
    "i > 0",
    "x = 0",
    "x <> 0",
    "x IS NULL",
    "d",
    "NOT d",
    "d IS NULL",
    "c = 'a'",
    "c IN ('b', 'A')",
]


@cache
def bind(text: str) -> Expression:
    query = f"SELECT {text} FROM rows"
    columns = {
        name: Column(name, kind, BOOLEANS if kind is Type.BOOLEAN else Span())
        for name, (kind, _, _) in VALUES.items()
    }
    node = sqlglot.parse_one(query, read="duckdb").expressions[0]
    return expression_binder(query, lambda column: columns[column.name]).bind(node)


def rows() -> pa.Table:
    """Every value beside every truth value and each of a few others; all of two columns at once."""
    listed: list[dict[str, Any]] = []
    for first, second in itertools.combinations(VALUES, 2):
        for one, other in itertools.product(VALUES[first][2], VALUES[second][2]):
            listed += [{"d": d} | {first: one, second: other} for d in VALUES["d"][2]]
    return pa.table({name: pa.array([row.get(name) for row in listed], kind, from_pandas=False)
                     for name, (_, kind, _) in VALUES.items()})  # fmt: skip


def truths(expressions: list[str]) -> np.ndarray[Any, Any]:
    """Whether each of some conditions in SQL is true on each row: bool array (rows, conditions)."""
    connection().register("rows", rows())
    out = []
    for start in range(0, len(expressions), 50):
        listed = ", ".join(
            f"coalesce({e}, FALSE) AS v{at}" for at, e in enumerate(expressions[start : start + 50])
        )
        out.append(
            np.column_stack(list(connection().sql(f"SELECT {listed} FROM rows").fetchnumpy().values()))
        )
    return np.concatenate(out, axis=1).astype(bool)


@cache
def seen(group: str) -> tuple[list[tuple[str, str, bool]], np.ndarray[Any, Any]]:
    """Texts, how they are to be read, and whether two of them hold on one row."""
    if group == "arguments":
        forms = [form.format(p=p) for form, p in itertools.product(ARGUMENTS, SOME)]
        texts = [(text, "present", nonzero) for text in dict.fromkeys(forms) for nonzero in (False, True)]
    else:
        texts = [(text, "holds", False) for text in dict.fromkeys(TEXTS[group])]
    sql = []
    for text, how, nonzero in texts:
        bound = bind(text)
        spelled = spell(bound, DUCKDB)
        if how == "present":
            zero = spelled if bound.type is Type.BOOLEAN else f"{spelled} <> 0"
            spelled = f"({spelled} IS NOT NULL AND {zero})" if nonzero else f"({spelled} IS NOT NULL)"
        sql.append(spelled)
    met = truths(sql).astype(
        np.float32
    )  # whose products take a hundredth of the time of those of whole numbers
    return texts, (met.T @ met) > 0


def wrong(group: str) -> Iterator[tuple[str, str]]:
    """Pairs that are said to exclude each other although one row has both."""
    texts, together = seen(group)
    read = [
        holds(bind(text)) if how == "holds" else present(bind(text), nonzero) for text, how, nonzero in texts
    ]
    for a, b in zip(*np.nonzero(np.triu(together)), strict=True):
        if exclude(read[a], read[b]):
            yield texts[a][0], texts[b][0]


GROUPS = [*TEXTS, "arguments"]


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_said_to_exclude_each_other_never_holds_together(group: str) -> None:
    assert list(wrong(group)) == []


def _ends(one: disjoint.KnownTruth, other: disjoint.KnownTruth) -> bool:
    return ({one.kind, other.kind} == {"le", "ge"} and one.values == other.values) or _opposed(one, other)


def _null_beside(one: disjoint.KnownTruth, other: disjoint.KnownTruth) -> bool:
    """NULL and NULL exclude each other, as NULL = NULL is not true."""
    return "null" in (one.kind, other.kind) or _opposed(one, other)


_opposed = disjoint._opposed


def _written_otherwise(one: disjoint.KnownTruth, other: disjoint.KnownTruth) -> bool:
    """Lists that are written in another way have nothing in common."""
    return one.kind == other.kind == "in" and repr(one.values) != repr(other.values)


FAULTS: list[tuple[str, object]] = [
    ("_opposed", _ends), ("_opposed", _null_beside), ("_opposed", _written_otherwise), ("_any", disjoint._all),
    ("is_null_literal", lambda one: True), ("KEEPS_NULL", frozenset({*disjoint.KEEPS_NULL, "coalesce"})),
    ("OPPOSITE", {"eq": "ne", "ne": "eq", "lt": "gt", "le": "gt", "gt": "lt", "ge": "lt"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_planted_faults_are_found(name: str, fault: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disjoint, name, fault)
    assert next((pair for group in GROUPS for pair in wrong(group)), None) is not None


@pytest.mark.parametrize(("a", "b"), [
    ("c = 'a'", "c = 'b'"), ("c IN ('a', 'b')", "'A' = c"), ("c = 'a'", "c <> 'a'"), ("c = 'a'", "c NOT IN ('a', 'b')"),
    ("x < 1", "x >= 1"), ("x < 1", "x > 1"), ("x BETWEEN 0 AND 1", "x > 1"), ("i < 1e5", "i >= 1e5"),
    ("x IS NULL", "x = 1"), ("x IS NULL", "x IS NOT NULL"), ("x IS NULL", "x < 1"), ("d", "NOT d"), ("d", "d IS NULL"),
    ("d IS TRUE", "d IS FALSE"), ("d = TRUE", "d <> TRUE"), ("NOT (i > 3)", "i > 3"),
    ("i = 0 AND d", "i = 0 AND NOT d"),
    ("i = 1 OR i = 2", "i = 3 OR i IS NULL"), ("f < '2020-03-01'", "f >= DATE '2020-03-01'"),
    ("i % 2 = 0", "i % 2 = 1"),
    ("t < DATE '2020-03-01'", "t >= TIMESTAMP '2020-03-01 00:00:00'"), ("c LIKE 'a%'", "NOT c LIKE 'a%'"),
    ("FALSE", "d"), ("i > x", "NOT i > x"), ("c < 'b'", "c >= 'b'"),
])  # fmt: skip
def test_these_are_proved(a: str, b: str) -> None:
    assert exclude(holds(bind(a)), holds(bind(b)))
    assert exclude(holds(bind(b)), holds(bind(a)))
    counted, summed = (f"CASE WHEN {p} THEN 1 END" for p in (a, b))
    assert exclude(present(bind(counted)), present(bind(summed)))
    assert exclude(*(present(bind(f"CASE WHEN {p} THEN x ELSE 0 END"), nonzero=True) for p in (a, b)))
    assert exclude(*(present(bind(f"CAST({p} AS INTEGER) * x"), nonzero=True) for p in (a, b)))


def test_many_alternatives_say_nothing_and_take_no_time() -> None:
    long = " AND ".join(f"(i = {n} OR c = '{n}')" for n in range(40))
    assert len(holds(bind(long))) <= disjoint.MOST


@cache
def loaded() -> str:
    """The server with the rows, which no test changes."""
    servers.load(servers.postgres(), "disjoint", {"rows": rows()})
    return servers.postgres()


@pytest.mark.parametrize("group", TEXTS)
def test_postgresql_agrees_on_every_pair(group: str) -> None:
    import psycopg

    texts = TEXTS[group]
    sql = [spell(bind(text), POSTGRES) for text in texts]
    with psycopg.connect(loaded()) as client:
        client.execute("SET search_path TO disjoint")
        met: Any = np.concatenate([
            np.array(client.execute(f"SELECT {', '.join(f'coalesce({e}, FALSE)' for e in sql[at : at + 50])} FROM rows")
                     .fetchall()) for at in range(0, len(sql), 50)], axis=1).astype(np.float32)  # fmt: skip
    read = [holds(bind(text)) for text in texts]
    pairs = zip(*np.nonzero(np.triu(met.T @ met)), strict=True)
    assert not [(texts[a], texts[b]) for a, b in pairs if exclude(read[a], read[b])]
