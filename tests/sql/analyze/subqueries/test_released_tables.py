"""Released tables beside private rows: their keys are found behind tables of WITH and sub-queries, and not invented."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from tests import shared
from tests.depth import few

import discreet as dp
from discreet.errors import QueryRefused

MEANS = "SELECT county AS c, AVG(age) AS m FROM data GROUP BY county"
SPLIT = "SELECT county AS c, sex, AVG(age) AS m FROM data GROUP BY county, sex"


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    rows = {
        "who": range(40),
        "county": ["a", "b"] * 20,
        "sex": ["f", "f", "m", "m"] * 10,
        "age": [20, 60] * 20,
    }
    keys = {"county": ["a", "b"], "sex": ["f", "m"]}
    with shared.protect(
        pa.table(rows), privacy_unit="who", max_rows=1, bounds={"age": (0, 99)}, keys=keys, budget=10**6
    ) as opened:
        yield opened


ONE_PARTNER = [
    f"WITH a AS ({MEANS}) SELECT COUNT(*) AS n FROM data JOIN a ON data.county = a.c",
    f"WITH a AS ({MEANS}) SELECT COUNT(*) AS n FROM data, A WHERE data.county = A.c AND age < m + 50",
    f"WITH a AS ({MEANS}), b AS (SELECT m / 2 AS half, c AS d FROM a) "
    "SELECT COUNT(*) AS n FROM data JOIN b ON data.county = b.d AND age > half - 50",
    f"WITH a AS ({MEANS}) SELECT COUNT(*) AS n FROM data JOIN (SELECT * FROM a) AS b ON data.county = b.c",
    f"WITH a AS ({MEANS}) SELECT COUNT(*) AS n FROM data JOIN (SELECT c FROM (SELECT c, m FROM a) AS i) AS b "
    "ON county = b.c",
    f"WITH a AS ({SPLIT}) SELECT COUNT(*) AS n FROM data JOIN a ON data.county = a.c AND data.sex = a.sex",
    f"WITH a AS ({SPLIT}), b AS (SELECT DISTINCT c FROM a) SELECT COUNT(*) AS n FROM data JOIN b ON county = c",
]
JOINED = "SELECT COUNT(*) AS n FROM data JOIN b ON county = c"
SEVERAL = [
    f"WITH a AS ({SPLIT}) SELECT COUNT(*) AS n FROM data JOIN a ON data.county = a.c",
    f"WITH a AS ({SPLIT}), b AS (SELECT c, m FROM a) {JOINED}",
    f"WITH a AS ({MEANS}), b AS (SELECT a.c FROM a JOIN a AS o ON TRUE) {JOINED}",
    f"WITH a AS ({MEANS}), b AS (SELECT c, UNNEST([1, 2]) AS i FROM a) {JOINED}",
    f"WITH a AS ({MEANS}), b AS (SELECT * FROM a UNION ALL SELECT * FROM a) {JOINED}",
    f"WITH a AS ({MEANS}), b AS (SELECT upper(c) AS c FROM a) {JOINED}",
]  # fmt: skip


# A deep run: all of them.
@pytest.mark.parametrize("sql", few(ONE_PARTNER, 4))
def test_one_partner_is_found_behind_other_queries(session: dp.Session, sql: str) -> None:
    found = session.sql(sql, epsilon=200).to_dict()["n"][0]
    assert found == pytest.approx(40, abs=5)  # noise of scale 1/100 misses this once in e^500


@pytest.mark.parametrize("sql", SEVERAL)
def test_several_partners_are_refused(session: dp.Session, sql: str) -> None:
    with pytest.raises(QueryRefused, match=r"more than one row|decided by noise"):
        session.sql(sql, epsilon=1)


def test_a_table_that_is_made_of_itself_comes_to_an_end(session: dp.Session) -> None:
    sql = f"WITH RECURSIVE a AS ({MEANS}), b AS (SELECT c FROM b) SELECT COUNT(*) AS n FROM data JOIN b ON county = c"
    with pytest.raises(QueryRefused):
        session.sql(sql, epsilon=1)
