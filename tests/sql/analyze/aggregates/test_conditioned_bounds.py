"""Conditions set the bounds of columns without any and narrow those of others, and change no answer.

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
    "x IN (0.5, 35)", "x = 9", "k = 9", "x = 0", "x BETWEEN 10 AND 10",
    "k < 10", "k > 10 AND k < 50", "k IN (0, 9, 50)", "k <> 9", "x < 10 AND zone = 'a'",
    "x < 10 OR k > 50", "x + 0 < 10", "x < k + 10", "x < 10.5 AND k > -1.5", "k < 9.5", "x > -1e300", "x < 1000",
    "NOT x > 10", "NOT x <= 10", "NOT (x = 9 OR x < 0)", "NOT x <> 9", "x IS NOT NULL", "x < 10 IS TRUE",
]  # fmt: skip
ASKED = ["SUM(coalesce(x, 7))", "SUM(CASE WHEN x > 10 OR x < 0 THEN 3 WHEN x = 9 THEN 4 ELSE x END)",
         "SUM(x)", "AVG(x)", "SUM(k)", "AVG(k)", "SUM(x + k)", "VAR_POP(x)", "COUNT(x)", "COUNT(*)",
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
    # All in one question, and one alone with each second condition, by turns; a deep run: each alone.
    turn, rest = divmod(CONDITIONS.index(condition), 2)
    alone = asked if DEEP else [] if rest else [asked[turn % len(asked)]]
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


@pytest.mark.parametrize("column", ["x", "known"])
def test_a_condition_that_is_misread_is_found(
    column: str, monkeypatch: pytest.MonkeyPatch, session: dp.Session
) -> None:
    """Planted fault: an upper end that lies one too low."""
    met = conditioned_bounds._met

    def misread(relation: Any, column: Column) -> Column:
        span = met(relation, column).span
        return Column(column.name, column.type, Span(span.lo, None if span.hi is None else span.hi - 1))

    monkeypatch.setattr(conditioned_bounds, "_met", misread)
    sql = f"SELECT SUM({column}) AS a FROM t WHERE {column} BETWEEN 0 AND 10"
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
     ("AVG", "k", "k BETWEEN 9 AND 11"), ("SUM", "known", "known BETWEEN -3 AND 50"),
     ("VAR_POP", "known", "known >= 9 AND known < 11"), ("AVG", "known", "known > 50"),
     ("SUM", "known", "known = 50"), ("AVG", "x", "x = 50"), ("VAR_POP", "k", "k = 9")],
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


@pytest.mark.parametrize(
    ("asked", "share"),
    [
        ("SUM(known) AS a FROM t WHERE known BETWEEN 0 AND 10", 0.1),
        ("SUM(known) AS a FROM t WHERE known < 50 AND known >= 0", 0.5),
        ("SUM(known) FILTER (WHERE known BETWEEN 0 AND 10) AS a FROM t", 0.1),
        ("SUM(CASE WHEN known BETWEEN 0 AND 10 THEN known ELSE 0 END) AS a FROM t", 0.1),
        ("SUM(CASE WHEN known BETWEEN 0 AND 10 THEN known ELSE 20 END) AS a FROM t", 0.2),
        ("SUM(CASE WHEN known BETWEEN 0 AND 10 THEN 1 ELSE known END) AS a FROM t", 1),
        ("SUM(known * 3) AS a FROM t WHERE known BETWEEN 0 AND 10", 0.3),
        ("SUM(known) AS a FROM (SELECT * FROM t WHERE known BETWEEN 0 AND 10) AS t", 0.1),
        ("SUM(known) AS a FROM t WHERE known BETWEEN 0 AND 10 OR zone = 'a'", 1),
        ("SUM(known) AS a FROM t WHERE known = 10", 0.1),
        ("SUM(known) AS a FROM t WHERE known >= 0 AND NOT known > 10", 0.1),
        ("SUM(known) AS a FROM t WHERE NOT (known > 10 OR known < 0)", 0.1),
        ("SUM(known) AS a FROM t WHERE known IN (1, 2.5, 10)", 0.1),
        ("SUM(coalesce(known, 0)) AS a FROM t WHERE known BETWEEN 0 AND 10", 0.1),
        ("SUM(greatest(known, 2)) AS a FROM t WHERE known BETWEEN 0 AND 10", 0.1),
        ("SUM(clamp(known, 0, 90)) AS a FROM t WHERE known BETWEEN 0 AND 10", 0.1),
        ("SUM(2 * CASE WHEN known BETWEEN 0 AND 10 THEN known END) AS a FROM t", 0.2),
        ("SUM(CASE WHEN known > 10 OR known < 0 THEN 0 ELSE known END) AS a FROM t", 0.1),
        ("SUM(CASE WHEN known > 50 THEN 1 WHEN known < 0 THEN 2 ELSE known END) AS a FROM t", 0.5),
        ("SUM(CASE WHEN known > 10 AND zone = 'a' THEN 0 ELSE known END) AS a FROM t", 1),
        (
            "SUM(known) AS a FROM (SELECT * FROM t WHERE known BETWEEN 0 AND 10 UNION ALL "
            "SELECT * FROM t WHERE known BETWEEN 2 AND 5) AS t",
            0.2,
        ),
        ("SUM(known) AS a FROM t WHERE known > -1000", 1),
        ("SUM(known) AS a FROM t WHERE known > 1000", 1),
    ],
)
def test_a_column_with_bounds_has_the_noise_of_narrower_ones(
    asked: str, share: float, session: dp.Session
) -> None:
    alone = half_width(session, "SELECT SUM(known) AS a FROM t")
    for _ in range(3):  # the third time a generic plan would be known
        assert half_width(session, f"SELECT {asked}") == pytest.approx(alone * share, rel=0.01)


def test_each_literal_has_the_noise_of_its_own_bounds(session: dp.Session) -> None:
    """A generic plan would have the bounds of none."""
    sql = "SELECT SUM(known) AS a FROM t WHERE known BETWEEN 0 AND "
    widths = {end: half_width(session, f"{sql}{end}") for end in (10, 20, 30, 40, 100)}
    for end, width in widths.items():
        assert width == pytest.approx(widths[10] * end / 10, rel=0.01)
        assert half_width(session, f"{sql}{end}") == width


def test_a_sum_whose_largest_value_stays_keeps_its_plan_for_all_literals(session: dp.Session) -> None:
    """Its noise is that of the largest value, so nothing is gained by another least one."""
    found = {
        name: str(session.explain(f"SELECT {name}(known) AS a FROM t WHERE known >= 18", epsilon=1))
        for name in ("SUM", "AVG")
    }
    assert "clamped to -10 … 100" in found["SUM"]
    assert "clamp(known, 18, 100)" not in found["SUM"]
    assert "clamp(known, 18, 100)" in found["AVG"]


def test_measures_that_are_one_stay_one(session: dp.Session) -> None:
    """A sum with ELSE 0 is that of the branch, whose average has narrower bounds than the sum would gain by."""
    sql = (
        "SUM(CASE WHEN zone = 'a' THEN known ELSE 0 END) AS a, AVG(CASE WHEN zone = 'a' THEN known END) AS b"
    )
    for where in ("", " WHERE known > 50", " WHERE known BETWEEN 0 AND 10"):
        plan = inside.plan_of(session, f"SELECT {sql} FROM t{where}", Fraction(1))
        assert [len(release.measures) for release in plan.releases] == [1]


def test_counts_beside_a_sum_stay_with_it(session: dp.Session) -> None:
    """One measure answers all three, so none has a smaller share of epsilon than beside the wider bounds."""
    sql = "SELECT SUM(known) AS a, COUNT(known) AS n, COUNT(*) AS m FROM t"
    beside = " WHERE known BETWEEN 0 AND 100"
    wide, narrow = (session.preview(sql + where, epsilon=1) for where in ("", beside))
    assert narrow.errors["n"] == wide.errors["n"]
    plan = inside.plan_of(session, sql + beside, Fraction(1))
    assert [len(release.measures) for release in plan.releases] == [1]


@pytest.mark.parametrize(
    ("place", "condition"), [*enumerate(each for each in CONDITIONS if "x" in each and "k" not in each)]
)
def test_no_answer_of_a_column_with_bounds_changes(place: int, condition: str, session: dp.Session) -> None:
    condition = condition.replace("x", "known")
    # Values are clamped to the bounds of the policy before anything looks at them.
    within = "CASE WHEN known < -10 THEN -10 WHEN known > 100 THEN 100 ELSE known END AS known"
    clamped = f"(SELECT * REPLACE ({within}) FROM t) AS t"
    asked = ["SUM(known)", "AVG(known)", "SUM(known + 1)", "VAR_POP(known)", "COUNT(known)", "COUNT(*)",
             "SUM(CASE WHEN known > 5 THEN known END)", "SUM(known) FILTER (WHERE known > 5)",
             "SUM(coalesce(known, 7))", "SUM(CASE WHEN known > 10 OR known < 0 THEN 3 ELSE known END)",
             "SUM(2 * greatest(known, 5))"]  # fmt: skip
    (row,) = plain(f"SELECT {', '.join(asked)} FROM {clamped} WHERE {condition}")
    asked = [each for each, value in zip(asked, row, strict=True) if value is not None]
    # All in one question, and one alone with each second condition, by turns; a deep run: each alone.
    turn, rest = divmod(place, 2)
    alone = asked if DEEP else [] if rest else [asked[turn % len(asked)]]
    for some in (asked, *([each] for each in alone)):
        shown = ", ".join(f"{each} AS a{column}" for column, each in enumerate(some))
        sql = f"SELECT {shown} FROM {{}} WHERE {condition}"
        assert close(inside.without_noise(session, sql.format("t")), plain(sql.format(clamped))), sql


def test_an_argument_has_bounds_by_the_conditions_of_its_columns(session: dp.Session) -> None:
    """LN and a quotient have none over the bounds of the policy."""
    assert half_width(session, "SELECT SUM(ln(known)) AS a FROM t WHERE known >= 1") == pytest.approx(
        half_width(session, "SELECT SUM(known) AS a FROM t WHERE known BETWEEN 0 AND 4.605"), rel=0.01
    )
    sql = "SELECT SUM(100 / known) AS a FROM t WHERE known > 9"
    assert close(
        inside.without_noise(session, sql),
        plain(sql.replace("known", "(CASE WHEN known > 100 THEN 100 ELSE known END)")),
    )
    with pytest.raises(QueryRefused, match="has no bounds"):
        session.preview("SELECT SUM(ln(known)) AS a FROM t WHERE known > 0", epsilon=1)


def test_releases_that_are_not_measured_together_have_their_own_bounds(session: dp.Session) -> None:
    alone = half_width(session, "SELECT SUM(known) AS a, COUNT(*) AS n FROM t")
    sql = "SELECT SUM(known) AS a, (SELECT COUNT(*) FROM t) AS n FROM t WHERE known BETWEEN 0 AND 10"
    assert half_width(session, sql) < alone / 2
    one = session.preview("SELECT SUM(known) AS a FROM t WHERE known BETWEEN 0 AND 10", epsilon=1)
    found = session.preview_workload(
        {"total": "SELECT SUM(known) AS a FROM t WHERE known BETWEEN 0 AND 10"}, epsilon=1
    )
    assert found["total"].errors == one.errors


def test_a_sum_below_a_limit_follows_from_the_sums_of_groups() -> None:
    """Those have the bounds of the policy."""
    rows = pa.table({"k": [value % 60 for value in range(600)]})
    session = shared.protect(rows, table="t", privacy_unit="row", bounds={"k": (0, 59)}, budget=100)
    session.sql("SELECT k, SUM(k) AS a FROM t GROUP BY k", epsilon=20)
    sql = "SELECT SUM(k) AS a FROM t WHERE k < 10"
    asked: list[dict[str, Any]] = [{"epsilon": 0.1, "reuse": True}, {"within": {"a": 50}}]
    for given in asked:
        assert session.preview(sql, **given).cost == 0
        assert "free" in str(session.sql(sql, **given))
    assert session.budget.spent == 20
    offered = session.preview(sql, epsilon=0.1).known
    assert "reuse=True" in offered
    assert "combined" not in offered
    assert session.preview(sql, epsilon=30, reuse=True).cost == 30  # it would be more exact by itself


def test_releases_that_are_measured_together_share_the_wider_bounds(session: dp.Session) -> None:
    """Sums up to two ends are two releases, which the same integers answer."""
    sql = "SELECT (SELECT SUM(known) FROM t WHERE known < 10) AS a, (SELECT SUM(known) FROM t WHERE known < 50) AS b"
    plan = inside.plan_of(session, sql, Fraction(1))
    assert len(plan.releases) == 2
    assert (
        len({release.sensitivity(measure) for release in plan.releases for measure in release.measures}) == 1
    )


@pytest.mark.parametrize(
    "condition", ["x < 10", "known < 10", "x BETWEEN 0 AND 10 OR known > 1", "x > x - 1"]
)
def test_a_condition_that_sets_not_both_ends_is_not_enough(condition: str, session: dp.Session) -> None:
    with pytest.raises(QueryRefused, match="x has no bounds"):
        session.preview(f"SELECT SUM(x) AS a FROM t WHERE {condition}", epsilon=1)
