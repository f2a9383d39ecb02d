"""Neighbouring tables and random questions: whatever is supported must keep to its derived sensitivity.

A case is a policy, a question from the grammar below, a table, and several neighbours of that table: one unit
added, removed or replaced, with the worst values that the types allow, in another physical order. `violations`
plans the question once (from text and policy alone) and runs the compiled query on all of them.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from discreet.engines.duckdb.connection import connect, make_total
from discreet.engines.duckdb.hexagons import provide
from discreet.engines.schema import ColumnSchema, Type
from discreet.errors import QueryRefused
from discreet.mechanisms.numeric import threshold
from discreet.policy import Policy
from discreet.sql.algebra import keys
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.released import ReleasedTable
from discreet.sql.dialects import duckdb as bounding
from discreet.sql.lower.compile import compile_discovery
from discreet.sql.lower.discovery import found_values
from discreet.sql.lower.run import exact_integers
from discreet.sql.lower.sequence import given_to
from discreet.sql.measures import quantile_tree as quantiles
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.measures.measure import columns
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.plan import PlannedRelease, QueryPlan
from discreet.sql.plan.planner import plan

NAN, INF = float("nan"), float("inf")
SCHEMA: Mapping[str, ColumnSchema] = {
    "u": ColumnSchema("u", Type.INTEGER, -(2**63), 2**63 - 1),
    "a": ColumnSchema("a", Type.INTEGER, -(2**63), 2**63 - 1),
    "b": ColumnSchema("b", Type.FLOAT),
    "c": ColumnSchema("c", Type.TEXT),
    "d": ColumnSchema("d", Type.BOOLEAN),
    "e": ColumnSchema("e", Type.FLOAT),
    "f": ColumnSchema("f", Type.DATE),
    "g": ColumnSchema("g", Type.INTEGER, -(2**63), 2**63 - 1),
}
OTHER: Mapping[str, ColumnSchema] = {  # a second private table of the same units: some rows of the first
    "u": SCHEMA["u"],
    "p": ColumnSchema("p", Type.INTEGER, -(2**63), 2**63 - 1),
    "q": ColumnSchema("q", Type.FLOAT),
}
PUBLIC = pa.table({"name": ["x", "y", "z"], "region": ["n", "n", "s"], "weight": [1, 2, None]})
ARROW = pa.schema([("u", pa.int64()), ("a", pa.int64()), ("b", pa.float64()), ("c", pa.string()), ("d", pa.bool_()),
                   ("e", pa.float64()), ("f", pa.date32()), ("g", pa.int64())])  # fmt: skip
BIG = 2**63 - 1
INTEGERS = st.one_of(st.none(), st.integers(-10, 30), st.sampled_from([-BIG - 1, BIG, 2**31, -(2**53)]))
FLOATS = st.one_of(
    st.none(),
    st.floats(-5, 5),
    st.sampled_from([NAN, INF, -INF, -0.0, 1e308, -1e308, 5e-324, 0.1, 1.5, 2.5, -2.5]),
)
TEXTS = st.one_of(
    st.none(), st.sampled_from(["x", "y", "z", "w", "", "X", "12", "nan", "é\u0301", "x' OR 1=1 --"])
)
DATES = st.one_of(
    st.none(), st.dates(dt.date(2019, 12, 1), dt.date(2021, 2, 1)),
    st.sampled_from([dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2020, 2, 29)]),
)  # fmt: skip
ROW = st.tuples(INTEGERS, FLOATS, TEXTS, st.one_of(st.none(), st.booleans()), FLOATS, DATES, INTEGERS)

POOLS: list[list[Any]] = [
    [None, -5, 0, 1, 3, 7, 12, 20, 21, -BIG - 1, BIG, 2**31],
    [None, NAN, INF, -INF, -0.0, -2.5, -1.0, 0.1, 1.5, 2.5, 4.0, 1e308, -1e308, 5e-324],
    [None, "x", "y", "z", "w", "", "X", "12", "nan", "é\u0301", "x' OR 1=1 --"],
    [None, True, True, False],
    [None, NAN, INF, -INF, -1.0, 0.0, 0.5, 2.0, 1e308],
    [
        None,
        dt.date(1, 1, 1),
        dt.date(2020, 1, 1),
        dt.date(2020, 2, 29),
        dt.date(2020, 7, 4),
        dt.date(9999, 12, 31),
    ],
    [None, -1, 0, 1, 50, 100, BIG, -BIG - 1],
]
RELEASED: Mapping[str, list[Any]] = {
    "double": [None, -1e300, -2.5, -1.0, 0.0, 0.5, 3.0, 4.0, 1e300],
    "int64": [None, -(2**62), 0, 1, 3, 2**62 - 1, 2**62],  # of which two are one fraction
    "string": [None, "x", "y", "z", "w", ""], "bool": [None, True, False],
    "date32[day]": [None, dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(9999, 12, 31)],
    "timestamp[us]": [None, dt.datetime(1, 1, 1), dt.datetime(2020, 2, 29, 12), dt.datetime(9999, 12, 31, 23, 59)],
}  # fmt: skip
"""What a released number may be, by type: noise makes everything of it."""
NUMBERS = [
    "a", "b", "a + b", "a * a", "a - 2 * b", "-a", "abs(b)", "b / 2", "a // 3", "a % 7", "floor(b)", "round(b)",
    "ceil(b * 10)", "CASE WHEN d THEN a ELSE b END", "coalesce(a, 0)", "coalesce(b, 1)", "clamp(e, -1, 1)",
    "clamp(a / b, 0, 10)", "clamp(g, 0, 100)", "clamp(exp(e), 0, 5)", "clamp(ln(e), -3, 3)", "clamp(g * g, -50, 50)",
    "least(greatest(e, -2), 2)", "sign(e)", "d", "a > b", "month(f)", "year(f)", "extract(dow FROM f)", "sqrt(abs(b))",
    "clamp(CAST(c AS DOUBLE), 0, 20)", "clamp(length(c), 0, 4)", "CAST(b AS INTEGER)", "clamp(g - a, -9, 9)",
    "round(b, 1)", "power(b, 2)", "trunc(b)", "clamp(g % a, -3, 3)", "clamp(g // a, -3, 3)",
    "trunc(b, 1)", "round(a, -1)", "even(b)", "width_bucket(e, -1, 1, 4)", "sin(e)", "atan2(e, b)", "a & 6",
    "dayofyear(f)", "f - DATE '2020-01-15'", "date_diff('month', f, DATE '2021-06-30')",
    "date_sub('year', DATE '1990-02-28', f)",
    "clamp(date_diff('day', f, f + a), -9, 9)", "clamp(epoch(f + INTERVAL 1 MONTH), 0, 1e10)", "ascii(left(c, 1))",
    "CAST(e AS TINYINT)", "CAST(b AS DECIMAL(2, 1))", "cbrt(b)", "degrees(b)", "CAST(c = 'x' AS INTEGER)",
    "clamp(position('x' IN c), 0, 3)",
    "b - (SELECT AVG(b) FROM t AS first)", "clamp(e * (SELECT SUM(a) FROM t AS first), -3, 3)",
    "clamp(strlen(concat(c, g)), 0, 9)", "clamp(log(2, e), -3, 3)", "clamp(CAST(substring(c, 1, 2) AS BIGINT), 0, 9)",
]  # fmt: skip
TESTS = [
    "a > 3", "b < e", "c = 'x'", "c LIKE '%x%'", "d", "NOT d", "f >= '2020-03-01'", "a BETWEEN 2 AND 9", "b IS NULL",
    "c IN ('x', 'w')", "e / b > 1", "g * g > a", "g + 1 > 0", "CAST(c AS BIGINT) = 12", "a IS NOT NULL OR d",
    "ln(e) > 0", "upper(c) = 'X'", "e > 1 AND e < 3", "trim(c) <> ''", "d IS TRUE", "g % b > 1", "f = '2020-02-29'",
    "starts_with(c, 'x')", "contains(lower(c), 'x')", "regexp_matches(c, '^[a-y]$')", "c NOT LIKE 'x%'",
    "c || a = 'x3'",
    "split_part(c, '-', 1) = 'x'", "a IS DISTINCT FROM g", "dayname(f) = 'Monday'", "last_day(f) = f", "f + a > f",
    "date_trunc('month', f + INTERVAL 1 DAY) > f", "if(d, e, b) > 0", "CAST(c AS BOOLEAN)", "make_date(g, a, 1) = f",
    "CAST(c AS DATE) > f", "strftime(f, '%d') = '29'", "g | a > 0", "nullif(a, g) > 2",
    "replace(c, 'x', 'xx') = 'xx'", "a > (SELECT MEDIAN(a) FROM t AS first)",
    "c IN (SELECT c FROM t AS first GROUP BY c ORDER BY COUNT(*) DESC LIMIT 2)",
    "f > (SELECT MIN(f) FROM t AS first)", "f < (SELECT AVG(f) FROM t AS first)",
    "e NOT IN (SELECT COUNT(*) FROM t AS first GROUP BY c)",
]  # fmt: skip
KEYS = [
    "c", "d", "a", "a // 4", "a % 3", "upper(c)", "month(f)", "a > 5", "CASE WHEN b > 1 THEN 'hi' ELSE 'lo' END",
    "floor(b)", "coalesce(c, 'none')", "year(f)", "floor(b * 2) * 10", "c = 'x'", "CASE WHEN e > 0 THEN 1 END",
    "date_trunc('month', f)", "strftime(f, '%Y-%m')", "dayname(f)", "year(f) * 100 + month(f)", "substring(c, 1, 1)",
    "width_bucket(b, 0, 4, 4)", "round(b, 1)", "concat(c, '-', d)", "CAST(a AS VARCHAR)",
    "time_bucket(INTERVAL '1 week', f)",
    "grid(b, a, 1.5)", "grid(clamp(g, -20, 20), b, 10, 2)", "h3_cell(b, a, 2)",
    "CASE WHEN g IN (0, 50) THEN g ELSE -7 END", "b // 1.5 * 2", "regexp_replace(c, '^[xy]', 'q')",
    "CAST(b AS TINYINT)", "last_day(f)", "concat_ws('/', month(f), a > 3)", "if(b > 1, c, 'low')", "reverse(c)",
]  # fmt: skip
UNKNOWN = ["g", "e", "g + a", "round(e)", "concat(c, g)", "abs(g) % 5", "f + g", "(b - b) * e"]
"""Keys that are not public, so that their groups must be found."""
SOURCES = [
    "t", "t", "(SELECT *, a + 1 AS h FROM t WHERE {test}) AS t", "t JOIN pub ON t.c = pub.name",
    "t LEFT JOIN pub ON t.c = pub.name AND pub.weight > 1",
    "(SELECT * FROM t UNION ALL SELECT * FROM t WHERE {test}) AS t",
    "t JOIN pub ON CASE WHEN t.d THEN 'n' ELSE 's' END = pub.region", "t CROSS JOIN pub",
    "(SELECT * FROM t AS o WHERE o.b > (SELECT AVG(i.b) FROM t AS i WHERE i.c = o.c)) AS t",
    "(SELECT t.* FROM t JOIN (SELECT c AS most FROM t GROUP BY c HAVING COUNT(*) > 1) AS m ON t.c = m.most) AS t",
    "t LEFT JOIN pub ON t.a > pub.weight", "t ASOF JOIN pub ON t.a >= pub.weight",
    "(SELECT * FROM t UNION ALL SELECT * FROM t) AS t CROSS JOIN pub",
    "t, UNNEST([a, g, 3]) AS q(h)", "t LEFT JOIN UNNEST(string_split(c, 'x')[1:2]) AS q(w) ON TRUE",
    "(SELECT t.*, UNNEST([c, 'x']) AS w FROM t) AS t JOIN pub ON t.w = pub.name",
]  # fmt: skip
UNIT_SOURCES = [
    "(SELECT * FROM t WHERE d OR u IN (SELECT u FROM s WHERE p > 1)) AS t",
    "(SELECT * FROM t WHERE a > (SELECT AVG(s.p) FROM s WHERE s.u = t.u)) AS t",
    "(SELECT u, a, (SELECT MAX(i.b) FROM t AS i WHERE i.u = o.u AND i.c = o.c) - b AS b, c, d, e, f, g "
    "FROM t AS o) AS t",
    "(SELECT * FROM t WHERE NOT (d AND EXISTS (SELECT 1 FROM s WHERE s.u = t.u AND s.p = t.a))) AS t",
    "t JOIN s ON t.u = s.u", "t LEFT JOIN s ON t.u = s.u AND s.p > 2", "t SEMI JOIN s USING (u)",
    "t ANTI JOIN s ON s.u = t.u", "(SELECT * FROM t WHERE u IN (SELECT u FROM s WHERE p > 1)) AS t",
    "(SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.u = t.u AND p > 5)) AS t",
    "(SELECT DISTINCT u, a, b, c, d, e, f, g FROM t) AS t",
    "(SELECT u, MAX(a) AS a, AVG(b) AS b, MIN(c) AS c, BOOL_OR(d) AS d, CAST(COUNT(*) AS DOUBLE) AS e, MAX(f) AS f, "
    "SUM(g) AS g FROM t GROUP BY u) AS t",
    "(SELECT u, c, clamp(COUNT(b), 0, 3) AS a, clamp(SUM(b), -4, 4) AS b, BOOL_AND(d) AS d, MIN(e) AS e, MIN(f) AS f, "
    "COUNT(DISTINCT a) AS g FROM t GROUP BY u, c HAVING COUNT(*) > 1) AS t",
    "(SELECT u, clamp(row_number() OVER (PARTITION BY u ORDER BY a, f DESC), 0, 4) AS a, "
    "clamp(SUM(b) OVER (PARTITION BY u), -3, 3) AS b, c, d, e, "
    "lag(f) OVER (PARTITION BY u ORDER BY a, f DESC) AS f, g FROM t) AS t",
    "(SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY u ORDER BY f) <= 2) AS t",
    "t, pub WHERE t.a > pub.weight", "t JOIN s ON t.u = s.u AND t.a >= s.p", "t JOIN s ON t.u = s.u CROSS JOIN pub",
    "t JOIN (SELECT u, p, COUNT(*) AS m FROM s GROUP BY u, p) AS s ON t.u = s.u AND t.a = s.p",
    "(SELECT u, a, c, d, MAX(b) AS b, MAX(e) AS e, MAX(f) AS f, MAX(g) AS g FROM t GROUP BY u, a, c, d) AS t "
    "LEFT JOIN s ON t.u = s.u AND t.a = s.p",
    "t JOIN s ON t.u = s.u JOIN pub ON t.c = pub.name", "t JOIN pub ON t.c = pub.name JOIN s ON s.u = t.u",
    "(SELECT * FROM t WHERE u IN (SELECT u FROM s WHERE p > 1)) AS t JOIN pub ON t.c = pub.name",
    "(SELECT u, a, AVG(b) OVER (PARTITION BY u ORDER BY f ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS b, c, d, e, f, "
    "g FROM t) AS t",
]  # fmt: skip
AGGREGATES = ["SUM", "AVG", "COUNT", "VAR_SAMP", "STDDEV_POP", "STDDEV", "MEDIAN", "MIN", "MAX"]
FORMS = [
    *(f"{name}({{x}})" for name in AGGREGATES[:6] * 3 + AGGREGATES),
    "QUANTILE_CONT({x}, 0.9)", "QUANTILE_DISC({x}, 0.25)",
    "PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY {x} DESC)", "COVAR_POP({y}, {x})", "COVAR_SAMP({y}, {x})",
    "CORR({y}, {x})", "REGR_SLOPE({y}, {x})", "REGR_INTERCEPT({y}, {x})", "REGR_COUNT({y}, {x})", "REGR_R2({y}, {x})",
    "REGR_AVGX({y}, {x})", "MEDIAN(f)", "MAX(f + INTERVAL 1 MONTH)", "AVG(date_trunc('month', f))", "mode(c)",
    "MIN(clamp(f + g, DATE '2020-01-01', DATE '2021-01-01'))", "histogram({x}, [0, 1.5])", "histogram(c)",
    "QUANTILE_DISC({x}, [0.1, 0.9])", "SKEWNESS({x})", "KURTOSIS({x})",
]  # fmt: skip
CONDITIONS = [
    ["c = 'x'", "'y' = c", "c IN ('z', 'w')", "c NOT IN ('x', 'y')", "c IS NULL", "c >= 'y'", "c < 'x'"],
    ["b < 1", "b >= 1 AND b < 2.5", "b >= 2.5", "b IS NULL", "NOT b < 1", "b <= 1", "b = 0.0", "b = -0.0"],
    ["d", "NOT d", "d IS NULL", "d IS TRUE", "d = FALSE", "d IS NOT TRUE", "coalesce(d, TRUE)"],
    ["a = 3", "a BETWEEN 4 AND 9", "a > 9", "a <= 3", "a IS NOT NULL", "NOT (a > 3 OR a IS NULL)", "a < 3.5",
     "a >= 3.5"],
    ["e < 0", "e > 0", "e = 0", "e <> 0", "NOT e = 0", "e IS NULL", "e IS NOT DISTINCT FROM 0", "e <= 0"],
    ["f < '2020-03-01'", "f >= DATE '2020-03-01'", "f > '2020-02-29'", "f = '2020-02-29'", "f IS NULL"],
    ["g IN (0, 1)", "g IN (50, 1)", "g = 100 OR g = -1", "g % 2 = 0", "g % 2 = 1", "g = 0 AND d", "g = 0 AND NOT d"],
    ["CASE WHEN d THEN a END = 3", "CASE WHEN d THEN a END > 3", "nullif(c, 'x') = 'y'", "nullif(c, 'x') = 'z'",
     "c = 'x'"],
]  # fmt: skip
"""Conditions on one thing: some exclude each other, and some only seem to."""
NO_TRUTHS = [number for number in NUMBERS if number not in ("d", "a > b")]
"""Numbers that can stand beside a 0."""
UNDER = [
    "COUNT(*) FILTER (WHERE {p})", "count_if({p})", "SUM({p})", "SUM(CASE WHEN {p} THEN 1 ELSE 0 END)", "AVG({p})",
    "COUNT(CASE WHEN {p} THEN {x} END)", "SUM(CASE WHEN {p} THEN {x} END)", "SUM(CASE WHEN {p} THEN {x} ELSE 0 END)",
    "AVG({x}) FILTER (WHERE {p})", "AVG(CASE WHEN {p} THEN {x} ELSE 0 END)", "VAR_POP({x}) FILTER (WHERE {p})",
    "SUM({x}) FILTER (WHERE {p})", "COUNT(DISTINCT a) FILTER (WHERE {p})", "CORR({x}, {y}) FILTER (WHERE {p})",
    "MEDIAN({x}) FILTER (WHERE {p})", "SUM(CAST({p} AS INTEGER) * ({x}))", "COUNT({x})", "SUM({x})", "CORR({y}, {x})",
    "REGR_SLOPE({x}, {y})", "REGR_SLOPE({y}, {x})", "COUNT({x}) FILTER (WHERE {p})",
]  # fmt: skip
"""Aggregates over the rows that meet a condition, and some of all rows that may be measured with them."""
MAX_ROWS = [1, 1, 1, 2, 2, 2, 3, 3, 3, bounding.MANY, bounding.MANY + 1]
MAX_GROUPS = [None, None, None, 1, 2, bounding.MANY, bounding.MANY + 1]
"""Both sides of the threshold in the code that writes SQL, and less than the rows of a unit."""
UNASKED = ("can have rows", "would have 0 counts", "need more than", "must reach to the upper bound")
"""Words of the refusals of a question whose conditions leave no public group, whose groups need too many counts, or
whose histogram of truths has no name for the rest."""
MOST_ENTRIES = 30_000
"""Fewer than the real limit, so that a case stays fast and trees of all shapes occur."""


@dataclass(frozen=True)
class Case:
    """One policy, one question, one table and its neighbours.

    Attributes:
        policy: of the tables.
        sql: the question.
        base: the rows of the table.
        neighbours: those of each neighbour.
        delta: by which groups are found.
        max_groups: as the question asks for it.
        per_group: likewise.
        many: beyond so many rows of a unit DuckDB sorts them instead of keeping the least in a heap.
        slices: into how many the units are split on DuckDB.
    """

    policy: Policy
    sql: str
    base: tuple[tuple[Any, ...], ...]
    neighbours: tuple[tuple[tuple[Any, ...], ...], ...]
    delta: Fraction = Fraction(0)
    max_groups: int | None = None
    many: int = bounding.MANY
    slices: int = 1
    per_group: int | None = None

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis shows a case that fails: without the neighbours, for it refuses to show a long one."""
        printer.text(
            f"Case({self.policy!r}, {self.sql!r}, {self.base!r}, …, {self.delta}, {self.max_groups}, {self.per_group})"
        )


