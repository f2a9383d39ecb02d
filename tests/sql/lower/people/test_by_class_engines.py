"""PostgreSQL and ClickHouse count the classes of people as DuckDB does; where they have no keyed hash they say so."""

from __future__ import annotations

import pytest
from tests import servers, shared
from tests.consenting import PEOPLE, VISITS, declared, protected, release_of
from tests.inside import engine_of

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.lower.people.by_class import exact_by_class

QUESTIONS = [
    "SELECT ward, COUNT(*) AS n, AVG(x) AS a FROM visits WHERE x > 2 GROUP BY ward",
    "SELECT COUNT(*) AS n FROM visits AS v JOIN people AS p ON v.id = p.id WHERE p.age >= 0",
    "SELECT consent, COUNT(*) AS n FROM people GROUP BY consent",
    "SELECT COUNT(DISTINCT id) AS n FROM visits WHERE x > (SELECT AVG(x) FROM visits)",
]
TABLES = {"people": PEOPLE, "visits": VISITS}


def counted(session: dp.Session, sql: str) -> list[list[list[int]]]:
    release = release_of(session, sql)
    assert release.people is not None
    return [one.tolist() for one in exact_by_class(release, release.people, engine_of(session), 7)]


def see_alike(session: dp.Session) -> None:
    usual = protected()
    for sql in QUESTIONS[:-1]:
        assert counted(session, sql) == counted(usual, sql)
    for sql in QUESTIONS:
        assert session.sql(sql, 1).epsilon == 1
    with pytest.raises(QueryRefused, match="no keyed hash"):
        session.sql("SELECT MEDIAN(x) AS m FROM visits", 1)
    assert session.budget.spent == len(QUESTIONS)


def test_postgres_counts_the_classes() -> None:
    places = servers.load(servers.postgres(), "consenting", TABLES)
    with shared.protect(places, policy=declared(), ledger=":memory:") as session:
        see_alike(session)


def test_clickhouse_counts_the_classes() -> None:
    with servers.within_clickhouse("consenting", TABLES) as database:
        see_alike(shared.protect(database, policy=declared(), ledger=":memory:"))
