"""A connection that is dropped is opened again, a query that runs is stopped at once, and neither costs twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from contextlib import contextmanager

import pyarrow as pa
import pytest
from tests.depth import in_turn
from tests.servers import connect, load, postgres

import discreet as dp
from discreet.engines.postgres import PostgresEngine
from discreet.engines.postgres.line import ReopenedConnection, SecondConnection
from discreet.engines.sources import open_source
from discreet.errors import DiscreetError, EngineError
from discreet.ledger import Loss

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE a > {}"
RUNNING = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet' AND state = 'active'"
OPEN = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet'"
ENDLESS = "CREATE VIEW line.endless AS SELECT 1 AS a FROM pg_sleep(600)"
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


@contextmanager
def at_work(engine: PostgresEngine) -> Iterator[ThreadPoolExecutor]:
    """While a query runs that would take minutes, with threads that others may use."""
    with ThreadPoolExecutor() as pool:
        long = pool.submit(engine.integers, 'SELECT COUNT(*) AS n FROM "endless"')
        try:
            with connect(postgres()) as connection:
                while connection.execute(RUNNING).fetchone() == (0,):
                    time.sleep(0.02)
            yield pool
            assert not long.done()
        finally:
            engine.interrupt()
            assert isinstance(long.exception(60), EngineError)


@pytest.fixture
def endless(url: str) -> str:
    with connect(postgres()) as connection:
        connection.execute(ENDLESS)
    return url.replace("visits", "endless")


SEEN: dict[str, Callable[[PostgresEngine], object]] = {
    "version": lambda engine: engine.version("endless"),
    "probe": lambda engine: engine.probe('SELECT COUNT(*) AS n FROM "endless"'),
}


@pytest.mark.parametrize("ask", SEEN.values(), ids=SEEN)
def test_nobody_waits_for_the_query_of_somebody_else(
    endless: str, ask: Callable[[PostgresEngine], object]
) -> None:
    engine = open_source(endless)
    assert isinstance(engine, PostgresEngine)
    with at_work(engine) as pool:
        assert pool.submit(ask, engine).result(30)
        drop_idle()
        assert pool.submit(ask, engine).result(30), "a dropped second connection is opened again"
    engine.close()
    see_none(OPEN)


# A deep run plants both faults for both who ask.
@pytest.mark.parametrize(("fault", "asked"), in_turn(["none", "another server"], [*SEEN]))
def test_one_who_waits_is_found(
    endless: str, asked: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault, which also shows that no second connection to another server is asked."""
    engine = open_source(endless)
    assert isinstance(engine, PostgresEngine)
    if fault == "none":
        monkeypatch.setattr(SecondConnection, "_ready", lambda self, url: None)
    else:
        monkeypatch.setattr("discreet.engines.postgres.line.home_of", lambda connection: ("another", "", ""))
    with at_work(engine) as pool:
        waiting = pool.submit(SEEN[asked], engine)
        with pytest.raises(TooLate):
            waiting.result(1)
    assert waiting.result(30)
    engine.close()


def see_none(count: str) -> None:
    with connect(postgres()) as connection:
        for _ in range(100):
            if connection.execute(count).fetchone() == (0,):
                return
            time.sleep(0.05)
    pytest.fail("the server still has one")


def drop_idle() -> None:
    with connect(postgres()) as connection:
        assert connection.execute(f"{DROP} AND state = 'idle'").fetchall()


def test_a_connection_that_was_passed_has_no_second(endless: str) -> None:
    with connect(postgres()) as connection:
        engine = PostgresEngine.open_all([("line.endless", connection)])
        (name,) = engine.schema()
        assert engine.version(name)
        assert connection.execute(OPEN).fetchone() == (0,)


def test_a_signal_stops_the_server_too(endless: str) -> None:
    with dp.protect(endless, table="visits", privacy_unit="row", budget=9, ledger=":memory:") as session:
        stop = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        stop.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            session.sql(COUNT.format(0), 1)
        assert caught.value.charged == Loss(1)  # type: ignore[attr-defined]
        see_none(RUNNING)
