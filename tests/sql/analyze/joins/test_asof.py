"""ASOF JOIN with a public table gives DuckDB's partners, one for each row, and no more rows of a unit than before."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from benchmarks.corpus.judge import difference, silence
from tests import inside, shared

import discreet as dp
from discreet.errors import QueryRefused
from discreet.session import Session
from discreet.sql.analyze.joins import asof

ROWS = pa.table({
    "id": [1, 1, 2, 3, 4, 5, 6], "x": [0.0, 5.0, 5.5, 10.0, -1.0, 99.0, None],
    "zone": ["a", "b", "a", "b", "a", "b", "a"],
})  # fmt: skip
CLASSES = pa.table({"since": [0.0, 5.0, 10.0, None], "class": ["low", "mid", "high", "none"]})
RATES = pa.table({"zone": ["a", "a", "b", "b"], "since": [0.0, 5.0, 5.0, 6.0], "rate": [1, 2, 3, 4]})
POLICY: dict[str, Any] = {
    "budget": 10**6,
    "tables": {
        "t": {"privacy_unit": "id", "max_rows": 2,
              "columns": {"x": {"bounds": (-10, 100)}, "zone": {"keys": ["a", "b"]}}},
        "classes": {"public": True}, "rates": {"public": True},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    return shared.protect({"t": ROWS, "classes": CLASSES, "rates": RATES}, policy=dp.Policy(**POLICY))


def plain(sql: str) -> pa.Table:
    connection = shared.plain()
    for name, table in (("t", ROWS), ("classes", CLASSES), ("rates", RATES)):
        connection.register(name, table)
    return connection.sql(sql).to_arrow_table()


@pytest.mark.parametrize(
    "sql",
    [
        *(f"SELECT class, COUNT(*) AS n FROM t ASOF JOIN classes ON x {op} since GROUP BY class ORDER BY class"
          for op in (">=", ">", "<=", "<")),
        "SELECT class, COUNT(*) AS n FROM t ASOF JOIN classes AS c ON c.since < t.x GROUP BY class ORDER BY class",
        "SELECT COUNT(*) AS n, COUNT(class) AS m FROM t ASOF LEFT JOIN classes ON x >= since",
        "SELECT rate, COUNT(*) AS n FROM t ASOF JOIN rates AS r ON t.zone = r.zone AND t.x >= r.since GROUP BY rate",
    ],
)  # fmt: skip
def test_each_row_finds_the_partner_of_duckdb(session: Session, sql: str) -> None:
    with silence():
        found = session.sql(sql, 10).values
    truth = plain(sql)
    keyed = [row for row in found.to_pylist() if row["n"] or ("class" not in row and "rate" not in row)]
    assert not difference(pa.Table.from_pylist(keyed, schema=found.schema), truth, [])


def test_no_cap_is_raised_and_no_column_is_left_behind(session: Session) -> None:
    sql = "SELECT COUNT(*) AS n FROM (SELECT * FROM t ASOF JOIN classes ON x >= since)"
    (release,) = inside.plan_of(session, sql, Fraction(1)).releases
    assert release.parts[0].cap == 2
    assert not session.preview(sql, 1).warnings
    assert asof.NEXT not in release.parts[0].rows.names


def test_of_equal_rows_one_is_a_partner() -> None:
    twice = pa.concat_tables([CLASSES, CLASSES])
    tables = {"t": ROWS, "classes": twice, "rates": RATES}
    with shared.protect(tables, policy=dp.Policy(**POLICY)) as session, silence():
        assert session.sql("SELECT COUNT(*) AS n FROM t ASOF JOIN classes ON x >= since", 1)["n"] == [5]


def test_a_row_with_more_partners_than_one_is_found(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted fault: the next value is forgotten, so that a row has more partners; the cap holds all the same."""
    sql = "SELECT COUNT(*) AS n FROM t ASOF JOIN classes ON x >= since WHERE id = 2"
    real = asof._with_next

    def forgotten(data: pa.Table, *rest: Any, **more: Any) -> pa.Table:
        made = real(data, *rest, **more)
        return made.set_column(made.num_columns - 1, asof.NEXT, pa.nulls(len(made), pa.float64()))

    with silence():
        assert session.sql(sql, 10)["n"] == [1]
        monkeypatch.setattr(asof, "_with_next", forgotten)
        # Another question in its text: the plan of the first is kept.
        assert session.sql(sql.replace("AS n", "AS m"), 11)["m"] == [2]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM t ASOF JOIN classes ON x = since",
        "SELECT COUNT(*) AS n FROM t ASOF JOIN classes ON x >= since AND x < since",
        "SELECT COUNT(*) AS n FROM t ASOF JOIN classes ON x >= x",
        "SELECT COUNT(*) AS n FROM t ASOF JOIN classes USING (x)",
        "SELECT COUNT(*) AS n FROM t ASOF JOIN classes AS c ON c.since >= c.since",
        "SELECT COUNT(*) AS n FROM t ASOF JOIN classes AS c ON t.x + c.since >= c.since",
        "SELECT COUNT(*) AS n FROM t ASOF JOIN rates AS r ON r.zone = r.zone AND t.x >= r.since",
        "SELECT COUNT(*) AS n FROM t ASOF JOIN rates AS r ON concat(t.zone, r.zone) = r.zone AND t.x >= r.since",
        "SELECT COUNT(*) AS n FROM t ASOF JOIN t AS u ON t.x >= u.x",
        "SELECT COUNT(*) AS n FROM classes ASOF JOIN t ON since >= x",
    ],
)
def test_others_are_refused_with_the_fix(session: Session, sql: str) -> None:
    with pytest.raises(QueryRefused, match="ASOF") as refused:
        session.preview(sql, 1)
    assert refused.value.fix


BIG = 2**53
LONG = pa.table({"k": [BIG, BIG + 1, 7], "since": [0.0, 0.0, 0.0]})


@pytest.mark.parametrize("unit", ["id", "row"])
def test_partitions_that_meet_as_fractions_are_refused(unit: str) -> None:
    """A fraction would be equal to both, so that a row would find a partner in each."""
    table: dict[str, Any] = {"privacy_unit": unit, "columns": {"x": {"bounds": (-10, 2**60)}}}
    tables = {"t": table | ({"max_rows": 2} if unit == "id" else {}), "p": {"public": True}}
    declared: dict[str, Any] = {"budget": 1, "tables": tables}
    policy = dp.Policy(**declared)
    sql = "SELECT COUNT(*) AS n FROM t ASOF JOIN p ON t.x = p.k AND t.x >= p.since"
    with shared.protect({"t": ROWS, "p": LONG}, policy=policy) as session:
        with pytest.raises(QueryRefused, match="compared as equal"):
            session.preview(sql, 1)
        assert session.preview(sql.replace("t.x = p.k", "CAST(t.x AS BIGINT) = p.k"), 1).epsilon == 1
    with shared.protect({"t": ROWS, "p": LONG.slice(2)}, policy=policy) as session:
        assert session.preview(sql, 1).epsilon == 1  # of small numbers each is a fraction of its own
