"""What the functions of the table mean: on ordinary values they give what DuckDB gives for the same text.

The worst values, and that results keep to their spans, are the matter of test_totality.py. Here the whole way is
walked: parsed, bound, written out again and run, beside the analyst's own text.
"""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sql.extremes import connection

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.sql import functions as fn
from discreet.sql.algebra.keys import public_values
from discreet.sql.analyze.binding.special_forms import expression_binder
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Column, Expression, Literal, spell
from discreet.sql.expressions.span import BOOLEANS, Span, number, of_values
from discreet.sql.functions.names import names

DATES = [dt.date(2020, 1, 1), dt.date(2020, 2, 29), dt.date(2020, 12, 31), dt.date(2020, 7, 5), None]
STAMPS = [dt.datetime(2020, 1, 31, 23, 59, 59, 999_999), dt.datetime(2020, 3, 29, 1, 30), dt.datetime(2020, 1, 6),
          dt.datetime(2020, 3, 1, 12, 0, 0, 250_000), None]  # fmt: skip
ROWS = {
    "i": pa.array([0, -5, 20, 7, None], pa.int64()),
    "b": pa.array([0.0, -2.5, 3.99, 1.25, None], pa.float64()),
    "c": pa.array(["Kent", "e\u0301te\u0301 12", "\U0001f600-x-", "", None]),
    "t": pa.array(["true", " 12", "2020-02-29", "no", None]),
    "d": pa.array([True, False, True, False, None]),
    "f": pa.array(DATES, pa.date32()),
    "x": pa.array(STAMPS, pa.timestamp("us")),
}  # fmt: skip


def _end(value: dt.date) -> Fraction:
    place = number(value)
    assert place is not None
    return place


COLUMNS = {
    "i": Column("i", Type.INTEGER, Span(Fraction(-5), Fraction(20))),
    "b": Column("b", Type.FLOAT, Span(Fraction(-5, 2), Fraction(4))),
    "c": Column("c", Type.TEXT, of_values(["Kent", "e\u0301te\u0301 12", "\U0001f600-x-", ""])),
    "t": Column("t", Type.TEXT, Span()),
    "d": Column("d", Type.BOOLEAN, BOOLEANS),
    "f": Column("f", Type.DATE, Span(_end(dt.date(2020, 1, 1)), _end(dt.date(2020, 12, 31)))),
    "x": Column("x", Type.TIMESTAMP, Span(_end(dt.datetime(2020, 1, 1)), _end(dt.datetime(2020, 3, 31, 23, 59)))),
}  # fmt: skip


def bind(text: str) -> Expression:
    query = f"SELECT {text} FROM rows"
    node = sqlglot.parse_one(query, read="duckdb").expressions[0]
    return expression_binder(query, lambda column: COLUMNS[column.name]).bind(node)


@cache
def rows() -> duckdb.DuckDBPyConnection:
    """The connection, with the rows above as a table."""
    return connection().register("rows", pa.table(ROWS))


def run(*texts: str) -> list[list[Any]]:
    """The values of each expression, all of them in one query."""
    listed = ", ".join(f"{text} AS v{at}" for at, text in enumerate(texts))
    found = rows().sql(f"SELECT {listed} FROM rows").to_arrow_table()
    return [column.to_pylist() for column in found.columns]


def given_by(text: str) -> list[Any]:
    return run(spell(bind(text), DUCKDB))[0]


UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "decade"]
AS_DUCKDB = [
    *(f"date_trunc('{unit}', x)" for unit in UNITS),
    *(f"date_trunc('{unit}', f)" for unit in UNITS[:5]),
    *(f"date_diff('{unit}', f, x)" for unit in UNITS if unit != "week"),
    *(f"date_sub('{unit}', f, x)" for unit in UNITS),
    *(f"extract({part} FROM x)" for part in [*UNITS, "dow", "isodow", "doy", "isoyear", "century"]),
    *(f"date_part('{part}', f)" for part in ["year", "month", "day", "week", "dow", "quarter", "epoch", "hour"]),
    "epoch(x)", "dayname(f)", "monthname(x)", "last_day(f)", "last_day(x)", "f + 3", "3 + f", "f - i::INTEGER",
    "f + i::INTEGER", "f - DATE '2020-01-15'", "f + INTERVAL 1 MONTH", "x - INTERVAL '1 year 2 months 3 days 4 hours'",
    "date_add(f, INTERVAL 2 WEEK)", "x + INTERVAL '90' MINUTE", "make_date(2020, 2, 28)", "x::DATE", "f::TIMESTAMP",
    "strftime(f, '%Y-%m')", "strftime(x, '%d.%m.%y %H:%M:%S %A %b %j')", "strftime(x, '%Y-%m-%d %H')",
    "time_bucket(INTERVAL '15 minutes', x)", "time_bucket(INTERVAL '1 week', f)", "time_bucket(INTERVAL 5 MONTH, x)",
    "time_bucket(INTERVAL '1 month', f)", "x < DATE '2020-03-01' - INTERVAL 1 DAY",
    "date_diff('day', '2020-01-01', f)",
    "substring(c, 2, 3)", "substr(c, 2)", "left(c, 3)", "right(c, 3)", "replace(c, 'e', 'oo')", "strpos(c, 'e')",
    "position('\u0301' IN c)", "instr(c, '-')", "starts_with(c, 'K')", "ends_with(c, '-')", "contains(c, 't')",
    "suffix(c, 't')", "split_part(c, '-', 2)", "split_part(c, '-', 9)",
    "concat(c, '-', i, d, f)", "concat_ws('/', c, i)",
    "c || i", "length(c)", "strlen(c)", "ascii(c)", "lpad(c, 4, '*')", "trim(c, 'K-')", "ltrim(c)", "rtrim(c, 't')",
    "regexp_matches(c, '^[A-Z]')", "c ~ '\\d+$'", "regexp_full_match(c, '[A-Za-z]*')",
    "c NOT LIKE 'K%'", "c ILIKE 'k%'",
    "if(i > 1, 'a', 'b')", "ifnull(i, 1)", "i IS DISTINCT FROM 7", "i IS NOT DISTINCT FROM NULL",
    "nullif(i, 7)", "i IN (7, 20)", "i NOT IN (7)", "i NOT BETWEEN 0 AND 7", "d IS NOT TRUE",
    "CASE i WHEN 7 THEN c END",
    "round(b, 1)", "round(b)", "round(i, -1)", "trunc(b, 1)", "trunc(b)", "even(b)", "sin(b)", "cos(b)", "tan(b)",
    "atan(b)", "atan2(b, i)", "degrees(b)", "radians(b)", "cbrt(b)", "pi()",
    "log(abs(b) + 1)", "i & 6", "i | 3", "xor(i, 3)", "i::BOOLEAN",
    "TRY_CAST(t AS BOOLEAN)", "i::VARCHAR", "f::VARCHAR",
    "d::VARCHAR", "TRY_CAST(i * 10 AS TINYINT)",
    "TRY_CAST(i AS UTINYINT)", "TRY_CAST(t AS DATE)",
    "TRY_CAST(t AS BIGINT)",
    "CAST(b AS DECIMAL(4, 1))::DOUBLE",
    "TRY_CAST(t AS TIMESTAMP)", "i % 3", "mod(i, 3)", "b ** 2", "abs(i) // 2",
    "x AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin'", "x AT TIME ZONE 'America/New_York' AT TIME ZONE 'UTC'",
]  # fmt: skip


@pytest.mark.parametrize("text", AS_DUCKDB)
def test_it_means_what_duckdb_means(text: str) -> None:
    ours, theirs = run(spell(bind(text), DUCKDB), text)
    assert ours == theirs


