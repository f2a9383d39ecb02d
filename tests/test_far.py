"""Found dates that Python cannot hold: answered, kept, shown as text, never lost after the charge."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.cli import output
from discreet.errors import InvalidParameter, PolicyError, QueryRefused
from discreet.far import FarDate, integer, is_far, listed, shown, values
from discreet.release import documents
from tests import servers, shared

DATES = ["-infinity", "0044-03-15 (BC)", "9999-12-31", "10000-01-01", "200000-05-06", "infinity"]
MOMENTS = ["-infinity", "0044-03-15 (BC) 00:00:00", "9999-12-31 00:00:00", "10000-01-01 00:00:00",
           "200000-05-06 00:00:00", "infinity"]  # fmt: skip


def protect(source: object) -> dp.Session:
    budget = dp.Budget(epsilon=1000, delta="1e-3")
    return dp.protect(source, table="t", privacy_unit="id", max_rows=6, budget=budget, ledger=":memory:")


def _duckdb() -> object:
    connection = duckdb.connect()
    listed = ", ".join(f"'{one}'::DATE" for one in DATES)
    connection.execute(
        f"CREATE TABLE t AS SELECT i AS id, d, d::TIMESTAMP AS s FROM range(300) r(i), (SELECT unnest([{listed}]) AS d)"
    )
    return connection


def _postgres() -> object:
    url = servers.postgres()
    listed = ", ".join(f"'{one.replace('(BC)', 'BC')}'::date" for one in DATES)
    with servers.connect(url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS far CASCADE; CREATE SCHEMA far")
        connection.execute(
            "CREATE TABLE far.t AS SELECT i AS id, d, d::timestamp AS s FROM generate_series(1, 300) AS i, "
            f"unnest(ARRAY[{listed}]) AS d"
        )
    return f"{url}#far.t"


@pytest.mark.parametrize("source", [_duckdb, _postgres])
@pytest.mark.parametrize(("column", "wanted"), [("d", DATES), ("s", MOMENTS)])
def test_found_and_shown(source: Any, column: str, wanted: list[str], tmp_path: Path) -> None:
    query = f"SELECT {column}, COUNT(*) AS n, COUNT(id) AS m FROM t GROUP BY {column} ORDER BY {column}"
    with protect(source()) as session:
        release = session.sql(query, epsilon=20, delta="1e-4")
        again = session.sql(query, epsilon=20, delta="1e-4", confidence=0.9)
        assert session.budget.spent == 20
        session.write(query, 20, tmp_path / "a.csv", delta="1e-4")
        session.write(query, 20, tmp_path / "a.parquet", delta="1e-4")
    for one in (release, again):
        assert [str(value) for value in one.to_dict()[column]] == wanted
        assert [line.split("  ")[0] for line in repr(one).splitlines()[2:-1]] == wanted
        assert [str(row[column]) for row in one] == list(map(str, one[column])) == wanted
        assert str(one[-1][column]) == wanted[-1]
        assert all(290 < n < 310 for name in "nm" for n in one.to_dict()[name])
    assert [
        str(value).replace("T", " ") for value in (row[column] for row in documents.rows(release))
    ] == wanted
    json.dumps(documents.rows(release))
    assert list(release.to_pandas()[column]) == wanted
    assert release._repr_html_().count("infinity") == 2
    lines = (tmp_path / "a.csv").read_text().splitlines()[1:]
    assert [line.split(",")[0].strip('"') for line in lines] == wanted


def test_the_command_line_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    with protect(_duckdb()) as session:
        release = session.sql("SELECT d, COUNT(*) AS n FROM t GROUP BY d", epsilon=20, delta="1e-4")
    output.print_csv(release)
    output.print_release(release)
    assert capsys.readouterr().out.count("200000-05-06") == 2


def test_python_values_would_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the keys as Python reads them, after the charge."""
    from discreet import far

    monkeypatch.setattr(far, "values", lambda column: column.to_pylist())
    with protect(_duckdb()) as session, pytest.raises((OverflowError, ValueError)):
        session.sql("SELECT d, COUNT(*) AS n FROM t GROUP BY d", epsilon=20, delta="1e-4")


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(-(2**31) + 1, 2**31 - 1)))
def test_dates_there_and_back(days: list[int | None]) -> None:
    column = pa.array(days, pa.int32()).view(pa.date32())
    found = values(column)
    assert listed(found, pa.date32()).equals(column)
    assert [None if value is None else integer(value) for value in found] == days
    assert is_far(column) == any(isinstance(value, FarDate) for value in found)
    assert is_far(column) or shown(pa.table({"d": column})).column("d").type == pa.date32()


