"""A connection that is dropped is opened again, a query that runs is stopped at once, and neither costs twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from tests.servers import connect, load, postgres

import discreet as dp
from discreet.engines.postgres.line import ReopenedConnection
from discreet.errors import DiscreetError, EngineError
from discreet.ledger import Loss

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE a > {}"
RUNNING = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet' AND state = 'active'"
DROP = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
    "WHERE application_name = 'discreet' AND pid <> pg_backend_pid()"
)


@pytest.fixture
def url(tmp_path: object) -> str:
    load(postgres(), "line", {"visits": pa.table({"a": [1, 2, 3]})})
    return f"{postgres()}#line.visits"


@pytest.fixture
def session(url: str) -> Iterator[dp.Session]:
    with dp.protect(url, table="visits", privacy_unit="row", budget=100, ledger=":memory:") as opened:
        yield opened


def drop() -> None:
    with connect(postgres()) as connection:
        assert connection.execute(DROP).fetchall()


def test_a_dropped_connection_is_opened_again(session: dp.Session) -> None:
    session.sql(COUNT.format(0), 1)
    for at in range(1, 4):
        drop()
        session.sql(COUNT.format(at), 1)
        assert session.budget.spent == 1 + at


def test_one_that_stays_dropped_is_found(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault, which also shows that a connection that cannot be opened again costs nothing."""
    monkeypatch.setattr(ReopenedConnection, "again", lambda self: not self.dropped)
    drop()
    for _ in range(2):
        with pytest.raises(EngineError) as caught:
            session.sql(COUNT.format(9), 1)
        assert caught.value.charged is None
    assert session.budget.spent == 0


def test_another_server_of_that_name_is_not_taken(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.engines.postgres.line.place_of", lambda _: "postgresql:another/db")
    drop()
    with pytest.raises(DiscreetError):
        session.sql(COUNT.format(9), 1)
    assert session.budget.spent == 0


def test_a_connection_that_was_passed_is_the_callers() -> None:
    load(postgres(), "line", {"visits": pa.table({"a": [1, 2, 3]})})
    connection = connect(postgres())
    session = dp.protect(connection, table="line.visits", privacy_unit="row", budget=9, ledger=":memory:")
    connection.close()
    with pytest.raises(EngineError) as caught:
        session.sql("SELECT COUNT(*) AS n FROM visits", 1)
    assert caught.value.charged is None
    session.close()


def test_a_signal_stops_the_server_too(url: str) -> None:
    with connect(postgres()) as connection:
        connection.execute(
            "CREATE VIEW line.endless AS SELECT g AS a FROM generate_series(1, 1000000000000) AS g"
        )
    endless = url.replace("visits", "endless")
    with dp.protect(endless, table="visits", privacy_unit="row", budget=9, ledger=":memory:") as session:
        stop = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        stop.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            session.sql(COUNT.format(0), 1)
        assert caught.value.charged == Loss(1)  # type: ignore[attr-defined]
        with connect(postgres()) as connection:
            for _ in range(100):
                if connection.execute(RUNNING).fetchone() == (0,):
                    break
                time.sleep(0.05)
            else:
                pytest.fail("the server still runs the query")