@st.composite
def questions(draw: st.DrawFn, by_unit: bool, unknown: bool = False) -> str:
    """A question of the grammar; with `unknown`, one at least of its keys is not public."""
    aggregates = ["COUNT(*)"] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0 if aggregates else 1, 3))):
        form, x, y = (
            draw(st.sampled_from(FORMS)),
            draw(st.sampled_from(NUMBERS)),
            draw(st.sampled_from(NUMBERS)),
        )
        condition = f" FILTER (WHERE {draw(st.sampled_from(TESTS))})" if draw(st.integers(0, 4)) == 0 else ""
        aggregates.append(form.format(x=x, y=y) + condition)
    if draw(st.integers(0, 3)) == 0:
        on = draw(st.sampled_from(CONDITIONS))
        x, y = draw(st.sampled_from(NO_TRUTHS)), draw(st.sampled_from(NO_TRUTHS))
        several = st.lists(st.tuples(st.sampled_from(UNDER), st.sampled_from(on)), min_size=2, max_size=3)
        aggregates += [form.format(p=p, x=x, y=y) for form, p in draw(several)]
    chosen = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    if unknown:
        chosen = [*chosen[:1], *draw(st.lists(st.sampled_from(UNKNOWN), min_size=1, max_size=2, unique=True))]
    source = draw(st.sampled_from(SOURCES + UNIT_SOURCES if by_unit else SOURCES))
    source = source.replace("{test}", draw(st.sampled_from(TESTS)))
    if by_unit and draw(st.integers(0, 3)) == 0:
        aggregates.append("COUNT(DISTINCT t.u)")
    if draw(st.integers(0, 5)) == 0:
        aggregates.append("COUNT(DISTINCT a)")
    where = ""
    if draw(st.booleans()):
        where = f" {'AND' if ' WHERE t.a' in source else 'WHERE'} {draw(st.sampled_from(TESTS))}"
    items = [
        *(f"{key} AS k{at}" for at, key in enumerate(chosen)),
        *(f"{x} AS v{at}" for at, x in enumerate(aggregates)),
    ]
    group = f" GROUP BY {', '.join(chosen)}" if chosen else ""
    return f"SELECT {', '.join(items)} FROM {source}{where}{group}"