@settings(deadline=None)
@given(st.integers(-(2**63) + 2, 2**63 - 2), st.booleans())
def test_text_is_that_of_duckdb(at: int, day: bool) -> None:
    if day:
        at %= 2**31 - 1
    kind = "DATE" if day else "TIMESTAMP"
    written = f"DATE '1970-01-01' + {at}" if day else f"make_timestamp({at}::BIGINT)"
    try:
        ((text,),) = duckdb.execute(f"SELECT ({written})::{kind}::VARCHAR").fetchall()
    except duckdb.Error:
        return  # DuckDB's own end lies before
    if day and "-" not in text[1:]:
        return
    assert str(FarDate(at, day)).rstrip("0").rstrip(".") == text.rstrip("0").rstrip(".")


def test_a_public_table_with_such_a_date_is_refused() -> None:
    days = pa.array([0, 2**31 - 1], pa.int32()).view(pa.date32())
    tables = {"t": pa.table({"d": [dt.date(2024, 1, 1)]}), "p": pa.table({"d": days})}
    with pytest.raises(PolicyError, match="outside the years 1 to 9999"):
        dp.protect(
            tables,
            table="t",
            privacy_unit="row",
            public=["p"],
            keys={"d": "p.d"},
            budget=1,
            ledger=":memory:",
        )


def test_a_public_table_with_such_a_date_is_no_failure() -> None:
    days = pa.array([0, 2**31 - 1], pa.int32()).view(pa.date32())
    tables = {"t": pa.table({"d": [dt.date(2024, 1, 1)], "k": [1]}), "p": pa.table({"d": days, "k": [1, 2]})}
    with dp.protect(
        tables, table="t", privacy_unit="row", public=["p"], budget=9, ledger=":memory:"
    ) as session:
        session.sql("SELECT COUNT(*) AS n FROM t JOIN p ON t.k = p.k WHERE t.d < p.d", epsilon=1)
        with pytest.raises(QueryRefused, match="outside the years 1 to 9999"):
            session.sql("SELECT COUNT(*) AS n FROM t WHERE d IN (SELECT d FROM p)", epsilon=1)
        with pytest.raises(QueryRefused, match="outside the years 1 to 9999"):
            session.sql("SELECT COUNT(*) AS n FROM t WHERE d < (SELECT max(d) FROM p)", epsilon=1)
        assert session.budget.spent == 1


def _dated() -> dp.Session:
    rows = pa.table({"id": range(300), "d": [dt.date(9000, 1, 1)] * 300})
    days = pa.table({"day": pa.array([19_000, 2**31 - 1], pa.int32()).cast(pa.date32()), "id": [1, 2]})
    bounds = {"d": {"bounds": (dt.date(9000, 1, 1), dt.date(9000, 1, 3))}}
    tables: Any = {"t": {"privacy_unit": "row", "columns": bounds}, "days": {"public": True}}
    return dp.protect(
        {"t": rows, "days": days}, policy=dp.Policy(budget=dp.Budget(epsilon=1000), tables=tables)
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT d + INTERVAL 48000 MONTH AS k, COUNT(*) AS n FROM t GROUP BY k",
        "SELECT mode(d + INTERVAL 48000 MONTH) AS k FROM t",
        "SELECT day, COUNT(*) AS n FROM t JOIN days ON t.d = days.day GROUP BY day",
        "SELECT day, COUNT(t.d) AS n FROM days LEFT JOIN t ON t.d = days.day GROUP BY ALL",
    ],
)
def test_public_groups_beyond_python_are_refused(query: str) -> None:
    """They raised what Python says of such a date."""
    with _dated() as session:
        with pytest.raises(QueryRefused, match="A group here would be a date outside the years 1 to 9999"):
            session.sql(query, epsilon=1)
        assert session.budget.spent == 0


def test_intervals_beyond_python_are_shown() -> None:
    """The end of an interval failed the answer after its charge, where the answer was printed."""
    with _dated() as session:
        release = session.sql("SELECT AVG(d + INTERVAL 48000 MONTH) AS a FROM t WHERE d IS NULL", epsilon=1)
        assert is_far(release.high["a"])
        assert all(text.strip() for text in (str(release), release._repr_html_()))


