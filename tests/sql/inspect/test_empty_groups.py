"""A sum over many groups of a release says of how many; a sum over few, or over rows, says nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests import shared
from tests.depth import DEEP, few

import discreet as dp

TABLE = pa.table({"who": [1, 2, 2], "store": [1, 2, 3], "heat": [4, 5, 6], "pay": [1.0, 2.0, 3.0]})
CELLS = "(SELECT store, heat, COUNT(*) AS n, SUM(pay) AS pay FROM data GROUP BY store, heat)"


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return shared.protect(
        TABLE, privacy_unit="who", max_rows=2, budget=100,
        bounds={"store": (1, 20), "heat": (-10, 10), "pay": (0, 10)},
    )  # fmt: skip


# A deep run: all; that of a window takes seconds, and is of as many groups as the first.
@pytest.mark.parametrize(
    ("sql", "words"),
    few(
        [
            (f"SELECT store, SUM(n) AS total FROM {CELLS} AS c GROUP BY store", "total adds up"),
            (f"SELECT AVG(pay) AS mean FROM {CELLS} AS c", "mean averages"),
            (
                f"SELECT store, n, n / SUM(n) OVER (PARTITION BY store) AS share FROM {CELLS} AS c",
                "share adds up",
            ),
            (f"WITH c AS {CELLS} SELECT store, COUNT(n) AS days FROM c GROUP BY store", "days counts"),
        ],
        2,
    ),
)
def test_it_is_said_of_how_many_groups(session: dp.Session, sql: str, words: str) -> None:
    found = [one for one in session.preview(sql, 1).warnings if words in one]
    assert len(found) == 1
    assert "420 groups" in found[0]
    if DEEP or "OVER" not in sql:  # whose intervals take seconds
        assert [one for one in session.sql(sql, 1).warnings if words in one] == found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT store, SUM(pay) AS total FROM data GROUP BY store",
        "SELECT SUM(n) AS total FROM (SELECT store, COUNT(*) AS n FROM data GROUP BY store) AS c",
        "SELECT SUM(n) AS total FROM (SELECT store, heat, COUNT(*) AS n FROM data GROUP BY store, heat "
        "HAVING COUNT(*) > 20) AS c",
        f"SELECT MAX(n) AS most FROM {CELLS} AS c",
    ],
)
def test_nothing_is_said_of_rows_of_few_groups_and_of_chosen_ones(session: dp.Session, sql: str) -> None:
    assert [one for one in session.preview(sql, 1).warnings if "noise of each" in one] == []