@st.composite
def cases(draw: st.DrawFn, per_table: int = 18) -> Case:
    """A case with at least `per_table` neighbours, but for an empty table whose units are replaced."""
    by_unit, replace_one = draw(st.booleans()), draw(st.booleans())
    policy = make_policy(by_unit, draw(st.sampled_from(MAX_ROWS)), replace_one)
    units = draw(st.lists(st.lists(ROW, min_size=1, max_size=5 if by_unit else 1), max_size=5))
    base = list(enumerate(units))
    # Hypothesis chooses the table and the question; the many neighbours come faster from a generator.
    rng = random.Random(draw(st.integers(0, 2**32)))
    neighbours = []
    for _ in range(per_table):
        kept, rows = list(base), worst_rows(rng, 6 if by_unit else 1)
        if replace_one:
            if not kept:
                break
            kept[rng.randrange(len(kept))] = (100, rows)
        elif kept and rng.random() < 0.3:
            kept.pop(rng.randrange(len(kept)))
        else:
            kept.append((100, rows))
        neighbours.append(flat(kept, rng))
    unknown = draw(st.integers(0, 4)) == 0
    sql = draw(questions(by_unit, unknown))
    delta = Fraction(1, 100) if unknown else Fraction(0)
    limits = (
        rng.choice(MAX_GROUPS),
        rng.choice([bounding.MANY, bounding.MANY, 0, 1, 2]),
        rng.choice([1, 1, 3]),
        rng.choice([None, None, 1, 2]),
    )
    return Case(policy, sql, flat(base, rng), tuple(neighbours), delta, *limits)