ODD = {
    "a time stamp of a zone": "TIMESTAMPTZ '2020-01-01 00:00:00+00' + INTERVAL (COUNT(*) * 100) YEAR",
    "an infinite one": "CASE WHEN COUNT(*) > 0 THEN 'infinity'::TIMESTAMPTZ END",
    "in seconds": "CASE WHEN COUNT(*) > 0 THEN TIMESTAMP_S '20000-01-01 00:00:00' END",
    "in milliseconds": "CASE WHEN COUNT(*) > 0 THEN TIMESTAMP_MS '20000-01-01 00:00:00' END",
    "a date": "DATE '2020-01-01' + CAST(COUNT(*) * 100000 AS INTEGER)",
    "an interval": "to_days(CAST(COUNT(*) AS INTEGER))",
    "bytes": "CASE WHEN COUNT(*) > 0 THEN 'a\\xff'::BLOB END",
    "bits": "CASE WHEN COUNT(*) > 0 THEN CAST('101' AS BIT) END",
    "a time": "CASE WHEN COUNT(*) > 0 THEN TIME '01:02:03' END",
    "an identifier": "CASE WHEN COUNT(*) > 0 THEN '6b3e4c5a-0000-0000-0000-000000000001'::UUID END",
    "a union": "union_value(a := COUNT(*))",
    "a list": "[COUNT(*)]",
    "a far date in a struct": "{'until': DATE '2020-01-01' + CAST(COUNT(*) * 20000 AS INTEGER), 'b': 1}",
    "an infinite date in a list": "CASE WHEN COUNT(*) > 0 THEN ['infinity'::DATE, NULL] END",
    "a far moment in a map": "MAP {'a': TIMESTAMP '2020-01-01' + INTERVAL (COUNT(*) * 100) YEAR}",
    "a far date deep inside": "[{'x': [DATE '2020-01-01' + CAST(COUNT(*) * 20000 AS INTEGER)]}]",
    "an interval beside a number": "{'a': to_days(CAST(COUNT(*) AS INTEGER)), 'b': COUNT(*)}",
    "infinite seconds": "CASE WHEN COUNT(*) > 0 THEN 'infinity'::TIMESTAMP_S END",
}
"""Expressions over released numbers, of types that some form of an answer lacks."""
NESTED = ("a union", "a list", "a far date in a struct", "an infinite date in a list", "a far moment in a map",
          "a far date deep inside", "an interval beside a number")  # fmt: skip
REFUSED = {("an interval", ".parquet"), ("an interval beside a number", ".parquet"), ("a union", ".parquet"),
           *((name, ".csv") for name in NESTED)}  # fmt: skip
"""Files that cannot hold a type."""


@pytest.fixture
def odd_session() -> Any:
    with shared.protect(
        pa.table({"id": range(300)}), table="t", privacy_unit="id", max_rows=1, budget=1000
    ) as made:
        yield made


@pytest.mark.parametrize("name", ODD)
def test_every_form_of_an_answer_holds_every_type(odd_session: dp.Session, name: str, tmp_path: Path) -> None:
    """Nothing that is charged for is lost for its type: a file that cannot hold it is refused before."""
    question = f"SELECT {ODD[name]} AS y, COUNT(*) AS n FROM t"
    release = odd_session.sql(question, epsilon=20)
    for form in documents.FORMS.values():
        assert form[1](release, odd_session.budget)
    assert "y" in repr(release)
    assert "y" in release._repr_html_()
    assert "y" in release.to_pandas()
    assert list(release)
    assert release.plot(measure="n").to_dict()
    for suffix in (".csv", ".parquet"):
        spent = odd_session.budget.spent
        if (name, suffix) in REFUSED:
            with pytest.raises(InvalidParameter, match="cannot hold the column y"):
                odd_session.write(question, 24 + len(suffix), tmp_path / f"a{suffix}")
            assert odd_session.budget.spent == spent
        else:
            odd_session.write(question, 24 + len(suffix), tmp_path / f"a{suffix}")
            assert odd_session.budget.spent == spent + 24 + len(suffix)


@pytest.mark.parametrize("column", [
    pa.array([[dt.date(2020, 1, 1), None], None, []], pa.list_(pa.date32())),
    pa.array([{"a": dt.date(2020, 1, 1), "b": 1}, None, {"a": None, "b": None}]),
    pa.array([[("k", dt.datetime(2020, 1, 1))], None, []], pa.map_(pa.string(), pa.timestamp("us"))),
    pa.array([[{"a": [dt.date(1999, 1, 1)]}], None]),
    pa.array([[dt.date(2020, 1, 1), None], None], pa.list_(pa.date32(), 2)),
])  # fmt: skip
def test_values_inside_others_are_those_of_arrow(column: pa.Array) -> None:
    for part in (column, column[1:], pa.chunked_array([column, column[:1]])):
        assert values(part) == part.to_pylist()
        assert not is_far(part)


@pytest.mark.parametrize("item", ["MAX(d) + INTERVAL 200000 YEAR", "MAX(d) - INTERVAL 3000 YEAR"])
def test_a_far_date_that_is_released_first_is_told(item: str) -> None:
    table = pa.table({"id": range(300), "d": [dt.date(2020, 1, 1 + day % 20) for day in range(300)]})
    bounds = {"d": (dt.date(2020, 1, 1), dt.date(2020, 1, 20))}
    with dp.protect(table, table="t", privacy_unit="id", max_rows=1, bounds=bounds, budget=1000) as session:
        release = session.sql(f"SELECT COUNT(*) AS n FROM t WHERE d < (SELECT {item} FROM t)", epsilon=20)
    assert any("released first" in one and ("2020" in one or "(BC)" in one) for one in release.warnings)