@pytest.mark.parametrize(
    ("text", "means"),
    [
        (
            "date_diff('week', DATE '2020-01-05', DATE '2020-01-06')",
            [1] * 5,
        ),  # a Monday; DuckDB counts from Thursdays
        ("width_bucket(b, 0, 4, 4)", [1, 0, 4, 2, None]),
        (
            "reverse(c)",
            ["tneK", "21 \u0301et\u0301e", "-x-\U0001f600", "", None],
        ),  # by code point, not by cluster
        ("asin(b)", [0.0, None, None, None, None]),
        ("log(1, b)", [None] * 5),
        (
            "log2(abs(i) + 3)",
            [math.log(3) / math.log(2), 3.0, math.log(23) / math.log(2), math.log(10) / math.log(2), None],
        ),  # exact for powers of two
        ("log(8, i + 1)", [0.0, None, pytest.approx(math.log(21, 8)), pytest.approx(1.0), None]),
        ("nvl2(i, 1, 2)", [1, 1, 1, 1, 2]),
        ("epoch_ms(x) % 1000", [999, 0, 0, 250, None]),  # rounded down; DuckDB rounds to the nearest
        ("sqrt(b)", [0.0, None, 3.99**0.5, 1.25**0.5, None]),
        ("make_date(2020, i, 1)", [None, None, None, dt.date(2020, 7, 1), None]),
        ("CAST(b AS DECIMAL(1, 0))", [0.0, -3.0, 4.0, 1.0, None]),
        ("CAST(i AS DECIMAL(1, 0))", [0.0, -5.0, None, 7.0, None]),
        ("round(i, 2)", [0, -5, 20, 7, None]),
        ("concat(NULL, c)", ["Kent", "e\u0301te\u0301 12", "\U0001f600-x-", "", ""]),
    ],
)
def test_where_it_has_a_meaning_of_its_own(text: str, means: list[Any]) -> None:
    assert given_by(text) == means


def test_integers_stay_exact_where_nothing_can_overflow() -> None:
    wide = Column("i", Type.INTEGER, Span())
    for name in ("to_integer", "round", "floor"):
        assert fn.call(name, wide).type is Type.INTEGER  # type: ignore[union-attr]
    assert fn.call("add", wide, wide).type is Type.FLOAT  # type: ignore[union-attr]


# Keys ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("date_trunc('month', f)", 12), ("date_trunc('month', x)", 3), ("date_trunc('day', x)", 91),
        ("date_trunc('hour', x)", 91 * 24), ("x::DATE", 91), ("time_bucket(INTERVAL '6 hours', x)", 91 * 4),
        ("time_bucket(INTERVAL 2 MONTH, x)", 2), ("last_day(x)", 3), ("strftime(f, '%Y-%m')", 12),
        ("strftime(x, '%Y-%m-%d %H')", 91 * 24), ("month(x)", 3), ("hour(x)", 24), ("dayname(x)", 7),
        ("year(f) * 100 + month(f)", 12), ("substring(c, 1, 1)", 4), ("width_bucket(b, 0, 4, 4)", 6),
        ("round(b, 1)", 66), ("trunc(b)", 7), ("i::VARCHAR", 26), ("concat(dayname(x), ' ', hour(x))", 8 * 25),
        ("CASE WHEN b > 1 THEN 'high' WHEN i > 3 THEN left(c, 1) ELSE 'low' END", 6), ("floor(b / 0.5)", 14),
        ("concat_ws('-', c, d)", 14), ("date_trunc('month', x AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo')", 5),
        ("CAST(b AS DECIMAL(5, 1))", 66), ("if(c = 'Kent', 'Kent', 'other')", 2), ("length(c)", 3),
        ("grid(b, i, 2, 10)", 5 * 4), ("grid(b, b, 0.5)", 14), ("h3_cell(b, i, 0)", 4),
    ],
)  # fmt: skip
def test_the_keys_are_known_and_hold_every_value(text: str, count: int) -> None:
    expression = bind(text)
    values = public_values(expression)
    assert values is not None
    assert len(values) == count
    assert {value for value in given_by(text) if value is not None} <= set(values)


def test_keys_of_an_unbounded_column_are_not_guessed() -> None:
    wide = Column("x", Type.TIMESTAMP, Span())
    for name in ("date_trunc_month", "to_date", "last_day"):
        expression = fn.call(name, wide)
        assert expression is not None
        assert not expression.span.bounded
        assert public_values(expression) is None


@settings(max_examples=30, deadline=None, database=None)
@given(
    st.sampled_from([*(f"date_trunc('{unit}', x)" for unit in UNITS), "time_bucket(INTERVAL 7 MONTH, x)",
                     "time_bucket(INTERVAL '17 hours', x)"]),
    st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), st.integers(0, 10**13), st.data(),
)  # fmt: skip
def test_no_cut_moment_is_missed(text: str, first: dt.datetime, width: int, data: st.DataObject) -> None:
    lo = _end(first)
    width = min(width, 10**11) if "second" in text else width
    places = [
        *data.draw(st.lists(st.integers(int(lo), int(lo) + width), max_size=50)),
        int(lo),
        int(lo) + width,
    ]
    column = Column("x", Type.TIMESTAMP, Span(lo, lo + width))
    node = sqlglot.parse_one(text, read="duckdb")
    expression = expression_binder(text, lambda _: column).bind(node)
    connection().register("moments", pa.table({"x": pa.array(places, pa.timestamp("us"))}))
    sql = f"SELECT DISTINCT {spell(expression, DUCKDB)} AS v FROM moments"
    seen = connection().sql(sql).to_arrow_table().column("v").to_pylist()
    assert set(seen) <= set(public_values(expression) or ())


# Refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("now()", "now", "Write the date as a literal"), ("f > current_date", "", "not mean the same"),
        ("random()", "random", "random value"), ("uuid()", "uuid", "random value"),
        ("dat_trunc('month', f)", "dat_trunc('month', f)", "Did you mean date_trunc?"),
        ("dayofmonht(f)", "dayofmonht(f)", "Did you mean"), ("regexp_matches(c, c)", "c", "must be a literal"),
        ("regexp_matches(c, '(')", "'('", "cannot be used"), ("round(b, i)", "i", "a literal from -15 to 15"),
        ("substring(c, 0, 1)", "0", "a literal from 1"), ("left(c, -1)", "1", "a literal from 0"),
        ("width_bucket(b, 4, 0, 3)", "4", "below the last"), ("width_bucket(b, 0, b, 3)", "b", "literal number"),
        ("strftime(f, '%Q')", "'%Q'", "directives"), ("strftime(f, c)", "c", "directives"),
        ("date_trunc('fortnight', f)", "date_trunc('fortnight', f)", "Use one of month"),
        ("x AT TIME ZONE 'UTC'", "x AT TIME ZONE 'UTC'", "Both zones"),
        ("x AT TIME ZONE 'UTC' AT TIME ZONE 'Mars/Base'", "'Mars/Base'", "time zone"),
        ("f + INTERVAL (i) MONTH", "i", "cannot be computed"), ("x - TIMESTAMP '2020-01-01'", "x", "no single unit"),
        ("age(x, f)", "age(x, f)", "date_sub('year'"), ("b::VARCHAR", "b", "Round it"), ("x::VARCHAR", "x", "strftime"),
        ("i::TIMESTAMPTZ", "i", "not supported"), ("floor(b, 2)", "2", "takes one number"),
        ("b BETWEEN SYMMETRIC 1 AND 2", "b", "SYMMETRIC"), ("c LIKE c", "c", "literal"),
        ("repeat(c, 9)", "repeat(c, 9)", "any length"), ("substring(c)", "c", "does not take 1"),
        ("replace(c, 'a', 'xxxxxxxxxxxxxxxxxxxxx')", "'xxxxxxxxxxxxxxxxxxxxx'", "at most 16"),
        ("f + INTERVAL '1 moon'", "", "not a unit"), ("f + INTERVAL '1.5 months'", "", "cannot be read"),
    ],
)  # fmt: skip
def test_refusals_point_at_the_place_and_name_the_fix(text: str, place: str, says: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        bind(text)
    assert says in str(caught.value)
    assert caught.value.fix
    if place:
        assert caught.value.place.startswith(place)
        assert "^" in str(caught.value)


def test_every_line_says_how_it_is_written_and_every_literal_has_examples() -> None:
    for lines in fn.TABLE.values():
        for line in lines:
            for at, rule in line.literals.items():
                assert rule.examples
                for value in rule.examples:
                    assert fn.allowed(line, at, Literal(value, line.takes[at])), (line.usage, value)
    assert {"date_trunc", "substring", "width_bucket", "if", "coalesce"} <= set(names())


def test_texts_cannot_grow_without_limit() -> None:
    """Forty doublings of one character would not fit into any memory; here they stay in it, and short."""
    grown: Expression = Column("t", Type.TEXT, Span())
    sql = spell(fn.call("concat", grown, grown) or grown, DUCKDB)
    inner = "SELECT 'x' AS t"
    for _ in range(40):
        inner = f"SELECT {sql} AS t FROM ({inner})"
    assert connection().sql(f"SELECT length(t) FROM ({inner})").to_arrow_table().column(0).to_pylist() == [
        8192
    ]