def worst_rows(rng: random.Random, most: int) -> list[tuple[Any, ...]]:
    """Rows of one unit with the worst values that the types allow; often many that are alike."""
    rows = [tuple(rng.choice(pool) for pool in POOLS) for _ in range(rng.randint(1, most))]
    return [rows[0]] * len(rows) if rng.random() < 0.3 else rows


def flat(
    units: Sequence[tuple[int, list[tuple[Any, ...]]]], rng: random.Random
) -> tuple[tuple[Any, ...], ...]:
    """The rows of some units, in a random physical order."""
    rows = [(unit, *row) for unit, several in units for row in several]
    rng.shuffle(rows)
    return tuple(rows)


def make_policy(by_unit: bool, max_rows: int, replace_one: bool) -> Policy:
    """The policy of the harness."""
    table = {"privacy_unit": "u", "max_rows": max_rows} if by_unit else {"privacy_unit": "row"}
    columns = {
        "a": {"bounds": (-5, 20)},
        "b": {"bounds": (-2.5, 4)},
        "c": {"keys": ["x", "y", "z"]},
        "f": {"bounds": (dt.date(2020, 1, 1), dt.date(2020, 12, 31))},
    }
    tables = {
        "t": {**table, "columns": columns},
        "s": {**table, "columns": {"p": {"bounds": (0, 9)}}},
        "pub": {"public": True},
    }
    return Policy(budget=1, tables=tables, neighbours="replace_one" if replace_one else "add_remove")  # type: ignore[arg-type]


