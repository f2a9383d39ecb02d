"""Statements in which very many rows meet above the noise: tried on invented numbers, and refused for nothing."""

from __future__ import annotations

import math
from itertools import count

import pyarrow as pa
import pytest
from tests.inside import queries_of

import discreet as dp
from discreet.errors import QueryRefused
from discreet.session import Session
from discreet.session.analyst import AnalystSession
from discreet.session.question import SessionQuestion
from discreet.session.waiting import heavy

PEOPLE = pa.table({"ward": [1, 2], "age": [30, 40]})
SIZE = 40
WARDS = pa.table({"ward": list(range(SIZE))})
GROUPS = "WITH g AS (SELECT ward, COUNT(*) AS n FROM people GROUP BY ward) "


@pytest.fixture(scope="module")
def session() -> Session:
    return dp.protect(
        {"people": PEOPLE, "wards": WARDS},
        privacy_unit="row",
        public=["wards"],
        keys={"ward": "wards.ward"},
        bounds={"age": (0, 120)},
        budget=10,
    )


def met(session: Session, query: str) -> float:
    plan = queries_of(session).planned(SessionQuestion.read(query, 1))
    return heavy.rows_met(plan, queries_of(session).catalog.public)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT ward, COUNT(*) AS n FROM people GROUP BY ward", SIZE),
        (f"{GROUPS} SELECT COUNT(*) AS n FROM g a, g b", SIZE**2),
        (f"{GROUPS} SELECT COUNT(*) AS n FROM g a JOIN g b ON a.n = b.n CROSS JOIN wards", SIZE**3),
        (f"{GROUPS} SELECT * FROM g WHERE n > (SELECT AVG(n) FROM g AS o WHERE o.ward < g.ward)", SIZE**2),
        (f"{GROUPS} SELECT n FROM g UNION ALL SELECT n FROM g", 2 * SIZE),
        (f"{GROUPS}, few AS (SELECT n FROM g LIMIT 3) SELECT COUNT(*) AS n FROM few a, few b", SIZE),
        (f"{GROUPS}, one AS (SELECT SUM(n) AS s FROM g) SELECT g.n / one.s AS p FROM g, one", SIZE),
        (f"{GROUPS} SELECT COUNT(*) AS n FROM g, range(10) AS r(i)", math.inf),
        (f"{GROUPS} SELECT ward, UNNEST([n, n]) AS n FROM g", math.inf),
    ],
)
def test_the_rows_that_meet_are_read_from_the_text_and_public_sizes(
    session: Session, query: str, rows: float
) -> None:
    assert met(session, query) == rows


def test_a_product_that_does_not_end_is_refused_before_the_charge(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = AnalystSession(session, "ana", 1)
    cross = f"{GROUPS} SELECT SUM(a.n * b.n) AS s FROM g a, g b"
    ana.try_out(cross, epsilon=1)
    monkeypatch.setattr(heavy, "MANY", 1000)
    ana.try_out(cross, epsilon=1)  # tried, and it ends
    monkeypatch.setattr(heavy, "PATIENCE", -1.0)
    with pytest.raises(QueryRefused, match="did not end"):
        ana.try_out(cross, epsilon=1)
    ana.try_out("SELECT ward, COUNT(*) AS n FROM people GROUP BY ward", epsilon=1)  # not tried at all
    ana.try_out("SHOW TABLES")
    with pytest.raises(QueryRefused, match="did not end"):
        ana.try_out_workload({"plain": "SELECT COUNT(*) AS n FROM people", "cross": cross}, epsilon=1)
    monkeypatch.setattr(heavy, "PATIENCE", 10.0)
    ana.try_out_workload({"plain": "SELECT COUNT(*) AS n FROM people", "cross": cross}, epsilon=1)
    assert session.budget.spent == ana.budget.spent == 0


def test_those_that_are_asked_as_one_share_the_time_of_a_trial(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes four seconds by the clock of this test; four of them are too many."""
    monkeypatch.setattr(heavy, "MANY", 1000)
    monkeypatch.setattr(heavy, "monotonic", count(step=4).__next__)
    ana = AnalystSession(session, "ana", 1)
    crosses = {str(at): f"{GROUPS} SELECT SUM(a.n * b.n) + {at} AS s FROM g a, g b" for at in range(4)}
    for cross in crosses.values():
        ana.try_out(cross, epsilon=1)
    with pytest.raises(QueryRefused, match="did not end"):
        ana.try_out_workload(crosses, epsilon=1)
    del crosses["3"]
    ana.try_out_workload(crosses, epsilon=1)


def see_sizes_counted(session: Session) -> None:
    """Read the rows of one statement over public tables of two sizes."""
    plan = queries_of(session).planned(
        SessionQuestion.read(f"{GROUPS} SELECT COUNT(*) AS n FROM g, wards", 1)
    )
    assert heavy.rows_met(plan, {"wards": WARDS}) == SIZE**2
    assert heavy.rows_met(plan, {"wards": WARDS.slice(0, 10)}) == SIZE * 10


def test_the_rows_are_remembered_for_the_sizes_that_they_were_read_for(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    see_sizes_counted(session)
    # The planted fault: they are remembered for the statement alone.
    read, known = heavy._met.__wrapped__, dict[int, float]()  # type: ignore[attr-defined]
    monkeypatch.setattr(heavy, "_met", lambda post, sizes: known.setdefault(id(post), read(post, sizes)))
    with pytest.raises(AssertionError):
        see_sizes_counted(session)
