"""WHERE sets the bounds of columns without any, and changes no answer.

The answers without noise are those of DuckDB on the same rows, up to the grid of the measure; the integers of one row
stay within the sensitivity of these bounds, for values within them and far beyond.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import DEEP

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.analyze.aggregates import conditioned_bounds
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span

VALUES = [-30.0, -1.5, 0.0, 0.5, 9.0, 9.999, 10.0, 10.001, 35.0, 49.5, 50.0, 50.5, 99.0, 100.0, None]
ROWS = pa.table({
    "id": list(range(len(VALUES))) * 2,
    "x": VALUES + VALUES[::-1],
    "k": [None if value is None else math.floor(value) for value in VALUES] * 2,
    "known": VALUES * 2,
    "zone": ["a", "b", "c"] * 10,
})  # fmt: skip
TOWNS = pa.table({"zone": ["a", "b"], "size": [10, 50]})
BOX = "x BETWEEN -20 AND 100.5 AND k >= -20 AND k < 101"
CONDITIONS = [
    "x < 10", "x <= 10", "x > 10", "x >= 10", "10 > x", "x BETWEEN 0 AND 50", "NOT (x > 10 OR x < 0.5)",
    "x IN (0.5, 35)", "k < 10", "k > 10 AND k < 50", "k IN (0, 9, 50)", "k <> 9", "x < 10 AND zone = 'a'",
    "x < 10 OR k > 50", "x + 0 < 10", "x < k + 10", "x < 10.5 AND k > -1.5", "k < 9.5", "x > -1e300", "x < 1000",
    "x IS NOT NULL", "x < 10 IS TRUE",
]  # fmt: skip
ASKED = ["SUM(x)", "AVG(x)", "SUM(k)", "AVG(k)", "SUM(x + k)", "VAR_POP(x)", "COUNT(x)", "COUNT(*)",
         "SUM(CASE WHEN x > 5 THEN x END)", "SUM(x) FILTER (WHERE k > 5)"]  # fmt: skip


def protect(rows: pa.Table = ROWS) -> dp.Session:
    return shared.protect({"t": rows, "towns": TOWNS}, table="t", public=["towns"], privacy_unit="row",
                          bounds={"known": (-10, 100)}, keys={"zone": ["a", "b", "c"]}, budget=10**6)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return protect()


def plain(sql: str) -> list[tuple[Any, ...]]:
    with shared.plain() as connection:
        connection.register("t", ROWS)
        connection.register("towns", TOWNS)
        return connection.execute(sql).fetchall()


def close(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> bool:
    pairs = [
        pair
        for one, two in zip(sorted(ours), sorted(theirs), strict=True)
        for pair in zip(one, two, strict=True)
    ]
    return all(
        one == two or (two is None and one in (0, None)) or (one is not None and abs(one - two) < 1e-4)
        for one, two in pairs
    )


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_answer_changes(condition: str, session: dp.Session) -> None:
    behind = f"FROM t WHERE {BOX} AND ({condition})"
    # An average of no rows is one within the bounds.
    (row,) = plain(f"SELECT {', '.join(ASKED)} {behind}")
    asked = [one for one, value in zip(ASKED, row, strict=True) if value is not None]
    # All in one question, and one alone, the next with the next condition; a deep run: each alone.
    alone = asked if DEEP else [asked[CONDITIONS.index(condition) % len(asked)]]
    for some in ([*asked], *([one] for one in alone)):
        sql = f"SELECT {', '.join(f'{one} AS a{at}' for at, one in enumerate(some))} {behind}"
        assert close(inside.without_noise(session, sql), plain(sql)), sql


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT * FROM t WHERE x < 10) AS t", "(SELECT x AS y, k AS x FROM t WHERE x < 10) AS t",
        "(SELECT x * 2 AS x, k FROM t WHERE x < 10) AS t", "t JOIN towns ON t.zone = towns.zone AND x < 10",
        "(SELECT * FROM t WHERE x < 10) AS t LEFT JOIN towns ON t.zone = towns.zone",
        "(SELECT * FROM t WHERE x < 10 UNION ALL SELECT * FROM t WHERE x > 50) AS t",
        "(SELECT x, k FROM t WHERE x < 10 UNION ALL SELECT k, x FROM t) AS t",
    ],
)  # fmt: skip
@pytest.mark.parametrize("condition", ["x > 0 AND x < 90", "x BETWEEN -5 AND 49.5"])
def test_no_answer_changes_over_sub_queries_and_joins(
    source: str, condition: str, session: dp.Session
) -> None:
    sql = f"SELECT SUM(x) AS a, AVG(x) AS b, COUNT(*) AS n FROM {source} WHERE {condition}"
    assert close(inside.without_noise(session, sql), plain(sql))


def test_a_condition_that_is_misread_is_found(monkeypatch: pytest.MonkeyPatch, session: dp.Session) -> None:
    """Planted fault: an upper end that lies one too low."""
    met = conditioned_bounds._met

    def misread(relation: Any, column: Column) -> Column:
        span = met(relation, column).span
        return Column(column.name, column.type, Span(span.lo, None if span.hi is None else span.hi - 1))

    monkeypatch.setattr(conditioned_bounds, "_met", misread)
    sql = "SELECT SUM(x) AS a FROM t WHERE x BETWEEN 0 AND 10"
    assert not close(inside.without_noise(session, sql), plain(sql))


def greatest(sql: str, column: str, values: list[Any]) -> float:
    """The greatest distance in L1 between the integers of no row and of one, beside the sensitivity."""
    kinds, many = ROWS.schema, len(values)
    rows = {name: pa.array([None] * many, kinds.field(name).type) for name in kinds.names}
    given = {column: pa.array(values, kinds.field(column).type), "zone": ["a"] * many, "id": range(many)}
    session, found = protect(pa.table({**rows, **given})), []
    for at in range(many):
        plan = inside.plan_of(session, f"{sql} AND id = {at}", Fraction(1))
        (release,) = plan.releases
        (measure,) = release.measures
        integers = inside.exact_of(session, plan)[0].entries
        moved = sum(abs(int(each)) for each in integers.ravel())
        found.append(moved / release.sensitivity(measure))
    return max(found)


@pytest.mark.parametrize(
    ("asked", "column", "condition"),
    [("SUM", "x", "x BETWEEN -3 AND 50"), ("VAR_POP", "x", "x >= 1 AND 50 > x"), ("SUM", "k", "k IN (-3, 90)"),
     ("AVG", "k", "k BETWEEN 9 AND 11")],
)  # fmt: skip
def test_one_row_moves_the_integers_by_the_sensitivity_at_most(
    asked: str, column: str, condition: str
) -> None:
    far = [9, 10, 11, 50, 51, 89, 90, -3, -4, 0, 100, 101, None]
    whole = [*far, -(2**63), 2**63 - 1, 2**62]
    values = (
        whole if column == "k" else [*far, 1e308, -1e308, math.inf, -math.inf, math.nan, 5e-324, -0.0, 49.999]
    )
    moved = greatest(f"SELECT {asked}({column}) AS a FROM t WHERE {condition}", column, values)
    assert 0 < moved <= 1


def half_width(session: dp.Session, sql: str) -> float:
    return float(session.preview(sql, epsilon=1).errors["a"])


def test_the_noise_is_that_of_the_bounds_of_where(session: dp.Session) -> None:
    alone = half_width(session, "SELECT SUM(known) AS a FROM t")
    assert half_width(session, "SELECT SUM(x) AS a FROM t WHERE x BETWEEN 0 AND 10") == pytest.approx(
        alone / 10, rel=0.01
    )
    by_zone = "SELECT zone, SUM(x) AS a FROM t WHERE x BETWEEN 0 AND 10 GROUP BY zone"
    assert half_width(session, by_zone) == pytest.approx(alone / 10, rel=0.01)
    assert half_width(session, "SELECT MEDIAN(x) AS a FROM t WHERE x BETWEEN 0 AND 10") <= 10


def test_a_column_with_bounds_keeps_them(session: dp.Session) -> None:
    """Its question is planned for all literals at once, and measured together with others of the same numbers."""
    alone = half_width(session, "SELECT SUM(known) AS a FROM t")
    assert half_width(session, "SELECT SUM(known) AS a FROM t WHERE known BETWEEN 0 AND 10") == alone


@pytest.mark.parametrize(
    "condition", ["x < 10", "known < 10", "x BETWEEN 0 AND 10 OR known > 1", "x = 5", "x > x - 1"]
)
def test_a_condition_that_sets_not_both_ends_is_not_enough(condition: str, session: dp.Session) -> None:
    with pytest.raises(QueryRefused, match="x has no bounds"):
        session.preview(f"SELECT SUM(x) AS a FROM t WHERE {condition}", epsilon=1)