def catalog(policy: Policy) -> Catalog:
    """The catalog of the harness: from policy and schema alone."""
    return Catalog.build(policy, {"t": SCHEMA, "s": OTHER}, {"pub": PUBLIC})


class Found(BaseException):
    """A search came upon a fault: no failure of Hypothesis, which would ask the case once more to report it."""


class Stream:
    """A table of Arrow that is another version each time it is read, so that a prepared plan outlives the version."""

    def __init__(self, empty: pa.Table) -> None:
        self.now = empty

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.now.__arrow_c_stream__(requested_schema)


class Versions:
    """An engine that holds several versions of one table.

    Planning takes DuckDB five times as long as reading so few rows. So a query is prepared once for all versions.
    """

    dialect = "duckdb"
    slices = 1

    def __init__(self) -> None:
        # One thread: for tables this small, waking the others takes most of the time.
        self.connection: duckdb.DuckDBPyConnection = connect(threads="1")
        make_total(self.connection)
        self._versions: list[pa.Table] = []
        self._stream = Stream(ARROW.empty_table())
        self._prepared: dict[str, str] = {}
        self._registered: dict[str, pa.Table] = {}
        self.connection.register("version_in_use", self._stream)
        self.connection.execute("CREATE TEMP VIEW t AS SELECT * FROM version_in_use")
        self.connection.execute("CREATE TEMP VIEW s AS SELECT u, a AS p, e AS q FROM version_in_use WHERE d")

    def load(self, versions: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        """Replace all versions."""
        for name in self._prepared.values():
            self.connection.execute(f"DEALLOCATE {name}")
        self._prepared.clear()
        self._versions = [_table(version) for version in versions]

    def use(self, version: int) -> None:
        """Make a version the table `t`."""
        self._stream.now = self._versions[version]

    def keys(self, sql: str, tables: Mapping[str, pa.Table], choose: Any) -> pa.Table:
        """Run a query of groups on the version in use."""
        groups = self.connection.sql(self._prepare(sql, tables)).to_arrow_table()
        return groups.take(pa.array(choose(groups.column("n").to_numpy()))).drop_columns(["n"])

    def integers(self, sql: str, tables: Mapping[str, pa.Table] = {}) -> pa.Table:
        """Run an aggregate query on the version in use; errors surface as they are."""
        return pa.table(self.connection.execute(self._prepare(sql, tables)).fetchnumpy())

    def _prepare(self, sql: str, tables: Mapping[str, pa.Table]) -> str:
        for name, table in tables.items():
            if name not in self._registered or not _same(self._registered[name], table):
                self.connection.register(name, table)
                self._registered[name] = table
        if sql not in self._prepared:
            provide(self.connection, sql)
            name = f"query_{len(self._prepared)}"
            self.connection.execute(f"PREPARE {name} AS {sql}")
            self._prepared[sql] = name
        return f"EXECUTE {self._prepared[sql]}"


def _table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(ARROW)
    arrays = [
        pa.array(values, field.type, from_pandas=False) for field, values in zip(ARROW, columns, strict=True)
    ]
    return pa.table(arrays, schema=ARROW)


def _same(one: pa.Table, other: pa.Table) -> bool:
    # By what is written, as NaN is not equal to itself.
    return one.schema == other.schema and repr(one.to_pydict()) == repr(other.to_pydict())


@cache
def default_engine() -> Versions:
    """One engine for all cases of a process: opening one takes longer than a case."""
    return Versions()


def plan_of(case: Case) -> QueryPlan:
    """The plan of a case."""
    with mock.patch.object(quantiles, "MOST_ENTRIES", MOST_ENTRIES), mock.patch.object(keys, "PLANNED", 20):
        limits = Limits(None, case.max_groups, case.per_group)
        return plan(case.sql, catalog(case.policy), Fraction(1), limits, case.delta)


@contextmanager
def written(case: Case, engine: Any) -> Iterator[None]:
    """The code that writes SQL is on the side of its thresholds that the case asks for."""
    before = getattr(engine, "slices", 1)
    if engine.dialect == "duckdb":
        engine.slices = case.slices
    try:
        with mock.patch.object(bounding, "MANY", case.many):
            yield
    finally:
        if engine.dialect == "duckdb":
            engine.slices = before


def violations(case: Case, salt: int = 7, engine: Any = None) -> list[str]:
    """What a case shows to be broken; empty when nothing is."""
    engine = engine or default_engine()
    with written(case, engine):
        return list(_violations(case, salt, engine))


def violated(case: Case, salt: int = 7, engine: Any = None) -> bool:
    """Whether a case shows anything to be broken: no neighbour is asked behind the first that does."""
    engine = engine or default_engine()
    with written(case, engine):
        return any(_violations(case, salt, engine))


def _violations(case: Case, salt: int, engine: Any) -> Iterator[str]:
    try:
        planned = plan_of(case)
    except QueryRefused as refusal:
        if not any(words in refusal.cause for words in UNASKED):
            raise
        return
    engine.load([case.base, *case.neighbours])
    problems, planned = found_groups(planned, engine, 1 + len(case.neighbours), salt)
    yield from problems
    base: list[Any] = []
    for at in range(1 + len(case.neighbours)):
        engine.use(at)
        exact = [exact_integers(one, engine, salt, given=given(one, case.sql)) for one in planned.releases]
        base = base or exact
        yield from compare(planned, base, exact, f"neighbour {at - 1}") if at else ()


def found_groups(planned: QueryPlan, engine: Any, versions: int, salt: int) -> tuple[list[str], QueryPlan]:
    """Check how groups are found, and go on with all groups of all versions as if they had been.

    The counts of two versions may differ by what the plan allows in L1, a group that only one of them has must count
    one unit as often as the mechanism allows for, and without noise no such group may be shown. A group is
    spelled alike in all versions, whichever row was met first.
    """
    problems: list[str] = []
    releases = []
    for release in planned.releases:
        if release.discovery is None:
            releases.append(release)
            continue
        cap, mechanism = release.discovery.part.cap, release.discovery.mechanism(release)
        compiled = compile_discovery(release, engine.dialect, salt)
        tables = compiled.tables | {
            k: v for k, v in given(release, release.name).items() if k in compiled.tables
        }
        seen: list[dict[tuple[Any, ...], int]] = []
        shown: list[set[tuple[Any, ...]]] = []
        spelled: list[dict[tuple[Any, ...], str]] = []
        for at in range(versions):
            engine.use(at)
            counted: list[Any] = []
            table = engine.keys(compiled.sql, tables, partial(everything, counted))
            groups = tuples(found_values(release, table))
            spelled.append({group: repr(group) for group in groups})
            seen.append(dict(zip(groups, counted[0].tolist(), strict=True)))
            with mock.patch.object(threshold, "add_laplace", no_noise):
                chosen, _ = mechanism.release(counted[0])
            shown.append({groups[number] for number in chosen})
        for at in range(1, versions):
            one, other = seen[0], seen[at]
            moved = sum(abs(one.get(k, 0) - other.get(k, 0)) for k in one.keys() | other.keys())
            if moved > release.unit_factor * cap:
                problems.append(f"neighbour {at}: counts of units moved by {moved}, allowed {cap}")
            alone = one.keys() ^ other.keys()
            if any(spelled[0][k] != spelled[at][k] for k in one.keys() & other.keys()):
                problems.append(f"neighbour {at}: a group is spelled as the row that was met first")
            if any(not 1 <= (one.get(k) or other[k]) <= mechanism.max_count for k in alone):
                problems.append(f"neighbour {at}: a group of several units comes and goes with one")
            if alone & (shown[0] | shown[at]):
                problems.append(f"neighbour {at}: a group of one unit is shown")
        everywhere = sorted({k for one in seen for k in one}, key=repr)[:30]
        width = sum(not key.public for key in release.keys)
        columns = list(zip(*everywhere, strict=True)) if everywhere else [()] * width
        releases.append(replace(release, keys=keys.found(release.keys, columns)))
    return problems, replace(planned, releases=tuple(releases))


def given(release: PlannedRelease, seed: str) -> dict[str, pa.Table]:
    """Anything that an earlier release may have released: the sensitivity must stand for all of it."""
    rng = random.Random(f"{release.name} {seed}")
    return {name: contents(table, rng) for name, table in given_to(release).items()}


def contents(table: ReleasedTable, rng: random.Random) -> pa.Table:
    """A table of released numbers: one row, or some of which no two agree in all keys."""
    rows = [
        tuple(rng.choice(RELEASED[str(field.type)]) for field in table.schema)
        for _ in range(rng.randint(0, 4) if table.keys else 1)
    ]
    at = [table.schema.get_field_index(key) for key in table.keys]
    apart = list({tuple(row[one] for one in at): row for row in rows}.values())
    return pa.Table.from_pylist(
        [dict(zip(table.schema.names, row, strict=True)) for row in apart], table.schema
    )


def everything(into: list[Any], counts: Any) -> Any:
    """Choose all groups, and note their counts."""
    into.append(counts)
    return np.arange(len(counts))


def no_noise(counts: Any, scale: object) -> Any:
    """Noise of zero."""
    return counts


def tuples(columns: Any) -> list[tuple[Any, ...]]:
    """Columns as rows."""
    return list(zip(*columns, strict=True))


def compare(planned: QueryPlan, one: Sequence[Any], other: Sequence[Any], name: str) -> list[str]:
    """Compare the integers of two neighbouring tables with what the plan allows."""
    problems = []
    for release, x, y in zip(planned.releases, one, other, strict=True):
        if x.shape != y.shape:
            problems.append(f"{name}: shapes {x.shape} and {y.shape}")
            continue
        lost: dict[int, Fraction] = {}
        parts: dict[int, Fraction] = {}
        for number, (measure, part) in enumerate(
            zip(release.measures, columns(release.measures), strict=True)
        ):
            p, q = x[:, part], y[:, part]
            at = np.nonzero(p != q)  # and then in integers of Python, whose differences cannot overflow
            moved = sum(abs(a - b) for a, b in zip(p[at].tolist(), q[at].tolist(), strict=True))
            allowed = release.sensitivity(measure)
            if moved > allowed:
                problems.append(f"{name}: {measure.name} moved by {moved}, allowed {allowed}")
            first = release.beside(number)[0]
            lost[first] = lost.get(first, Fraction(0)) + moved / release.scale(number)
            if not isinstance(measure, AllRows):  # nor has it Gaussian noise, ever
                squared = sum((a - b) ** 2 for a, b in zip(p[at].tolist(), q[at].tolist(), strict=True))
                allowed = release.square(measure)
                parts[first] = parts.get(first, Fraction(0)) + Fraction(squared, allowed)
                if parts[first] > 1:
                    problems.append(
                        f"{name}: {measure.name} moved by the root of {squared}, allowed {allowed}"
                    )
        for first, loss in lost.items():
            share = max(release.shares[at] for at in release.beside(first))
            if loss > share:
                problems.append(
                    f"{name}: measures {release.beside(first)} lose {float(loss)}, charged {float(share)}"
                )
        if sum(release.shares[at] for at in lost) > release.epsilon:
            problems.append(f"{name}: the sets of measures cost more than the release")
    return problems


def order_matters(case: Case) -> list[str]:
    """Whether the integers of a table change when its rows lie in another order; empty when they do not."""
    with written(case, default_engine()):
        return _order_matters(case)


def _order_matters(case: Case) -> list[str]:
    rows = list(case.base)
    random.Random(len(rows)).shuffle(rows)
    try:
        planned = plan_of(case)
    except QueryRefused as refusal:
        if not any(words in refusal.cause for words in UNASKED):
            raise
        return []
    engine: Any = default_engine()
    engine.load([case.base, rows, rows[::-1]])
    _, planned = found_groups(planned, engine, 3, 7)
    exact = []
    for at in range(3):
        engine.use(at)
        exact.append([exact_integers(one, engine, 7, given=given(one, case.sql)) for one in planned.releases])
    same = all((x == y).all() for other in exact[1:] for x, y in zip(exact[0], other, strict=True))
    return [] if same else ["the integers depend on the physical order"]
