"""What a preview warns of is certain, and what is certain is warned of."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from tests import shared

from discreet.errors import QueryRefused

TABLE = pa.table({"who": [1, 2], "age": [30, 40], "pay": [1.0, 2.0], "one": [1, 1], "note": ["x", "1"]})


def warnings(sql: str, epsilon: float = 1, **policy: object) -> tuple[str, ...]:
    """The warnings of a preview."""
    given = {
        "privacy_unit": "who",
        "max_rows": 2,
        "bounds": {"age": (0, 120), "pay": (0, 100)},
    }
    session = shared.protect(TABLE, budget=10, **(given | policy))
    return session.preview(sql, epsilon).warnings


@pytest.mark.parametrize(
    "where", ["age > 120", "age >= 121", "pay < 0", "pay = 101", "age > 3 AND pay > 100", "120 < age"]
)
def test_a_filter_that_no_clamped_value_passes(where: str) -> None:
    (warning,) = warnings(f"SELECT COUNT(*) AS n FROM data WHERE {where}")
    assert "clamped" in warning
    for number in (f"COUNT(*) FILTER (WHERE {where})", f"AVG(CASE WHEN {where} THEN 1 ELSE 0 END)"):
        (warning,) = warnings(f"SELECT {number} AS n FROM data")
        assert "clamped" in warning


@pytest.mark.parametrize(
    "where", ["age >= 120", "age > 119", "pay <= 0", "who > 5", "age > pay", "NOT age > 120"]
)
def test_a_filter_that_some_value_passes(where: str) -> None:
    assert warnings(f"SELECT COUNT(*) AS n FROM data WHERE {where}") == ()
    assert warnings(f"SELECT COUNT(*) FILTER (WHERE {where}) AS n FROM data") == ()


@pytest.mark.parametrize("where", [
    "age = NULL", "note <> NULL", "NULL > pay", "NOT age = NULL", "age IN (NULL)", "age NOT IN (1, NULL)",
    "age > 3 AND note = NULL", "age BETWEEN 1 AND NULL",
])  # fmt: skip
def test_a_comparison_with_null(where: str) -> None:
    (warning,) = warnings(f"SELECT COUNT(*) AS n FROM data WHERE {where}")
    assert warning.startswith("no row passes ")
    assert warning.endswith("write IS NULL")


@pytest.mark.parametrize("where", [
    "age IS NULL", "age IN (1, NULL)", "age = NULL OR age = 3", "age IS NOT DISTINCT FROM NULL",
    "age = COALESCE(NULL, 3)", "age NOT IN (1, 2)",
])  # fmt: skip
def test_a_null_that_hides_no_row(where: str) -> None:
    assert warnings(f"SELECT COUNT(*) AS n FROM data WHERE {where}") == ()


def test_bounds_that_leave_one_value() -> None:
    (warning,) = warnings("SELECT AVG(clamp(pay, 100, 200)) AS n FROM data")
    assert "same for every row" in warning


@pytest.mark.parametrize("asked", ["SUM({0})", "AVG({0} + age)", "SUM(-{0})"])
def test_the_ends_of_a_type_are_no_bounds(asked: str) -> None:
    """Noise for them would drown every answer, which had its price."""
    cast = "CAST(note AS INTEGER)"
    with pytest.raises(QueryRefused, match="has no bounds"):
        warnings(f"SELECT {asked.format(cast)} AS n FROM data")
    better = f"clamp({cast}, 0, 100)"
    assert warnings(f"SELECT {asked.format(better)} AS n FROM data", epsilon=10) == ()
    assert warnings("SELECT SUM(CAST(age AS SMALLINT)) AS n FROM data") == (), "bounds of the column hold"


def test_the_ends_of_a_type_bound_a_quantile_and_a_narrow_type_a_sum() -> None:
    """The error of a quantile grows with the digits of its bounds, not with their size."""
    for asked, kind in (("MEDIAN", "INTEGER"), ("AVG", "SMALLINT")):
        cast = f"CAST(note AS {kind})"
        (warning, *_) = warnings(f"SELECT {asked}({cast}) AS n FROM data")
        assert f"nothing bounds {cast} but its type" in warning
        assert f"such as clamp({cast}, 0, 100)" in warning


def test_noise_that_drowns_what_is_asked() -> None:
    several = warnings("SELECT COUNT(*) AS n, AVG(pay) AS pay FROM data", epsilon=0.001)
    assert [warning.split(" is ")[0] for warning in several] == ["the noise of n", "the noise of pay"]
    assert "max_rows" in several[0]
    assert warnings("SELECT COUNT(*) AS n, AVG(pay) AS pay FROM data", epsilon=1) == ()


def test_warnings_are_printed_and_are_there_for_machines() -> None:
    session = shared.protect(TABLE, privacy_unit="row", bounds={"age": (0, 120)}, budget=1)
    seen = session.preview("SELECT COUNT(*) AS n FROM data WHERE age > 200", 1)
    assert "warning: no row passes age > 200" in repr(seen)
    assert seen.to_dict()["warnings"] == list(seen.warnings)


def test_nobody_is_in_more_groups_than_there_are() -> None:
    """COUNT(DISTINCT unit) by two groups moves by two for each unit, even if it keeps fifty rows."""
    session = shared.protect(
        TABLE, privacy_unit="who", max_rows=50, keys={"one": [1, 2]}, bounds={"age": (0, 1)}, budget=1
    )
    error = session.preview("SELECT one, COUNT(DISTINCT who) AS n FROM data GROUP BY one", 1).errors["n"]
    alone = session.preview("SELECT COUNT(DISTINCT who) AS n FROM data", 1).errors["n"]
    assert alone < error < 3 * alone


def test_groups_of_a_date_without_bounds() -> None:
    table = pa.table({"who": [1], "day": [dt.date(2024, 5, 6)]})
    ask = "SELECT year(day) AS y, COUNT(*) AS n FROM data GROUP BY y"
    for bounds, said in ({}, True), ({"day": (dt.date(2020, 1, 1), dt.date(2024, 12, 31))}, False):
        with shared.protect(
            table, privacy_unit="who", max_rows=1, bounds=bounds, budget=1, ledger=":memory:"
        ) as session:
            found = [one for one in session.preview(ask, 1).warnings if "day has no bounds" in one]
        assert bool(found) is said


COUNTIES = {"note": ["Alder", "Birch"]}


@pytest.mark.parametrize(
    ("where", "words"),
    [("note = 'Aldr'", "'Aldr': did you mean 'Alder'?"), ("'birch' = note", "'birch': did you mean 'Birch'?"),
     ("note IN ('x', 'y')", "'x' or 'y', as the policy lists them"), ("age > 3 AND note = 'Zz'", "'Zz'")],
)  # fmt: skip
def test_texts_that_are_no_keys(where: str, words: str) -> None:
    (warning,) = warnings(f"SELECT COUNT(*) AS n FROM data AS d WHERE {where}", keys=COUNTIES)
    assert warning.startswith("none of the keys of note is ")
    assert words in warning


@pytest.mark.parametrize(
    "where", ["note = 'Alder'", "note IN ('Alder', 'x')", "note = 'x' OR age > 3", "note <> 'x'"]
)
def test_texts_that_may_be_keys(where: str) -> None:
    assert warnings(f"SELECT COUNT(*) AS n FROM data WHERE {where}", keys=COUNTIES) == ()
    assert warnings("SELECT COUNT(*) AS n FROM data WHERE note = 'x'") == ()


@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*) FILTER (WHERE age > 120) AS n, COUNT(*) AS m FROM data",
    "SELECT SUM(CASE WHEN pay > 200 THEN age END) AS n FROM data",
    "SELECT CASE WHEN age > 120 THEN 'old' ELSE 'young' END AS c, COUNT(*) AS n FROM data GROUP BY c",
    "SELECT COUNT(*) AS n FROM data WHERE age > 120",
    "SELECT AVG(clamp(pay, 100, 200)) AS n FROM data",
    "SELECT year(day) AS y, COUNT(*) AS n FROM data GROUP BY y",
])  # fmt: skip
def test_an_answer_warns_of_the_bounds_that_its_preview_warned_of(sql: str) -> None:
    table = TABLE.append_column("day", pa.array([dt.date(2020, 1, 1)] * 2))
    bounds = {"age": (0, 120), "pay": (0, 100)}
    with shared.protect(table, privacy_unit="who", max_rows=2, bounds=bounds, budget=10) as session:
        (warning,) = session.preview(sql, 5).warnings
        assert warning in session.sql(sql, 5).warnings
        assert warning in session.sql(sql, 5).warnings, "when it is given again, too"


def test_a_filter_that_leaves_no_group_names_the_column() -> None:
    with pytest.raises(QueryRefused, match="Ask for values of age within its bounds"):
        warnings("SELECT one, COUNT(*) AS n FROM data WHERE age > 120 GROUP BY one", keys={"one": [1, 2]})
