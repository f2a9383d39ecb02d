"""Intervals carried through monotone expressions: the expression at the ends, whatever the number of groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from pyarrow import parquet
from tests import shared

import discreet as dp
from discreet.sql.intervals import monotone as monotone_intervals
from discreet.sql.intervals.monotone import monotone_in

MONOTONE = {
    "t.a0": "a0", "-t.a0": "a0", "(t.a1)": "a1", "t.a0 * 2": "a0", "3 - t.a0 / 1000.0": "a0", "t.a0 * t.k0": "a0",
    "round(t.a0 / (t.k0 + 1), 2)": "a0", "greatest(t.a0, 0)": "a0", "least(5, t.a0, 7)": "a0", "floor(t.a0)": "a0",
    "CAST(t.a0 AS DOUBLE)": "a0", "CAST(t.a0 AS DECIMAL(18, 2))": "a0",
}  # fmt: skip
OTHERS = (
    "t.a0 * t.a0", "t.a0 + t.a1", "t.a0 - t.a0", "1 / t.a0", "abs(t.a0)", "t.a0 % 2", "t.a0 // 2", "sin(t.a0)", "t.k0",
    "coalesce(t.a0, 0)", "greatest(t.a0, t.a1)", "CASE WHEN t.a0 > 0 THEN 1 ELSE 0 END", "CAST(t.a0 AS VARCHAR)",
    "TRY_CAST(t.a0 AS TINYINT)", "round(t.a0, t.a1)", "t.a0 * random()", "u.a0 * 2", "a0 * 2", "t.a0 IS NULL",
    "row_number() OVER (ORDER BY t.a0)", "t.a0 * (SELECT 1)",
)  # fmt: skip


def test_what_is_monotone_in_one_aggregate_is_told_from_the_rest() -> None:
    for sql, aggregate in MONOTONE.items():
        assert monotone_in(sqlglot.parse_one(sql, read="duckdb"), "t") == aggregate, sql
    for sql in OTHERS:
        assert monotone_in(sqlglot.parse_one(sql, read="duckdb"), "t") is None, sql


@pytest.fixture(scope="module")
def session() -> dp.Session:
    rng = np.random.default_rng(0)
    data = pa.table({"g": rng.integers(-2, 3, 3000), "x": rng.uniform(0, 10, 3000)})
    return shared.protect(data, privacy_unit="row", bounds={"g": (-2, 2), "x": (0, 10)}, budget=10**6)


def test_ends_are_the_values_of_the_expression_at_the_ends(session: dp.Session) -> None:
    columns: dict[str, Callable[[float, int], float]] = {
        "COUNT(*) * 2": lambda n, g: 2 * n, "-COUNT(*)": lambda n, g: -n,
        "100 - COUNT(*) / 8": lambda n, g: 100 - n / 8,
        "COUNT(*) * g": lambda n, g: n * g, "FLOOR(COUNT(*) / 10.0)": lambda n, g: math.floor(n / 10),
        "GREATEST(COUNT(*), 599)": lambda n, g: max(n, 599), "CAST(COUNT(*) AS DOUBLE)": lambda n, g: n,
    }  # fmt: skip
    listed = ", ".join(f"{sql} AS c{at}" for at, sql in enumerate(columns))
    found = session.sql(
        f"SELECT g, COUNT(*) AS n, {listed} FROM data GROUP BY g ORDER BY n", epsilon=1
    ).to_dict()
    for at, function in enumerate(columns.values()):
        for row in range(5):
            g, n = found["g"][row], [found[f"n{end}"][row] for end in ("_low", "", "_high")]
            expected = [function(one, g) for one in n]
            shown = [found[f"c{at}{end}"][row] for end in ("_low", "", "_high")]
            assert shown == pytest.approx([min(expected), expected[1], max(expected)])


def test_many_groups_have_them_too() -> None:
    data = pa.table({"a": np.arange(100) % 7, "b": np.arange(100) % 5})
    session = shared.protect(data, privacy_unit="row", bounds={"a": (0, 299), "b": (0, 299)}, budget=10)
    release = session.sql("SELECT a, b, COUNT(*) / 100.0 AS share FROM data GROUP BY a, b", epsilon=1)
    assert len(release) == 90_000
    width = np.asarray(release.high["share"]) - np.asarray(release.low["share"])
    least = math.log(20) * 2 / 100 - 0.021  # of Laplace noise of scale 1, with whole numbers for ends
    assert width.min() >= least
    assert not [note for note in release.notes if "no interval" in note]


def test_an_end_that_cannot_be_taken_may_lie_anywhere() -> None:
    low, high = np.array([1.0, 100.0, np.nan]), np.array([2.0, 200.0, np.nan])
    items = {"n": sqlglot.parse_one("CAST(t.a0 AS TINYINT)", read="duckdb")}
    found = monotone_intervals.monotone_intervals(items, "t", lambda _: {}, lambda _: (low, high))
    assert np.array_equal(found["n"], [[1.0, -np.inf, np.nan], [2.0, np.inf, np.nan]], equal_nan=True)


def test_a_file_has_the_same_columns_in_every_piece(tmp_path: Path) -> None:
    data = pa.table({"a": np.arange(100) % 7, "b": np.arange(100) % 5})
    session = shared.protect(data, privacy_unit="row", bounds={"a": (0, 299), "b": (0, 299)}, budget=10)
    for at, order in enumerate(("", " ORDER BY n")):
        sql = f"SELECT a, COUNT(*) AS n, b * COUNT(*) / 3 AS x FROM data GROUP BY a, b{order}"
        written = session.write(sql, 1, tmp_path / f"{at}.parquet")
        found = parquet.read_table(written.path)
        assert (len(found), "no interval" in str(written.notes)) == (90_000, False)
        n, low, x, x_low = (np.asarray(found[name]) for name in ("n", "n_low", "x", "x_low"))
        some = n != 0  # there b can be told
        b = np.rint(3 * x[some] / n[some])
        assert np.allclose(x_low[some], b * low[some] / 3)


def test_ends_that_are_not_put_in_order_are_found(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault: the value at the low end taken for the low end."""
    sql = "SELECT g, -COUNT(*) AS n FROM data GROUP BY g"

    def ordered(epsilon: float) -> bool:
        release = session.sql(sql, epsilon=epsilon)
        return bool((np.asarray(release.low["n"]) < np.asarray(release.high["n"])).all())

    assert ordered(0.9)
    monkeypatch.setattr(monotone_intervals, "_ordered", lambda one, other: (one, other))
    assert not ordered(0.8)
