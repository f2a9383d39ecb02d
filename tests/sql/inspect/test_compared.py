"""The warning names the released numbers that private rows were compared with, and how sure each is."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.sql.inspect import compared

ABOVE = "SELECT COUNT(*) AS n FROM data WHERE x > {}"


@pytest.fixture(scope="module")
def session() -> dp.Session:
    data = pa.table({"x": np.arange(500) % 97, "k": ["a", "b"] * 250})
    return shared.protect(
        data, privacy_unit="row", bounds={"x": (0, 100)}, keys={"k": ["a", "b"]}, budget=1000
    )


def said(session: dp.Session, sql: str) -> str:
    """The warning of an answer."""
    (warning,) = [one for one in session.sql(sql, 10).warnings if "compared" in one]
    return warning


def test_a_number_is_shown_with_its_error(session: dp.Session) -> None:
    sql = "SELECT (SELECT AVG(x) FROM data) AS mean, COUNT(*) AS n FROM data WHERE x > (SELECT AVG(x) FROM data)"
    answer = session.sql(sql, 10)
    warning = said(session, sql)
    (value, half) = re.findall(r"= ([\d.]+) ± ([\d.]+)", warning)[0]
    (mean,) = answer.values.column("mean").to_pylist()
    width = (answer.high["mean"][0].as_py() - answer.low["mean"][0].as_py()) / 2
    assert float(value) == pytest.approx(mean, rel=1e-5)
    assert width / 2 < float(half) <= 1.05 * width  # that of the column allows for the numbers beside it


def test_texts_lists_and_nothing(session: dp.Session) -> None:
    most = "(SELECT k FROM data GROUP BY k ORDER BY COUNT(*) DESC LIMIT 1)"
    assert re.search(
        r"LIMIT 1\) = [ab],", said(session, f"SELECT COUNT(*) AS n FROM data WHERE x > 5 OR k = {most}")
    )
    listed = "SELECT COUNT(*) AS n FROM data WHERE x > 5 OR k IN (SELECT k FROM data GROUP BY k HAVING COUNT(*) > 9)"
    assert "=" not in said(session, listed).partition("released first")[0].partition("HAVING")[2]
    none = (
        "(SELECT MAX(n) FROM (SELECT k, COUNT(*) AS n FROM data GROUP BY k HAVING COUNT(*) > 1000000) AS g)"
    )
    assert "= NULL" in said(session, ABOVE.format(none))


def test_before_it_is_asked_no_number_is_named(session: dp.Session) -> None:
    plan = inside.plan_of(session, ABOVE.format("(SELECT AVG(x) FROM data)"), Fraction(1))
    (warning,) = compared.compared_with(plan)
    assert "(SELECT AVG(x) FROM data), released first" in warning
    assert compared.compared_with(inside.plan_of(session, "SELECT COUNT(*) FROM data", Fraction(1))) == ()
